//! `gauntlet ratings recompute` on the data of servers that were killed: every rating is the one that its results give, to the last bit.

use crate::support::bots::Bots;
use crate::support::{Folder, Server, until};
use engine::commands::{Command, CompetitionCommand, LadderCommand, Outcome, RepairRatings, WorldCommand};
use engine::ids::CompetitionId;
use engine::time::UnixMs;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;
use store::Database;
use store::sqlite::SqliteDatabase;

/// A ladder of four bots, which the server pairs by itself: its id.
fn start(server: &Server, bots: &Bots) -> String {
    // Bots of one account meet on private ladders alone.
    let wanted = json!({"name": "mine", "players": 2, "board": "7x7", "timeout_ms": 10_000, "is_public": false});
    let ladder = server.request_ok("POST /api/leaderboards", &wanted)["id"].as_str().unwrap().to_owned();
    for name in ["last-5", "last-9", "last-13", "last-17"] {
        let snake = json!({"name": name, "url": bots.url(name), "is_public": true});
        let id = server.request_ok("POST /api/snakes", &snake)["id"].clone();
        server.request_ok(&format!("POST /api/leaderboards/{ladder}/entries"), &json!({"battlesnake_id": id}));
    }
    ladder
}

fn applied(server: &Server, ladder: &str) -> u64 {
    let shown = server.request_ok(&format!("GET /api/leaderboards/{ladder}"), &Value::Null);
    shown["games_applied"].as_u64().unwrap()
}

/// The exit code of a command, and what it prints.
fn run(folder: &Folder, line: &str) -> (Option<i32>, String) {
    let output = folder.command(line).output().unwrap();
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).join("\n");
    (output.status.code(), text)
}

#[track_caller]
fn check(folder: &Folder, line: &str, want_code: i32, want: &str) {
    let (code, text) = run(folder, &format!("ratings recompute {line}"));
    assert_eq!(code, Some(want_code), "{line}: {text}");
    assert!(text.contains(want), "{line}: {text}");
}

/// Moves one entry's rating by the smallest step there is.
fn nudge_a_rating(data: &Path, ladder: CompetitionId) {
    let database = SqliteDatabase::new(data);
    let mut writer = database.writer().unwrap();
    let mut reader = database.reader().unwrap();
    let row = reader.competition(ladder).unwrap().unwrap();
    let entry = reader.ladders().ladder_entries(ladder, 1, None, 1).unwrap().remove(0);
    let mut record = entry.record;
    record.rating.mu = record.rating.mu.next_up();
    let repair = RepairRatings {
        ladder,
        season: 1,
        expected_results_applied: row.results_applied,
        records: vec![(entry.entrant.bot, record)],
        strangers: Vec::new(),
        games: Vec::new(),
        games_removed: Vec::new(),
        meetings: Vec::new(),
        seats: Vec::new(),
        now: UnixMs(0),
    };
    let done = writer.commit(&[Command::Ladder(LadderCommand::Repair(Box::new(repair)))]);
    assert_eq!(done, Ok(vec![Outcome::Done]));
}

/// Deletes all that any setting could have deleted, now or in a thousand years.
fn retire_everything(data: &Path) {
    let mut writer = SqliteDatabase::new(data).writer().unwrap();
    let (now, none, max) = (UnixMs(i64::MAX >> 1), Duration::ZERO, 1_000);
    let retire = [
        Command::RetireMatches { now, keep_for: Some(none), keep_archive_bytes: Some(0), keep_answers_for: none, max },
        Command::RetireGames { now, keep_for: Some(none), keep_answers_for: none, max },
        Command::Competition(CompetitionCommand::Retire { now, keep_for: none, max }),
        Command::World(WorldCommand::Retire { now, keep_for: none, keep_max: 0, max }),
    ];
    let retired = writer.commit(&retire).unwrap();
    assert!(matches!(retired[0], Outcome::Retired(20..)), "the games that were rated are gone: {retired:?}");
}

#[test]
fn ratings_of_servers_that_were_killed_are_those_of_their_results() {
    let (bots, folder) = (Bots::start(Duration::ZERO), Folder::new());
    let mut server = folder.serve_games("");
    let ladder = start(&server, &bots);
    for games in [3, 10, 20] {
        until("games are rated", || (applied(&server, &ladder) >= games).then_some(()));
        server.kill();
        check(&folder, &format!("--ladder {ladder}"), 0, "equal to the last bit");
        server = folder.serve_games("");
    }
    let in_use = format!("gauntlet.db is in use by a server (process {})", server.pid());
    for words in ["", " --write", " --season 1"] {
        check(&folder, &format!("--ladder {ladder}{words}"), 1, &in_use);
    }
    check(&folder, "--write", 1, "/recompute");
    let beside = format!("POST /api/admin/leaderboards/{ladder}/recompute");
    let report = until("a look without a result in between", || {
        let reply = server.request(&beside, &Value::Null);
        (reply.status == 200).then_some(reply.body)
    });
    assert_eq!(report["wrong"], 0, "{report}");
    assert!(report["rated"].as_u64() >= Some(20), "{report}");
    assert_eq!(server.stop(), Some(0));

    let of_ladder = format!("--ladder {ladder}");
    check(&folder, &of_ladder, 0, "equal to the last bit");
    nudge_a_rating(&folder.path().join("gauntlet-data/gauntlet.db"), ladder.parse().unwrap());
    check(&folder, &of_ladder, 3, "1 rows differ");
    check(&folder, &format!("{of_ladder} --write"), 0, "1 rows differed and were put right");
    check(&folder, &format!("{of_ladder} --write"), 0, "equal to the last bit");
    let (_, log) = run(&folder, &format!("audit --target leaderboard:{ladder} --action recompute_ratings"));
    let put_right = |line: &&str| line.contains("season:1 rows:1");
    assert_eq!(log.lines().filter(put_right).count(), 1, "{log}");
    retire_everything(&folder.path().join("gauntlet-data/gauntlet.db"));
    check(&folder, &of_ladder, 0, "equal to the last bit");
    check(&folder, &format!("{of_ladder} --season 2"), 1, "season");
    let unknown = "0190b5a4-7c1e-7000-8000-000000000001";
    let want = format!("there is no ladder {unknown}: GET /api/leaderboards lists them");
    check(&folder, &format!("--ladder {unknown}"), 1, &want);
    check(&folder, &format!("--ladder {unknown} --write"), 1, &want);
}
