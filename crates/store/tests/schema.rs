//! The schema refuses unknown states of a match, and a program refuses an unknown schema.

#![expect(clippy::unwrap_used, reason = "a test ends where its world does")]

use engine::commands::{Command, CreateMatches, Outcome};
use engine::ids::{AccountId, BotId, MatchId, WorkerId};
use engine::matches::spec::{MatchSpec, SeatSpec};
use engine::rows::{Account, LimitRules, TokenPurpose};
use engine::time::UnixMs;
use rules::chance::Seed;
use rules::snake::Rules;
use store::sqlite::SqliteDatabase;
use store::testing::{PostgresCluster, TempDir};
use store::{Database, MatchFilter, MatchList, SchemaPolicy, StoreError};

#[track_caller]
fn check_refused(database: &dyn Database, want: &[&str]) {
    let (writer, reader) = (database.writer().map(drop), database.reader().map(drop));
    for answer in [writer, reader] {
        let Err(StoreError::WrongSchema { why }) = answer else { panic!("not refused as wrong: {answer:?}") };
        assert!(want.iter().all(|want| why.contains(want)), "{why:?} does not say {want:?}");
    }
}

#[test]
fn files_that_are_not_ours_are_refused_and_left_alone() {
    let dir = TempDir::new();
    let file = dir.path().join("store.db");
    let database = SqliteDatabase::new(&file);
    drop(database.writer().unwrap());
    let db = rusqlite::Connection::open(&file).unwrap();
    let known: i64 = db.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    db.pragma_update(None, "user_version", known + 1).unwrap();
    // Its migrations let this program work beside it; a command does not.
    drop((database.writer().unwrap(), database.reader().unwrap()));
    check_refused(&database.clone().with_policy(SchemaPolicy::CreateOnly), &["newer program", "gauntlet migrate"]);
    assert!(database.schema_version().unwrap().is_compatible && database.migrate().is_err());
    db.execute("UPDATE gauntlet_schema SET compatible_from = ?1", [known + 1]).unwrap();
    let (found, expected) = (format!("schema version {}", known + 1), format!("up to {known}"));
    check_refused(&database, &[&found, &expected, "newer program"]);

    let file = dir.path().join("photos.db");
    let db = rusqlite::Connection::open(&file).unwrap();
    db.execute_batch("CREATE TABLE photos (id INTEGER)").unwrap();
    drop(db);
    let before = std::fs::read(&file).unwrap();
    check_refused(&SqliteDatabase::new(&file), &["another program", "another data file"]);
    assert!(before == std::fs::read(&file).unwrap(), "it was changed");

    let file = dir.path().join("letter.txt");
    std::fs::write(&file, "Dear Sir or Madam, ".repeat(1_000)).unwrap();
    check_refused(&SqliteDatabase::new(&file), &["not a database of SQLite"]);

    // Half of it is missing.
    let file = dir.path().join("cut.db");
    drop(SqliteDatabase::new(&file).writer().unwrap());
    rusqlite::Connection::open(&file).unwrap().execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() / 2 / 4_096 * 4_096]).unwrap();
    check_refused(&SqliteDatabase::new(&file), &["cut.db is damaged", "from a backup"]);
}

#[test]
fn a_directory_that_is_missing_is_unavailable() {
    let dir = TempDir::new();
    let answer = SqliteDatabase::new(dir.path().join("missing/store.db")).writer().map(drop);
    let Err(StoreError::Unavailable { why }) = answer else { panic!("{answer:?}") };
    assert!(why.contains("missing/store.db"), "{why}");
}

fn created_with(database: &dyn Database) -> Result<i64, StoreError> {
    database.reader().unwrap().created_with()
}

#[test]
fn databases_that_are_not_ours_are_refused() {
    let cluster = PostgresCluster::shared();
    let url = cluster.new_empty_database_url();
    let database = store::postgres::PostgresDatabase::new(&url).unwrap();
    let mut client = postgres::Client::connect(&url, postgres::NoTls).unwrap();
    client.batch_execute("CREATE TABLE photos (id INTEGER)").unwrap();
    check_refused(&database, &["another program", "photos", "empty database"]);
    client.batch_execute("DROP TABLE photos").unwrap();
    drop(database.writer().unwrap());
    assert_eq!(created_with(&database), Ok(database.schema_version().unwrap().found));
    let changed = client.query_one("UPDATE gauntlet_schema SET version = version + 1 RETURNING version::bigint", &[]);
    let newer: i64 = changed.unwrap().get(0);
    // Its migrations let this program work beside it; a command does not.
    drop((database.writer().unwrap(), database.reader().unwrap()));
    check_refused(&database.clone().with_policy(SchemaPolicy::CreateOnly), &["newer program", "gauntlet migrate"]);
    assert!(database.schema_version().unwrap().is_compatible && database.migrate().is_err());
    client.execute("UPDATE gauntlet_schema SET compatible_from = $1", &[&newer]).unwrap();
    let (found, expected) = (format!("schema version {newer}"), format!("up to {}", newer - 1));
    check_refused(&database, &[&found, &expected, "newer program"]);
}

/// A command refuses a store of the first schema; `migrate` brings it forward, once.
#[track_caller]
fn check_migrated_once(commands: [&dyn Database; 2], migrate: impl Fn() -> Result<i64, StoreError>, known: i64) {
    for database in commands {
        check_refused(database, &["run gauntlet migrate", "schema version 1", &format!("needs {known}")]);
    }
    assert_eq!((migrate(), migrate()), (Ok(1), Ok(known)));
    commands.iter().for_each(|database| drop((database.writer().unwrap(), database.reader().unwrap())));
}

#[test]
fn commands_leave_an_older_file_as_it_is() {
    let dir = TempDir::new();
    let file = dir.path().join("empty.db");
    std::fs::File::create(&file).unwrap();
    check_refused(&SqliteDatabase::new(&file).with_policy(SchemaPolicy::Never), &["is empty", "gauntlet migrate"]);
    drop(SqliteDatabase::new(&file).with_policy(SchemaPolicy::CreateOnly).writer().unwrap());
    let new = SqliteDatabase::new(&file);
    assert_eq!(created_with(&new), Ok(new.schema_version().unwrap().found));

    let file = dir.path().join("older.db");
    let db = rusqlite::Connection::open(&file).unwrap();
    db.execute_batch(include_str!("../migrations/sqlite/0001_first.sql")).unwrap();
    db.execute_batch("PRAGMA application_id = 0x476e746c; PRAGMA user_version = 1").unwrap();
    let database = SqliteDatabase::new(&file);
    let commands = [SchemaPolicy::Never, SchemaPolicy::CreateOnly].map(|policy| database.clone().with_policy(policy));
    let known = database.schema_version().unwrap().known;
    check_migrated_once([&commands[0], &commands[1]], || database.migrate(), known);
    assert_eq!(created_with(&database), Ok(0));
}

#[test]
fn commands_leave_an_older_database_as_it_is() {
    let url = PostgresCluster::shared().new_empty_database_url();
    let database = store::postgres::PostgresDatabase::new(&url).unwrap();
    let commands = [SchemaPolicy::Never, SchemaPolicy::CreateOnly].map(|policy| database.clone().with_policy(policy));
    check_refused(&commands[0], &["is empty", "gauntlet migrate"]);
    let mut client = postgres::Client::connect(&url, postgres::NoTls).unwrap();
    client.batch_execute(include_str!("../migrations/postgres/0001_first.sql")).unwrap();
    let version = "CREATE TABLE gauntlet_schema (version BIGINT NOT NULL); INSERT INTO gauntlet_schema VALUES (1)";
    client.batch_execute(version).unwrap();
    let known = database.schema_version().unwrap().known;
    check_migrated_once([&commands[0], &commands[1]], || database.migrate(), known);
    assert_eq!(created_with(&database), Ok(0));
}

#[test]
fn nodes_may_start_together() {
    let url = PostgresCluster::shared().new_empty_database_url();
    let database = store::postgres::PostgresDatabase::new(&url).unwrap();
    std::thread::scope(|scope| {
        let opening = |_| scope.spawn(|| database.writer().map(drop));
        let openings: Vec<_> = (0..6).map(opening).collect();
        for opening in openings {
            assert_eq!(opening.join().unwrap(), Ok(()));
        }
    });
}

/// One waiting match, in a database whose rows are then changed by hand.
fn with_a_match(database: &dyn Database) {
    let mut writer = database.writer().unwrap();
    let seat = SeatSpec {
        bot: BotId(1),
        name: "bot".to_owned(),
        owner: "me".to_owned(),
        url: "http://bot.example".to_owned(),
    };
    let spec = MatchSpec {
        id: MatchId(1),
        rules: Rules::default(),
        width: 11,
        height: 11,
        seed: Seed(1),
        timeout_ms: 500,
        turns_max: 5_000,
        is_public: false,
        origin: None,
        seats: vec![seat],
    };
    let (account, now) = (AccountId(1), UnixMs(0));
    let outcomes = writer.commit(&[
        Command::EnsureAccount(Account { id: account, name: "me".to_owned(), created_at: now }),
        Command::CreateMatches(CreateMatches { account, idempotency: None, matches: vec![spec], now }),
    ]);
    assert_eq!(outcomes, Ok(vec![Outcome::Account(account), Outcome::Done]));
}

/// Changes of a waiting match that lead out of the life diagram, as assignments, with the name of what stands against it.
const IMPOSSIBLE: [&str; 14] = [
    "state = 'asleep'",
    "fair_tag = NULL",
    "state = 'running', fair_tag = NULL, epoch = 0",
    "state = 'running', epoch = 1",
    "epoch = -1",
    "attempts_charged = -1",
    "ended_at = 1",
    "state = 'finished', fair_tag = NULL, ended_at = 1, version = 1, turns = 1, late_moves = 0",
    "state = 'failed', fair_tag = NULL, ended_at = 1, version = 1, turns = 1, late_moves = 0",
    "state = 'cancelled', fair_tag = NULL",
    "state = 'cancelled', fair_tag = NULL, ended_at = 1",
    "state = 'cancelled', fair_tag = NULL, ended_at = 1, version = 1, turns = 1, late_moves = 0, failure = 'why'",
    "failure = 'why'",
    "winner_seat = 0",
];
/// One that stays in it: the constraints are not simply against everything.
const POSSIBLE: &str = "state = 'cancelled', fair_tag = NULL, ended_at = 1, version = 1, turns = 1, late_moves = 0";

#[test]
fn sqlite_refuses_impossible_lives() {
    let dir = TempDir::new();
    let file = dir.path().join("store.db");
    with_a_match(&SqliteDatabase::new(&file));
    let db = rusqlite::Connection::open(&file).unwrap();
    for change in IMPOSSIBLE.into_iter().chain(["worker = zeroblob(16)"]) {
        let answer = db.execute(&format!("UPDATE matches SET {change}"), []);
        assert!(answer.is_err_and(|error| error.to_string().contains("CHECK")), "{change}");
    }
    assert_eq!(db.execute(&format!("UPDATE matches SET {POSSIBLE}"), []), Ok(1));
}

#[test]
fn postgres_refuses_impossible_lives() {
    let url = PostgresCluster::shared().new_empty_database_url();
    with_a_match(&store::postgres::PostgresDatabase::new(&url).unwrap());
    let mut client = postgres::Client::connect(&url, postgres::NoTls).unwrap();
    for change in IMPOSSIBLE.into_iter().chain(["worker = '00000000-0000-0000-0000-000000000000'"]) {
        let answer = client.execute(&format!("UPDATE matches SET {change}"), &[]);
        let code = answer.err().and_then(|error| error.code().cloned());
        assert_eq!(code, Some(postgres::error::SqlState::CHECK_VIOLATION), "{change}");
    }
    assert_eq!(client.execute(&format!("UPDATE matches SET {POSSIBLE}"), &[]).unwrap(), 1);
}

/// Rows about tables that nothing in the program could have written, each with the column that is wrong.
const IMPOSSIBLE_ROWS: [&str; 17] = [
    "INSERT INTO story_tables (id, epoch, is_live, is_bare) VALUES ($id, 0, TRUE, FALSE)",
    "INSERT INTO story_tables (id, epoch, base_version, is_live, is_bare) VALUES ($id, 1, -1, TRUE, FALSE)",
    "INSERT INTO story_log (table_id, version, data) VALUES ($id, -1, $bytes)",
    "INSERT INTO story_games VALUES ($id, 1, $id, 'asleep', NULL, 1, 6, 0, NULL, NULL)",
    "INSERT INTO story_games VALUES ($id, 1, $id, 'complete', NULL, 1, 6, 0, NULL, NULL)",
    "INSERT INTO story_games VALUES ($id, 1, $id, 'vote', NULL, 1, 6, 0, 5, NULL)",
    "INSERT INTO story_seats VALUES ($id, 1, $id, 'owner', 0, FALSE, NULL)",
    "INSERT INTO story_standings VALUES ($id, -1, 0, 0, 0, 0)",
    "INSERT INTO story_answers VALUES ($id, 'key', $bytes, $bytes, 0, NULL)",
    "INSERT INTO worlds VALUES ($id, '', 'hunt', $bytes, 1, NULL, 0, 0, 'joined', 1, 0, NULL, 0, 0, 0, FALSE, NULL)",
    "INSERT INTO worlds VALUES ($id, 'a', 'card', $bytes, 1, NULL, 0, 0, 'joined', 1, 0, NULL, 0, 0, 0, FALSE, NULL)",
    "INSERT INTO worlds VALUES ($id, 'a', 'hunt', $bytes, 1, NULL, 0, 0, 'nobody', 1, 0, NULL, 0, 0, 0, FALSE, NULL)",
    "INSERT INTO worlds VALUES ($id, 'a', 'hunt', $bytes, 1, NULL, 0, 0, 'joined', 1, -1, NULL, 0, 0, 0, FALSE, NULL)",
    "INSERT INTO world_log VALUES ($id, -1, $bytes, NULL)",
    "INSERT INTO hunters VALUES ($id, 'ann', 1, 1, 1, 1, 2, 0)",
    "INSERT INTO hunt_totals VALUES (2, 0, 0, 0, 0, 0)",
    "INSERT INTO competition_results VALUES ($id, 0, $id, 1, 1, 'finished', $bytes, NULL)",
];
/// Their likes that are possible.
const POSSIBLE_ROWS: [&str; 5] = [
    "INSERT INTO story_tables (id, epoch, is_live, is_bare) VALUES ($id, 1, TRUE, FALSE)",
    "INSERT INTO story_games VALUES ($id, 1, $id, 'complete', NULL, 1, 6, 0, 5, NULL)",
    "INSERT INTO story_seats VALUES ($id, 1, $id, 'storyteller', 0, FALSE, NULL)",
    "INSERT INTO worlds VALUES ($id, 'a', 'hunt', $bytes, 1, NULL, 0, 0, 'joined', 1, 0, NULL, 0, 0, 0, FALSE, NULL)",
    "INSERT INTO hunters VALUES ($id, 'ann', 1, 1, 1, 1, 1, 0)",
];

#[test]
fn sqlite_refuses_impossible_tables() {
    let dir = TempDir::new();
    let file = dir.path().join("store.db");
    drop(SqliteDatabase::new(&file).writer().unwrap());
    let db = rusqlite::Connection::open(&file).unwrap();
    let filled = |row: &str| row.replace("$id", "zeroblob(16)").replace("$bytes", "zeroblob(3)");
    for row in IMPOSSIBLE_ROWS {
        let answer = db.execute(&filled(row), []);
        assert!(answer.is_err_and(|error| error.to_string().contains("CHECK")), "{row}");
    }
    for row in POSSIBLE_ROWS {
        assert_eq!(db.execute(&filled(row), []), Ok(1), "{row}");
    }
}

#[test]
fn postgres_refuses_impossible_tables() {
    let url = PostgresCluster::shared().new_empty_database_url();
    drop(store::postgres::PostgresDatabase::new(&url).unwrap().writer().unwrap());
    let mut client = postgres::Client::connect(&url, postgres::NoTls).unwrap();
    let id = "'00000000-0000-0000-0000-000000000000'";
    let filled = |row: &str| row.replace("$id", id).replace("$bytes", "'\\x00'");
    for row in IMPOSSIBLE_ROWS {
        let code = client.execute(&filled(row), &[]).err().and_then(|error| error.code().cloned());
        assert_eq!(code, Some(postgres::error::SqlState::CHECK_VIOLATION), "{row}");
    }
    for row in POSSIBLE_ROWS {
        assert_eq!(client.execute(&filled(row), &[]).unwrap(), 1, "{row}");
    }
}

/// What the first schema holds: account 1, a token of digest 32 times `*`, worker 7 at `old:1`, and matches, one with bot 9. `id` and `digest`
/// are written as the database reads them.
fn first_rows(id: impl Fn(u128) -> String, digest: &str) -> String {
    let game = |n: u128, life: &str, values: &str| {
        format!(
            "INSERT INTO matches (id, account, ruleset, map, is_solo, food_spawn_chance, minimum_food,
               hazard_damage_per_turn, shrink_every_n_turns, width, height, seed, timeout_ms, turns_max,
               created_at, updated_at, enqueued_at, {life})
             VALUES ({}, {}, 'standard', 'standard', FALSE, 15, 1, 14, 25, 11, 11, 1, 500, 5000, 0, 0, 0, {values});",
            id(n),
            id(1)
        )
    };
    let running = "state, epoch, worker";
    let failed = "state, epoch, ended_at, failure, version, turns, late_moves";
    [
        format!("INSERT INTO accounts (id, name, created_at) VALUES ({}, 'me', 0);", id(1)),
        format!(
            "INSERT INTO tokens (id, account, name, role, digest, created_at) VALUES ({}, {}, 'mine', 'player', {}, 0);",
            id(6),
            id(1),
            digest
        ),
        format!("INSERT INTO workers (id, address, lease_until, is_given_up) VALUES ({}, 'old:1', 9, FALSE);", id(7)),
        game(1, "state, fair_tag", "'waiting', 1"),
        game(2, running, &format!("'running', 1, {}", id(7))),
        game(3, running, &format!("'running', 1, {}", id(8))),
        game(4, running, "'running', 1, NULL"),
        game(5, failed, "'failed', 1, 1, 'why', 0, 0, 0"),
        format!("INSERT INTO seats (match_id, seat, bot, name, url) VALUES ({}, 0, {}, 'mine', '');", id(5), id(9)),
    ]
    .concat()
}

/// The first schema with those rows is migrated: what runs on a known worker has its node, of the rest it is unknown; a
/// token is for everyday use; no rules of the limiter were set; matches are private to those who created them.
#[track_caller]
fn check_brought_forward(database: &dyn Database) {
    drop(database.writer().unwrap());
    let ids: Vec<_> = (1..=5).map(MatchId).collect();
    let statuses = database.reader().unwrap().statuses(&ids).unwrap();
    let nodes: Vec<_> = statuses.iter().map(|status| (status.id.0, status.node.as_deref())).collect();
    assert_eq!(nodes, [(1, None), (2, Some("old:1")), (3, None), (4, None), (5, None)]);
    let token = database.reader().unwrap().token(b"********************************").unwrap();
    assert_eq!(token.map(|token| token.purpose), Some(TokenPurpose::Use));
    assert_eq!(database.reader().unwrap().limit_rules(), Ok(LimitRules::default()));
    for (viewer, want) in [(None, vec![5]), (Some(AccountId(1)), vec![5]), (Some(AccountId(2)), vec![])] {
        let list = MatchList::OfBot { bot: BotId(9), outcome: None, viewer };
        let rows = database.reader().unwrap().matches(&MatchFilter { list, before: None, limit: 9 }).unwrap();
        assert_eq!(rows.iter().map(|row| row.spec.id.0).collect::<Vec<_>>(), want, "{viewer:?}");
    }
    // Its worker has claimed no tables yet, so its first claim of them is a new one.
    let claim = Command::ClaimTables { worker: WorkerId(7), number: 1, now: UnixMs(0), max: 9 };
    assert_eq!(database.writer().unwrap().commit(&[claim]), Ok(vec![Outcome::TablesClaimed(Vec::new())]));
    drop(database.writer().unwrap());
}

#[test]
fn the_first_schema_of_sqlite_is_brought_forward() {
    let dir = TempDir::new();
    let file = dir.path().join("store.db");
    let db = rusqlite::Connection::open(&file).unwrap();
    db.execute_batch(include_str!("../migrations/sqlite/0001_first.sql")).unwrap();
    db.execute_batch(&first_rows(|id| format!("x'{id:032x}'"), &format!("x'{}'", "2a".repeat(32)))).unwrap();
    db.pragma_update(None, "application_id", 0x476e_746c).unwrap();
    db.pragma_update(None, "user_version", 1).unwrap();
    drop(db);
    check_brought_forward(&SqliteDatabase::new(&file));
}

#[test]
fn the_first_schema_of_postgres_is_brought_forward() {
    let url = PostgresCluster::shared().new_empty_database_url();
    let mut client = postgres::Client::connect(&url, postgres::NoTls).unwrap();
    client.batch_execute(include_str!("../migrations/postgres/0001_first.sql")).unwrap();
    client.batch_execute(&first_rows(|id| format!("'{id:032x}'"), &format!("'\\x{}'", "2a".repeat(32)))).unwrap();
    let version = "CREATE TABLE gauntlet_schema (version BIGINT NOT NULL); INSERT INTO gauntlet_schema VALUES (1)";
    client.batch_execute(version).unwrap();
    check_brought_forward(&store::postgres::PostgresDatabase::new(&url).unwrap());
}
