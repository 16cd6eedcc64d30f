//! The lobby: who creates, joins and leaves hunts, and who may enter one.

use crate::test_server::TestServer;
use crate::{Guest, column, open};
use engine::commands::{Command, WorldCommand};
use engine::ids::WorldId;
use engine::limits::WORLDS_PER_PLAYER_MAX;
use engine::rows::{Admission, WorldKind, WorldRow};
use engine::time::UnixMs;
use engine::worlds::settings_to_bytes;
use rules::chance::Seed;
use rules::world::WorldSettings;
use serde_json::{Value, json};

async fn make(server: &TestServer, token: &str, wanted: Value, want: &str) -> Value {
    server.call("POST /api/hunts").by(token).json(&wanted).check(want).await.body
}

#[tokio::test]
async fn a_hunt_is_created_joined_and_left() {
    let server = open().await;
    let (ann, ben) = (Guest::come(&server, "Ann").await, Guest::come(&server, "Ben").await);
    let wanted = json!({ "name": "harbour", "players_max": 2, "width": 64, "height": 32, "chests": 9, "rounds": 3 });
    let reply = server.call("POST /api/hunts").by(&ann.token).json(&wanted).check("201").await;
    assert_eq!(reply.headers["location"], "/api/hunts/harbour");
    let hunt = &reply.body;
    assert_eq!((&hunt["creator"], &hunt["players"], &hunt["admission"]), (&json!(ann.id), &json!(1), &json!("joined")));
    assert_eq!((&hunt["width"], &hunt["chests"], &hunt["rounds"]), (&json!(64), &json!(9), &json!(3)));
    assert_eq!((&hunt["has_joined"], &hunt["may_enter"], &hunt["address"]), (&json!(true), &json!(true), &Value::Null));

    let seen_by = async |token: &str| {
        let body = server.call("GET /api/hunts/harbour").by(token).check("200").await.body;
        (body["has_joined"].clone(), body["may_enter"].clone(), body["players"].clone())
    };
    assert_eq!(seen_by("").await, (Value::Null, json!(false), json!(1)));
    assert_eq!(seen_by(&ben.token).await, (json!(false), json!(false), json!(1)));
    for _ in 0..2 {
        server.call("POST /api/hunts/harbour/join").by(&ben.token).check("200").await;
    }
    assert_eq!(seen_by(&ben.token).await, (json!(true), json!(true), json!(2)));
    server.call("POST /api/hunts/harbour/join").by("player").check("409 hunt_full").await;
    server.call("POST /api/hunts/harbour/leave").by("player").check("409 not_joined").await;
    server.call("POST /api/hunts/harbour/leave").by(&ben.token).check("200").await;
    assert_eq!(seen_by(&ben.token).await, (json!(false), json!(false), json!(1)));
    server.call("POST /api/hunts/harbour/join").by("player").check("200").await;
}

#[tokio::test]
async fn invalid_requests_are_refused() {
    let server = open().await;
    make(&server, "", json!({}), "401 token_missing").await;
    make(&server, "guest", json!({}), "403 role_too_weak").await;
    make(&server, "player", json!({ "name": "Harbour" }), "400 bad_value /name").await;
    make(&server, "player", json!({ "name": "tickets" }), "400 bad_value /name").await;
    make(&server, "player", json!({ "name": "statistics" }), "400 bad_value /name").await;
    make(&server, "player", json!({ "players_max": 0 }), "400 bad_value /players_max").await;
    make(&server, "player", json!({ "open_ms": 59_999 }), "400 bad_value /open_ms").await;
    make(&server, "player", json!({ "open_ms": -1 }), "400 bad_value /open_ms").await;
    make(&server, "player", json!({ "width": 7 }), "400 bad_value /width").await;
    make(&server, "player", json!({ "width": 70_000 }), "400 bad_value /width").await;
    make(&server, "player", json!({ "width": -1 }), "400 bad_value /width").await;
    make(&server, "player", json!({ "width": 1_001, "height": 1_000 }), "400 bad_value /width").await;
    make(&server, "player", json!({ "width": 4_096, "height": 4_096 }), "400 bad_value /width").await;
    make(&server, "player", json!({ "width": 4_000, "height": 250 }), "201").await;
    make(&server, "player", json!({ "rounds": -1 }), "400 bad_value /rounds").await;
    make(&server, "player", json!({ "chests": -1 }), "400 bad_value /chests").await;
    make(&server, "player", json!({ "round_ms": 0 }), "400 bad_value /round_ms").await;
    make(&server, "player", json!({ "widht": 70 }), "422 bad_shape").await;
    server.call("GET /api/hunts/nowhere").check("404 no_such_hunt").await;
    server.call("GET /api/hunts/Nowhere").check("400 bad_id").await;
    server.call("POST /api/hunts/nowhere/join").check("404 no_such_hunt").await;
    server.call("GET /api/hunts/nowhere/rounds").check("404 no_such_hunt").await;
    server.call("GET /api/hunts?after=7").check("400 bad_value").await;
}

/// Who says the size alone gets what fits into it.
#[tokio::test]
async fn chests_and_power_ups_are_in_proportion_to_the_size() {
    let server = open().await;
    for (side, want) in [(8, (1, 0)), (20, (4, 0)), (200, (400, 40)), (1_000, (10_000, 1_000))] {
        let hunt = make(&server, "player", json!({ "width": side, "height": side }), "201").await;
        assert_eq!((&hunt["chests"], &hunt["power_ups"]), (&json!(want.0), &json!(want.1)), "{side}");
    }
}

#[tokio::test]
async fn names_are_unique_and_hunts_of_one_creator_are_limited() {
    let server = open().await;
    make(&server, "player", json!({ "name": "one" }), "201").await;
    make(&server, "bob", json!({ "name": "one" }), "409 duplicate_name").await;
    for _ in 1..WORLDS_PER_PLAYER_MAX {
        make(&server, "player", json!({}), "201").await;
    }
    make(&server, "player", json!({}), "409 too_many").await;
    make(&server, "bob", json!({}), "201").await;
}

#[tokio::test]
async fn the_lobby_shows_what_ends_last_first() {
    let server = open().await;
    for (name, open_ms) in [("short", 60_000), ("long", 600_000), ("middle", 120_000)] {
        make(&server, "player", json!({ "name": name, "open_ms": open_ms }), "201").await;
    }
    let first = server.call("GET /api/hunts?limit=2").by("").check("200").await;
    assert_eq!(column(&first.body, "name"), ["long", "middle"]);
    let link = first.headers["link"].to_str().unwrap().to_owned();
    let next = link.trim_start_matches('<').split('>').next().unwrap();
    let second = server.call(&format!("GET {next}")).by("").check("200").await;
    assert_eq!(column(&second.body, "name"), ["short"]);
    assert!(!second.headers.contains_key("link"));
}

/// Worlds that are over or closed to the caller are not listed, and no page is shorter because of them.
#[tokio::test]
async fn worlds_are_listed_to_players_who_may_enter() {
    let server = open().await;
    let (ann, ben) = (Guest::come(&server, "Ann").await, Guest::come(&server, "Ben").await);
    let make = |name: &'static str, admission: &'static str| {
        let wanted = json!({ "name": name, "admission": admission });
        let call = server.call("POST /api/hunts").by(&ann.token).json(&wanted);
        async move { call.check("201").await }
    };
    for (name, admission) in [("open-1", "everybody"), ("closed", "joined"), ("open-2", "everybody")] {
        make(name, admission).await;
    }
    let over = WorldRow {
        id: WorldId(1),
        name: "over".parse().unwrap(),
        kind: WorldKind::Hunt,
        settings: settings_to_bytes(&WorldSettings::default()),
        seed: Seed(7),
        creator: None,
        created_at: UnixMs(0),
        ends_at: Some(UnixMs(1)),
        admission: Admission::Everybody,
        players_max: 0,
    };
    server.commit(Command::World(WorldCommand::Ensure { row: over, members: Vec::new() })).await;
    // Of those created in the same millisecond, either may be first.
    let listed = async |token: &str, limit: usize| {
        let (mut names, mut next) = (Vec::new(), Some(format!("/api/worlds?limit={limit}")));
        while let Some(path) = next {
            let page = server.call(&format!("GET {path}")).by(token).check("200").await;
            let rows = column(&page.body, "name");
            next =
                page.headers.get("link").map(|link| link.to_str().unwrap()[1..].split('>').next().unwrap().to_owned());
            assert!(rows.len() == limit || next.is_none(), "{rows:?}");
            names.extend(rows.into_iter().map(str::to_owned));
        }
        names.sort();
        names
    };
    for limit in [1, 2, 100] {
        assert_eq!(listed("", limit).await, ["open-1", "open-2"]);
        assert_eq!(listed(&ben.token, limit).await, ["open-1", "open-2"]);
        assert_eq!(listed(&ann.token, limit).await, ["closed", "open-1", "open-2"]);
    }
    server.call("GET /api/worlds").by("gst_forged").check("401 token_unknown").await;
    server.call("POST /api/hunts/closed/join").by(&ben.token).check("200").await;
    assert_eq!(listed(&ben.token, 2).await, ["closed", "open-1", "open-2"]);
}
