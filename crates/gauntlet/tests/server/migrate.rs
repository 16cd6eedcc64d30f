//! Stores of other versions: what commands say about them, and what brings them forward.

use crate::support::Folder;

/// What a command ends with, and a part of what it says.
#[track_caller]
fn check(folder: &Folder, words: &str, code: i32, part: &str) {
    let output = folder.command(words).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert_eq!(output.status.code(), Some(code), "{words}: {said}");
    assert!(said.contains(part), "{words}: {said}");
}

#[test]
fn commands_never_migrate_and_say_what_does() {
    let folder = Folder::new();
    for command in ["migrate --check", "migrate"] {
        check(&folder, &format!("{command} --data older.db"), 1, "there is no data file older.db");
    }
    assert!(!folder.path().join("older.db").exists(), "it was made");
    let first = include_str!("../../../store/migrations/sqlite/0001_first.sql");
    let db = rusqlite::Connection::open(folder.path().join("older.db")).unwrap();
    db.execute_batch(first).unwrap();
    db.execute_batch("PRAGMA application_id = 0x476e746c; PRAGMA user_version = 1").unwrap();
    for command in ["token list", "token create", "token sign-in", "ratings recompute"] {
        check(&folder, &format!("{command} --data older.db"), 1, "run gauntlet migrate");
    }
    check(&folder, "backup before.db --data older.db", 0, "verified");
    check(&folder, "migrate --check --data older.db", 1, "would run");
    check(&folder, "migrate --data older.db", 0, "steps from schema version 1");
    check(&folder, "migrate --check --data older.db", 0, "nothing to do");
    check(&folder, "migrate --data older.db", 0, "nothing was done");
    check(&folder, "token create --data older.db", 0, "");

    db.execute_batch("PRAGMA user_version = 1000").unwrap();
    check(&folder, "migrate --check --data older.db", 0, "may go on serving");
    check(&folder, "migrate --data older.db", 1, "newer program");
    check(&folder, "token list --data older.db", 1, "newer program");
    db.execute_batch("UPDATE gauntlet_schema SET compatible_from = 1000").unwrap();
    check(&folder, "migrate --check --data older.db", 1, "cannot use it");
    check(&folder, "serve --port 0 --data older.db", 1, "newer program");
}

#[test]
fn a_file_of_another_program_stays_as_it_is() {
    let folder = Folder::new();
    std::fs::write(folder.path().join("notes.db"), "no database at all").unwrap();
    check(&folder, "migrate --data notes.db", 1, "notes.db");
    assert_eq!(std::fs::read_to_string(folder.path().join("notes.db")).unwrap(), "no database at all");
    assert!(!folder.path().join("notes.db.lock").exists(), "it has a lock");
}

#[test]
fn a_data_file_in_use_is_not_migrated() {
    let folder = Folder::new();
    let server = folder.serve_games("");
    check(&folder, "migrate", 1, "is in use");
    check(&folder, "migrate --check", 0, "nothing to do");
    server.kill();
    check(&folder, "migrate", 0, "nothing was done");
}
