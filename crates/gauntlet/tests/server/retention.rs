//! What is old goes from the store of a running server, and nothing else; a store that an older version made keeps all until a period is set.

use crate::support::{Folder, Server, until};
use rusqlite::Connection;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

const DAY_MS: i64 = 24 * 3_600_000;

fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as i64
}

fn data(folder: &Folder) -> PathBuf {
    folder.path().join("gauntlet-data/gauntlet.db")
}

/// The id of something that was made so many days ago.
fn id(days: i64, n: u128) -> [u8; 16] {
    let ms = (now_ms() - days * DAY_MS) as u128;
    (ms << 80 | 7 << 76 | 0b10 << 62 | n).to_be_bytes()
}

/// One of each kind that ended 200 days ago, or was made by a guest who came then, and one of each that is from today.
fn fill(folder: &Folder) {
    let db = Connection::open(data(folder)).unwrap();
    let account = id(300, 1);
    db.execute("INSERT INTO accounts (id, name, created_at) VALUES (?1, 'ann', 0)", [&account]).unwrap();
    for (days, n) in [(200, 2), (0, 3)] {
        let (id, ended_at) = (id(days, n), now_ms() - days * DAY_MS);
        db.execute(
            "INSERT INTO matches (id, account, ruleset, map, is_solo, food_spawn_chance, minimum_food, hazard_damage_per_turn,
               shrink_every_n_turns, width, height, seed, timeout_ms, turns_max, state, created_at, updated_at, enqueued_at,
               ended_at, version, turns, late_moves)
             VALUES (?1, ?2, 'standard', 'standard', 0, 15, 1, 14, 25, 11, 11, 1, 500, 100, 'cancelled', ?3, ?3, ?3, ?3, 0, 0, 0)",
            (&id, &account, ended_at),
        )
        .unwrap();
        db.execute("UPDATE counters SET value = value + 1 WHERE name = 'cancelled'", ()).unwrap();
        db.execute("INSERT INTO story_standings VALUES (?1, 5, 0, 0, 0, 0)", [&id]).unwrap();
        db.execute("INSERT INTO hunters VALUES (?1, 'bob', 5, 1, 1, 1, 1, ?2)", (&id, ended_at)).unwrap();
        db.execute(
            "INSERT INTO worlds (id, name, kind, settings, seed, created_at, ends_at, admission, players_max, players)
             VALUES (?1, ?2, 'hunt', x'', 1, ?3, ?3, 'joined', 2, 0)",
            (&id, format!("hunt-{n}"), ended_at),
        )
        .unwrap();
        db.execute(
            "INSERT INTO competitions (id, kind, account, name, definition, status, is_public, created_at, ended_at, results,
               results_applied)
             VALUES (?1, 'duel', ?2, 'duel', x'', 'finished', 0, ?3, ?3, 1, 1)",
            (&id, &account, ended_at),
        )
        .unwrap();
        db.execute(
            "INSERT INTO competition_results VALUES (?1, 1, ?1, 1, ?2, 'cancelled', x'', NULL)",
            (&id, ended_at),
        )
        .unwrap();
        db.execute("INSERT INTO competition_log VALUES (?1, 0, x'', NULL)", [&id]).unwrap();
    }
    // The account plays as well, and has for long.
    db.execute("INSERT INTO story_standings VALUES (?1, 5, 0, 0, 0, 0)", [&account]).unwrap();
}

fn wait_for(server: &Server, lines: &[&str]) {
    until("what is old is deleted", || {
        let page = server.get("/metrics", "");
        lines.iter().all(|want| page.lines().any(|line| line == *want)).then_some(())
    });
}

/// How many rows of each there are.
#[track_caller]
fn check_left(folder: &Folder, want: [(&str, i64); 6]) {
    let db = Connection::open(data(folder)).unwrap();
    let count = |table: &str| -> i64 {
        let of = match table {
            "worlds" => "worlds WHERE kind = 'hunt' AND name LIKE 'hunt-_'",
            // Every server has a ladder.
            "competitions" => "competitions WHERE kind = 'duel'",
            other => other,
        };
        db.query_row(&format!("SELECT count(*) FROM {of}"), (), |row| row.get(0)).unwrap()
    };
    assert_eq!(want.map(|(table, _)| (table, count(table))), want);
}

#[test]
fn a_new_store_forgets_what_is_old_and_an_older_one_when_it_is_told_to() {
    let folder = Folder::new();
    let mut server = folder.serve_games("");
    assert_eq!(server.stop(), Some(0));
    fill(&folder);
    let older = "UPDATE gauntlet_schema SET created_with = 0";
    Connection::open(data(&folder)).unwrap().execute(older, ()).unwrap();
    let hunts = "gauntlet_retired_total{kind=\"hunts\"} 1";
    let left = |young: i64, duels: i64| {
        [
            ("matches", young),
            ("story_standings", young + 1),
            ("hunters", young),
            ("worlds", 1),
            ("competitions", duels),
            ("competition_results", duels),
        ]
    };

    // Hunts were kept for a day before this version, too.
    let mut server = folder.serve_games("");
    wait_for(&server, &[hunts, "gauntlet_retention_lag_seconds{kind=\"matches\"} 0"]);
    assert_eq!(server.stop(), Some(0));
    check_left(&folder, left(2, 2));

    let newer = "UPDATE gauntlet_schema SET created_with = 1";
    Connection::open(data(&folder)).unwrap().execute(newer, ()).unwrap();
    let mut server = folder.serve_games("");
    wait_for(&server, &["gauntlet_retired_total{kind=\"matches\"} 1", "gauntlet_retired_total{kind=\"guests\"} 2"]);
    assert_eq!(server.stop(), Some(0));
    check_left(&folder, left(1, 2));

    let mut server = folder.serve_games("--competitions-keep-for 30d");
    wait_for(&server, &["gauntlet_retired_total{kind=\"competitions\"} 1"]);
    assert_eq!(server.stop(), Some(0));
    check_left(&folder, left(1, 1));
}
