//! `gauntlet replay` as its user types it, against a server and bots.

use crate::support::bots::Bots;
use crate::support::{Folder, Server, TOKEN};
use serde_json::Value;
use std::net::TcpListener;
use std::process::Output;
use std::time::Duration;

struct Replayed {
    folder: Folder,
    server: Server,
    bots: Bots,
    game: String,
}

impl Replayed {
    /// A finished game of a bot that goes in a circle and one that looks where it goes.
    fn new() -> Self {
        let (folder, bots) = (Folder::new(), Bots::start(Duration::ZERO));
        let server = folder.serve_games("");
        let snakes = server.register(&bots, &["circle", "hungry"]);
        let games = server.create(&snakes, [7]);
        server.wait_for_the_end(&games);
        Self { folder, server, bots, game: games[0].clone() }
    }

    fn run(&self, game: &str, bot: &str, flags: &str) -> Output {
        let line = format!("replay {game} --bot {bot} --server http://{} {flags}", self.server.address());
        self.folder.command(&line).env("GAUNTLET_TOKEN", TOKEN).output().unwrap()
    }
}

/// It must end with this code and print each of these.
#[track_caller]
fn check(output: &Output, code: i32, printed: &[&str]) {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    let text = String::from_utf8_lossy(&text);
    assert_eq!(output.status.code(), Some(code), "{text}");
    for part in printed {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
}

#[test]
fn a_bot_is_called_again_as_in_the_game() {
    let played = Replayed::new();
    let (game, circle, hungry) = (&played.game, played.bots.url("circle"), played.bots.url("hungry"));
    let turns = played.server.request_ok(&format!("GET /api/games/{game}/snakes/1/turns"), &Value::Null);
    let moves = turns["turns"].as_array().unwrap().len();
    let calls_before = played.bots.calls();

    let same = format!("{moves} moves of \"hungry\" (seat 1): {moves} as played, 0 differ, 0 without a valid answer");
    check(&played.run(game, &hungry, "--seat 1"), 0, &[&same]);
    // Each call came once more, /start and /end too.
    for ((call, .., turn), count) in
        played.bots.calls().iter().filter(|((_, _, snake, _), _)| *snake == turns["you_id"])
    {
        assert_eq!(*count, 2, "{call} {turn}");
    }
    assert_eq!(calls_before.len(), played.bots.calls().len(), "nothing else was sent");

    let other = played.run(game, &circle, "--seat 1");
    check(&other, 3, &["differs", &format!("{moves} moves of \"hungry\" (seat 1)")]);
    let one = played.run(game, &hungry, "--seat 1 --turn 2 --json");
    check(&one, 0, &[]);
    let shown: Value = serde_json::from_slice(&one.stdout).unwrap();
    assert_eq!((&shown["turns"][0]["turn"], &shown["turns"][0]["differs"]), (&2.into(), &false.into()));
    assert_eq!((&shown["summary"]["moves"], &shown["game"]["game_id"]), (&1.into(), &game.as_str().into()));

    // The same from a file, without the server.
    let calls = played.server.download(&format!("/api/games/{game}/snakes/1/calls"));
    played.folder.write("lost.ndjson", &calls);
    let Replayed { folder, server, bots, .. } = played;
    server.kill();
    let from_file = folder.command(&format!("replay lost.ndjson --bot {}", bots.url("hungry"))).output().unwrap();
    check(&from_file, 0, &[&same]);
}

#[test]
fn what_cannot_be_replayed_is_said() {
    let played = Replayed::new();
    let (game, hungry) = (&played.game, played.bots.url("hungry"));
    // The token is an admin's: it may see both snakes.
    check(&played.run(game, &hungry, ""), 2, &["seats 0, 1 are yours: name one with --seat"]);
    check(&played.run(game, &hungry, "--seat 2"), 1, &["404: no_such_seat"]);
    check(
        &played.run(game, &hungry, "--seat 0 --turn 4000"),
        2,
        &["--turn 4000: this snake has no saved request of it"],
    );
    check(&played.run(game, &hungry, "--seat 0 --token wrong"), 1, &["401: token_unknown", "GAUNTLET_TOKEN"]);
    check(&played.run("0190b5a4-7c1e-7000-8000-000000000001", &hungry, ""), 1, &["404: no_such_game"]);
    check(&played.run("missing.ndjson", &hungry, ""), 1, &["missing.ndjson", "a game's id or a file with its calls"]);
    check(&played.run(game, "bot.example", "--seat 0"), 2, &["--bot bot.example: expected the base URL"]);
    played.folder.write("other.ndjson", "GIF89a");
    check(&played.run("other.ndjson", &hungry, ""), 1, &["other.ndjson: line 1 is not about the snake of a recording"]);
    // A port where nothing listens.
    let away = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let unreachable = played.run(game, &format!("http://{away}"), "--seat 0 --turn 0");
    check(
        &unreachable,
        4,
        &["answered unreachable", "no valid answer: no connection could be made", "1 without a valid answer"],
    );
}
