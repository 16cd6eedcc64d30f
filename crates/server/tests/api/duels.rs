//! `/api/duels`: creating, following, calling off; who sees what; and a duel that is played, with results that are given by hand.

use crate::test_server::{ANNS, BOBS_PRIVATE, BOBS_PUBLIC, OTHER_OPERATOR, TestServer};
use engine::limits::DUELS_PER_ACCOUNT_MAX;
use serde_json::{Value, json};

const UNKNOWN: &str = "0190b5a4-7c1e-7000-8000-000000000001";

/// A duel between a registered bot and one that is named by its URL.
fn wanted() -> Value {
    json!({"bots": [{"snake_id": ANNS.to_string()}, {"url": "http://127.0.0.1:4100/flood", "name": "new"}]})
}

fn with(member: &str, value: Value) -> Value {
    let mut wanted = wanted();
    wanted[member] = value;
    wanted
}

async fn check(wanted: Value, want: &str) {
    TestServer::open().await.call("POST /api/duels").json(&wanted).check(want).await;
}

async fn create(server: &TestServer, wanted: &Value) -> String {
    let body = server.call("POST /api/duels").json(wanted).check("201").await.body;
    body["id"].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn statuses_of_a_creation() {
    check(wanted(), "201").await;
    check(json!({"bots": [{"snake_id": BOBS_PUBLIC.to_string()}, {"snake_id": ANNS.to_string()}]}), "201").await;
    check(
        json!({"bots": [{"snake_id": BOBS_PRIVATE.to_string()}, {"snake_id": ANNS.to_string()}]}),
        "400 unknown_snake /bots/0/snake_id",
    )
    .await;
    check(json!({"bots": [{"snake_id": ANNS.to_string()}]}), "400 bad_value /bots").await;
    check(with("elo1", json!(3)), "400 bad_value /elo1").await;
    check(with("games_max", json!(0)), "400 bad_value /games_max").await;
    check(with("games_max", json!(3)), "400 bad_value /games_max").await;
    let pair = |first: &str, second: &str| json!({"bots": [{"url": first}, {"url": second}]});
    check(pair("http://127.0.0.1:9/x", "HTTP://127.0.0.1:9/x/"), "400 bad_value /bots/1").await;
    check(pair("http://127.0.0.1:9/x", "127.0.0.1:9/y"), "400 bad_value /bots/1/url").await;
    let twice = json!({"bots": [{"snake_id": ANNS.to_string()}, {"snake_id": ANNS.to_string()}]});
    check(twice, "400 bad_value /bots/1").await;
    check(with("settings", json!([15])), "422 bad_shape").await;
    check(with("elo0", json!("much")), "422 bad_shape").await;
    check(json!({}), "422 bad_shape").await;
}

#[tokio::test]
async fn a_bot_in_a_private_network_is_refused() {
    let server = TestServer::open_with(std::sync::Arc::new(store::testing::MemoryDatabase::new()), |config| {
        config.allow_private_bots = false;
    })
    .await;
    server.call("POST /api/duels").json(&wanted()).check("400 private_address").await;
}

#[tokio::test]
async fn a_created_duel_is_shown_as_it_was_asked_for() {
    let server = TestServer::open().await;
    let id = create(&server, &with("elo1", json!(30))).await;
    let shown = server.call(&format!("GET /api/duels/{id}")).check("200").await.body;
    assert_eq!(
        [&shown["status"], &shown["end"], &shown["seed"], &shown["name"]],
        [&json!("scheduled"), &Value::Null, &Value::Null, &json!("bot 1a against new")]
    );
    assert_eq!(shown["test"]["elo1"], 30.0);
    assert_eq!(shown["bots"][1], json!({"name": "new", "snake_id": null, "url": "http://127.0.0.1:4100/flood"}));
    let listed = server.call("GET /api/duels").check("200").await.body;
    assert_eq!((&listed[0]["id"], listed.as_array().map(Vec::len)), (&json!(id), Some(1)));
}

#[tokio::test]
async fn others_see_what_is_public_and_no_urls() {
    let server = TestServer::open().await;
    let private = create(&server, &wanted()).await;
    let public = create(&server, &with("is_public", json!(true))).await;
    for path in
        [format!("/api/duels/{private}"), format!("/api/duels/{private}/games"), format!("/api/duels/{UNKNOWN}")]
    {
        server.call(&format!("GET {path}")).by("bob").check("404 no_such_duel").await;
        server.call(&format!("GET {path}")).by("").check("404 no_such_duel").await;
    }
    for call in [
        server.call(&format!("GET /api/duels/{public}")).by("bob"),
        server.call(&format!("GET /api/duels/{public}")).by(""),
        server.call(&format!("GET /api/duels/{private}")).by(OTHER_OPERATOR),
    ] {
        let shown = call.check("200").await.body;
        assert!(shown["bots"].as_array().expect("bots").iter().all(|bot| bot.get("url").is_none()), "{shown}");
    }
    for by in ["bob", OTHER_OPERATOR] {
        server.call(&format!("POST /api/duels/{public}/cancel")).by(by).check("404 no_such_duel").await;
    }
    assert_eq!(server.call("GET /api/duels").by("bob").check("200").await.body, json!([]));
}

#[tokio::test]
async fn who_may_create_one() {
    let server = TestServer::open().await;
    server.call("POST /api/duels").by("").json(&wanted()).check("401 token_missing").await;
    server.call("POST /api/duels").by("guest").json(&wanted()).check("403 role_too_weak").await;
}

#[tokio::test]
async fn an_account_has_so_many_at_once() {
    let server = TestServer::open().await;
    let mut first = String::new();
    for _ in 0..DUELS_PER_ACCOUNT_MAX {
        first = create(&server, &wanted()).await;
    }
    server.call("POST /api/duels").json(&wanted()).check("409 too_many").await;
    server
        .call("POST /api/duels")
        .by("bob")
        .json(&json!({"bots": [{"url": "http://127.0.0.1:1"}, {"url": "http://127.0.0.1:2"}]}))
        .check("201")
        .await;
    let cancelled = server.call(&format!("POST /api/duels/{first}/cancel")).check("200").await.body;
    assert_eq!([&cancelled["status"], &cancelled["end"]], ["cancelled", "cancelled"]);
    // Once more is no error: it is over, as was asked.
    server.call(&format!("POST /api/duels/{first}/cancel")).check("200").await;
    create(&server, &wanted()).await;
}

/// Looks until there is something to see.
async fn until(server: &TestServer, path: &str, look: impl Fn(&Value) -> bool) -> Value {
    loop {
        let body = server.call(&format!("GET {path}")).check("200").await.body;
        if look(&body) {
            return body;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

fn games_of(list: &Value, status: &str) -> Vec<String> {
    let games = list.as_array().expect("a list").iter().filter(|game| game["game"]["status"] == status);
    games.map(|game| game["game"]["id"].as_str().expect("an id").to_owned()).collect()
}

/// Its owner cannot: single games of a duel are none of their business.
async fn cancel_by_operator(server: &TestServer, game: &str) {
    server.call(&format!("POST /api/games/{game}/cancel")).check("409 competition_game").await;
    server.call(&format!("POST /api/admin/games/{game}/cancel")).by("operator").check("200").await;
}

#[tokio::test]
async fn a_game_that_was_called_off_is_repeated() {
    let server = TestServer::open().await;
    tokio::spawn(server::owners::run_arena(server.app.clone()));
    let id = create(&server, &with("pairs_at_once", json!(1))).await;
    let path = format!("/api/duels/{id}/games");
    let games = until(&server, &path, |games| games_of(games, "waiting").len() == 2).await;
    cancel_by_operator(&server, &games_of(&games, "waiting")[0]).await;
    let games = until(&server, &path, |games| games.as_array().map(Vec::len) == Some(3)).await;
    let (repeated, called_off) =
        (&games[0], games.as_array().unwrap().iter().find(|game| game["game"]["status"] == "cancelled"));
    assert_eq!([&repeated["attempt"], &repeated["pair"]], [&json!(1), &json!(0)]);
    assert_eq!(called_off.unwrap()["game_of_pair"], repeated["game_of_pair"]);
    let duel = server.call(&format!("GET /api/duels/{id}")).check("200").await.body;
    assert_eq!(
        [&duel["status"], &duel["games_repeated"], &duel["games_in_flight"]],
        [&json!("running"), &json!(1), &json!(2)]
    );
    // The owner calls the duel off, and its games with it.
    server.call(&format!("POST /api/duels/{id}/cancel")).check("200").await;
    until(&server, &path, |games| games_of(games, "cancelled").len() == 3).await;
}

#[tokio::test]
async fn a_bot_that_becomes_private_is_not_called_any_more() {
    let server = TestServer::open().await;
    tokio::spawn(server::owners::run_arena(server.app.clone()));
    let id = create(&server, &json!({"bots": [{"snake_id": ANNS.to_string()}, {"snake_id": BOBS_PUBLIC.to_string()}]}))
        .await;
    let games = until(&server, &format!("/api/duels/{id}/games"), |games| games_of(games, "waiting").len() == 8).await;
    server
        .call(&format!("PUT /api/snakes/{BOBS_PUBLIC}"))
        .by("bob")
        .json(&json!({"is_public": false}))
        .check("200")
        .await;
    cancel_by_operator(&server, &games_of(&games, "waiting")[0]).await;
    let duel = until(&server, &format!("/api/duels/{id}"), |duel| !duel["end"].is_null()).await;
    assert_eq!([&duel["end"], &duel["status"]], ["bot_withdrawn", "finished"]);
    let games = until(&server, &format!("/api/duels/{id}/games"), |games| games_of(games, "waiting").is_empty()).await;
    assert_eq!(games.as_array().map(Vec::len), Some(8), "nothing new was started");
}
