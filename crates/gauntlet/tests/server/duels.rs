//! Duels by the built program: `gauntlet duel` without a server, and a duel on a server that is killed in the middle.

use crate::support::bots::Bots;
use crate::support::{Folder, Server, TOKEN, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

/// Bounds so far apart that a handful of pairs decides.
const WIDE: &str = "--elo1 300 --timeout-ms 10000";

#[track_caller]
fn check(bots: &Bots, line: &str, code: i32, printed: &str) {
    let folder = Folder::new();
    let line = line
        .replace("CIRCLE", &bots.url("circle"))
        .replace("FLOOD", &bots.url("flood"))
        .replace("PAGE", &bots.url("page"));
    let output = folder.command(&format!("duel {line}")).output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).join("\n");
    assert_eq!(output.status.code(), Some(code), "{line}: {text}");
    assert!(text.contains(printed), "{line}: {text}");
}

#[test]
fn a_duel_needs_no_server_and_says_who_is_better() {
    let bots = Bots::start(Duration::ZERO);
    check(&bots, &format!("old=CIRCLE new=FLOOD {WIDE}"), 0, "new is better than old");
    check(&bots, &format!("old=FLOOD new=CIRCLE {WIDE}"), 3, "new is not better than old by 300 Elo");
    check(&bots, &format!("CIRCLE FLOOD --games 2 {WIDE}"), 4, "Undecided");
    check(&bots, "a=CIRCLE b=FLOOD c=CIRCLE--2 --games 4 --timeout-ms 10000", 0, "stronger than");
}

#[test]
fn what_cannot_be_run_says_why() {
    let bots = Bots::start(Duration::ZERO);
    check(
        &bots,
        "CIRCLE http://127.0.0.1:9/",
        1,
        "the bot at http://127.0.0.1:9/ gives no move: the connection was refused (unreachable); start the bot",
    );
    check(
        &bots,
        "CIRCLE PAGE",
        1,
        "gives no move: the answer was a web page (HTML), not JSON (malformed, status 200, beginning with \"<!doctype",
    );
    check(&bots, "CIRCLE FLOOD --games 3", 2, "--games 3 is odd");
    check(&bots, "CIRCLE 127.0.0.1:9", 2, "such as http://127.0.0.1:9");
    check(&bots, "CIRCLE old=CIRCLE/", 2, "the same program");
    check(&bots, "CIRCLE 0190b5a4-7c1e-7000-8000-000000000001", 2, "--server");
    check(&bots, "CIRCLE FLOOD --server http://127.0.0.1:9", 1, "http://127.0.0.1:9/api/duels");
    check(&bots, "CIRCLE FLOOD --elo1 3", 1, "bad_value: elo1 must be at least 10 Elo above elo0");
    check(&bots, "CIRCLE", 2, "BOT");
    check(&bots, "CIRCLE FLOOD --server nonsense", 2, "--server nonsense");
}

/// Nothing of it counts, and the verdict says what came instead of moves.
#[test]
fn a_bot_that_does_not_play_ends_the_duel_on_a_server() {
    let (bots, folder) = (Bots::start(Duration::ZERO), Folder::new());
    let server = folder.serve_games("");
    let (url, token) = (server.address(), TOKEN);
    let line = format!("--timeout-ms 10000 --board 7x7 --server http://{url} --token {token}");
    for (line, code) in [(format!("old=FLOOD new=PAGE {line}"), 1), (format!("new=PAGE old=CIRCLE {line}"), 1)] {
        check(&bots, &line, code, "Undecided: new did not play. It gave no valid move in");
        check(&bots, &line, code, "its answer: status 200, beginning with \"<!doctype html>");
    }
    let duels = server.request_ok("GET /api/duels", &Value::Null);
    let shown = duel(&server, duels[0]["id"].as_str().unwrap());
    // Games that were under way when the third ended are among them.
    let games = shown["silent_bot"]["games"].as_u64();
    assert!(shown["end"] == "bot_silent" && games.is_some_and(|games| games >= 3), "{shown}");
    assert_eq!(check_counts(&shown["pairings"][0]), 0);
}

#[test]
fn the_numbers_are_written_to_a_file() {
    let (bots, folder) = (Bots::start(Duration::ZERO), Folder::new());
    let line = format!("duel {} {} {WIDE} --json duel.json", bots.url("circle"), bots.url("flood"));
    assert_eq!(folder.command(&line).status().unwrap().code(), Some(0));
    let duel: Value = serde_json::from_slice(&std::fs::read(folder.path().join("duel.json")).unwrap()).unwrap();
    assert_eq!((&duel["end"], &duel["status"]), (&json!("h1_accepted"), &json!("finished")));
    assert!(check_counts(&duel["pairings"][0]) > 0);
}

/// The games of a pairing, which fit its pairs.
#[track_caller]
fn check_counts(pairing: &Value) -> u64 {
    let games: u64 = ["wins", "draws", "losses"].iter().map(|member| pairing[member].as_u64().unwrap()).sum();
    let pairs: u64 = pairing["pairs"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!(games, 2 * pairs, "{pairing}");
    games
}

/// Whatever dies, each game counts once: the duel that was killed three times has every game of its pairs exactly once.
#[test]
fn a_duel_outlives_its_server() {
    let (bots, folder) = (Bots::start(Duration::from_millis(2)), Folder::new());
    let mut server = folder.serve_games("");
    // A league has no test that could end it before all games are played.
    let bot = |name| json!({"url": bots.url(&format!("flood--{name}")), "name": name});
    let wanted = json!({
        "bots": [bot("a"), bot("b"), bot("c")], "games_max": 8, "pairs_at_once": 2, "timeout_ms": 10_000, "board": "7x7",
    });
    let created = server.request_ok("POST /api/duels", &wanted);
    let id = created["id"].as_str().unwrap().to_owned();
    for games in [1, 5, 9] {
        until("some games have ended", || (duel(&server, &id)["games_ended"].as_u64() >= Some(games)).then_some(()));
        server.kill();
        server = folder.serve_games("");
    }
    let ended = until("the duel is over", || Some(duel(&server, &id)).filter(|duel| !duel["end"].is_null()));
    assert_eq!((&ended["end"], &ended["status"]), (&json!("games_played"), &json!("finished")));
    let pairings = ended["pairings"].as_array().unwrap();
    assert_eq!(pairings.iter().map(check_counts).collect::<Vec<_>>(), [8, 8, 8]);
    let games = server.request_ok(&format!("GET /api/duels/{id}/games?limit=100"), &Value::Null);
    let mut finished: BTreeMap<[u64; 3], u32> = BTreeMap::new();
    for game in games.as_array().unwrap().iter().filter(|game| game["game"]["status"] == "finished") {
        *finished
            .entry(["pairing", "pair", "game_of_pair"].map(|member| game[member].as_u64().unwrap()))
            .or_default() += 1;
    }
    assert!(finished.len() == 24 && finished.values().all(|times| *times == 1), "{finished:?}");
    assert_eq!(server.stop(), Some(0));
}

fn duel(server: &Server, id: &str) -> Value {
    server.request_ok(&format!("GET /api/duels/{id}"), &Value::Null)
}

/// Ctrl-C calls the duel off, prints what is known so far, writes the numbers, and leaves nothing behind.
#[test]
fn an_interrupted_duel_prints_what_is_known() {
    let (bots, folder) = (Bots::start(Duration::from_millis(1)), Folder::new());
    for signal in [Signal::INT, Signal::TERM] {
        let (bot, equal) = (bots.url("flood"), bots.url("flood--2"));
        // Equal bots, and bounds so close together that nothing is known for long.
        let line =
            format!("duel {bot} {equal} --elo1 10 --timeout-ms 10000 --board 7x7 --games 10000 --json duel.json");
        let mut command = folder.command(&line);
        command.env("TMPDIR", folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut duel = command.spawn().unwrap();
        let mut progress = BufReader::new(duel.stderr.take().unwrap()).lines();
        let last =
            progress.find(|line| line.as_ref().unwrap().contains(" games: ")).expect("it makes progress").unwrap();
        kill_process(Pid::from_child(&duel), signal).unwrap();
        let output = duel.wait_with_output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(130), "{printed}");
        let games = |text: &str| -> u64 {
            let words: Vec<&str> = text.split_whitespace().collect();
            words.windows(2).find(|pair| pair[1] == "games:").and_then(|pair| pair[0].parse().ok()).expect(text)
        };
        assert!(games(&printed) >= games(&last), "{last}\n{printed}");
        assert!(
            printed.contains("It was called off.") && printed.contains("LLR") && printed.contains("Elo"),
            "{printed}"
        );
        let numbers: Value = serde_json::from_slice(&std::fs::read(folder.path().join("duel.json")).unwrap()).unwrap();
        assert_eq!(numbers["status"], "cancelled");
        assert_eq!(check_counts(&numbers["pairings"][0]), games(&printed));
        let left = std::fs::read_dir(folder.path()).unwrap().flatten().map(|entry| entry.file_name());
        let left: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with("gauntlet-duel-")).collect();
        assert!(left.is_empty(), "{left:?}");
    }
}
