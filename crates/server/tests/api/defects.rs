//! Defects of another server of this API that an API can have: none of them here.

use crate::test_server::TestServer;
use engine::commands::{Command, MatchAppend, Outcome};
use engine::matches::archive;
use engine::matches::result::MatchResult;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use store::testing::MemoryDatabase;

/// There: the average duration of a game in the statistics was garbage.
#[tokio::test]
async fn the_average_duration_is_that_of_the_games() {
    let server = TestServer::open().await;
    let stats = || server.call("GET /api/admin/stats").by("operator").check("200");
    assert_eq!(stats().await.body["avg_game_duration_secs"], Value::Null);
    for seconds in [10, 20] {
        server.game().await;
        let id = server.claim().await[0];
        let now = server.app.node.clock.now();
        let started_at = Some(now.minus(Duration::from_secs(seconds)));
        let append = MatchAppend { id, epoch: 1, rows: Vec::new(), expected_version: 0, started_at };
        let result = MatchResult {
            winner: None,
            is_draw: false,
            placements: vec![1],
            causes: vec![None],
            death_turns: vec![None],
            turns: 0,
            late_moves: 0,
            food_eaten: vec![3, 0],
            is_server_fault: false,
            silent_seats: Vec::new(),
        };
        let finish = Command::FinishMatch { append, result, archive: archive::pack(&[]), now };
        assert_eq!(server.commit(finish).await, Outcome::Done);
    }
    let stats = stats().await.body;
    assert_eq!(stats["avg_game_duration_secs"].as_f64(), Some(15.0), "{stats}");
    assert_eq!(stats["game_counts"]["finished"], 2);
    assert_eq!(stats["games_finished"]["last_hour"], 2);
}

/// There: a loopback address was accepted as a bot's URL, and called.
#[tokio::test]
async fn loopback_addresses_are_refused() {
    let server = TestServer::open_with(Arc::new(MemoryDatabase::new()), |_| ()).await;
    for url in ["http://127.0.0.1:8080", "http://localhost:8080", "http://[::1]/", "http://169.254.169.254/"] {
        let snake = json!({"name": "inside", "url": url});
        server.call("POST /api/snakes").json(&snake).check("400 private_address /url").await;
    }
}

/// There: a failed game had no place in the counts, and its status never told why.
#[tokio::test]
async fn failed_games_are_counted_and_explained() {
    let server = TestServer::open().await;
    server.game().await;
    let id = server.claim().await[0];
    let fail = Command::FailMatch { id, epoch: 1, reason: "poison".to_owned(), now: server.app.node.clock.now() };
    assert_eq!(server.commit(fail).await, Outcome::Done);
    let stats = server.call("GET /api/admin/stats").by("operator").check("200").await.body;
    assert_eq!(stats["game_counts"]["failed"], 1, "{stats}");
    let ask = json!({ "game_ids": [id.to_string()] });
    let status = server.call("POST /api/games/status").json(&ask).check("200").await.body;
    assert_eq!((&status[0]["status"], &status[0]["failure"]), (&json!("failed"), &json!("poison")));
}
