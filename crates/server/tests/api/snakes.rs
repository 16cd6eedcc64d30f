//! `/api/snakes`: registering, changing and forgetting bots.

use crate::test_server::{ANNS, BOBS_PRIVATE, BOBS_PUBLIC, TestServer};
use engine::commands::{BotCommand, Command, Outcome};
use engine::matches::entry::Face;
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

fn face() -> Face {
    Face { color: "#d1495b".to_owned(), head: "smile".to_owned(), tail: "sharp".to_owned() }
}

#[tokio::test]
async fn public_snakes_are_listed_without_what_is_their_owners() {
    let server = TestServer::open().await;
    let faces =
        Command::Bot(BotCommand::SaveFaces(vec![(BOBS_PUBLIC, face()), (BOBS_PRIVATE, face()), (ANNS, face())]));
    assert_eq!(server.commit(faces).await, Outcome::Done);
    for by in ["", "unknown", "guest", "player", "bob"] {
        let listed = server.call("GET /api/snakes/public").by(by).check("200").await.body;
        let rows = listed.as_array().unwrap();
        assert_eq!(rows.iter().map(|row| &row["id"]).collect::<Vec<_>>(), [&json!(BOBS_PUBLIC.to_string())], "{by}");
        let members: Vec<&String> = rows[0].as_object().unwrap().keys().collect();
        assert_eq!(members, ["created_at", "face", "id", "name", "owner"]);
        assert_eq!(rows[0]["owner"], json!("bob"));
        assert_eq!(rows[0]["face"], json!({"color": "#d1495b", "head": "smile", "tail": "sharp"}));
    }
    assert_eq!(server.call("GET /api/snakes").check("200").await.body[0]["face"]["head"], json!("smile"));
    server.call("GET /api/snakes/public?limit=ten").by("").check("400 bad_value").await;
    server.call("GET /api/snakes/public?after=x").by("").check("400 bad_value").await;
    let second = server.call(&format!("PUT /api/snakes/{BOBS_PRIVATE}")).by("bob").json(&json!({"is_public": true}));
    second.check("200").await;
    let page = server.call("GET /api/snakes/public?limit=1").by("").check("200").await;
    let link = page.headers["link"].to_str().unwrap();
    let next = link[1..].split('>').next().unwrap();
    let last = server.call(&format!("GET {next}")).by("").check("200").await;
    assert!(last.body.as_array().unwrap().len() == 1 && last.body[0]["id"] != page.body[0]["id"]);
    assert!(!last.headers.contains_key("link"));
}

#[tokio::test]
async fn a_profile_is_for_everybody_of_a_public_snake_and_for_its_owner_of_a_private_one() {
    let server = TestServer::open().await;
    let profile = |id: &str, by: &str| server.call(&format!("GET /api/snakes/{id}/profile")).by(by);
    let unknown = profile("0190b5a4-7c1e-7000-8000-000000000001", "").check("404 no_such_snake").await.body;
    for (by, is_own) in [("", false), ("player", false), ("bob", true), ("operator", false)] {
        let seen = profile(&BOBS_PUBLIC.to_string(), by).check("200").await.body;
        assert_eq!(
            (&seen["is_own"], &seen["owner"], &seen["is_public"]),
            (&json!(is_own), &json!("bob"), &json!(true)),
            "{by}"
        );
        assert!(seen.get("url").is_none() && seen["leaderboards"] == json!([]), "{seen}");
    }
    for by in ["", "player"] {
        assert_eq!(profile(&BOBS_PRIVATE.to_string(), by).check("404 no_such_snake").await.body, unknown, "{by}");
    }
    for by in ["bob", "operator"] {
        profile(&BOBS_PRIVATE.to_string(), by).check("200").await;
    }
}

/// Ladders that everybody may see are shown to everybody, private ones to the snake's owner and operators.
#[tokio::test]
async fn a_profile_names_the_leaderboards_that_the_snake_is_on() {
    let server = TestServer::open().await;
    let entry = json!({"battlesnake_id": BOBS_PUBLIC.to_string()});
    let mut ids = Vec::new();
    for (name, is_public) in [("open", true), ("closed", false), ("over", true)] {
        let wanted = json!({"name": name, "players": 2, "is_public": is_public});
        let made = server.call("POST /api/leaderboards").by("bob").json(&wanted).check("201").await.body;
        let id = made["id"].as_str().unwrap().to_owned();
        server.call(&format!("POST /api/leaderboards/{id}/entries")).by("bob").json(&entry).check("201").await;
        ids.push(id);
    }
    server.call(&format!("DELETE /api/leaderboards/{}", ids[2])).by("bob").check("204").await;
    let names = async |by: &str| {
        let seen = server.call(&format!("GET /api/snakes/{BOBS_PUBLIC}/profile")).by(by).check("200").await.body;
        let rows = seen["leaderboards"].as_array().unwrap();
        let mut names: Vec<String> = rows.iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect();
        names.sort_unstable();
        assert!(
            rows.iter()
                .all(|row| row["rank"].is_null() && row["active"] == json!(true) && row["games_played"] == json!(0))
        );
        names
    };
    for (by, want) in [
        ("", vec!["open"]),
        ("player", vec!["open"]),
        ("bob", vec!["closed", "open"]),
        ("operator", vec!["closed", "open"]),
    ] {
        assert_eq!(names(by).await, want, "{by}");
    }
}
