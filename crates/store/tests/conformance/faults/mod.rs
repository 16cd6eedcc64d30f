//! A disk that fails: at the first call of each kind, at the second, and so on until a run makes no more of them, once each or for
//! good. What laws of this suite commit is committed through the real handle, several requests at once. After each failure the
//! store must be what it was after one of the requests, no earlier than the last that was acknowledged; it goes on by itself, and
//! ends where a run without failures does.

mod recorded;

use crate::{games, ladders, logs, retire, tables, worlds};
use recorded::{Recorded, assert_whole, difference, open, stored, stored_at_rest};
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use store::sqlite::{SqliteDatabase, backup};
use store::testing::TempDir;
use store::testing::faulty_disk::{DiskCall, DiskFault, FaultyDisk};
use store::{Database, Store, StoreError};

/// Runs at a time: most of their time they wait until a store is opened again.
const RUNS_AT_ONCE: usize = 8;
/// Between two looks at whether a store has been opened again.
const LOOK_INTERVAL: Duration = Duration::from_millis(1);

/// Every kind of call fails at its first, second … call, until a run makes no more; how many runs saw a failure. Without `EVERY_FAULT` in the
/// environment it is the first ones, and then fewer and fewer: all of them take minutes.
fn sweep(run: impl Fn(DiskFault) -> bool + Sync) -> u64 {
    let sparseness = if std::env::var_os("EVERY_FAULT").is_some() { u64::MAX } else { 2 };
    sweep_in_steps(|nth| nth + 1 + nth / sparseness, run)
}

/// The same where hundreds of calls do one thing.
fn sweep_sparsely(run: impl Fn(DiskFault) -> bool + Sync) -> u64 {
    let sparseness = if std::env::var_os("EVERY_FAULT").is_some() { 16 } else { 2 };
    sweep_in_steps(|nth| nth + 1 + nth / sparseness, run)
}

fn sweep_in_steps(next_after: impl Fn(u64) -> u64 + Sync, run: impl Fn(DiskFault) -> bool + Sync) -> u64 {
    let failures = AtomicU64::new(0);
    for call in DiskCall::ALL {
        for is_lasting in [false, true] {
            let (next, is_over) = (AtomicU64::new(1), AtomicBool::new(false));
            let work = || {
                while !is_over.load(Ordering::SeqCst) {
                    let nth = next.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |nth| Some(next_after(nth)));
                    let (Ok(nth) | Err(nth)) = nth;
                    if run(DiskFault { call, nth, is_lasting }) {
                        failures.fetch_add(1, Ordering::SeqCst);
                    } else {
                        is_over.store(true, Ordering::SeqCst);
                    }
                }
            };
            std::thread::scope(|scope| (0..RUNS_AT_ONCE).for_each(|_| drop(scope.spawn(work))));
        }
    }
    failures.into_inner()
}

/// The index of what is stored in a file among these states.
#[track_caller]
fn state_among(load: &Recorded, range: RangeInclusive<usize>, file: &Path, fault: DiskFault, when: &str) -> usize {
    let got = stored(file).unwrap_or_else(|error| panic!("{fault:?}, {when}: {error}"));
    let found = range.clone().find(|state| load.states[*state] == got);
    found.unwrap_or_else(|| {
        let elsewhere = load.states.iter().position(|state| *state == got);
        let difference = difference(&got, &load.states[*range.start()]);
        panic!("{fault:?}, {when}: not one of the states {range:?}, but {elsewhere:?}: {difference}")
    })
}

#[track_caller]
fn assert_unavailable<T: std::fmt::Debug>(answer: &Result<T, StoreError>, fault: DiskFault) {
    assert!(matches!(answer, Err(StoreError::Unavailable { .. })), "{fault:?}: {answer:?}");
}

/// What a process finds that begins after this one died here.
fn check_as_after_a_crash(load: &Recorded, range: RangeInclusive<usize>, file: &Path, fault: DiskFault) {
    let dir = TempDir::new();
    let copy = dir.path().join("store.db");
    for ending in ["", "-wal"] {
        let name = |file: &Path| format!("{}{ending}", file.display());
        match std::fs::copy(name(file), name(&copy)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => panic!("{error}"),
            _ => {}
        }
    }
    drop(SqliteDatabase::new(&copy).writer().unwrap_or_else(|error| panic!("{fault:?}: {error}")));
    state_among(load, range, &copy, fault, "after a crash");
    assert_whole(&copy);
}

/// Waits until a store that was lost takes commands again, or has failed again to.
fn until(is_over: impl Fn() -> bool) {
    while !is_over() {
        std::thread::sleep(LOOK_INTERVAL);
    }
}

/// Commits everything, whatever fails; whether something did.
fn commit_all(load: &Recorded, fault: DiskFault) -> bool {
    let dir = TempDir::new();
    let file = dir.path().join("store.db");
    std::fs::copy(load.empty(), &file).unwrap();
    let disk = FaultyDisk::new(dir.path());
    disk.fail(fault);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let store = open(&file).unwrap_or_else(|error| {
        assert_unavailable(&Err::<(), _>(error), fault);
        disk.heal();
        state_among(load, 0..=0, &file, fault, "not opened");
        open(&file).unwrap()
    });
    if fault.nth.is_multiple_of(2) {
        // A reader that is open keeps the index of the log in memory when the writer is lost.
        let _ = runtime.block_on(store.read(|reader| reader.created_with()));
    }
    let (mut done, mut at_once) = (0, 1);
    while done < load.requests.len() {
        let sent = load.requests.len().min(done + at_once);
        at_once = at_once % 4 + 1;
        let acknowledged = done + runtime.block_on(commit_together(&store, load, done..=sent, fault));
        done = acknowledged;
        if acknowledged == sent {
            assert!(!disk.is_log_unsynced(), "{fault:?}: request {sent} was acknowledged before it was synced");
            continue;
        }
        check_as_after_a_crash(load, acknowledged..=sent, &file, fault);
        if matches!(fault.call, DiskCall::Write | DiskCall::Sync | DiskCall::Truncate) {
            let read = runtime.block_on(store.read(|reader| reader.created_with()));
            assert!(read.is_ok(), "{fault:?}: what is there can be read: {read:?}");
        }
        if fault.is_lasting {
            let failed = disk.failed();
            until(|| store.refusal().is_none() || disk.failed() > failed);
        }
        disk.heal();
        until(|| store.refusal().is_none());
        done = state_among(load, acknowledged..=sent, &file, fault, "opened again");
    }
    runtime.block_on(store.close());
    drop(store);
    let has_failed = disk.failed() > 0;
    disk.heal();
    drop(SqliteDatabase::new(&file).writer().unwrap());
    state_among(load, done..=done, &file, fault, "at the end");
    assert_whole(&file);
    has_failed
}

/// Sends the requests from one state to another at once; how many were acknowledged, which must be the first ones.
async fn commit_together(store: &Store, load: &Recorded, states: RangeInclusive<usize>, fault: DiskFault) -> usize {
    let requests = *states.start()..*states.end();
    let send = |request: usize| {
        let (store, commands) = (store.clone(), load.requests[request].clone());
        tokio::spawn(async move { store.commit_all(commands).await })
    };
    let sent: Vec<_> = requests.clone().map(send).collect();
    let (mut acknowledged, mut is_refused) = (0, false);
    for (request, answer) in requests.zip(sent) {
        let answer = answer.await.unwrap();
        if let (Ok(outcomes), false) = (&answer, is_refused) {
            assert_eq!(*outcomes, load.outcomes[request], "{fault:?}: request {request}");
            acknowledged += 1;
        } else {
            assert_unavailable(&answer, fault);
            is_refused = true;
        }
    }
    acknowledged
}

macro_rules! laws_with_faults {
    ($($theme:ident::$law:ident)*) => { $(#[test] fn $law() {
        let load = Recorded::of($theme::$law);
        let failures = sweep(|fault| commit_all(&load, fault));
        assert!(failures > 20, "only {failures} runs saw a failure");
    })* };
}

laws_with_faults! {
    logs::finishing_archives_the_log
    tables::a_base_forgets_what_is_under_it
    games::an_end_appears_in_every_list
    worlds::claims_are_fenced_and_versioned
    worlds::a_snapshot_stays_between_the_one_before_and_the_end
    ladders::results_are_rated_once
    retire::nothing_of_a_retired_match_is_left
}

/// A file is migrated, whatever fails; whether something did.
fn migrate(before: &Path, states: [&str; 2], fault: DiskFault) -> bool {
    let dir = TempDir::new();
    let file = dir.path().join("store.db");
    std::fs::copy(before, &file).unwrap();
    let disk = FaultyDisk::new(dir.path());
    disk.fail(fault);
    let migrated = SqliteDatabase::new(&file).migrate();
    let has_failed = disk.failed() > 0;
    disk.heal();
    let found = stored_at_rest(&file).unwrap();
    match migrated {
        Ok(_) => assert!(found == states[1], "{fault:?}: {}", difference(&found, states[1])),
        Err(_) => {
            assert_unavailable(&migrated, fault);
            assert!(
                states.contains(&&*found),
                "{fault:?}: neither as before nor migrated: {}",
                difference(&found, states[1])
            );
        }
    }
    drop(SqliteDatabase::new(&file).writer().unwrap());
    let found = stored_at_rest(&file).unwrap();
    assert!(found == states[1], "{fault:?}: {}", difference(&found, states[1]));
    assert_whole(&file);
    has_failed
}

#[track_caller]
fn check_migration(make: impl FnOnce(&Path)) {
    let dir = TempDir::new();
    let [before, after] = ["before.db", "after.db"].map(|name| dir.path().join(name));
    make(&before);
    std::fs::copy(&before, &after).unwrap();
    SqliteDatabase::new(&after).migrate().unwrap();
    let states = [stored_at_rest(&before).unwrap(), stored_at_rest(&after).unwrap()];
    assert!(states[0] != states[1]);
    let failures = sweep_sparsely(|fault| migrate(&before, [&states[0], &states[1]], fault));
    assert!(failures > 60, "only {failures} runs saw a failure");
}

#[test]
fn an_empty_file_is_migrated() {
    check_migration(|file| drop(std::fs::File::create(file).unwrap()));
}

#[test]
fn a_file_of_the_first_schema_is_migrated() {
    check_migration(|file| {
        let db = rusqlite::Connection::open(file).unwrap();
        db.execute_batch(include_str!("../../../migrations/sqlite/0001_first.sql")).unwrap();
        db.execute_batch(
            "INSERT INTO accounts (id, name, created_at) VALUES (x'00112233445566778899aabbccddeeff', 'ann', 7)",
        )
        .unwrap();
        db.execute_batch("PRAGMA application_id = 0x476e746c; PRAGMA user_version = 1").unwrap();
    });
}

#[test]
fn a_copy_is_verified_or_refused() {
    let load = Recorded::of(ladders::results_are_rated_once);
    let all = load.states.last().unwrap();
    let failures = sweep_sparsely(|fault| {
        let dir = TempDir::new();
        let [from, to] = ["from.db", "to.db"].map(|name| dir.path().join(name));
        std::fs::copy(load.full(), &from).unwrap();
        std::fs::File::create(&to).unwrap();
        let disk = FaultyDisk::new(dir.path());
        disk.fail(fault);
        let copied = backup::copy(&from, &to);
        let has_failed = disk.failed() > 0;
        disk.heal();
        assert_eq!(stored_at_rest(&from).as_ref(), Ok(all), "{fault:?}: the source stays as it was");
        match copied {
            Ok(()) => {
                assert_eq!(stored_at_rest(&to).as_ref(), Ok(all), "{fault:?}");
                assert_whole(&to);
            }
            Err(_) => assert!(has_failed, "{fault:?}: {copied:?}"),
        }
        has_failed
    });
    assert!(failures > 20, "only {failures} runs saw a failure");
}
