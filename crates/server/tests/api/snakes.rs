//! `/api/snakes`: registering, changing and forgetting bots.

use crate::test_server::{ANNS, BOBS_PRIVATE, BOBS_PUBLIC, TestServer};
use serde_json::{Value, json};
use std::sync::Arc;
use store::testing::MemoryDatabase;

#[tokio::test]
async fn a_snake_is_registered_changed_and_forgotten() {
    let server = TestServer::open().await;
    let wanted = json!({"name": "Ophidia", "url": "https://example.com/s"});
    let made = server.call("POST /api/snakes").json(&wanted).check("201").await.body;
    let keys: Vec<&String> = made.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["created_at", "id", "is_public", "name", "updated_at", "url"]);
    assert_eq!(
        (&made["name"], &made["url"], &made["is_public"]),
        (&json!("Ophidia"), &json!("https://example.com/s"), &json!(false))
    );
    let path = format!("/api/snakes/{}", made["id"].as_str().unwrap());
    assert_eq!(server.call(&format!("GET {path}")).check("200").await.body, made);
    let changed =
        server.call(&format!("PUT {path}")).json(&json!({"is_public": true, "name": "O"})).check("200").await.body;
    assert_eq!((&changed["name"], &changed["url"], &changed["is_public"]), (&json!("O"), &made["url"], &json!(true)));
    assert_eq!(server.call(&format!("GET {path}")).check("200").await.body, changed);
    server.call(&format!("DELETE {path}")).check("204").await;
    server.call(&format!("DELETE {path}")).check("404 no_such_snake").await;
    server.call(&format!("GET {path}")).check("404 no_such_snake").await;
    server.call(&format!("PUT {path}")).json(&json!({})).check("404 no_such_snake").await;
}

async fn check(wanted: Value, want: &str) {
    TestServer::open().await.call("POST /api/snakes").json(&wanted).check(want).await;
}

#[tokio::test]
async fn statuses_of_a_registration() {
    let url = "http://example.com";
    check(json!({"name": "bot 1a", "url": url}), "409 duplicate_name").await;
    check(json!({"name": "bot 1b", "url": url}), "201").await;
    check(json!({"name": "", "url": url}), "400 bad_value /name").await;
    check(json!({"name": "a\u{0}b", "url": url}), "400 bad_value /name").await;
    check(json!({"name": "x".repeat(65), "url": url}), "400 bad_value /name").await;
    check(json!({"name": "a", "url": "ftp://example.com"}), "400 bad_value /url").await;
    check(json!({"name": "a"}), "422 bad_shape").await;
    check(json!({"name": "a", "url": url, "is_public": "yes"}), "422 bad_shape").await;
}

#[tokio::test]
async fn a_change_is_judged_as_a_registration() {
    let server = TestServer::open().await;
    server.call("POST /api/snakes").json(&json!({"name": "other", "url": "http://example.com"})).check("201").await;
    let put = |change: Value| server.call(&format!("PUT /api/snakes/{ANNS}")).json(&change);
    put(json!({"name": "other"})).check("409 duplicate_name").await;
    put(json!({"name": "bot 1a"})).check("200").await;
    put(json!({"url": "nowhere"})).check("400 bad_value /url").await;
    put(json!({"name": ""})).check("400 bad_value /name").await;
}

#[tokio::test]
async fn other_accounts_snakes_are_not_there() {
    let server = TestServer::open().await;
    for id in [BOBS_PUBLIC, BOBS_PRIVATE] {
        server.call(&format!("GET /api/snakes/{id}")).check("404 no_such_snake").await;
        server.call(&format!("PUT /api/snakes/{id}")).json(&json!({"name": "mine"})).check("404 no_such_snake").await;
        server.call(&format!("DELETE /api/snakes/{id}")).check("404 no_such_snake").await;
    }
    server.call("GET /api/snakes/x").check("400 bad_id").await;
    server.call("GET /api/snakes/%ff").check("400 bad_path").await;
}

#[tokio::test]
async fn private_addresses_are_refused_by_default() {
    let server = TestServer::open_with(Arc::new(MemoryDatabase::new()), |_| ()).await;
    let private = json!({"name": "a", "url": "http://127.0.0.1:8000"});
    server.call("POST /api/snakes").json(&private).check("400 private_address /url").await;
    let public = json!({"name": "a", "url": "http://example.com"});
    let made = server.call("POST /api/snakes").json(&public).check("201").await.body;
    let line = format!("PUT /api/snakes/{}", made["id"].as_str().unwrap());
    server.call(&line).json(&json!({"url": "http://localhost"})).check("400 private_address /url").await;
}
