//! Idempotency keys: sent twice, done once, answered twice with the same bytes.

use crate::test_server::{ANNS, BOBS_PUBLIC, TestServer};
use engine::commands::{Command, Outcome};
use engine::limits::{DUELS_PER_ACCOUNT_MAX, LADDERS_PER_ACCOUNT_MAX, TOURNAMENTS_PER_ACCOUNT_MAX};
use serde_json::{Value, json};

fn wanted() -> Value {
    json!({ "snakes": [ANNS.to_string()] })
}

async fn games(server: &TestServer) -> usize {
    server.call("GET /api/games").check("200").await.body.as_array().unwrap().len()
}

#[tokio::test]
async fn the_same_request_again_gets_the_same_answer_and_does_nothing() {
    for (path, body, want) in [
        ("POST /api/games", wanted(), "201"),
        ("POST /api/games/batch", json!({"games": [wanted(), {"snakes": []}]}), "200"),
    ] {
        let server = TestServer::open().await;
        let call = || server.call(path).header("idempotency-key", "a key").json(&body);
        let first = call().check(want).await;
        let second = call().check(want).await;
        assert_eq!(first.bytes, second.bytes, "{path}");
        assert_eq!(games(&server).await, 1, "{path}");
    }
}

/// A competition is made once for its key: while there is room for one more, when there is none left, and when its snake is gone.
#[tokio::test]
async fn competitions_are_made_once() {
    for (path, most, body) in [
        (
            "/api/duels",
            DUELS_PER_ACCOUNT_MAX,
            json!({"bots": [{"snake_id": ANNS.to_string()}, {"snake_id": BOBS_PUBLIC.to_string()}]}),
        ),
        ("/api/tournaments", TOURNAMENTS_PER_ACCOUNT_MAX, json!({"name": "cup"})),
        ("/api/leaderboards", LADDERS_PER_ACCOUNT_MAX, json!({"name": "board"})),
    ] {
        let server = TestServer::open().await;
        let call = |key: &str| server.call(&format!("POST {path}")).header("idempotency-key", key).json(&body);
        let first = call("k").check("201").await;
        let mut other = body.clone();
        other["is_public"] = json!(false);
        let reused = server.call(&format!("POST {path}")).header("idempotency-key", "k").json(&other);
        reused.check("422 idempotency_key_reused").await;
        for n in 1..most {
            call(&format!("k{n}")).check("201").await;
        }
        call("one too many").check("409 too_many").await;
        let deletion = Command::DeleteBot { id: BOBS_PUBLIC, account: crate::test_server::BOB };
        assert_eq!(server.commit(deletion).await, Outcome::Done);
        let again = call("k").check("201").await;
        assert_eq!(
            (&again.bytes, again.headers.get("location")),
            (&first.bytes, first.headers.get("location")),
            "{path}"
        );
        server
            .call(&format!("POST {path}"))
            .header("idempotency-key", "")
            .json(&body)
            .check("400 bad_idempotency_key")
            .await;
    }
}

#[tokio::test]
async fn requests_that_race_are_done_once() {
    let server = TestServer::open().await;
    let call = || server.call("POST /api/games").header("idempotency-key", "k").json(&wanted()).check("201");
    let (a, b, c, d) = tokio::join!(call(), call(), call(), call());
    assert!([&b, &c, &d].iter().all(|other| other.bytes == a.bytes));
    assert_eq!(games(&server).await, 1);
}

#[tokio::test]
async fn the_answer_stays_even_when_the_request_would_be_refused_by_now() {
    let server = TestServer::open().await;
    let body = json!({ "snakes": [BOBS_PUBLIC.to_string()] });
    let call = || server.call("POST /api/games").header("idempotency-key", "k").json(&body);
    let first = call().check("201").await;
    let deletion = Command::DeleteBot { id: BOBS_PUBLIC, account: crate::test_server::BOB };
    assert_eq!(server.commit(deletion).await, Outcome::Done);
    assert_eq!(call().check("201").await.bytes, first.bytes);
    server.call("POST /api/games").header("idempotency-key", "k2").json(&body).check("400 unknown_snake").await;
}

#[tokio::test]
async fn a_key_stands_for_one_request_of_one_account() {
    let server = TestServer::open().await;
    let call = |path: &str, body: &Value| server.call(path).header("idempotency-key", "k").json(body);
    call("POST /api/games", &wanted()).check("201").await;
    let other_body = json!({ "snakes": [ANNS.to_string()], "seed": 1 });
    call("POST /api/games", &other_body).check("422 idempotency_key_reused").await;
    call("POST /api/games/batch", &json!({ "games": [wanted()] })).check("422 idempotency_key_reused").await;
    let public = json!({ "snakes": [BOBS_PUBLIC.to_string()] });
    call("POST /api/games", &public).by("bob").check("201").await;
}

#[tokio::test]
async fn a_refused_request_does_not_use_up_its_key() {
    let server = TestServer::open().await;
    let call = |body: &Value| server.call("POST /api/games").header("idempotency-key", "k").json(body);
    call(&json!({ "snakes": [] })).check("400 bad_value").await;
    call(&wanted()).check("201").await;
}

#[tokio::test]
async fn keys_that_cannot_be_kept_are_refused() {
    let server = TestServer::open().await;
    for key in ["", &"k".repeat(129), "tab\there", "é"] {
        let call = server.call("POST /api/games").header("idempotency-key", key).json(&wanted());
        call.check("400 bad_idempotency_key").await;
    }
    let twice = server.call("POST /api/games").header("idempotency-key", "a").header("idempotency-key", "b");
    twice.json(&wanted()).check("400 bad_idempotency_key").await;
    let longest = server.call("POST /api/games").header("idempotency-key", &"k".repeat(128)).json(&wanted());
    longest.check("201").await;
}
