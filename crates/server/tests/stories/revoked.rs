//! Feeds end with their token: every transport of a feed, at the node that owns the table and at one that forwards to it, wherever the
//! token is deleted. Two nodes here are two servers with listeners of their own on one database.

use crate::connections::{Socket, Stream, listen_at};
use crate::test_server::TestServer;
use engine::ids::PlayerId;
use engine::rows::TokenPurpose;
use gateway::guests::Guest;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use store::testing::MemoryDatabase;
use store::{Backend, Database, Reader, StoreError};
use tokio::net::TcpListener;
use tokio::task::yield_now;

/// The memory store, as if other processes shared it.
#[derive(Clone)]
struct Shared(MemoryDatabase);

impl Database for Shared {
    fn writer(&self) -> Result<Box<dyn Backend>, StoreError> {
        self.0.writer()
    }
    fn reader(&self) -> Result<Box<dyn Reader>, StoreError> {
        self.0.reader()
    }
    fn is_shared(&self) -> bool {
        true
    }
    fn kind(&self) -> &'static str {
        "shared memory"
    }
}

struct Node {
    server: TestServer,
    address: SocketAddr,
}

impl Node {
    async fn open(database: Arc<dyn Database>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = TestServer::open_with(database, |config| config.set_address(address)).await;
        tokio::spawn(server::background_jobs::run(server.app.clone()));
        listen_at(&server, listener);
        Self { server, address }
    }

    async fn feeds_held(&self, count: usize) {
        while self.server.app.tables.totals().waiters != count {
            yield_now().await;
        }
    }
}

/// A poll, a stream and a socket of one viewer.
struct Feeds(Stream, Stream, Socket);

impl Feeds {
    async fn open(front: &Node, table: &str, after: u64, token: &str) -> Self {
        let feed = format!("{table}/feed?after={after}");
        Self(
            Stream::ask(front.address, &format!("{feed}&wait=10m"), token, "*/*").await,
            Stream::open(front.address, &feed, token).await,
            Socket::open(front.address, &format!("{table}/socket?after={after}"), token).await,
        )
    }

    async fn end(self, code: &str) {
        let poll = self.0.until_end("}").await;
        assert!(poll.starts_with("HTTP/1.1 401 ") && poll.contains(&format!("\"code\":\"{code}\"")), "{poll}");
        assert!(poll.contains("www-authenticate: Bearer") || poll.contains("WWW-Authenticate: Bearer"), "{poll}");
        let stream = self.1.until_end("\r\n0\r\n\r\n").await;
        let last = stream.rsplit("event: problem\ndata: ").next().unwrap();
        let problem: Value = serde_json::from_str(last.split('\n').next().unwrap()).unwrap();
        assert_eq!((&problem["status"], &problem["code"]), (&json!(401), &json!(code)), "{stream}");
        assert_eq!(self.2.close().await, (1008, code.to_owned()));
    }
}

async fn token(server: &TestServer) -> (String, String) {
    let made = server.call("POST /api/tokens").json(&json!({ "name": "feeds" })).check("201").await.body;
    let text = |member: &str| made[member].as_str().unwrap().to_owned();
    (text("id"), text("secret"))
}

/// A socket on which this is sent closes with this.
async fn check_closed(bytes: &[u8], want: (u16, &str)) {
    let node = Node::open(Arc::new(MemoryDatabase::new())).await;
    let opened = node.server.call("POST /api/stories/games").json(&json!({})).check("201").await.body;
    let path = format!("/api/stories/tables/{}/socket?after={}", opened["table"].as_str().unwrap(), opened["seq"]);
    let mut socket = Socket::open(node.address, &path, "").await;
    socket.send_raw(bytes).await;
    assert_eq!(socket.close().await, (want.0, want.1.to_owned()));
}

/// Masked with zeros: the bytes are unchanged.
#[tokio::test]
async fn a_socket_with_too_much_or_invalid_data_closes_with_a_reason() {
    check_closed(&[0x83, 0x80, 0, 0, 0, 0], (1002, "malformed")).await;
    check_closed(&[0x81, 0x81, 0, 0, 0, 0, 0xff], (1007, "malformed")).await;
    check_closed(&[0x82, 0xfe, 0x20, 0, 0, 0, 0, 0], (1009, "oversized")).await;
    let pongs = [0x8a, 0x80, 0, 0, 0, 0].repeat(engine::limits::WORLD_FRAMES_BURST as usize + 2);
    check_closed(&pongs, (1008, "too_fast")).await;
}

/// A table at `home`, followed at `front`, with a token that is deleted at `by`.
async fn check(home: &Node, front: &Node, by: &Node) {
    let (id, secret) = token(&home.server).await;
    let opened = home.server.call("POST /api/stories/games").by(&secret).json(&json!({})).check("201").await.body;
    let table = format!("/api/stories/tables/{}", opened["table"].as_str().unwrap());
    let after = opened["seq"].as_u64().unwrap();
    let feeds = Feeds::open(front, &table, after, &secret).await;
    // Another token of the same account, and no token.
    let mut other = Stream::open(front.address, &format!("{table}/feed?after={after}"), "player").await;
    let mut visitor = Stream::open(front.address, &format!("{table}/feed?after=1"), "").await;
    home.feeds_held(5).await;
    by.server.call(&format!("DELETE /api/tokens/{id}")).check("204").await;
    feeds.end("token_unknown").await;
    assert_eq!(home.server.sample("gauntlet_grants_revoked_total"), 3);
    let game = opened["game"]["id"].as_str().unwrap();
    home.server
        .call(&format!("POST /api/stories/games/{game}/bots"))
        .json(&json!({ "are_on": true }))
        .check("200")
        .await;
    other.until(after + 1).await;
    visitor.until(2).await;
}

#[tokio::test]
async fn a_deleted_token_ends_its_feeds() {
    let node = Node::open(Arc::new(MemoryDatabase::new())).await;
    check(&node, &node, &node).await;
}

#[tokio::test]
async fn a_token_deleted_on_another_node_ends_its_feeds() {
    let database = Arc::new(Shared(MemoryDatabase::new()));
    let (home, other) = (Node::open(database.clone()).await, Node::open(database).await);
    check(&home, &home, &other).await;
}

#[tokio::test]
async fn a_deleted_token_ends_forwarded_feeds() {
    let database = Arc::new(Shared(MemoryDatabase::new()));
    let (home, other) = (Node::open(database.clone()).await, Node::open(database).await);
    check(&home, &other, &other).await;
}

#[tokio::test]
async fn a_guests_feeds_end_with_the_token() {
    let node = Node::open(Arc::new(MemoryDatabase::new())).await;
    let opened = node.server.call("POST /api/stories/games").json(&json!({})).check("201").await.body;
    let table = format!("/api/stories/tables/{}", opened["table"].as_str().unwrap());
    let app = &node.server.app;
    let expires_at = app.node.clock.now().plus(Duration::from_secs(3));
    let guest = Guest { player: PlayerId(7), name: "Gus".to_owned(), purpose: TokenPurpose::Use, expires_at };
    let token = app.guests.issue(&guest).await.unwrap();
    Feeds::open(&node, &table, 1, &token).await.end("token_expired").await;
}

/// The feeds of an account, and of an address without a token, at a node other than that at which the ban is made.
#[tokio::test]
async fn a_ban_ends_the_feeds_of_the_banned_on_every_node() {
    let database = Arc::new(Shared(MemoryDatabase::new()));
    let (home, other) = (Node::open(database.clone()).await, Node::open(database).await);
    let opened = home.server.call("POST /api/stories/games").json(&json!({})).check("201").await.body;
    let table = format!("/api/stories/tables/{}", opened["table"].as_str().unwrap());
    let after = opened["seq"].as_u64().unwrap();
    let banned = Stream::open(home.address, &format!("{table}/feed?after={after}"), "bob").await;
    let socket = Socket::open(home.address, &format!("{table}/socket?after={after}"), "bob").await;
    let visitor = Stream::open(home.address, &format!("{table}/feed?after={after}"), "").await;
    home.feeds_held(3).await;
    let bob = crate::test_server::BOB.to_string();
    let ban = async |body: Value| {
        let call = other.server.call("POST /api/admin/bans").by("operator").from("192.0.2.1");
        call.json(&body).check("201").await
    };
    ban(json!({ "account": bob, "reason": "cheats" })).await;
    let last = banned.until_end("\r\n0\r\n\r\n").await;
    assert!(last.contains("\"code\":\"banned\"") && last.contains("cheats"), "{last}");
    assert_eq!(socket.close().await, (1008, "banned: cheats".to_owned()));
    assert_eq!(home.server.sample("gauntlet_grants_revoked_total"), 2);
    ban(json!({ "address": "127.0.0.0/8", "reason": "floods" })).await;
    let last = visitor.until_end("\r\n0\r\n\r\n").await;
    assert!(last.contains("\"code\":\"banned\"") && last.contains("floods"), "{last}");
}
