//! The handle over a database that can be held, fails and panics: groups, order, no outcome before the commit, recovery
//! by itself.

#![expect(clippy::unwrap_used, reason = "a test ends where its world does")]

mod scripted;

use engine::commands::{Command, CreateMatches, MatchAppend, Outcome};
use engine::ids::{AccountId, MatchId, WorkerId};
use engine::limits::{BULK_GAMES_MAX, COMMANDS_WAITING_MAX};
use engine::matches::archive;
use engine::matches::result::MatchResult;
use engine::matches::spec::MatchSpec;
use engine::rows::MatchLogRow;
use engine::time::UnixMs;
use rules::chance::Seed;
use rules::snake::Rules;
use scripted::*;
use store::{Store, StoreError};
use tokio::task::{JoinHandle, yield_now};

/// Runs on one thread, so that tasks are started in their order.
fn run(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
}

fn commit(store: &Store, n: u128) -> JoinHandle<Result<Outcome, StoreError>> {
    let store = store.clone();
    tokio::spawn(async move { store.commit(command(n)).await })
}

async fn until_waiting(store: &Store, commands: usize) {
    while store.commands_waiting() < commands {
        yield_now().await;
    }
}

/// Tries until the store is back.
async fn until_saved(store: &Store, n: u128) {
    while let Err(error) = store.commit(command(n)).await {
        assert!(matches!(error, StoreError::Unavailable { .. }), "{error}");
        yield_now().await;
    }
}

#[test]
fn what_waits_is_one_group_in_order() {
    run(async {
        let database = ScriptedDatabase::default();
        let (store, seen) = open(&database);
        database.hold();
        let first = commit(&store, 0);
        yield_now().await;
        database.wait_until_held();
        let others: Vec<_> = (1..=100).map(|n| commit(&store, n)).collect();
        until_waiting(&store, 100).await;
        database.release();
        for task in std::iter::once(first).chain(others) {
            assert_eq!(task.await.unwrap(), Ok(Outcome::Done));
        }
        assert_eq!(database.saved(), [vec![0], (1..=100).collect::<Vec<_>>()]);
        assert_eq!(*seen.commits.lock().unwrap(), [(1, true), (100, true)]);
        assert_eq!(store.commands_waiting(), 0);
    });
}

#[test]
fn a_renewal_goes_ahead_of_what_waits() {
    run(async {
        let database = ScriptedDatabase::default();
        let (store, seen) = open(&database);
        database.hold();
        let first = commit(&store, 0);
        yield_now().await;
        database.wait_until_held();
        // So much waits that no more is accepted.
        let waits = {
            let store = store.clone();
            tokio::spawn(
                async move { store.commit_all((1..=COMMANDS_WAITING_MAX as u128).map(command).collect()).await },
            )
        };
        until_waiting(&store, COMMANDS_WAITING_MAX).await;
        assert!(matches!(store.commit(command(1)).await, Err(StoreError::Overloaded { .. })));
        let renewed = {
            let store = store.clone();
            tokio::spawn(async move { store.commit(renewal(7)).await })
        };
        yield_now().await;
        database.release();
        assert_eq!(renewed.await.unwrap(), Ok(Outcome::Done));
        assert_eq!(first.await.unwrap(), Ok(Outcome::Done));
        assert!(waits.await.unwrap().is_ok());
        assert_eq!(database.saved_commands()[1], renewal(7), "the first after what was being committed already");
        assert_eq!(store.commands_waiting(), 0);
        // And where nothing waits, it wakes the writer by itself.
        assert_eq!(store.commit(renewal(8)).await, Ok(Outcome::Done));
        assert_eq!(seen.commits.lock().unwrap().len(), 3);
    });
}

fn renewal(worker: u128) -> Command {
    Command::RenewLease { worker: WorkerId(worker), address: String::new(), now: UnixMs(0), until: UnixMs(1) }
}

#[test]
fn no_outcome_is_returned_before_the_commit() {
    run(async {
        let database = ScriptedDatabase::default();
        let (store, _) = open(&database);
        database.hold();
        let task = commit(&store, 1);
        yield_now().await;
        database.wait_until_held();
        for _ in 0..1_000 {
            yield_now().await;
        }
        assert!(!task.is_finished(), "answered before it was saved");
        database.release();
        assert_eq!(task.await.unwrap(), Ok(Outcome::Done));
    });
}

#[test]
fn commands_given_together_stay_together() {
    run(async {
        let database = ScriptedDatabase::default();
        let (store, _) = open(&database);
        assert_eq!(store.commit_all(Vec::new()).await, Ok(Vec::new()));
        let outcomes = store.commit_all((1..=2_000).map(command).collect()).await;
        assert_eq!(outcomes.map(|outcomes| outcomes.len()), Ok(2_000));
        assert_eq!(database.saved(), [(1..=2_000).collect::<Vec<_>>()]);
    });
}

#[test]
fn a_group_has_a_weight_limit() {
    run(async {
        let database = ScriptedDatabase::default();
        let (store, seen) = open(&database);
        database.hold();
        let first = commit(&store, 0);
        yield_now().await;
        database.wait_until_held();
        let bulk = |_| {
            let store = store.clone();
            tokio::spawn(async move { store.commit(creation(BULK_GAMES_MAX)).await })
        };
        let bulks: Vec<_> = (0..2).map(bulk).collect();
        until_waiting(&store, 2).await;
        database.release();
        for task in std::iter::once(first).chain(bulks) {
            assert_eq!(task.await.unwrap(), Ok(Outcome::Done));
        }
        assert_eq!(*seen.commits.lock().unwrap(), [(1, true); 3], "two bulk creations are two commits");
    });
}

fn creation(matches: usize) -> Command {
    let spec = |n| MatchSpec {
        id: MatchId(n as u128),
        rules: Rules::default(),
        width: 11,
        height: 11,
        seed: Seed(1),
        timeout_ms: 500,
        turns_max: 5_000,
        is_public: false,
        origin: None,
        seats: Vec::new(),
    };
    let matches = (0..matches).map(spec).collect();
    Command::CreateMatches(CreateMatches { account: AccountId(1), idempotency: None, matches, now: UnixMs(0) })
}

/// Ten commands one after the other, and the n-th commit fails: all that was acknowledged is saved, and the rest is
/// saved by a retry. (A command saved without a response is saved twice here; real ones are fenced.)
#[track_caller]
fn check_failure(n: usize, failure: Failure) {
    run(async {
        let database = ScriptedDatabase::default();
        let (store, _) = open(&database);
        database.fail_at(n, failure);
        for command in 1..=10 {
            until_saved(&store, command).await;
        }
        let mut saved = database.saved().concat();
        assert_eq!(saved.len(), 10 + usize::from(failure == Failure::LostResponse), "{failure:?} at {n}");
        saved.dedup();
        assert_eq!(saved, (1..=10).collect::<Vec<_>>(), "{failure:?} at {n}");
        assert_eq!(database.opened(), 2, "opened again after {failure:?} at {n}");
    });
}

#[test]
fn a_failure_at_any_commit_loses_nothing() {
    for n in 1..=10 {
        check_failure(n, Failure::Lost);
        check_failure(n, Failure::LostResponse);
    }
    check_failure(3, Failure::Panic);
}

#[test]
fn all_callers_of_a_lost_batch_get_an_error() {
    run(async {
        let database = ScriptedDatabase::default();
        let (store, seen) = open(&database);
        database.fail_at(2, Failure::Lost);
        database.hold();
        let first = commit(&store, 0);
        yield_now().await;
        database.wait_until_held();
        let others: Vec<_> = (1..=5).map(|n| commit(&store, n)).collect();
        until_waiting(&store, 5).await;
        database.release();
        assert_eq!(first.await.unwrap(), Ok(Outcome::Done));
        for task in others {
            assert_eq!(task.await.unwrap(), Err(lost()));
        }
        assert_eq!(*seen.commits.lock().unwrap(), [(1, true), (5, false)]);
    });
}

#[test]
fn a_lost_store_refuses_at_once_and_comes_back_by_itself() {
    run(async {
        let database = ScriptedDatabase::default();
        let (store, _) = open(&database);
        database.fail_at(1, Failure::Lost);
        database.fail_openings(2);
        assert_eq!(store.commit(command(1)).await, Err(lost()));
        database.hold();
        database.wait_until_held();
        // The writer hangs in the attempt to open the database; callers do not.
        assert_eq!(store.commit(command(2)).await, Err(lost()));
        assert_eq!(store.commands_waiting(), 0, "nothing piles up");
        assert_eq!(store.refusal(), Some(lost()));
        database.release();
        until_saved(&store, 3).await;
        assert_eq!(database.saved(), [vec![3]]);
        assert_eq!(store.refusal(), None);
        assert_eq!(database.opened(), 4, "at first, twice in vain, and again");
    });
}

#[test]
fn a_store_that_opens_and_saves_nothing_stays_lost() {
    run(async {
        let database = ScriptedDatabase::default();
        let (store, seen) = open(&database);
        database.fail_at(1, Failure::Lost);
        database.fail_probes(2);
        assert_eq!(store.commit(command(1)).await, Err(lost()));
        until_saved(&store, 2).await;
        assert_eq!(*seen.commits.lock().unwrap(), [(1, false), (1, true)], "no other command was tried in vain");
        assert_eq!(database.opened(), 4, "at first, twice in vain, and again");
    });
}

#[test]
fn one_bad_command_fails_alone() {
    run(async {
        let database = ScriptedDatabase::default();
        let (store, _) = open(&database);
        database.hold();
        let first = commit(&store, 0);
        yield_now().await;
        database.wait_until_held();
        let tasks: Vec<_> = [1, POISON, 2].map(|n| commit(&store, n)).into();
        until_waiting(&store, 3).await;
        database.release();
        assert_eq!(first.await.unwrap(), Ok(Outcome::Done));
        let mut outcomes = Vec::new();
        for task in tasks {
            outcomes.push(task.await.unwrap().is_ok());
        }
        assert_eq!(outcomes, [true, false, true]);
        assert_eq!(database.saved(), [[0], [1], [2]]);
        assert_eq!(database.opened(), 1, "the store itself is fine");
    });
}

#[test]
fn the_queue_is_bounded() {
    run(async {
        let database = ScriptedDatabase::default();
        let (store, _) = open(&database);
        database.hold();
        let first = commit(&store, 0);
        yield_now().await;
        database.wait_until_held();
        let full = (0..COMMANDS_WAITING_MAX).map(|_| command(1)).collect();
        let filling = tokio::spawn({
            let store = store.clone();
            async move { store.commit_all(full).await }
        });
        until_waiting(&store, COMMANDS_WAITING_MAX).await;
        let overloaded = StoreError::Overloaded { waiting_max: COMMANDS_WAITING_MAX };
        assert_eq!(store.commit(command(2)).await, Err(overloaded));
        database.release();
        assert_eq!(first.await.unwrap(), Ok(Outcome::Done));
        assert_eq!(filling.await.unwrap().map(|outcomes| outcomes.len()), Ok(COMMANDS_WAITING_MAX));
        assert_eq!(store.commit(command(3)).await, Ok(Outcome::Done));
    });
}

#[test]
fn closing_saves_what_was_handed_in_and_refuses_the_rest() {
    run(async {
        let database = ScriptedDatabase::default();
        let (store, _) = open(&database);
        database.hold();
        let tasks: Vec<_> = (1..=3).map(|n| commit(&store, n)).collect();
        yield_now().await;
        database.wait_until_held();
        let closing = tokio::spawn({
            let store = store.clone();
            async move { store.close().await }
        });
        yield_now().await;
        assert!(!closing.is_finished());
        database.release();
        closing.await.unwrap();
        assert_eq!(database.saved().concat(), [1, 2, 3]);
        for task in tasks {
            assert_eq!(task.await.unwrap(), Ok(Outcome::Done));
        }
        let Err(StoreError::Unavailable { why }) = store.commit(command(4)).await else { panic!("it was saved") };
        assert!(why.contains("closed"), "{why}");
        store.close().await;
    });
}

#[test]
fn a_dropped_handle_saves_what_was_queued() {
    run(async {
        let database = ScriptedDatabase::default();
        let (store, _) = open(&database);
        database.hold();
        let task = commit(&store, 1);
        yield_now().await;
        drop(store);
        database.release();
        assert_eq!(task.await.unwrap(), Ok(Outcome::Done));
    });
}

#[test]
fn archives_are_compressed_before_they_wait() {
    run(async {
        let database = ScriptedDatabase::default();
        let (store, _) = open(&database);
        // A small one is compressed where it is handed in, a large one on a thread of its own.
        for entries in [10, 20_000] {
            assert_eq!(store.commit(finish(entries)).await, Ok(Outcome::Done));
        }
        for command in database.saved_commands() {
            let Command::FinishMatch { archive, .. } = command else { panic!("not a finish") };
            let unpacked = zstd::bulk::decompress(&archive, 10_000_000).unwrap();
            assert!(archive::unpack(&unpacked, 0, usize::MAX).is_ok_and(|(_, rows)| rows.len() >= 10));
        }
    });
}

fn finish(entries: u32) -> Command {
    let row = |version| MatchLogRow { version, turns: version, late_moves: 0, bytes: vec![7; 20] };
    let rows: Vec<_> = (0..entries).map(row).collect();
    let archive = archive::pack(&rows);
    let append =
        MatchAppend { id: MatchId(1), epoch: 1, rows: Vec::new(), expected_version: entries, started_at: None };
    let result = MatchResult {
        winner: None,
        is_draw: true,
        placements: Vec::new(),
        causes: Vec::new(),
        death_turns: Vec::new(),
        turns: entries,
        late_moves: 0,
        food_eaten: vec![3, 0],
        is_server_fault: false,
        silent_seats: Vec::new(),
    };
    Command::FinishMatch { append, result, archive, now: UnixMs(0) }
}

#[test]
fn readers_are_pooled_and_bounded() {
    run(async {
        let database = ScriptedDatabase::default();
        let (store, seen) = open(&database);
        let (entered, mut is_in) = tokio::sync::mpsc::unbounded_channel();
        let (let_go, gate) = std::sync::mpsc::channel::<()>();
        let gate = std::sync::Arc::new(std::sync::Mutex::new(gate));
        let read = |n: u32| {
            let (store, entered, gate) = (store.clone(), entered.clone(), gate.clone());
            tokio::spawn(async move {
                let query = move |_: &mut dyn store::Reader| {
                    let _ = entered.send(n);
                    let _ = gate.lock().unwrap().recv();
                    Ok(n)
                };
                store.read(query).await
            })
        };
        let tasks: Vec<_> = (0..3).map(read).collect();
        assert!(is_in.recv().await.is_some() && is_in.recv().await.is_some());
        for _ in 0..1_000 {
            yield_now().await;
        }
        assert!(is_in.try_recv().is_err(), "the third waits for one of two readers");
        for _ in 0..3 {
            let_go.send(()).unwrap();
        }
        for (n, task) in tasks.into_iter().enumerate() {
            assert_eq!(task.await.unwrap(), Ok(n as u32));
        }
        assert_eq!(database.readers_opened(), 2);
        assert_eq!(*seen.reads.lock().unwrap(), [true; 3]);
    });
}

#[test]
fn readers_apart_do_not_wait_behind_others_and_are_closed_with_the_store() {
    run(async {
        let (store, seen) = open_with_readers(&ScriptedDatabase::default(), 1);
        let apart = store.dedicated_readers(1, std::sync::Arc::new(seen.clone())).unwrap();
        let (let_go, gate) = std::sync::mpsc::channel::<()>();
        let busy = tokio::spawn({
            let store = store.clone();
            async move { store.read(move |_| Ok(gate.recv().is_ok())).await }
        });
        yield_now().await;
        assert_eq!(apart.read(|_| Ok(1)).await, Ok(1));
        assert!(!busy.is_finished());
        let_go.send(()).unwrap();
        assert_eq!(busy.await.unwrap(), Ok(true));
        store.close().await;
        assert!(matches!(apart.read(|_| Ok(2)).await, Err(StoreError::Unavailable { why }) if why.contains("closed")));
    });
}

#[test]
fn a_reader_that_lost_its_database_is_opened_again() {
    run(async {
        let database = ScriptedDatabase::default();
        let (store, seen) = open_with_readers(&database, 1);
        assert_eq!(store.read(|_| Ok(1)).await, Ok(1));
        assert_eq!(store.read(|_| Ok(2)).await, Ok(2));
        assert_eq!(database.readers_opened(), 1, "it is used again");
        assert_eq!(store.read(|_| Err::<u32, _>(lost())).await, Err(lost()));
        assert_eq!(store.read(|_| Ok(3)).await, Ok(3));
        assert_eq!(database.readers_opened(), 2, "the lost one is not");
        let panicked = store.read(|_| -> Result<u32, StoreError> { panic!("by script") }).await;
        assert!(matches!(panicked, Err(StoreError::Unavailable { why }) if why.contains("by script")));
        assert_eq!(store.read(|_| Ok(4)).await, Ok(4));
        assert_eq!(*seen.reads.lock().unwrap(), [true, true, false, true, false, true]);
    });
}
