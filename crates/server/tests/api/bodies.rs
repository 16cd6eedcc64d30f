//! How long bodies may be by their routes, and what bodies under way may take together, over a real socket.

use crate::test_server::{BOB, TestServer};
use axum::body::Body;
use futures_util::{StreamExt, stream};
use gateway::listener::{ListenerConfig, serve};
use http::StatusCode;
use serde_json::{Value, json};
use settings::Networks;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use store::testing::MemoryDatabase;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

const SMALL: usize = 16 * 1024;
const LIST: usize = 64 * 1024;
const KIB: usize = 1_024;

/// A body that says it is so long is taken, and one byte more is refused before any of it has come.
async fn check(server: &TestServer, line: &str, by: &str, longest: usize) {
    let call = |bytes: usize| {
        let call = server.call(line).by(by).header("content-type", "application/json");
        call.header("content-length", &bytes.to_string())
    };
    let fits = call(longest).raw(" ".repeat(longest)).send().await;
    assert_ne!(fits.status, StatusCode::PAYLOAD_TOO_LARGE, "{line}: {longest} bytes");
    let refused = call(longest + 1).raw(Body::from_stream(stream::pending::<Result<&[u8], std::io::Error>>()));
    let refused = refused.check("413 body_too_large").await;
    let detail = refused.body["detail"].as_str().unwrap();
    assert!(detail.contains(&format!(" {longest} bytes")), "{line}: {detail}");
}

#[tokio::test]
async fn bodies_are_as_long_as_their_routes_need() {
    let server = TestServer::open().await;
    check(&server, "POST /api/stories/guests", "", SMALL).await;
    check(&server, "POST /api/games", "player", SMALL).await;
    check(&server, "POST /api/hunts", "player", SMALL).await;
    check(&server, "POST /api/hunts/tickets", "player", SMALL).await;
    check(&server, "POST /api/stories/games", "player", SMALL).await;
    check(&server, "PUT /api/limits/policies/x", "operator", SMALL).await;
    check(&server, "POST /api/games/status", "player", LIST).await;
    check(&server, "POST /api/worlds/plaza/life", "operator", LIST).await;
    check(&server, "POST /api/limits/check", "", LIST).await;
    check(&server, "POST /api/games/batch", "player", server.app.config.http_body_bytes_max).await;
    check(&server, "POST /api/limits/check/batch", "", server.app.config.http_body_bytes_max).await;
}

/// A request of Bob's whose body is complete only after an admin has done this.
async fn check_late(line: &str, body: Value, want: &str) {
    let server = TestServer::open().await;
    let (began, has_begun) = oneshot::channel();
    let (done, is_done) = oneshot::channel();
    let rest = async move {
        began.send(()).unwrap();
        is_done.await.unwrap();
        Ok::<_, std::io::Error>("}")
    };
    let late = stream::iter([Ok("{")]).chain(stream::once(rest));
    let request = server.call("POST /api/sign-in-links").by("bob").header("content-type", "application/json");
    let request = request.raw(Body::from_stream(late)).check(want);
    let meanwhile = async {
        has_begun.await.unwrap();
        if !line.is_empty() {
            let status = server.call(line).by("admin").json(&body).send().await.status;
            assert!(status.is_success(), "{line}: {status}");
        }
        done.send(()).unwrap();
    };
    tokio::join!(request, meanwhile);
}

#[tokio::test]
async fn who_may_not_ask_any_more_is_refused_when_the_body_has_come() {
    let bob = || json!({ "account": BOB.to_string(), "reason": "cheats" });
    let of_bob = |what: &str| format!("POST /api/admin/accounts/{BOB}/{what}");
    check_late("", Value::Null, "201").await;
    check_late("POST /api/admin/bans", bob(), "403 banned").await;
    check_late(&of_bob("disable"), json!({ "reason": "cheats" }), "403 account_disabled").await;
    let delete = format!("DELETE /api/admin/accounts/{BOB}");
    check_late(&delete, json!({ "name": "bob", "reason": "cheats" }), "401 token_unknown").await;
}

/// A server behind a proxy, with room for 100 KiB of large bodies, 60 of one address.
async fn open() -> (TestServer, SocketAddr) {
    let server = TestServer::open_with(Arc::new(MemoryDatabase::new()), |config| {
        (config.http_bodies_bytes_max, config.http_bodies_bytes_per_address_max) = (100 * KIB, 60 * KIB);
        config.http_trusted_proxies = Networks::parse("127.0.0.0/8").unwrap();
    })
    .await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let limits = ListenerConfig::of(&server.app.config, Duration::from_secs(1));
    tokio::spawn(serve(listener, server.front(), limits, server.app.metrics.clone(), std::future::pending()));
    (server, address)
}

/// Asks from behind the proxy with a batch of 80 KiB, of which so many bytes come.
async fn send(address: SocketAddr, path: &str, client: &str, bytes: usize) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer player\r\nX-Forwarded-For: {client}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        80 * KIB
    );
    stream.write_all(&[head.into_bytes(), vec![b' '; bytes]].concat()).await.unwrap();
    stream
}

/// Status and code of what is answered; nothing where the connection is closed without a word.
async fn heard(mut stream: TcpStream) -> Option<(String, Value)> {
    let mut bytes = Vec::new();
    // A reset behind an answer is its end, too.
    let _ = stream.read_to_end(&mut bytes).await;
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n")?;
    let problem: Value = serde_json::from_str(body).unwrap();
    Some((head[9..12].to_owned(), problem["code"].clone()))
}

async fn until(server: &TestServer, held: usize) {
    while server.sample("gauntlet_http_body_bytes") != held as u64 {
        tokio::task::yield_now().await;
    }
}

async fn check_shares(path: &str) {
    let (server, address) = open().await;
    let anns = send(address, path, "192.0.2.1", 50 * KIB).await;
    until(&server, 50 * KIB).await;
    let second = heard(send(address, path, "192.0.2.1", 20 * KIB).await).await;
    assert_eq!(second, Some(("429".to_owned(), "too_many_bodies".into())), "{path}");
    let _bobs = send(address, path, "192.0.2.2", 40 * KIB).await;
    until(&server, 90 * KIB).await;
    // There is no room left, and a newcomer has less than those who are there: the oldest of the largest gives way.
    let mut carls = send(address, path, "198.51.100.3", 20 * KIB).await;
    until(&server, 60 * KIB).await;
    assert_eq!(heard(anns).await, None, "{path}: the connection is closed");
    assert_eq!(server.sample("gauntlet_http_bodies_evicted_total"), 1);
    // What is short needs no room.
    server.call("POST /api/games/status").json(&serde_json::json!({"game_ids": []})).check("200").await;
    carls.shutdown().await.unwrap();
    drop((carls, _bobs));
    until(&server, 0).await;
}

#[tokio::test]
async fn bodies_under_way_have_a_budget_and_a_newcomer_finds_room() {
    check_shares("/api/games/batch").await;
    check_shares("/api/limits/check/batch").await;
}

#[tokio::test]
async fn what_a_stranger_declares_too_long_is_refused_before_it_comes() {
    let (server, address) = open().await;
    let stranger = send(address, "/api/stories/guests", "192.0.2.1", 12).await;
    assert_eq!(heard(stranger).await, Some(("413".to_owned(), "body_too_large".into())));
    assert_eq!(server.sample("gauntlet_http_body_bytes"), 0);
}
