//! `POST /api/games/batch`: every game is judged alone, all good ones are saved together.

use crate::test_server::{ANNS, BOBS_PRIVATE, TestServer};
use serde_json::{Value, json};

fn good() -> Value {
    json!({ "snakes": [ANNS.to_string()] })
}

#[tokio::test]
async fn each_game_has_its_own_outcome_in_order() {
    let server = TestServer::open().await;
    let games = json!([
        good(),
        {"snakes": [BOBS_PRIVATE.to_string()]},
        {"board": "11x11"},
        7,
        [[ANNS.to_string()]],
        {"snakes": [ANNS.to_string()], "board": "9000x1"},
        good(),
    ]);
    let reply = server.call("POST /api/games/batch").json(&json!({ "games": games })).check("200").await;
    let items = reply.body["items"].as_array().unwrap();
    let outcomes: Vec<String> = items
        .iter()
        .map(|item| format!("{} {}", item["status"], item["problem"]["code"].as_str().unwrap_or("-")))
        .collect();
    let want =
        ["201 -", "400 unknown_snake", "422 bad_shape", "422 bad_shape", "422 bad_shape", "400 bad_value", "201 -"];
    assert_eq!(outcomes, want);
    let created: Vec<&str> = items.iter().filter_map(|item| item["id"].as_str()).collect();
    let mut claimed: Vec<String> = server.claim().await.iter().map(ToString::to_string).collect();
    claimed.sort_by_key(|id| created.iter().position(|created| created == id));
    assert_eq!(claimed, created);
}

async fn check(games: Value, want: &str) -> Value {
    TestServer::open().await.call("POST /api/games/batch").json(&json!({ "games": games })).check(want).await.body
}

#[tokio::test]
async fn a_batch_has_1_to_1000_games() {
    check(json!([]), "400 bad_value /games").await;
    check(json!(vec![good(); 1_001]), "400 bad_value /games").await;
    let items = check(json!(vec![good(); 1_000]), "200").await;
    assert_eq!(items["items"].as_array().map(Vec::len), Some(1_000));
    check(json!({}), "422 bad_shape").await;
}

#[tokio::test]
async fn a_batch_without_a_good_game_creates_nothing() {
    let server = TestServer::open().await;
    let games = json!({ "games": [{"snakes": []}] });
    server.call("POST /api/games/batch").json(&games).check("200").await;
    assert_eq!(server.call("GET /api/games").check("200").await.body, json!([]));
}
