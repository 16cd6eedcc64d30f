//! The feed of the summary, over real connections: stories change it.

use crate::connections::{Stream, listen};
use crate::play::Person;
use crate::test_server::TestServer;
use serde_json::{Value, json};
use std::sync::Arc;
use store::testing::MemoryDatabase;

const FEED: &str = "/api/summary/feed";

/// The last event of what was received.
fn last(received: &str) -> Value {
    let data = received.lines().filter_map(|line| line.strip_prefix("data: ")).next_back().unwrap();
    serde_json::from_str(data).unwrap()
}

#[tokio::test]
async fn every_reader_is_told_what_changed() {
    let server = TestServer::open().await;
    let address = listen(&server).await;
    let mut readers = Vec::new();
    for _ in 0..3 {
        let mut reader = Stream::open(address, FEED, "").await;
        let first = reader.until(1).await;
        assert!(first.contains("content-type: text/event-stream") && first.contains("retry: 1000"), "{first}");
        assert_eq!(last(&first)["stories"], json!({"live": 0, "open": 0, "players_waiting": 0, "seats_open": 0}));
        readers.push(reader);
    }
    let ann = Person::come(&server, "Ann").await;
    server.call("POST /api/stories/games").by(&ann.token).json(&json!({})).check("201").await;
    for reader in &mut readers {
        let stories = last(&reader.until(2).await)["stories"].clone();
        assert_eq!(stories, json!({"live": 1, "open": 1, "players_waiting": 1, "seats_open": 5}));
    }
    // The last reader leaves, another comes: it is made again for him.
    drop(readers);
    server.call("POST /api/stories/games").by(&ann.token).json(&json!({})).check("201").await;
    let mut reader = Stream::open(address, FEED, "").await;
    let mut received = reader.until(2).await;
    if last(&received)["stories"]["live"] == json!(1) {
        received = reader.until(3).await;
    }
    assert_eq!(last(&received)["stories"], json!({"live": 2, "open": 2, "players_waiting": 2, "seats_open": 10}));
}

#[tokio::test]
async fn readers_are_counted_among_the_spectators_of_an_address() {
    let configure = |config: &mut settings::Config| config.spectators_per_address_max = 1;
    let server = TestServer::open_with(Arc::new(MemoryDatabase::new()), configure).await;
    let address = listen(&server).await;
    let mut reader = Stream::open(address, FEED, "").await;
    reader.until(1).await;
    let refused = Stream::open(address, FEED, "").await.until_end("}").await;
    assert!(refused.starts_with("HTTP/1.1 429") && refused.contains("\"too_many_spectators\""), "{refused}");
    server.call("GET /api/summary").by("").check("200").await;
    server.call(&format!("HEAD {FEED}")).by("").check("200").await;
    server.call(&format!("POST {FEED}")).by("").check("405 method_not_allowed").await;
}
