//! A process that is killed in the middle of its commits has lost nothing that it was told was saved.

#![expect(clippy::unwrap_used, reason = "a test ends where its world does")]

use engine::commands::{Command, Outcome};
use engine::ids::AccountId;
use engine::rows::Account;
use engine::time::UnixMs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Stdio};
use store::Database;
use store::sqlite::SqliteDatabase;
use store::testing::TempDir;

/// Names the file to the child.
const FILE: &str = "GAUNTLET_CRASH_TEST_FILE";
const BATCH: u128 = 7;

fn account(n: u128) -> Account {
    Account { id: AccountId(n), name: format!("account-{n}"), created_at: UnixMs(0) }
}

/// The child: commits batch after batch and says the number of each after its commit, until it is killed.
#[test]
fn as_the_child_that_will_be_killed() {
    let Some(file) = std::env::var_os(FILE) else { return };
    let mut writer = SqliteDatabase::new(file).writer().unwrap();
    let mut out = std::io::stdout();
    for batch in 0.. {
        let commands: Vec<_> = (0..BATCH).map(|n| Command::EnsureAccount(account(batch * BATCH + n))).collect();
        let outcomes = writer.commit(&commands).unwrap();
        assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::AccountIs(_))));
        if writeln!(out, "\nsaved {batch}").and_then(|()| out.flush()).is_err() {
            return;
        }
    }
}

fn start(file: &Path) -> Child {
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["as_the_child_that_will_be_killed", "--exact", "--nocapture"]).env(FILE, file);
    child.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap()
}

/// Kills the child (SIGKILL) after it said that so many batches were saved; how many it had said in all.
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
    // What it had said before it died and we had not read.
    lines.map_while(Result::ok).filter_map(batch_of).map(|batch| batch + 1).max().unwrap_or(saved)
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    for batches in [1, 10, 100] {
        let dir = TempDir::new();
        let file = dir.path().join("store.db");
        let saved = kill_after(start(&file), batches);
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
