//! A process that is killed in the middle of its commits has lost nothing that was acknowledged.

#![expect(clippy::unwrap_used, reason = "a test ends where its world does")]

use engine::commands::{Command, IndexChange, OpenTable, Outcome, TableAppend, TableSnapshot};
use engine::ids::{AccountId, GameId, PlayerId, TableId, WorkerId};
use engine::rows::{Account, GameRole, GameRow, TableLogRow};
use engine::tables::Phase;
use engine::time::UnixMs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Stdio};
use store::sqlite::SqliteDatabase;
use store::testing::TempDir;
use store::{Database, PlayerGamesFilter};

/// Names the file to the child.
const FILE: &str = "GAUNTLET_CRASH_TEST_FILE";
const BATCH: u128 = 7;

fn account(n: u128) -> Account {
    Account { id: AccountId(n), name: format!("account-{n}"), created_at: UnixMs(0) }
}

/// The child: commits batch after batch and prints the number of each after its commit, until it is killed.
#[test]
fn as_the_child_that_will_be_killed() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let mut writer = SqliteDatabase::new(file).writer().unwrap();
    let mut out = std::io::stdout();
    for batch in 0.. {
        let commands: Vec<_> = (0..BATCH).map(|n| Command::EnsureAccount(account(batch * BATCH + n))).collect();
        let outcomes = writer.commit(&commands).unwrap();
        assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Account(_))));
        if writeln!(out, "\nsaved {batch}").and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}

const WORKER: WorkerId = WorkerId(1);
const PLAYER: PlayerId = PlayerId(2);

fn game(n: u128) -> GameRow {
    GameRow {
        id: GameId { table: TableId(n), number: 1 },
        storyteller: PLAYER,
        storyteller_name: None,
        phase: Phase::Create,
        sentence: None,
        players: 1,
        players_max: 6,
        created_at: UnixMs(n as i64),
        ended_at: None,
    }
}

fn append(n: u128, version: u32, index: Vec<IndexChange>, base: Option<TableSnapshot>) -> TableAppend {
    let rows = vec![TableLogRow { version, bytes: vec![version as u8; 50] }];
    TableAppend {
        id: TableId(n),
        epoch: 1,
        expected_version: version,
        rows,
        index_changes: index,
        snapshot: base,
        is_live: version == 0,
    }
}

/// Table `n` is opened, and the game of the table before it ends: its log moves under a base.
fn table_and_end(n: u128) -> Vec<Command> {
    let seat = IndexChange::UpsertSeat { game: game(n).id, player: PLAYER, role: GameRole::Storyteller };
    let first = append(n, 0, vec![IndexChange::UpsertGame(game(n)), seat], None);
    let open = OpenTable { worker: WORKER, now: UnixMs(0), idempotency: None, append: first };
    let end = |n: u128| {
        let row = GameRow { phase: Phase::Canceled, ended_at: Some(UnixMs(n as i64)), ..game(n) };
        let archive = IndexChange::ArchiveGame { game: row.id, record: vec![9; 200], winners: Vec::new() };
        let award = IndexChange::Award { player: PLAYER, points: 1, seed: rules::chance::Seed(0) };
        let base = TableSnapshot { version: 1, bytes: vec![8; 300] };
        Command::AppendTable(append(n, 1, vec![IndexChange::UpsertGame(row), archive, award], Some(base)))
    };
    std::iter::once(Command::OpenTable(open)).chain(n.checked_sub(1).map(end)).collect()
}

/// The child: opens a table and ends the game before it, commit after commit, until it is killed.
#[test]
fn as_the_child_that_plays_until_it_is_killed() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let mut writer = SqliteDatabase::new(file).writer().unwrap();
    let until = UnixMs(1_000);
    let lease = Command::RenewLease { worker: WORKER, address: "here:1".to_owned(), now: UnixMs(0), until };
    assert_eq!(writer.commit(&[lease]), Ok(vec![Outcome::Done]));
    let mut out = std::io::stdout();
    for n in 0.. {
        let outcomes = writer.commit(&table_and_end(n)).unwrap();
        assert!(outcomes.iter().all(|outcome| *outcome == Outcome::Done));
        if writeln!(out, "\nsaved {n}").and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}

fn start(child: &str, file: &Path) -> Child {
    let mut command = std::process::Command::new(std::env::current_exe().unwrap());
    let child = command.args([child, "--exact", "--nocapture"]).env(FILE, file);
    child.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap()
}

/// Kills the child (SIGKILL) after it printed that so many batches were saved; returns how many it had printed in all.
fn kill_after(mut child: Child, batches: u128) -> u128 {
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut saved = 0;
    let batch_of = |line: String| line.strip_prefix("saved ").and_then(|batch| batch.parse::<u128>().ok());
    while saved < batches {
        let line = lines.next().expect("the child goes on").unwrap();
        saved = batch_of(line).map_or(saved, |batch| batch + 1);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // What it had printed before it died and we had not read.
    lines.map_while(Result::ok).filter_map(batch_of).map(|batch| batch + 1).max().unwrap_or(saved)
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    for batches in [1, 10, 100] {
        let dir = TempDir::new();
        let file = dir.path().join("store.db");
        let saved = kill_after(start("as_the_child_that_will_be_killed", &file), batches);
        let database = SqliteDatabase::new(&file);
        drop(database.writer().unwrap());
        let mut reader = database.reader().unwrap();
        let mut is_known = |n: u128| reader.account_named(&account(n).name).unwrap() == Some(account(n));
        for n in 0..saved * BATCH {
            assert!(is_known(n), "account {n} of {saved} acknowledged batches is lost");
        }
        // The batch that was under way is there as a whole or not at all.
        let next: Vec<_> = (0..BATCH).map(|n| is_known(saved * BATCH + n)).collect();
        assert!(next.iter().all(|known| *known == next[0]), "half a batch: {next:?}");
    }
}

#[test]
fn tables_and_their_lists_survive_a_kill_together() {
    let dir = TempDir::new();
    let file = dir.path().join("store.db");
    let saved = kill_after(start("as_the_child_that_plays_until_it_is_killed", &file), 60);
    let database = SqliteDatabase::new(&file);
    let (mut writer, mut reader) = (database.writer().unwrap(), database.reader().unwrap());
    let mut of_player = |is_ended: bool| {
        let filter = PlayerGamesFilter { player: PLAYER, is_ended, before: None, limit: usize::MAX >> 1 };
        reader.story_games_of(&filter).unwrap()
    };
    let (ended, live) = (of_player(true), of_player(false));
    assert_eq!(live.len(), 1, "the last game is not over");
    let tables = live[0].game.id.table.0 + 1;
    assert!(tables >= saved && tables <= saved + 1, "{tables} tables, {saved} acknowledged");
    assert_eq!(ended.len() as u128, tables - 1);
    let standings = reader.standings(&[PLAYER]).unwrap();
    assert_eq!(u128::from(standings[0].1.score), tables - 1, "as many awards as ends");
    let later = UnixMs(5_000);
    let worker = WorkerId(9);
    let lease = Command::RenewLease { worker, address: "here:2".to_owned(), now: later, until: UnixMs(9_000) };
    writer.commit(&[lease]).unwrap();
    for n in 0..tables {
        let claim = Command::ClaimTable { id: TableId(n), worker, now: later };
        let Outcome::TableClaimed(table) = writer.commit(&[claim]).unwrap().remove(0) else { panic!("table {n}") };
        let is_over = n + 1 < tables;
        let versions: Vec<_> = table.rows.iter().map(|row| row.version).collect();
        assert_eq!((table.snapshot_version, versions), (u32::from(is_over), vec![u32::from(is_over)]), "table {n}");
        assert_eq!(table.snapshot.is_empty(), !is_over);
        let (_, record) = reader.story_game(game(n).id).unwrap().expect("its game is known");
        assert_eq!(record.is_some(), is_over, "table {n}");
    }
}
