//! Connections that speak frames instead of HTTP: they pass the rate limiter as well.

use crate::test_server::TestServer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const POLICY: &str =
    "[[policy]]\nname = \"frames\"\nclass = \"gateway.anonymous.watch\"\nlimit = 2\nwindow = \"60s\"\n";
/// A hello of version 1 behind its length, and a frame that says that its sender goes.
const HELLO: [u8; 5] = [4, 0x0a, 2, 8, 1];
const LEAVE: [u8; 3] = [2, 0x3a, 0];

/// Everything that a connection is told which says hello and leaves.
async fn told(server: &TestServer) -> String {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    stream.write_all(&[&HELLO[..], &LEAVE].concat()).await.unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[tokio::test]
async fn connections_are_charged_to_their_address() {
    let server = TestServer::open(POLICY).await;
    for _ in 0..2 {
        let told = told(&server).await;
        assert!(told.contains('😁') && !told.contains("rate_limited"), "{told}");
    }
    let turned_away = told(&server).await;
    assert!(turned_away.contains("rate_limited") && !turned_away.contains('😁'), "{turned_away}");
    assert!(!turned_away.contains("header"), "a frame has none: {turned_away}");
    // A client that asks by HTTP for the same is charged the same.
    let socket = server.send(&crate::test_server::Request::new("GET /api/worlds/plaza/socket")).await;
    assert_eq!(socket.status, 429);
}
