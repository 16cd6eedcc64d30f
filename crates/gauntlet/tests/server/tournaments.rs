//! `kill -9` in every round of a tournament: the bracket is the same as without, and every result counts once.

use crate::support::bots::Bots;
use crate::support::{Folder, Server, until};
use serde_json::{Value, json};
use std::time::Duration;

/// No machine is so busy that a bot is late by accident.
const TIMEOUT_MS: u32 = 10_000;
const BOTS: [&str; 8] = ["last-5", "last-9", "last-13", "last-17", "last-21", "last-25", "last-29", "last-33"];

/// A tournament of these bots, started: its path.
fn start(server: &Server, bots: &Bots, format: &Value) -> String {
    let snakes = server.register(bots, &BOTS);
    let wanted = json!({
        "name": "cup",
        "format": format,
        "seed": 7,
        "best_of": 3,
        "game": {"timeout_ms": TIMEOUT_MS},
    });
    let created = server.request_ok("POST /api/tournaments", &wanted);
    let path = format!("/api/tournaments/{}", created["id"].as_str().unwrap());
    for snake in &snakes {
        server.request_ok(&format!("POST {path}/entries"), &json!({ "snake_id": snake }));
    }
    assert_eq!(server.request_ok(&format!("POST {path}/start"), &Value::Null)["status"], "running");
    path
}

fn details(server: &Server, path: &str) -> Value {
    server.request_ok(&format!("GET {path}"), &Value::Null)
}

fn decided(tournament: &Value) -> usize {
    let pairings = tournament["pairings"].as_array().unwrap();
    pairings.iter().filter(|pairing| pairing["status"] == "decided").count()
}

/// What must not depend on when a process died: who met whom, in which seats, and how it went.
fn bracket(tournament: &Value) -> Vec<String> {
    let name = |entrant: &Value| match entrant.as_u64() {
        Some(number) => tournament["entrants"][number as usize]["snake_name"].to_string(),
        None => "nobody".to_owned(),
    };
    let pairing = |pairing: &Value| {
        let players: Vec<_> =
            pairing["players"].as_array().unwrap().iter().map(|player| name(&player["entrant"])).collect();
        let game = |game: &Value| {
            assert_eq!(game["status"], "played", "{pairing}");
            format!("{} {}", game["seats"], game["places"])
        };
        let games: Vec<_> = pairing["games"].as_array().unwrap().iter().map(game).collect();
        let winner = name(&pairing["winner"]);
        format!("{} {} {players:?} {games:?} {} {winner}", pairing["stage"], pairing["round"], pairing["decision"])
    };
    tournament["pairings"].as_array().unwrap().iter().map(pairing).collect()
}

/// Plays to the end. When so many pairings are decided, the server is killed and starts again.
fn play(folder: &Folder, mut server: Server, path: &str, kills: &[usize]) -> Value {
    for kill in kills {
        until(&format!("{kill} pairings are decided"), || (decided(&details(&server, path)) >= *kill).then_some(()));
        server.kill();
        server = folder.serve_games("");
    }
    until("it is finished", || {
        let tournament = details(&server, path);
        (tournament["status"] == "finished").then_some(tournament)
    })
}

#[track_caller]
fn check(format: &Value, kills: &[usize]) {
    let bots = Bots::start(Duration::ZERO);
    let run = |kills: &[usize]| {
        let folder = Folder::new();
        let server = folder.serve_games("");
        let path = start(&server, &bots, format);
        play(&folder, server, &path, kills)
    };
    let (undisturbed, killed) = (run(&[]), run(kills));
    assert_eq!(bracket(&undisturbed), bracket(&killed));
    assert_eq!(undisturbed["champion"], killed["champion"]);
    assert_eq!(undisturbed["standings"], killed["standings"]);
    assert!(undisturbed["champion"].is_number());
    // A bracket that only rules decided would be the same whatever happened to the games.
    let decisions: Vec<_> = undisturbed["pairings"].as_array().unwrap().iter().map(|p| &p["decision"]).collect();
    assert!(decisions.contains(&&json!("games")), "{decisions:?}");
}

#[test]
fn kills_in_every_round_change_no_bracket() {
    check(&json!({"type": "single_elimination", "third_place": true}), &[0, 1, 4, 6]);
}

#[test]
fn kills_in_every_round_change_no_swiss_round() {
    check(&json!({"type": "swiss", "rounds": 3}), &[1, 5, 9]);
}

/// A bot that is down and one behind a web page: each is beaten by those that answer, at once, and neither wins between the two.
#[test]
fn bots_that_do_not_answer_lose_and_hold_no_other_bot_up() {
    let (bots, folder) = (Bots::start(Duration::ZERO), Folder::new());
    let server = folder.serve_games("");
    let urls = [bots.url("last-9"), bots.url("last-13"), bots.url("page"), "http://127.0.0.1:1/down".to_owned()];
    let wanted = json!({
        "name": "cup", "format": {"type": "round_robin"}, "entrants_max": 4, "entrants_per_account_max": 4,
        "seed": 7, "game": {"timeout_ms": TIMEOUT_MS},
    });
    let created = server.request_ok("POST /api/tournaments", &wanted);
    let path = format!("/api/tournaments/{}", created["id"].as_str().unwrap());
    for (number, url) in urls.iter().enumerate() {
        let snake = server.request_ok("POST /api/snakes", &json!({"name": format!("bot {number}"), "url": url}));
        server.request_ok(&format!("POST {path}/entries"), &json!({ "snake_id": snake["id"] }));
    }
    server.request_ok(&format!("POST {path}/start"), &Value::Null);
    let tournament = play(&folder, server, &path, &[]);
    let silent = [2, 3];
    for pairing in tournament["pairings"].as_array().unwrap() {
        let players: Vec<u64> =
            pairing["players"].as_array().unwrap().iter().map(|player| player["entrant"].as_u64().unwrap()).collect();
        let answering: Vec<_> = players.iter().filter(|player| !silent.contains(*player)).collect();
        match answering[..] {
            [] => assert_eq!((&pairing["decision"], &pairing["winner"]), (&json!("double_walkover"), &Value::Null)),
            [one] => assert_eq!((&pairing["decision"], &pairing["winner"]), (&json!("games"), &json!(one))),
            _ => assert!(pairing["winner"].is_number(), "{pairing}"),
        }
    }
    assert_eq!(tournament["champion"], 1, "{tournament}");
}
