//! Bits that flip in the data file while no server runs: what they belong to is refused and said, everything else goes on, and mending the
//! bytes mends all of it.

use crate::support::bots::Bots;
use crate::support::connection::HttpConnection;
use crate::support::{Folder, Server, until};
use serde_json::{Value, json};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;
use store::sqlite::SqliteDatabase;
use store::testing::DamageRows;

const THINK: Duration = Duration::from_millis(10);

/// An id in a condition.
fn is(column: &str, id: &str) -> String {
    format!("{column} = x'{}'", id.replace('-', ""))
}

/// Flips one bit of each of these places, or flips it back.
fn flip(file: &Path, places: &[(&str, &str, String)]) {
    let database = SqliteDatabase::new(file);
    for (table, column, which) in places {
        database.rewrite((table, column, which), &mut |bytes| {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 0x08;
        });
    }
}

#[track_caller]
fn check_refused(server: &Server, line: &str) {
    let reply = server.request(line, &Value::Null);
    assert_eq!((reply.status, reply.body["code"].as_str()), (500, Some("data_damaged")), "{line}: {reply:?}");
}

/// A guest's token and the table that the guest opened.
fn open_table(server: &Server, name: &str) -> (String, String) {
    let guest = server.request_ok("POST /api/stories/guests", &json!({ "name": name }));
    let token = guest["token"].as_str().unwrap().to_owned();
    let opened = HttpConnection::open(server.address(), &token).request_ok("POST /api/stories/games", &json!({}), 201);
    (token, opened["table"].as_str().unwrap().to_owned())
}

/// Says something at a table, which is answered with this status.
#[track_caller]
fn chat(server: &Server, (token, table): &(String, String), status: u16) -> Value {
    let line = format!("POST /api/stories/tables/{table}/chat");
    HttpConnection::open(server.address(), token).request_ok(&line, &json!({ "text": "here" }), status)
}

fn statuses(server: &Server, games: &[String]) -> Vec<String> {
    server.statuses(games).iter().map(|game| game["status"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn damage_concerns_nothing_but_what_is_damaged() {
    let (bots, folder) = (Bots::start(THINK), Folder::new());
    let server = folder.serve_games("--data games.db");
    let snakes = server.register(&bots, &["circle", "hungry"]);
    let ended = server.create(&snakes, 1..=2);
    server.wait_for_the_end(&ended);
    bots.hold_moves_from(10);
    let played = server.create(&snakes, 3..=4);
    server.wait_for_turns(&played, 10);
    let tables = ["Ann", "Ben"].map(|name| open_table(&server, name));
    tables.iter().for_each(|table| drop(chat(&server, table, 200)));
    server.kill();

    let file = folder.path().join("games.db");
    let of_table = is("table_id", &tables[0].1);
    let places = [
        ("match_archive", "data", is("match_id", &ended[0])),
        ("match_log", "data", format!("{} AND version = 3", is("match_id", &played[0]))),
        (
            "story_log",
            "data",
            format!("{of_table} AND version = (SELECT max(version) FROM story_log WHERE {of_table})"),
        ),
        ("worlds", "settings", "name = 'plaza'".to_owned()),
    ];
    flip(&file, &places);
    let server = folder.serve_games("--data games.db");
    bots.hold_moves_from(u32::MAX);
    until("one game ends, and the damaged one is given up", || {
        (statuses(&server, &played) == ["failed", "finished"]).then_some(())
    });
    let failure = server.inspect(&played[0]).to_string();
    assert!(failure.contains("it is damaged"), "{failure}");
    check_refused(&server, &format!("GET /api/games/{}/frames", ended[0]));
    check_refused(&server, &format!("GET /api/games/{}/frames", played[0]));
    check_refused(&server, "GET /api/worlds/plaza");
    assert_eq!(chat(&server, &tables[0], 500)["code"], "data_damaged");
    let tail = &server.inspect(&ended[0])["log"]["tail"];
    assert!(tail[0]["entry"]["unreadable"].as_str().unwrap().contains("checksum"), "{tail}");
    // What is beside it is as before, and lists have all that can be read.
    for game in [&ended[1], &played[1]] {
        server.request_ok(&format!("GET /api/games/{game}/frames"), &Value::Null);
    }
    chat(&server, &tables[1], 200);
    server.request_ok("GET /api/worlds/hunt", &Value::Null);
    let worlds = server.request_ok("GET /api/worlds", &Value::Null);
    let names: Vec<_> = worlds.as_array().unwrap().iter().map(|world| world["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["hunt"]);
    let games = server.request_ok("GET /api/games", &Value::Null);
    assert_eq!(games.as_array().unwrap().len(), 4, "{games}");
    // Each is counted and logged once, however often it was read.
    check_refused(&server, "GET /api/worlds/plaza");
    let metrics = server.download("/metrics");
    for kind in ["match_archive", "match_log", "table_log", "world"] {
        let sample = format!("gauntlet_store_damaged_total{{kind=\"{kind}\"}} 1\n");
        assert!(metrics.contains(&sample), "{sample} is not in {metrics}");
    }
    assert_eq!(server.log().matches("stored data are damaged:").count(), 4, "{}", server.log());
    check_copies(&folder);
    server.kill();

    // Nothing was written over it: with the bits as they were, all of it is there again.
    flip(&file, &places);
    let server = folder.serve_games("--data games.db");
    for game in &ended {
        server.request_ok(&format!("GET /api/games/{game}/frames"), &Value::Null);
    }
    server.request_ok("GET /api/worlds/plaza", &Value::Null);
    chat(&server, &tables[0], 200);
    server.request_ok(&format!("POST /api/admin/games/{}/requeue", played[0]), &Value::Null);
    server.wait_for_the_end(&played);
}

/// A text that is not UTF-8.
const NOT_UTF8: &str = "CAST(x'61ff' AS TEXT)";

/// How many rows a list has.
fn count(server: &Server, line: &str) -> usize {
    server.request_ok(line, &Value::Null).as_array().unwrap().len()
}

/// A bit that flips in a definition, a map, a name or a URL concerns its row: lists, exports, claims and readiness go on.
#[test]
fn a_row_that_cannot_be_read_breaks_no_list() {
    let (bots, folder) = (Bots::start(Duration::ZERO), Folder::new());
    let server = folder.serve_games("--data games.db");
    let snakes = ["circle", "hungry", "flood"].map(|name| {
        let snake = json!({ "name": name, "url": bots.url(name), "is_public": true });
        server.request_ok("POST /api/snakes", &snake)["id"].as_str().unwrap().to_owned()
    });
    let games = server.create(&snakes[..2], 1..=4);
    server.wait_for_the_end(&games);
    let bots_of_duel: Vec<Value> = snakes.iter().map(|id| json!({ "snake_id": id })).collect();
    let duel = json!({
        "bots": bots_of_duel, "games_max": 2, "timeout_ms": 10_000, "board": "7x7", "is_public": true
    });
    let duels = [(); 2].map(|()| server.request_ok("POST /api/duels", &duel)["id"].as_str().unwrap().to_owned());
    until("the duels are over", || {
        let is_over =
            |id: &String| server.request_ok(&format!("GET /api/duels/{id}"), &Value::Null)["status"] == "finished";
        duels.iter().all(is_over).then_some(())
    });
    let lists = [
        "GET /api/games/recent?limit=100".to_owned(),
        "GET /api/games?limit=100".to_owned(),
        format!("GET /api/snakes/{}/games?limit=100", snakes[0]),
    ];
    let before = lists.each_ref().map(|line| count(&server, line));
    bots.hold_moves_from(3);
    let played = server.create(&snakes[..2], 5..=6);
    server.wait_for_turns(&played, 3);
    server.kill();

    let file = folder.path().join("games.db");
    flip(&file, &[("competitions", "definition", is("id", &duels[0]))]);
    let database = SqliteDatabase::new(&file);
    let changes = [
        ("matches", format!("map = 'moon' WHERE {}", is("id", &games[0]))),
        ("seats", format!("url = {NOT_UTF8} WHERE {} AND seat = 0", is("match_id", &games[1]))),
        ("seats", format!("name = {NOT_UTF8} WHERE {} AND seat = 0", is("match_id", &played[0]))),
        ("bots", format!("name = {NOT_UTF8} WHERE {}", is("id", &snakes[2]))),
    ];
    for (table, change) in changes {
        database.run_unchecked(&format!("UPDATE {table} SET {change}"));
    }
    let server = folder.serve_games("--data games.db");
    bots.hold_moves_from(u32::MAX);
    until("what can be played is played", || {
        let ended = server.statuses(&played);
        (ended.len() == 2 && ended[1]["status"] == "finished" && ended[0]["status"] == "failed").then_some(())
    });
    server.request_ok("GET /readyz", &Value::Null);
    // Two games that had ended are missing, and of the two that were played one is.
    for (line, before) in lists.iter().zip(before) {
        assert_eq!(count(&server, line), before - 2 + 1, "{line}");
    }
    let export = server.request_ok("GET /api/account/export", &Value::Null);
    let lengths = ["games", "duels", "snakes"].map(|list| export[list].as_array().unwrap().len());
    assert_eq!(lengths, [before[1] - 1, 1, 2], "{export}");
    assert_eq!(count(&server, "GET /api/duels"), 1);
    for line in [
        format!("GET /api/duels/{}", duels[0]),
        format!("GET /api/games/{}", games[0]),
        format!("GET /api/games/{}", games[1]),
    ] {
        check_refused(&server, &line);
    }
    server.request_ok(&format!("GET /api/duels/{}", duels[1]), &Value::Null);
    let metrics = server.download("/metrics");
    for (kind, want) in [("competition", 1), ("match", 3), ("bot", 1)] {
        let sample = format!("gauntlet_store_damaged_total{{kind=\"{kind}\"}} {want}\n");
        assert!(metrics.contains(&sample), "{sample} is not in {metrics}");
    }
    let log = server.log();
    assert!(!log.contains("failed unexpectedly") && !log.contains("ends too early"), "{log}");
}

/// Copies are made of a file with damage, which is listed.
fn check_copies(folder: &Folder) {
    let run = |words: &str| {
        let output = folder.command(words).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8_lossy(&said).into_owned())
    };
    let (code, said) = run("check-store --data games.db");
    assert!(code == Some(1) && said.contains("4 rows are damaged"), "{code:?}: {said}");
    let (code, said) = run("backup copy.db --data games.db");
    assert_eq!(code, Some(1), "{said}");
    for part in
        ["damaged: match_archive (the archive of match", "damaged: world (", "4 rows are damaged", "keep the backups"]
    {
        assert!(said.contains(part), "{part} is not in {said}");
    }
    let (code, said) = run("restore copy.db --data new/games.db");
    assert!(code == Some(1) && said.contains("--accept-damage"), "{code:?}: {said}");
    let (code, said) = run("restore copy.db --data new/games.db --accept-damage");
    assert!(code == Some(0) && said.contains("2 matches"), "{code:?}: {said}");
}

/// A page of an index that no row is read from is found as well: who is looked up by it is not found.
#[test]
fn a_destroyed_index_is_found() {
    let folder = Folder::new();
    folder.serve_games("--data games.db").kill();
    let check = |code: i32, part: &str| {
        let output = folder.command("check-store --data games.db").output().unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(output.status.code() == Some(code) && said.contains(part), "{:?}: {said}", output.status);
    };
    check(0, "all pages and indexes agree");
    let file = folder.path().join("games.db");
    let database = rusqlite::Connection::open(&file).unwrap();
    let index = "SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_tokens_2'";
    let page: i64 = database.query_row(index, [], |row| row.get(0)).unwrap();
    database.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    database.close().unwrap();
    let file = std::fs::File::options().write(true).open(file).unwrap();
    file.write_all_at(&[0xff; 4096], (page as u64 - 1) * 4096).unwrap();
    check(1, "is damaged");
}
