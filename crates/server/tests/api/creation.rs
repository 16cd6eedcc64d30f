//! `POST /api/games`: what is taken, what is refused, and what is stored of it.

use crate::test_server::{ANNS, BOBS_PRIVATE, BOBS_PUBLIC, TestServer};
use serde_json::{Value, json};

async fn check(wanted: Value, want: &str) {
    TestServer::open().await.call("POST /api/games").json(&wanted).check(want).await;
}

async fn check_raw(content_type: &str, body: &str, want: &str) {
    let call = TestServer::open().await.call("POST /api/games").raw(body.to_owned());
    let call = if content_type.is_empty() { call } else { call.header("content-type", content_type) };
    call.check(want).await;
}

fn one_snake() -> Value {
    json!([ANNS.to_string()])
}

#[tokio::test]
async fn statuses_of_a_creation() {
    check(json!({"snakes": one_snake()}), "201").await;
    check(json!({"snakes": vec![ANNS.to_string(); 16], "board": "19x19"}), "201").await;
    check(json!({"snakes": [BOBS_PUBLIC.to_string()], "board": "7x7", "game_type": "royale", "map": "empty"}), "201")
        .await;
    check(json!({"snakes": one_snake(), "board": null, "seed": null, "settings": null, "is_rated": true}), "201").await;
    check(json!({"snakes": [BOBS_PRIVATE.to_string()]}), "400 unknown_snake /snakes/0").await;
    check(json!({"snakes": [ANNS.to_string(), "0190b5a4-7c1e-7000-8000-000000000001"]}), "400 unknown_snake /snakes/1")
        .await;
    check(json!({"snakes": ["nobody"]}), "400 bad_value /snakes/0").await;
    check(json!({"snakes": []}), "400 bad_value /snakes").await;
    check(json!({"snakes": vec![ANNS.to_string(); 17]}), "400 bad_value /snakes").await;
    check(json!({"snakes": one_snake(), "board": "8x8"}), "400 unplayable").await;
    check(json!({"snakes": one_snake(), "board": "big"}), "400 bad_value /board").await;
    check(json!({"snakes": one_snake(), "timeout_ms": 5}), "400 bad_value /timeout_ms").await;
    check(json!({}), "422 bad_shape").await;
    check(json!([]), "422 bad_shape").await;
    check(json!({"snakes": "nobody"}), "422 bad_shape").await;
    check(json!({"snakes": one_snake(), "timeout_ms": "500"}), "422 bad_shape").await;
    check(json!({"snakes": one_snake(), "settings": {"foodSpawnChanse": 1}}), "422 bad_shape").await;
    check(json!([one_snake()]), "422 bad_shape").await;
    check(json!({"snakes": one_snake(), "settings": [15, 1]}), "422 bad_shape").await;
    check_raw("application/json", "{", "400 bad_json").await;
    check_raw("application/json", "{\"snakes\": 7, oh", "400 bad_json").await;
    check_raw("application/json", "{} {}", "400 bad_json").await;
    check_raw("application/json", " \n7 ", "422 bad_shape").await;
    check_raw("application/json", "", "400 bad_json").await;
    check_raw("application/json", "\u{0}", "400 bad_json").await;
    check_raw("application/json", &"[".repeat(10_000), "400 bad_json").await;
    check_raw("text/plain", "{}", "415 not_json").await;
    check_raw("", "{}", "415 not_json").await;
}

#[tokio::test]
async fn a_created_game_is_shown_as_it_was_asked_for() {
    let server = TestServer::open().await;
    let wanted = json!({
        "snakes": [ANNS.to_string(), BOBS_PUBLIC.to_string()], "board": "19x19", "game_type": "Snail Mode",
        "seed": "18446744073709551615", "timeout_ms": 250, "settings": {"minimumFood": 3},
    });
    let created = server.call("POST /api/games").json(&wanted).check("201").await.body;
    assert_eq!(created["status"], "waiting");
    let id = created["id"].as_str().unwrap();
    let details = server.call(&format!("GET /api/games/{id}/details")).check("200").await.body;
    let shown = json!({
        "id": details["id"], "board": details["board"], "game_type": details["game_type"], "map": details["map"],
        "seed": details["seed"], "timeout_ms": details["timeout_ms"], "settings": details["settings"],
        "winner": details["winner"], "started_at": details["started_at"], "finished_at": details["finished_at"],
        "turns": details["turns"], "frames": details["frames"], "failure": details["failure"], "attempts": details["attempts"],
        "snakes": details["snakes"],
    });
    assert_eq!(
        shown,
        json!({
            "id": id, "board": "19x19", "game_type": "Snail Mode", "map": "snail_mode",
            "seed": "18446744073709551615", "timeout_ms": 250,
            "settings": {"foodSpawnChance": 15, "minimumFood": 3, "hazardDamagePerTurn": 14, "shrinkEveryNTurns": 25},
            "winner": null, "started_at": null, "finished_at": null,
            "turns": 0, "frames": [], "failure": null, "attempts": 0,
            "snakes": [
                {"id": ANNS.to_string(), "name": "bot 1a", "owner": "ann"},
                {"id": BOBS_PUBLIC.to_string(), "name": "bot 1b", "owner": "bob"},
            ],
        })
    );
    assert!(details["created_at"].as_str().is_some_and(|time| time.ends_with('Z') && time.len() == 24), "{details}");
}

#[tokio::test]
async fn games_without_a_seed_get_different_ones() {
    let server = TestServer::open().await;
    let mut seeds = Vec::new();
    for _ in 0..2 {
        let id = server.game().await;
        seeds.push(server.call(&format!("GET /api/games/{id}/details")).check("200").await.body["seed"].clone());
    }
    assert_ne!(seeds[0], seeds[1]);
}

#[tokio::test]
async fn a_body_over_the_cap_is_refused_whether_its_length_is_declared_or_not() {
    let server = TestServer::open().await;
    let body = " ".repeat(server.app.config.http_body_bytes_max + 1);
    let call = || server.call("POST /api/games").header("content-type", "application/json").raw(body.clone());
    call().header("content-length", &body.len().to_string()).check("413 body_too_large").await;
    call().check("413 body_too_large").await;
}

#[tokio::test]
async fn a_creation_wakes_the_queue() {
    let server = TestServer::open().await;
    server.game().await;
    server.app.notifier.queue_notified().await;
    assert_eq!(server.claim().await.len(), 1);
}
