//! The three deliveries of a table's feed, as clients see them: at the server itself, behind nginx, and at a node that
//! does not own the table. Each must be as good as the first.

use crate::support::connection::{HttpConnection, Socket, SocketEvent};
use crate::support::{Folder, Server, until};
use serde_json::{Value, json};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command};
use store::testing::PostgresCluster;

/// The close code of a server that leaves (RFC 6455 registry: service restart).
const RESTART: u16 = 1012;

/// A table, and the route that clients take to it.
struct Table<'a> {
    /// The server that owns the table.
    home: &'a Server,
    /// The address that clients use.
    front: SocketAddr,
    id: String,
    /// Its first game.
    game: String,
    token: String,
    player: String,
}

impl<'a> Table<'a> {
    fn open(home: &'a Server, front: SocketAddr) -> Self {
        let guest = HttpConnection::open(home.address(), "").request_ok(
            "POST /api/stories/guests",
            &json!({ "name": "Ann" }),
            201,
        );
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let (token, player) = (text(&guest["token"]), text(&guest["player"]));
        let state = HttpConnection::open(home.address(), &token).request_ok("POST /api/stories/games", &json!({}), 201);
        Self { home, front, id: text(&state["table"]), game: text(&state["game"]["id"]), token, player }
    }

    fn feed(&self, query: &str) -> String {
        format!("GET /api/stories/tables/{}/feed{query}", self.id)
    }

    /// A connection of the one who opened it.
    fn connect(&self) -> HttpConnection {
        HttpConnection::open(self.front, &self.token)
    }

    /// Where the one who opened it is.
    fn seq(&self) -> u64 {
        self.connect().request_ok(&self.feed(""), &Value::Null, 200)["seq"].as_u64().unwrap()
    }

    /// Sends a line of chat, which only members receive.
    fn send_chat(&self, text: &str) {
        self.act(&format!("tables/{}/chat", self.id), &json!({ "text": text }));
    }

    /// A change that all viewers receive.
    fn set_bots(&self, are_on: bool) {
        self.act(&format!("games/{}/bots", self.game), &json!({ "are_on": are_on }));
    }

    fn act(&self, what: &str, body: &Value) {
        let state = self.connect().request_ok(&format!("POST /api/stories/{what}"), body, 200);
        assert!(state["committed_at_us"].is_i64(), "{state}");
    }

    /// Waits until so many requests are parked at the table's home.
    fn parked(&self, want: u64) {
        until(&format!("{want} requests are parked"), || {
            let page = self.home.get("/metrics", "");
            page.lines().any(|line| line == format!("gauntlet_http_parked {want}")).then_some(())
        });
    }
}

/// Whether bots may play, as it was set: of a message.
fn switched(update: &Value) -> Vec<bool> {
    update["events"].as_array().unwrap().iter().filter_map(|event| event["are_on"].as_bool()).collect()
}

/// The texts of chat in a message or a response.
fn texts(update: &Value) -> Vec<&str> {
    update["events"].as_array().unwrap().iter().filter_map(|event| event["text"].as_str()).collect()
}

fn check_polls(table: &Table) {
    let (mut connection, seq) = (table.connect(), table.seq());
    let nothing = connection.request_ok(&table.feed(&format!("?after={seq}&wait=100ms")), &Value::Null, 200);
    let empty = json!({ "seq": seq, "events": [], "timed_out": true, "committed_at_us": null,
        "presence": { "online": [table.player] } });
    assert_eq!(nothing, empty);
    for (text, seq) in [("one", seq), ("two", seq + 1)] {
        connection.send(&table.feed(&format!("?after={seq}&wait=5m")), "", &Value::Null);
        table.parked(1);
        table.send_chat(text);
        let (head, update) = connection.response();
        assert_eq!((head.status, texts(&update), update["seq"].as_u64()), (200, vec![text], Some(seq + 1)), "{update}");
        assert!(update["committed_at_us"].is_i64() && update["timed_out"] == false, "{update}");
        assert_eq!(head.header("cache-control"), Some("no-store"));
        assert!(head.header("x-request-id").is_some(), "{head:?}");
    }
    // Who is behind does not wait.
    let update = connection.request_ok(&table.feed(&format!("?after={seq}&wait=10m")), &Value::Null, 200);
    assert_eq!(texts(&update), ["one", "two"]);
    let lost = connection.request_ok(&table.feed(&format!("?after={}&wait=10m", seq + 1_000)), &Value::Null, 410);
    assert_eq!((&lost["code"], &lost["seq"]), (&json!("cursor_too_old"), &json!(seq + 2)));
    assert_eq!(lost["view"]["table"], json!(table.id));
    let refused = connection.request_ok(&table.feed("?after=0&wait=11m"), &Value::Null, 400);
    assert_eq!((&refused["code"], &refused["field"]), (&json!("bad_value"), &json!("wait")));
}

const STREAM: &str = "Accept: text/event-stream\r\n";

fn check_streams(table: &Table) {
    // A visitor's: their numbers are their own.
    let (mut connection, mut buffer) = (HttpConnection::open(table.front, ""), String::new());
    connection.send(&table.feed(""), STREAM, &Value::Null);
    let head = connection.head();
    assert_eq!((head.status, head.header("content-type")), (200, Some("text/event-stream")), "{head:?}");
    let (seq, view) = connection.event(&mut buffer).unwrap();
    assert_eq!((&view["type"], &view["role"], &view["seq"]), (&json!("view"), &json!("visitor"), &json!(seq)));
    table.parked(1);
    table.set_bots(true);
    let (id, update) = connection.event(&mut buffer).unwrap();
    assert_eq!((id, &update["type"], switched(&update)), (seq + 1, &json!("update"), vec![true]));
    drop(connection);
    table.parked(0);
    table.set_bots(false);
    // The URL still has the first cursor; the last received one takes precedence.
    let (mut connection, mut buffer) = (HttpConnection::open(table.front, ""), String::new());
    let headers = format!("{STREAM}Last-Event-ID: {id}\r\n");
    connection.send(&table.feed(&format!("?after={seq}")), &headers, &Value::Null);
    assert_eq!(connection.head().status, 200);
    let (id, update) = connection.event(&mut buffer).unwrap();
    assert_eq!((id, switched(&update)), (seq + 2, vec![false]));
}

fn check_sockets(table: &Table) {
    let path = format!("/api/stories/tables/{}/socket", table.id);
    let socket = Socket::open(table.front, &path, &table.token);
    let view = socket.message();
    assert_eq!((&view["type"], &view["role"]), (&json!("view"), &json!("storyteller")), "{view}");
    let seq = view["seq"].as_u64().unwrap();
    table.send_chat("three");
    let update = socket.message();
    assert_eq!((&update["type"], texts(&update), &update["seq"]), (&json!("update"), vec!["three"], &json!(seq + 1)));
    drop(socket);
    table.send_chat("four");
    let socket = Socket::open(table.front, &format!("{path}?after={seq}"), &table.token);
    assert_eq!(texts(&socket.message()), ["three", "four"]);
    let refused = table.connect().request_ok(&format!("GET {path}"), &Value::Null, 426);
    assert_eq!(refused["code"], "upgrade_required");
}

/// Clients that wait when the server stops get a response, in order.
fn check_drain(table: &Table, leave: impl FnOnce()) {
    let (mut poll, mut stream, mut buffer) = (table.connect(), table.connect(), String::new());
    let seq = table.seq();
    let path = format!("/api/stories/tables/{}/socket?after={seq}", table.id);
    let socket = Socket::open(table.front, &path, &table.token);
    poll.send(&table.feed(&format!("?after={seq}&wait=10m")), "", &Value::Null);
    stream.send(&table.feed(&format!("?after={seq}")), STREAM, &Value::Null);
    assert_eq!(stream.head().status, 200);
    table.parked(2);
    leave();
    let (head, nothing) = poll.response();
    assert_eq!((head.status, &nothing["seq"], texts(&nothing)), (200, &json!(seq), vec![]), "{nothing}");
    assert_eq!(stream.event(&mut buffer), None);
    assert_eq!(socket.next(), Some(SocketEvent::Closed(Some(RESTART))));
}

fn check(table: &Table) {
    check_polls(table);
    check_streams(table);
    check_sockets(table);
}

#[test]
fn feeds_reach_clients_of_the_server() {
    let folder = Folder::new();
    let mut server = folder.serve("");
    let table = Table::open(&server, server.address());
    check(&table);
    check_drain(&table, || server.signal(rustix::process::Signal::TERM));
    assert_eq!(server.code(), Some(0), "{}", server.log());
}

/// nginx with the configuration that the documentation names; ended with its owner.
struct Nginx(Child, SocketAddr);

impl Nginx {
    fn start(folder: &Folder, upstream: &Server) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/peers/nginx.conf");
        let text = std::fs::read_to_string(file).unwrap();
        let text = text.replace("@PORT@", &free.port().to_string());
        folder.write("nginx.conf", &text.replace("@UPSTREAM@", &upstream.address().port().to_string()));
        let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin";
        let mut command = Command::new("nginx");
        command.env("PATH", path).arg("-p").arg(folder.path()).args(["-c", "nginx.conf"]);
        let mut child = command.stderr(std::process::Stdio::null()).spawn().expect("make test installs nginx");
        until("nginx listens", || {
            let ended = child.try_wait().unwrap();
            assert!(
                ended.is_none(),
                "{}",
                std::fs::read_to_string(folder.path().join("error.log")).unwrap_or_default()
            );
            TcpStream::connect(free).ok()
        });
        Self(child, free)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // The master ends its worker on SIGTERM; on SIGKILL it could not.
        let _ = rustix::process::kill_process(rustix::process::Pid::from_child(&self.0), rustix::process::Signal::TERM);
        let _ = self.0.wait();
    }
}

#[test]
fn feeds_reach_clients_behind_nginx_as_without_it() {
    let folder = Folder::new();
    let mut server = folder.serve("");
    let nginx = Nginx::start(&folder, &server);
    let table = Table::open(&server, nginx.1);
    check(&table);
    check_drain(&table, || server.signal(rustix::process::Signal::TERM));
    assert_eq!(server.code(), Some(0), "{}", server.log());
}

/// What only another node in between could spoil.
fn check_forwarded(table: &Table) {
    // A client that goes ends its wait there, too; what it pipelined does not hide that it went.
    let wait = table.feed(&format!("?after={}&wait=10m", table.seq()));
    for headers in ["", "Connection: upgrade\r\nUpgrade: h2c\r\n"] {
        let mut connection = table.connect();
        connection.send(&wait, headers, &Value::Null);
        connection.send("GET /healthz", "", &Value::Null);
        table.parked(1);
        drop(connection);
        table.parked(0);
    }
    // Only a node can mark a request as forwarded.
    let mut connection = table.connect();
    connection.send(&table.feed(""), "X-Gauntlet-Forwarded: 1\r\n", &Value::Null);
    assert_eq!(connection.response().0.status, 200);
    // A page of the node that serves it opens a socket by its cookie; another page does not.
    let path = format!("GET /api/stories/tables/{}/socket", table.id);
    for (origin, want) in [(table.front.to_string(), 101), ("evil.example".to_owned(), 403)] {
        let headers = format!(
            "Origin: http://{origin}\r\nCookie: gauntlet_session={}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
            table.token
        );
        let mut connection = HttpConnection::open(table.front, "");
        connection.send(&path, &headers, &Value::Null);
        assert_eq!(connection.head().status, want, "{origin}");
    }
    let mut connection = table.connect();
    connection.send(&table.feed("").replacen("GET", "HEAD", 1), "", &Value::Null);
    let head = connection.head();
    assert!(head.header("content-length").is_some_and(|length| length != "0"), "{head:?}");
}

/// Clients that wait at another node when the one in between stops get a response, in order.
fn check_sent_away(table: &Table, leave: impl FnOnce()) {
    let (mut poll, mut stream, mut buffer) = (table.connect(), table.connect(), String::new());
    let after = format!("?after={}", table.seq());
    let socket = Socket::open(table.front, &format!("/api/stories/tables/{}/socket{after}", table.id), &table.token);
    poll.send(&table.feed(&format!("{after}&wait=10m")), "", &Value::Null);
    stream.send(&table.feed(&after), STREAM, &Value::Null);
    assert_eq!(stream.head().status, 200);
    table.parked(2);
    leave();
    let (head, problem) = poll.response();
    assert_eq!((head.status, &problem["code"]), (503, &json!("table_elsewhere")), "{problem}");
    assert_eq!(stream.event(&mut buffer), None);
    assert_eq!(socket.next(), Some(SocketEvent::Closed(Some(RESTART))));
    // At the owner no client waits any more.
    table.parked(0);
}

#[test]
fn clients_waiting_at_a_node_that_dies_are_told_to_retry() {
    let (cluster, folder) = (PostgresCluster::start(), Folder::new());
    let url = crate::support::as_url(&cluster.new_empty_database_url());
    folder.write("gauntlet.toml", &format!("[store]\nurl = \"{url}\"\n"));
    let (owner, other) = (folder.serve(""), folder.serve(""));
    let table = Table::open(&owner, other.address());
    let mut connection = table.connect();
    connection.send(&table.feed(&format!("?after={}&wait=10m", table.seq())), "", &Value::Null);
    table.parked(1);
    owner.kill();
    let (head, problem) = connection.response();
    assert_eq!((head.status, head.header("retry-after")), (503, Some("1")), "{problem}");
}

#[test]
fn a_request_that_is_sent_on_is_charged_once() {
    let (cluster, folder) = (PostgresCluster::start(), Folder::new());
    let url = crate::support::as_url(&cluster.new_empty_database_url());
    folder.write("gauntlet.toml", &format!("[store]\nurl = \"{url}\"\n[limiter]\npolicies = \"policies.toml\"\n"));
    let policy =
        "[[policy]]\nname = \"guests\"\nclass = \"gateway.guest.write\"\nkey = \"guest:*\"\nalgorithm = \"log\"\n";
    folder.write("policies.toml", &format!("{policy}limit = 2\nwindow = \"1h\"\n"));
    let (owner, other) = (folder.serve(""), folder.serve(""));
    let table = Table::open(&owner, other.address());
    // Each node counts for itself: at the owner there is still everything left of what was charged in between.
    for address in [other.address(), owner.address()] {
        let mut connection = HttpConnection::open(address, &table.token);
        let mut request = |want| {
            connection.request_ok(
                &format!("POST /api/stories/tables/{}/chat", table.id),
                &json!({ "text": "hi" }),
                want,
            )
        };
        request(200);
        request(200);
        assert_eq!(request(429)["code"], "rate_limited", "at {address}");
    }
}

#[test]
fn feeds_reach_clients_of_a_node_that_does_not_own_the_table() {
    let (cluster, folder) = (PostgresCluster::start(), Folder::new());
    let url = crate::support::as_url(&cluster.new_empty_database_url());
    folder.write("gauntlet.toml", &format!("[store]\nurl = \"{url}\"\n"));
    let (owner, mut other) = (folder.serve(""), folder.serve(""));
    let table = Table::open(&owner, other.address());
    check(&table);
    check_forwarded(&table);
    let sent_on = other.get("/metrics", "");
    let sent_on = sent_on.lines().find_map(|line| line.strip_prefix("gauntlet_forwards_total ")).unwrap();
    assert!(sent_on.parse::<u64>().unwrap() > 10, "{sent_on}");
    check_sent_away(&table, || other.signal(rustix::process::Signal::TERM));
    assert_eq!(other.code(), Some(0), "{}", other.log());
}
