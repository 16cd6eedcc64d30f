//! Bytes in, bytes out, over a real socket. The clock is tokio's paused one: no test waits, and durations are exact.

use std::net::SocketAddr;
use std::time::Duration;

use bots::{Config, Faults, limits};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;

const BODY: &str = r##"{"game":{"id":"g","ruleset":{"name":"standard","version":"1","settings":{"foodSpawnChance":15,"minimumFood":1,"hazardDamagePerTurn":0,"royale":{"shrinkEveryNTurns":0}}},"map":"standard","timeout":500,"source":""},"turn":4,"board":{"height":7,"width":7,"food":[],"hazards":[],"snakes":[]},"you":{"id":"s","name":"","health":90,"body":[{"x":0,"y":0},{"x":1,"y":0},{"x":2,"y":0}],"latency":"0","head":{"x":0,"y":0},"length":3,"shout":"","customizations":{"color":"","head":"","tail":""}}}"##;

/// In the corner that [`BODY`] describes, one move is left.
const UP: &str = r#"{"move":"up"}"#;

struct Server {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<std::io::Result<()>>,
}

impl Server {
    fn start(config: Config) -> Server {
        let listener = bots::bind(([127, 0, 0, 1], 0).into()).expect("a free port");
        let address = listener.local_addr().expect("bound");
        let (stop, stopped) = oneshot::channel();
        let shutdown = async { stopped.await.unwrap_or_default() };
        let task = tokio::spawn(bots::serve(listener, config, shutdown));
        Server { address, stop, task }
    }

    async fn connect(&self) -> Client {
        let stream = TcpStream::connect(self.address).await.expect("the server accepts");
        stream.set_nodelay(true).expect("a TCP socket");
        Client { stream, unread: Vec::new() }
    }

    async fn stop(self) {
        self.stop.send(()).expect("still running");
        self.task.await.expect("no panic").expect("a sound listener");
    }

    /// The values of these series of `/metrics`, over a connection of its own, which counts as well.
    async fn metrics<const N: usize>(&self, series: [&str; N]) -> [u64; N] {
        let mut client = self.connect().await;
        client.send(&get("/metrics")).await;
        let text = client.answer().await.expect("an answer").body;
        series.map(|name| {
            let value = text
                .lines()
                .find_map(|line| line.strip_prefix("gauntlet_bots_")?.strip_prefix(name)?.strip_prefix(' '));
            value.expect(name).parse().expect("a number")
        })
    }
}

struct Client {
    stream: TcpStream,
    unread: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq)]
struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Client {
    async fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).await.expect("the server reads");
    }

    /// The next answer; nothing if the connection ended instead.
    async fn answer(&mut self) -> Option<Answer> {
        let head_end = loop {
            match self.unread.windows(4).position(|four| four == b"\r\n\r\n") {
                Some(at) => break at + 4,
                None => self.read_more().await?,
            }
        };
        let head = String::from_utf8(self.unread.drain(..head_end).collect()).expect("ASCII");
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.map_or(0, |text| text.parse().expect("a number"));
        while self.unread.len() < length {
            self.read_more().await?;
        }
        let body = String::from_utf8(self.unread.drain(..length).collect()).expect("UTF-8");
        Some(Answer { status: head[9..12].parse().expect("a status"), head, body })
    }

    async fn read_more(&mut self) -> Option<()> {
        let read = self.stream.read_buf(&mut self.unread).await.unwrap_or(0);
        (read > 0).then_some(())
    }

    #[track_caller]
    fn expect(answer: Option<Answer>, status: u16, part: &str) {
        let answer = answer.expect("an answer");
        assert!(answer.status == status && answer.body.contains(part), "{status} {part}: {answer:?}");
    }
}

fn post(path: &str, body: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nhost: bots\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: bots\r\n\r\n")
}

/// Each request gets its status and a body with its part, all on one connection that stays open.
async fn check(rows: &[(String, u16, &str)]) {
    let server = Server::start(Config::default());
    let mut client = server.connect().await;
    for (text, status, part) in rows {
        client.send(text).await;
        Client::expect(client.answer().await, *status, part);
    }
    assert_eq!(server.metrics(["connections_total", "requests_total"]).await, [2, rows.len() as u64 + 1]);
    server.stop().await;
}

/// The request is refused, and the connection closes after the answer was readable.
async fn check_last(text: &str, status: u16, code: &str) {
    let server = Server::start(Config::default());
    let mut client = server.connect().await;
    client.send(text).await;
    Client::expect(client.answer().await, status, code);
    assert_eq!(client.answer().await, None, "{text}");
    assert_eq!(server.metrics(["refused_total"]).await, [u64::from(status >= 400)]);
    server.stop().await;
}

#[tokio::test(start_paused = true)]
async fn one_connection_serves_every_address() {
    check(&[
        (get("/"), 200, r#""path":"/hungry""#),
        (get("/healthz"), 200, "ok"),
        (get("/hungry"), 200, r#""apiversion":"1""#),
        (get("/hungry/late-0.5/"), 200, r#""apiversion":"1""#),
        (post("/hungry/start", BODY), 200, "{}"),
        (post("/hungry/move", BODY), 200, UP),
        (post("/random/move", BODY), 200, UP),
        (post("/flood/seed-9/think-10s/move", BODY), 200, UP),
        (post("/hungry/end", BODY), 200, "{}"),
        (get("/metrics"), 200, "gauntlet_bots_moves_total 3\n"),
        (get("/metrics"), 200, "gauntlet_bots_connections_open 1\n"),
    ])
    .await;
}

#[tokio::test(start_paused = true)]
async fn refusals_whose_end_is_known_keep_the_connection() {
    check(&[
        (post("/hungry/move", "{"), 400, "bad_body"),
        (post("/hungry/move", ""), 400, "bad_body"),
        (post("/hungry/start", "[]"), 400, "bad_body"),
        (post("/hungry/move", &BODY.replace(r#""turn":4,"#, "")), 400, "missing field `turn`"),
        (post("/nobody/move", BODY), 404, "unknown_path"),
        (post("/hungry/jump", BODY), 404, "unknown_path"),
        (post("/hungry/late-7/move", BODY), 400, "bad_modifier"),
        (get("/hungry/move"), 405, "POST only"),
        (post("/hungry", BODY), 405, "GET only"),
        (post("/hungry/move", BODY), 200, UP),
    ])
    .await;
}

#[tokio::test(start_paused = true)]
async fn refusals_whose_end_is_unknown_close_it() {
    check_last("POST /hungry/move HTTP/1.1\r\n\r\n{}", 411, "length_required").await;
    check_last("POST / HTTP/1.1\r\ncontent-length: 9999999\r\n\r\n", 413, "body_too_large").await;
    check_last(&format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(9_000)), 431, "head_too_large").await;
    check_last("GET / HTTP/1.1\r\ntransfer-encoding: gzip\r\n\r\n", 501, "unknown_transfer_encoding").await;
    check_last("\x16\x03\x01 is TLS", 400, "bad_http").await;
    check_last("GET /healthz HTTP/1.1\r\nconnection: close\r\n\r\n", 200, "ok").await;
    check_last("PUT /healthz HTTP/1.1\r\n\r\n", 405, "method_not_allowed").await;
    check_last("GET /healthz HTTP/1.0\r\n\r\n", 200, "ok").await;
}

#[tokio::test(start_paused = true)]
async fn a_405_names_the_right_method() {
    let server = Server::start(Config::default());
    let mut client = server.connect().await;
    client.send(&get("/hungry/move")).await;
    assert!(client.answer().await.is_some_and(|answer| answer.head.contains("\r\nallow: POST\r\n")));
}

#[tokio::test(start_paused = true)]
async fn pipelined_requests_are_answered_in_order() {
    let think = Duration::from_millis(200);
    let server = Server::start(Config { think, ..Config::default() });
    let mut client = server.connect().await;
    let (a_move, index) = (post("/hungry/move", BODY), get("/flood"));
    client.send(&[&*a_move, &index, &a_move, &a_move[..40]].concat()).await;
    let begin = Instant::now();
    Client::expect(client.answer().await, 200, UP);
    Client::expect(client.answer().await, 200, "flood");
    Client::expect(client.answer().await, 200, UP);
    client.send(&a_move[40..]).await;
    Client::expect(client.answer().await, 200, UP);
    assert!(begin.elapsed() >= think * 3, "each move is thought about: {:?}", begin.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_request_may_come_byte_by_byte_and_in_chunks() {
    let server = Server::start(Config::default());
    let mut client = server.connect().await;
    let (first, second) = BODY.split_at(100);
    let chunked = format!(
        "POST /hungry/move HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{first}\r\n{:x}\r\n{second}\r\n0\r\n\r\n",
        first.len(),
        second.len()
    );
    for text in [chunked, post("/hungry/move", BODY)] {
        for piece in text.as_bytes().chunks(1) {
            client.stream.write_all(piece).await.expect("the server reads");
            tokio::task::yield_now().await;
        }
        Client::expect(client.answer().await, 200, UP);
    }
}

#[tokio::test(start_paused = true)]
async fn an_expected_continue_is_sent() {
    let server = Server::start(Config::default());
    let mut client = server.connect().await;
    let text = post("/hungry/move", BODY).replace("host: bots", "expect: 100-continue");
    let (head, body) = text.split_at(text.len() - BODY.len());
    client.send(head).await;
    Client::expect(client.answer().await, 100, "");
    client.send(body).await;
    Client::expect(client.answer().await, 200, UP);
}

#[tokio::test(start_paused = true)]
async fn thinking_takes_the_time_in_the_url() {
    let server = Server::start(Config { think: Duration::from_millis(200), ..Config::default() });
    let mut client = server.connect().await;
    for (path, expected_ms) in [("/hungry/move", 200), ("/hungry/think-3s/move", 3_000), ("/hungry/think-0/move", 0)] {
        let begin = Instant::now();
        client.send(&post(path, BODY)).await;
        Client::expect(client.answer().await, 200, UP);
        let taken = begin.elapsed();
        // Tokio's timers fire on whole milliseconds, the next one at the latest.
        let expected = Duration::from_millis(expected_ms);
        assert!(taken >= expected && taken <= expected + Duration::from_millis(2), "{path}: {taken:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn late_is_after_the_timeout_of_the_match() {
    let faults = Faults::new(1.0, 0.0, 0.0).expect("in range");
    let server = Server::start(Config { faults, ..Config::default() });
    let mut client = server.connect().await;
    let begin = Instant::now();
    client.send(&post("/hungry/move", BODY)).await;
    Client::expect(client.answer().await, 200, UP);
    assert!(begin.elapsed() >= Duration::from_millis(500) + limits::LATE_MARGIN);
    client.send(&post("/hungry/start", BODY)).await;
    Client::expect(client.answer().await, 200, "{}");
    assert_eq!(server.metrics(["moves_total", "faults_total{kind=\"late\"}"]).await, [1, 1]);
    server.stop().await;
}

/// What the bot at `path` answers in turns 0 to 31, in short.
async fn story(server: &Server, path: &str) -> Vec<&'static str> {
    let mut story = Vec::new();
    for turn in 0..32 {
        let mut client = server.connect().await;
        client.send(&post(path, &BODY.replace(r#""turn":4"#, &format!(r#""turn":{turn}"#)))).await;
        story.push(match client.answer().await {
            None => "hung up",
            Some(answer) if answer.status == 500 => "error",
            Some(answer) if answer.body.len() == limits::HUGE_BODY_BYTES => "huge",
            Some(answer) if answer.body == UP => "good",
            Some(answer) if answer.body.contains("sideways") => "no such move",
            Some(answer) if answer.body == r#"{"move":"up"# => "broken",
            Some(answer) => panic!("{answer:?}"),
        });
    }
    story
}

#[tokio::test(start_paused = true)]
async fn garbage_and_refusals_come_in_kinds_and_twice_the_same() {
    let server = Server::start(Config::default());
    let garbage = story(&server, "/hungry/garbage-1/move").await;
    let refused = story(&server, "/hungry/refuse-1/move").await;
    let mixed = story(&server, "/hungry/garbage-0.3/refuse-0.3/move").await;
    assert!(["huge", "no such move", "broken"].iter().all(|kind| garbage.contains(kind)), "{garbage:?}");
    assert!(!garbage.contains(&"good"));
    assert!(["hung up", "error"].iter().all(|kind| refused.contains(kind)), "{refused:?}");
    assert!(refused.iter().all(|kind| ["hung up", "error"].contains(kind)));
    assert!(mixed.contains(&"good") && mixed.iter().any(|&kind| kind != "good"), "{mixed:?}");
    assert_eq!(story(&server, "/hungry/garbage-0.3/refuse-0.3/move").await, mixed);
    assert_ne!(story(&server, "/hungry/garbage-0.3/refuse-0.3/seed-1/move").await, mixed);
    let faults = ["faults_total{kind=\"garbage\"}", "faults_total{kind=\"refuse\"}"];
    assert_eq!(server.metrics(["moves_total", "refused_total"]).await, [32 * 5, 0]);
    assert!(server.metrics(faults).await.iter().all(|count| *count > 32));
    server.stop().await;
}

#[tokio::test(start_paused = true)]
async fn idle_connections_end_and_so_do_unfinished_requests() {
    let server = Server::start(Config::default());
    let begin = Instant::now();
    let (mut idle, mut slow) = (server.connect().await, server.connect().await);
    idle.send(&get("/healthz")).await;
    Client::expect(idle.answer().await, 200, "ok");
    slow.send(&post("/hungry/move", BODY)[..200]).await;
    Client::expect(slow.answer().await, 408, "request_unfinished");
    assert!(begin.elapsed() <= limits::TICK_INTERVAL * (limits::PARTIAL_TICKS_MAX + 1));
    assert_eq!(slow.answer().await, None);
    assert_eq!(idle.answer().await, None);
    let patience = limits::TICK_INTERVAL * limits::IDLE_TICKS_MAX;
    assert!(begin.elapsed() + limits::TICK_INTERVAL >= patience && begin.elapsed() <= patience + limits::TICK_INTERVAL);
}

#[tokio::test(start_paused = true)]
async fn shutdown_closes_the_idle_and_lets_the_thinking_finish() {
    let server = Server::start(Config::default());
    let (mut idle, mut quick, mut slow) = (server.connect().await, server.connect().await, server.connect().await);
    idle.send(&get("/healthz")).await;
    Client::expect(idle.answer().await, 200, "ok");
    quick.send(&post("/hungry/think-1s/move", BODY)).await;
    slow.send(&post("/hungry/think-30s/move", BODY)).await;
    until_moves(&mut idle, 2).await;
    let begin = Instant::now();
    server.stop().await;
    assert!(begin.elapsed() <= limits::DRAIN_TIMEOUT + Duration::from_millis(2), "{:?}", begin.elapsed());
    Client::expect(quick.answer().await, 200, UP);
    assert_eq!((slow.answer().await, idle.answer().await), (None, None));
}

/// Reads the metrics until the server has decided `moves` moves.
async fn until_moves(client: &mut Client, moves: u32) {
    let line = format!("gauntlet_bots_moves_total {moves}\n");
    loop {
        client.send(&get("/metrics")).await;
        if client.answer().await.expect("an answer").body.contains(&line) {
            return;
        }
    }
}
