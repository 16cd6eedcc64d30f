//! Real databases that fail and come back: nothing acknowledged is lost, and recovery needs no help.

#![expect(clippy::unwrap_used, reason = "a test ends where its world does")]

use engine::commands::{Command, Outcome};
use engine::ids::AccountId;
use engine::rows::Account;
use engine::time::UnixMs;
use std::sync::Arc;
use std::time::Duration;
use store::sqlite::SqliteDatabase;
use store::testing::{PostgresCluster, TempDir};
use store::{Database, Observer, Store, StoreConfig, StoreError};
use tokio::sync::mpsc::{self, UnboundedSender};

struct NullObserver;

impl Observer for NullObserver {
    fn committed(&self, _: usize, _: Duration, _: Duration, _: bool) {}
    fn read(&self, _: Duration, _: Duration, _: bool) {}
}

fn open(database: impl Database + 'static) -> Store {
    Store::open(Arc::new(database), StoreConfig { readers: 2 }, Arc::new(NullObserver)).unwrap()
}

/// A command that takes `bytes` of room.
fn account(n: u128, bytes: usize) -> Command {
    let name = format!("{n}-{}", "x".repeat(bytes));
    Command::EnsureAccount(Account { id: AccountId(n), name, created_at: UnixMs(0) })
}

fn is_unavailable<T>(answer: &Result<T, StoreError>) -> bool {
    matches!(answer, Err(StoreError::Unavailable { .. }))
}

async fn until_saved(store: &Store, command: Command) {
    loop {
        match store.commit(command.clone()).await {
            Ok(_) => return,
            Err(StoreError::Unavailable { .. }) => tokio::task::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    }
}

async fn knows(store: &Store, n: u128, bytes: usize) -> bool {
    let Command::EnsureAccount(Account { name, .. }) = account(n, bytes) else { return false };
    loop {
        match store
            .read({
                let name = name.clone();
                move |reader| reader.account_named(&name)
            })
            .await
        {
            Ok(found) => return found.is_some(),
            Err(StoreError::Unavailable { .. }) => tokio::task::yield_now().await,
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn a_full_disk_is_refused_and_forgiven() {
    let dir = TempDir::new();
    let database = SqliteDatabase::new(dir.path().join("store.db"));
    let store = open(database.clone());
    assert!(store.commit(account(0, 10)).await.is_ok());
    database.limit_pages(60);
    let mut acknowledged = Vec::new();
    let mut n = 0;
    let refusal = loop {
        n += 1;
        match store.commit(account(n, 8_000)).await {
            Ok(_) => acknowledged.push(n),
            Err(error) => break error,
        }
        assert!(n < 1_000, "the disk never fills up");
    };
    assert!(matches!(&refusal, StoreError::Unavailable { why } if why.contains("full")), "{refusal}");
    assert!(knows(&store, 0, 10).await, "what is there can be read");
    database.limit_pages(0);
    until_saved(&store, account(n, 8_000)).await;
    acknowledged.push(n);
    for n in acknowledged {
        assert!(knows(&store, n, 8_000).await, "account {n} was acknowledged");
    }
    store.close().await;
}

#[tokio::test]
async fn a_probe_sees_a_file_that_cannot_be_written() {
    let dir = TempDir::new();
    let file = dir.path().join("store.db");
    let database = SqliteDatabase::new(&file);
    let store = open(database.clone());
    assert!(store.commit(account(0, 10)).await.is_ok());
    assert_eq!(store.read(|reader| reader.probe()).await, Ok(()));
    let mut reader = database.reader().unwrap();
    store.close().await;
    std::fs::remove_file(&file).unwrap();
    std::fs::create_dir(&file).unwrap();
    assert!(is_unavailable(&reader.probe()));
}

/// Commits accounts with these numbers until the database goes away.
async fn commit_until_lost(store: Store, numbers: impl Iterator<Item = u128>, saved: UnboundedSender<u128>) {
    for n in numbers {
        match store.commit(account(n, 10)).await {
            Ok(outcome) => {
                assert_eq!(outcome, Outcome::Account(AccountId(n)));
                saved.send(n).unwrap();
            }
            Err(StoreError::Unavailable { .. }) => return,
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_restarted_loses_nothing() {
    let cluster = PostgresCluster::start_durable();
    let store = open(tokio::task::block_in_place(|| cluster.new_database()));
    let mut acknowledged = Vec::new();
    for round in 0..3 {
        // Callers at work while the database goes away.
        let (saved, mut acknowledgements) = mpsc::unbounded_channel();
        let work = |worker: u128| {
            let numbers = (0..).map(move |count| round * 100_000_000 + worker * 10_000_000 + count);
            tokio::spawn(commit_until_lost(store.clone(), numbers, saved.clone()))
        };
        let workers: Vec<_> = (0..8).map(work).collect();
        drop(saved);
        acknowledged.push(acknowledgements.recv().await.expect("the database is there, and saves"));
        tokio::task::block_in_place(|| cluster.stop());
        for worker in workers {
            worker.await.unwrap();
        }
        while let Some(n) = acknowledgements.recv().await {
            acknowledged.push(n);
        }
        let refused = store.commit(account(round * 100_000_000 + 80_000_000, 10)).await;
        assert!(is_unavailable(&refused), "it is still down: {refused:?}");
        let refused = store.read(|reader| reader.probe()).await;
        assert!(is_unavailable(&refused), "it is still down: {refused:?}");
        tokio::task::block_in_place(|| cluster.resume());
        let back = round * 100_000_000 + 90_000_000;
        until_saved(&store, account(back, 10)).await;
        acknowledged.push(back);
    }
    for n in acknowledged {
        assert!(knows(&store, n, 10).await, "account {n} was acknowledged");
    }
    store.close().await;
}
