//! The load shedder at the door: new games are refused while there is too much to do, and nothing else is.

use crate::test_server::{ANNS, BOOTSTRAP, Call, LOAD_TEST, TestServer};
use axum::http::header;
use gateway::shed::Load;
use metrics::Overload;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use store::testing::MemoryDatabase;
use tokio::time::timeout;

const CALM: Load = Load { queue: Some(7), commit_wait: None, scheduler_delay: None, memory_permille: Some(854) };
const BUSY: Load = Load { queue: Some(11), ..CALM };
const FULL: Load = Load { memory_permille: Some(901), ..CALM };

/// At most ten matches in the queue, at most 50 ms to the store's writer.
async fn server() -> TestServer {
    let configure = |config: &mut settings::Config| {
        config.allow_private_bots = true;
        config.shed_queue_max = Some(10);
        config.shed_commit_wait = Some(Duration::from_millis(50));
    };
    TestServer::open_with(Arc::new(MemoryDatabase::new()), configure).await
}

fn create(server: &TestServer) -> Call {
    server.call("POST /api/games").json(&json!({ "snakes": [ANNS.to_string()] }))
}

#[tokio::test]
async fn new_games_are_refused_while_there_is_too_much_to_do() {
    let server = server().await;
    create(&server).check("201").await;
    server.app.shedder.update(&BUSY);
    let reply = create(&server).check("503 overloaded").await;
    let seconds: u64 = reply.headers[header::RETRY_AFTER].to_str().unwrap().parse().unwrap();
    assert!((1..=5).contains(&seconds), "{seconds}");
    assert!(reply.body["detail"].as_str().unwrap().contains("games wait to be played"), "{}", reply.body);
    let batch = json!({ "games": [{ "snakes": [ANNS.to_string()] }] });
    server.call("POST /api/games/batch").json(&batch).check("503 overloaded").await;
    create(&server).by(LOAD_TEST).check("503 overloaded").await;
    server.app.shedder.update(&Load { commit_wait: Some(Duration::from_millis(51)), ..CALM });
    let reply = create(&server).check("503 overloaded").await;
    assert!(reply.body["detail"].as_str().unwrap().contains("saving takes longer"), "{}", reply.body);
    server.app.shedder.update(&Load { commit_wait: Some(Duration::ZERO), ..CALM });
    create(&server).check("201").await;
    assert_eq!(server.claim().await.len(), 2);
    assert_eq!(server.sample(r#"gauntlet_shed_total{reason="queue"}"#), 3);
    assert_eq!(server.sample(r#"gauntlet_shed_total{reason="commit_wait"}"#), 1);
    assert_eq!(server.sample(r#"gauntlet_shed_total{reason="scheduler_delay"}"#), 0);
}

#[tokio::test]
async fn while_memory_is_short_no_connection_is_kept_open_for_anybody_new() {
    let server = server().await;
    let id = server.game().await;
    let table = server.call("POST /api/stories/games").json(&json!({})).check("201").await.body["table"].clone();
    let table = table.as_str().unwrap();
    let feeds = ["GET /api/summary/feed".to_owned(), format!("GET /api/games/{id}/events")];
    server.app.shedder.update(&FULL);
    create(&server).check("503 overloaded").await;
    for feed in &feeds {
        let reply = server.call(feed).check("503 overloaded").await;
        assert!(reply.body["detail"].as_str().unwrap().contains("too little memory"), "{}", reply.body);
        server.call(feed).by("").check("503 overloaded").await;
    }
    server.call("GET /api/games").check("200").await;
    // Who is at a table goes on with polls, which hold nothing for longer than until the next event.
    let poll = format!("GET /api/stories/tables/{table}/feed?wait=0");
    server.call(&poll).check("200").await;
    server.call(&poll).header("accept", "text/event-stream").check("503 overloaded").await;
    server.call(&feeds[1]).by("operator").check("426 upgrade_required").await;
    assert_eq!(server.sample(r#"gauntlet_shed_total{reason="memory"}"#), 6);
    // It goes on until there is some room.
    server.app.shedder.update(&Load { memory_permille: Some(855), ..CALM });
    create(&server).check("503 overloaded").await;
    server.app.shedder.update(&CALM);
    server.call(&feeds[1]).check("426 upgrade_required").await;
    create(&server).check("201").await;
}

#[tokio::test]
async fn everything_but_new_games_goes_on() {
    let server = server().await;
    let id = server.game().await;
    server.app.shedder.update(&BUSY);
    server.call("GET /api/games").check("200").await;
    server.call(&format!("GET /api/games/{id}")).by("").check("200").await;
    server.call("POST /api/games/status").json(&json!({ "game_ids": [id] })).check("200").await;
    server.call("POST /api/snakes").json(&json!({ "name": "c", "url": "http://example.com" })).check("201").await;
    server.call(&format!("POST /api/games/{id}/cancel")).check("200").await;
    server.call("GET /healthz").check("200").await;
    assert_eq!(server.sample(r#"gauntlet_shed_total{reason="queue"}"#), 0);
}

#[tokio::test]
async fn operators_are_let_through_and_strangers_are_told_what_is_wrong() {
    let server = server().await;
    server.app.shedder.update(&BUSY);
    create(&server).by("operator").check("201").await;
    create(&server).by(BOOTSTRAP).check("400 unknown_snake").await;
    create(&server).by("").check("401 token_missing").await;
    create(&server).by("unknown").check("401 token_unknown").await;
    assert_eq!(server.sample(r#"gauntlet_shed_total{reason="queue"}"#), 0);
}

/// What one of the two refuses, the other neither counts nor charges.
#[tokio::test]
async fn the_shedder_and_the_limiter_keep_apart() {
    let server = server().await;
    let one = "[[policy]]\nname = \"one\"\nclass = \"gateway.player.create\"\nkey = \"token:*\"\nlimit = 1\nwindow = \"3600s\"";
    server.limit(one).await;
    server.app.shedder.update(&BUSY);
    let reply = create(&server).check("503 overloaded").await;
    assert!(!reply.headers.contains_key("ratelimit"));
    server.app.shedder.update(&CALM);
    create(&server).check("201").await;
    create(&server).check("429 rate_limited").await;
    assert_eq!(server.sample(r#"gauntlet_shed_total{reason="queue"}"#), 1);
}

/// Waits until the shedder says so.
async fn until(server: &TestServer, want: Option<Overload>) {
    let reached = async {
        while server.app.shedder.overload() != want {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(60), reached).await.expect("the load is looked at");
}

#[tokio::test]
async fn the_queue_is_looked_at_and_new_games_are_taken_again_when_it_is_short() {
    let server = server().await;
    let games = json!({ "games": vec![json!({ "snakes": [ANNS.to_string()] }); 11] });
    server.call("POST /api/games/batch").json(&games).check("200").await;
    let app = server.app.clone();
    let watching = tokio::spawn(async move { app.shedder.watch(&app.node.store, &app.metrics).await });
    until(&server, Some(Overload::Queue)).await;
    create(&server).check("503 overloaded").await;
    assert_eq!(server.claim().await.len(), 11);
    until(&server, None).await;
    create(&server).check("201").await;
    watching.abort();
}
