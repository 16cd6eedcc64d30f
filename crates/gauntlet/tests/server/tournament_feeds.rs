//! The feed of a tournament as clients receive it, by long poll, event stream and WebSocket: each brings the whole log, each event once,
//! over the death of the server and from another node.

use crate::support::bots::Bots;
use crate::support::connection::{HttpConnection, Socket, SocketEvent};
use crate::support::{Folder, Server, TOKEN, as_url, until};
use serde_json::{Value, json};
use std::time::Duration;
use store::testing::PostgresCluster;

/// The close code of a server that leaves (RFC 6455 registry: service restart).
const RESTART: u16 = 1012;
const STREAM: &str = "Accept: text/event-stream\r\n";
const BOTS: [&str; 4] = ["last-5", "last-9", "last-13", "last-17"];

/// A tournament without entrants yet: its path.
fn create(server: &Server, is_public: bool) -> String {
    let wanted = json!({"name": "cup", "seed": 7, "is_public": is_public, "game": {"timeout_ms": 10_000}});
    let created = server.request_ok("POST /api/tournaments", &wanted);
    format!("/api/tournaments/{}", created["id"].as_str().unwrap())
}

/// Starts it with four bots.
fn start(server: &Server, bots: &Bots, path: &str) {
    for snake in server.register(bots, &BOTS) {
        server.request_ok(&format!("POST {path}/entries"), &json!({ "snake_id": snake }));
    }
    server.request_ok(&format!("POST {path}/start"), &Value::Null);
}

/// Waits for the end; the number of its last event.
fn last_seq(server: &Server, path: &str) -> u64 {
    until("it is finished", || {
        let tournament = server.request_ok(&format!("GET {path}"), &Value::Null);
        (tournament["status"] == "finished").then(|| tournament["seq"].as_u64().unwrap())
    })
}

/// All events of a feed, put together from its pages.
#[derive(Debug, Default, PartialEq)]
struct Log(Vec<Value>);

impl Log {
    fn seq(&self) -> u64 {
        self.0.len() as u64
    }

    /// Takes in a page, which must follow on what is there.
    #[track_caller]
    fn add(&mut self, page: &Value) {
        for event in page["events"].as_array().unwrap() {
            assert_eq!(event["seq"], self.seq() + 1, "an event is missing, or came twice");
            self.0.push(event.clone());
        }
        assert_eq!(page["seq"], self.seq());
    }

    fn poll(&mut self, server: &Server, path: &str, last: u64) {
        let mut connection = HttpConnection::open(server.address(), TOKEN);
        while self.seq() < last {
            let line = format!("GET {path}/feed?after={}&wait=30s", self.seq());
            self.add(&connection.request_ok(&line, &Value::Null, 200));
        }
    }
}

/// An event stream from behind this event on.
struct Stream(HttpConnection, String);

impl Stream {
    fn open(server: &Server, path: &str, last_event_id: u64) -> Self {
        let mut connection = HttpConnection::open(server.address(), TOKEN);
        // The URL has the first cursor still; the last received one takes precedence.
        let headers = format!("{STREAM}Last-Event-ID: {last_event_id}\r\n");
        connection.send(&format!("GET {path}/feed?after=0"), &headers, &Value::Null);
        let head = connection.head();
        assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")), "{head:?}");
        Self(connection, String::new())
    }

    fn read_to(&mut self, log: &mut Log, last: u64) {
        while log.seq() < last {
            let (id, page) = self.0.event(&mut self.1).expect("the stream goes on");
            log.add(&page);
            assert_eq!(id, log.seq(), "the id of a message is the cursor behind it");
        }
    }
}

fn read_socket_to(socket: &Socket, log: &mut Log, last: u64) {
    while log.seq() < last {
        log.add(&socket.message());
    }
}

#[test]
fn each_feed_brings_the_whole_log_over_a_kill() {
    let (bots, folder) = (Bots::start(Duration::ZERO), Folder::new());
    let server = folder.serve_games("");
    let path = create(&server, true);
    let (mut streamed, mut pushed, mut polled) = (Log::default(), Log::default(), Log::default());
    let mut stream = Stream::open(&server, &path, 0);
    let socket = Socket::open(server.address(), &format!("{path}/socket"), "");
    start(&server, &bots, &path);
    stream.read_to(&mut streamed, 7);
    read_socket_to(&socket, &mut pushed, 6);
    server.kill();
    let server = folder.serve_games("");
    let mut stream = Stream::open(&server, &path, streamed.seq());
    let socket = Socket::open(server.address(), &format!("{path}/socket?after={}", pushed.seq()), "");
    let last = last_seq(&server, &path);
    stream.read_to(&mut streamed, last);
    read_socket_to(&socket, &mut pushed, last);
    polled.poll(&server, &path, last);
    assert_eq!((&streamed, &pushed), (&polled, &polled));
    let kinds: Vec<_> = polled.0.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert_eq!(kinds[..5], ["entered", "entered", "entered", "entered", "started"]);
    let count = |kind: &str| kinds.iter().filter(|have| **have == kind).count();
    // Three pairings; a drawn game is played again.
    assert!(count("game_played") >= 3 && count("game_created") == count("game_played"), "{kinds:?}");
}

#[test]
fn feeds_of_another_node_follow_what_the_leader_does() {
    let (cluster, bots, folder) = (PostgresCluster::start(), Bots::start(Duration::ZERO), Folder::new());
    let url = as_url(&cluster.new_empty_database_url());
    folder.write("gauntlet.toml", &format!("[store]\nurl = \"{url}\"\n"));
    let leader = folder.serve_games("");
    let path = create(&leader, true);
    // It leads nothing: what it shows, it finds in the database.
    let other = folder.serve_games("");
    let (mut streamed, mut pushed) = (Log::default(), Log::default());
    let mut stream = Stream::open(&other, &path, 0);
    let socket = Socket::open(other.address(), &format!("{path}/socket"), "");
    start(&leader, &bots, &path);
    let last = last_seq(&leader, &path);
    stream.read_to(&mut streamed, last);
    read_socket_to(&socket, &mut pushed, last);
    assert_eq!(streamed, pushed);
}

#[test]
fn feeds_end_in_order_when_the_server_leaves() {
    let folder = Folder::new();
    let mut server = folder.serve_games("");
    let path = create(&server, true);
    let mut stream = Stream::open(&server, &path, 0);
    let socket = Socket::open(server.address(), &format!("{path}/socket"), "");
    let mut poll = HttpConnection::open(server.address(), TOKEN);
    poll.send(&format!("GET {path}/feed?wait=10m"), "", &Value::Null);
    until("two requests are parked", || {
        server.get("/metrics", "").lines().any(|line| line == "gauntlet_http_parked 2").then_some(())
    });
    server.signal(rustix::process::Signal::TERM);
    let (head, nothing) = poll.response();
    assert_eq!((head.status, nothing), (200, json!({"seq": 0, "timed_out": true, "is_over": false, "events": []})));
    assert_eq!(stream.0.event(&mut stream.1), None);
    assert_eq!(socket.next(), Some(SocketEvent::Closed(Some(RESTART))));
    assert_eq!(server.code(), Some(0), "{}", server.log());
}

#[test]
fn feeds_that_cannot_be_followed_are_refused_before_they_begin() {
    let folder = Folder::new();
    let server = folder.serve_games("");
    let (private, public) = (create(&server, false), create(&server, true));
    const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                           Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    #[track_caller]
    fn check(server: &Server, line: &str, headers: &str, want: u16, code: &str) {
        let mut connection = HttpConnection::open(server.address(), "");
        connection.send(line, headers, &Value::Null);
        let (head, problem) = connection.response();
        assert_eq!((head.status, &problem["code"]), (want, &json!(code)), "{line}: {problem}");
        assert_eq!(head.header("content-type"), Some("application/problem+json"));
    }
    for (feed, headers) in [("feed", ""), ("feed", STREAM), ("socket", UPGRADE)] {
        check(&server, &format!("GET {private}/{feed}"), headers, 404, "no_such_tournament");
        check(&server, &format!("GET {public}/{feed}?after=1"), headers, 400, "bad_value");
        check(&server, &format!("GET {public}/{feed}?after=-1"), headers, 400, "bad_query");
    }
    check(&server, &format!("GET {public}/feed"), &format!("{STREAM}Last-Event-ID: one\r\n"), 400, "bad_value");
    check(&server, &format!("GET {public}/socket"), "", 426, "upgrade_required");
}
