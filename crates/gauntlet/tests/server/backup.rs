//! Backups of a server that plays, and a server that goes on from one in another folder.

use crate::support::Folder;
use crate::support::bots::Bots;
use crate::support::games::ObservedGames;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

const THINK: Duration = Duration::from_millis(10);

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
fn matches_are_played_on_from_a_backup_in_another_folder() {
    let (bots, folder, other) = (Bots::start(THINK), Folder::new(), Folder::new());
    let server = folder.serve_games("");
    let snakes = server.register(&bots, &["circle", "hungry"]);
    bots.hold_moves_from(10);
    let games = server.create(&snakes, 1..=6);
    server.wait_for_turns(&games, 10);
    let past = ObservedGames::record(&server, &bots, &games);
    let file = other.path().join("games.backup");
    let (backup, restore) = (format!("backup {}", file.display()), format!("restore {}", file.display()));
    check(&folder, &backup, 0, "everything that was saved");
    check(&folder, &backup, 1, "is there already");
    server.kill();

    check(&other, &restore, 0, "6 matches and 0 games of Stories replayed");
    check(&other, &restore, 1, "has data already");
    let server = other.serve_games("");
    past.check_kept(&ObservedGames::record(&server, &bots, &games));
    check(&other, &restore, 1, "a server uses");
    bots.hold_moves_from(u32::MAX);
    server.wait_for_the_end(&games);
    past.check_kept(&ObservedGames::record(&server, &bots, &games));
}

#[test]
fn what_is_no_whole_backup_becomes_no_data_file() {
    let folder = Folder::new();
    folder.serve_games("").kill();
    check(&folder, "backup whole", 0, "verified");
    let mut bytes = std::fs::read(folder.path().join("whole")).unwrap();
    let middle = bytes.len() / 2 / 4096 * 4096;
    bytes[middle..middle + 64].fill(0xff);
    std::fs::write(folder.path().join("damaged"), bytes).unwrap();
    folder.write("text", "no backup at all, however long the text in this file may be");
    let restore = |file: &str, part: &str| check(&folder, &format!("restore {file} --data new/games.db"), 1, part);
    restore("damaged", "damaged");
    restore("text", "not a database");
    restore("missing", "cannot be used");
    assert!(!folder.path().join("new/games.db").exists(), "a server would begin anew with it");
    folder.write("empty", "");
    restore("empty", "empty is empty: no server has used it");
    restore("new", "no file");
    check(&folder, "backup copy --data empty", 1, "no server has used it");
    check(&folder, "backup copy --data new", 1, "no file");
    let rights = |file: &str| std::fs::metadata(folder.path().join(file)).unwrap().permissions();
    std::fs::set_permissions(folder.path().join("whole"), Permissions::from_mode(0o644)).unwrap();
    check(&folder, "restore whole --data new/games.db", 0, "is restored");
    assert_eq!(rights("new/games.db").mode() & 0o777, 0o600);
    check(&folder, "backup copy --data missing.db", 1, "is no file");
    check(&folder, "backup copy --store-url postgres://db/games", 2, "pg_dump");
    let left = std::fs::read_dir(folder.path().join("new")).unwrap().map(|entry| entry.unwrap().file_name());
    let mut left: Vec<_> = left.collect();
    left.sort();
    assert_eq!(left, ["games.db", "games.db.lock"]);
}

#[test]
fn a_log_of_another_data_file_is_not_taken_for_its_own() {
    let folder = Folder::new();
    folder.serve_games("--data games.db").kill();
    check(&folder, "backup whole --data games.db", 0, "verified");
    check(&folder, "token create --account ann --data games.db", 0, "");
    // A server that was killed has left a log, in which the rest of its data is.
    let path = |name: &str| folder.path().join(name);
    let log = std::fs::metadata(path("games.db-wal")).unwrap().len();
    assert!(log > 0);
    check(&folder, "restore games.db --data new.db", 1, "games.db-wal: it is a server's data file");
    std::fs::rename(path("games.db"), path("moved.db")).unwrap();
    check(&folder, "restore whole --data games.db", 1, "games.db-wal is there");
    assert_eq!((path("games.db").exists(), path("new.db").exists()), (false, false));
    std::fs::rename(path("games.db-wal"), path("moved.db-wal")).unwrap();
    std::fs::remove_file(path("games.db-shm")).unwrap();
    check(&folder, "restore whole --data games.db", 0, "is restored");
    check(&folder, "backup all --data moved.db", 0, "verified");
    check(&folder, "token list --account ann --data games.db", 1, "there is no account");
}

#[test]
fn nothing_but_files_of_its_own_is_overwritten() {
    let folder = Folder::new();
    folder.serve_games("--data games.db").kill();
    check(&folder, "backup whole --data games.db", 0, "verified");
    let path = |name: &str| folder.path().join(name);
    folder.write("mine", "what is kept");
    for (at, command, part) in [
        ("copy.part", "backup copy --data games.db", "copy.part cannot be used"),
        ("new.db.restored.part", "restore whole --data new.db", "new.db.restored.part cannot be used"),
        ("link.db", "restore whole --data link.db", "link.db is something other than a file"),
    ] {
        std::os::unix::fs::symlink(path("mine"), path(at)).unwrap();
        check(&folder, command, 1, part);
        assert_eq!(std::fs::read_to_string(path("mine")).unwrap(), "what is kept", "{command}");
        std::fs::remove_file(path(at)).unwrap();
    }
    std::fs::hard_link(path("mine"), path("copy.part")).unwrap();
    check(&folder, "backup copy --data games.db", 1, "move it away");
    assert_eq!(std::fs::read_to_string(path("mine")).unwrap(), "what is kept");
    std::fs::remove_file(path("copy.part")).unwrap();
    // What an interrupted command left is replaced, but not while that command runs.
    folder.write("copy.part", "the beginning of a backup");
    let made = std::fs::File::open(path("copy.part")).unwrap();
    made.lock().unwrap();
    check(&folder, "backup copy --data games.db", 1, "another command makes copy now");
    drop(made);
    check(&folder, "backup copy --data games.db", 0, "verified");
}

/// Becomes a program whose files may not become longer than so many blocks of 512 bytes: a write beyond that fails instead of ending it.
const WITH_ROOM_FOR: [&str; 3] = ["sh", "-c", r#"trap "" XFSZ; ulimit -f "$0"; exec "$@""#];

#[test]
fn a_backup_without_room_leaves_nothing() {
    let folder = Folder::new();
    folder.serve_games("").kill();
    check(&folder, "backup whole", 0, "verified");
    let bytes = std::fs::metadata(folder.path().join("whole")).unwrap().len();
    let files = || {
        let names = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        names.collect::<std::collections::BTreeSet<_>>()
    };
    let before = files();
    for room in [0, 1, 2, 3, 5, 8, 13].map(|parts| parts * bytes / 13 / 4096 * 4096) {
        let blocks = (room / 512).to_string();
        let starter: Vec<&str> = WITH_ROOM_FOR.into_iter().chain([&*blocks]).collect();
        let output = folder.command_by(&starter, "backup copy").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let is_enough = room >= bytes;
        assert_eq!(output.status.code(), Some(i32::from(!is_enough)), "room for {room} of {bytes} bytes: {said}");
        assert!(is_enough || said.contains("full") || said.contains("I/O"), "{said}");
        assert_eq!(files().difference(&before).count(), usize::from(is_enough), "room for {room} of {bytes} bytes");
    }
}
