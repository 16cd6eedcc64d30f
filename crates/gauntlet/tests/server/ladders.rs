//! What bots that cannot play, and bots with one URL, do to a ladder of a real server.

use crate::support::bots::Bots;
use crate::support::{Folder, Server, until};
use serde_json::{Value, json};
use std::time::Duration;

/// A ladder for two, not public, so that snakes of one account meet: its path, and the ids of these snakes, each with its bot's name.
fn start(server: &Server, bots: &Bots, snakes: &[(&str, &str)]) -> (String, Vec<String>) {
    let wanted = json!({"name": "mine", "players": 2, "board": "7x7", "timeout_ms": 10_000, "is_public": false});
    let made = server.request_ok("POST /api/leaderboards", &wanted);
    let path = format!("/api/leaderboards/{}", made["id"].as_str().unwrap());
    let enter = |(name, bot): &(&str, &str)| {
        let snake = json!({"name": name, "url": bots.url(bot), "is_public": true});
        let id = server.request_ok("POST /api/snakes", &snake)["id"].as_str().unwrap().to_owned();
        server.request_ok(&format!("POST {path}/entries"), &json!({"battlesnake_id": id}));
        id
    };
    (path.clone(), snakes.iter().map(enter).collect())
}

fn get(server: &Server, path: &str) -> Value {
    server.request_ok(&format!("GET {path}"), &Value::Null)
}

#[test]
fn games_of_a_bot_that_answers_with_a_web_page_rate_no_bot() {
    let (bots, folder) = (Bots::start(Duration::ZERO), Folder::new());
    let mut server = folder.serve_games("");
    let (ladder, snakes) = start(&server, &bots, &[("good", "last-9"), ("a web page", "page")]);

    let note = until("it is paused", || get(&server, &ladder)["note"].as_str().map(str::to_owned));
    assert!(note.starts_with("1 of 2 snakes can play; a game needs 2. Paused are 1;"), "{note}");
    let entry = get(&server, &format!("{ladder}/entries/{}", snakes[1]));
    assert_eq!(entry["active"], true, "it stays entered");
    let good = get(&server, &format!("{ladder}/entries/{}", snakes[0]));
    for entry in [&entry, &good] {
        assert_eq!(entry["games_played"], 0, "against a bot that is not there anybody wins: {entry}");
    }
    assert_eq!(good["display_score"], entry["display_score"]);
    let health = get(&server, &format!("/api/snakes/{}/health", snakes[1]));
    assert_eq!(health["status"], "paused", "{health}");
    // What its owner is told when he asks.
    let check = server.request_ok(&format!("POST /api/snakes/{}/check", snakes[1]), &Value::Null);
    assert_eq!((&check["is_passed"], &check["fault"]["code"]), (&json!(false), &json!("html")), "{check}");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn two_snakes_with_one_url_are_two_entries() {
    let (bots, folder) = (Bots::start(Duration::ZERO), Folder::new());
    let mut server = folder.serve_games("");
    let (ladder, snakes) = start(&server, &bots, &[("one", "last-9"), ("two", "last-9")]);
    let played = |snake: &String| get(&server, &format!("{ladder}/entries/{snake}"))["games_played"].as_u64().unwrap();
    until("both are rated", || snakes.iter().all(|snake| played(snake) >= 3).then_some(()));

    // On a public one they never meet, whosever they are.
    let public =
        server.request_ok("POST /api/leaderboards", &json!({"name": "public", "players": 2, "timeout_ms": 500}));
    let public = format!("/api/leaderboards/{}", public["id"].as_str().unwrap());
    for snake in &snakes {
        server.request_ok(&format!("POST {public}/entries"), &json!({"battlesnake_id": snake}));
    }
    let note = get(&server, &public)["note"].as_str().unwrap().to_owned();
    assert!(note.starts_with("a game needs snakes of 2 accounts"), "{note}");
    assert_eq!(server.stop(), Some(0));
}
