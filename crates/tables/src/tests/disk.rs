//! Tables on a SQLite file and the real clock, in one process after the other.

use super::super::*;
use super::support::{events, newcomer, player, settings};
use engine::tables::{Action, BotSettings, EventKind, TableSettings};
use engine::time::UnixMs;
use node::Node;
use node::clock::Clock;
use node::drain::Drain;
use std::time::Duration;
use store::sqlite::SqliteDatabase;
use store::testing::TempDir;
use store::{Store, StoreConfig};
use tokio::task::JoinHandle;

struct Process {
    store: Store,
    tables: Tables,
    drain: Drain,
    task: JoinHandle<()>,
}

async fn start(directory: &TempDir) -> Process {
    let metrics = Arc::<Metrics>::default();
    let database = Arc::new(SqliteDatabase::new(directory.path().join("tables.db")));
    let store = Store::open(database, StoreConfig { readers: 1 }, metrics.clone()).unwrap();
    let node = Node::new(store.clone(), Clock::default(), "127.0.0.1:1");
    node::lease::end_previous_leases(&node).await.unwrap();
    let (tables, drain) = (Tables::new(settings(), metrics), Drain::default());
    let task = tokio::spawn(run(node, tables.clone(), drain.clone()));
    while !tables.shared.is_serving.load(Ordering::Acquire) {
        tokio::task::yield_now().await;
    }
    Process { store, tables, drain, task }
}

/// The first response with a matching event; polls as a client does.
async fn until(tables: &Tables, table: TableId, is_it: impl Fn(&EventKind) -> bool) -> Vec<(u64, EventKind)> {
    let mut after = 0;
    let mut seen = Vec::new();
    loop {
        let Ok(wait) = tables.wait(table, Some(player(1)), after).await else {
            // It is not served yet.
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        };
        seen.extend(events(&wait.await.unwrap()));
        after = seen.last().map_or(0, |(seq, _)| *seq);
        if seen.iter().any(|(_, kind)| is_it(kind)) {
            return seen;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_keeps_games_and_timers() {
    let directory = TempDir::new();
    let process = start(&directory).await;
    let id = TableId::new(UnixMs(1_700_000_000_000), [7; 10]);
    let settings = TableSettings { game_timeout: Duration::from_millis(1_500), ..TableSettings::default() };
    let opening = NewTable {
        id,
        opener: newcomer(1),
        address: None,
        is_operator: false,
        settings,
        bots: BotSettings::default(),
        idempotency: None,
    };
    let opened = process.tables.open(opening).await.unwrap();
    assert!(matches!(opened, OpenResult::New { .. }));
    let join = Action::Join(newcomer(2));
    process.tables.act(id, Some(1), player(2), join).await.unwrap();
    process.task.abort();
    let _ = process.task.await;
    process.store.close().await;

    // The lease was not released: the next process ends it.
    let process = start(&directory).await;
    let seen = until(&process.tables, id, |kind| matches!(kind, EventKind::Canceled { .. })).await;
    let numbers: Vec<u64> = seen.iter().map(|(seq, _)| *seq).collect();
    assert_eq!(numbers, (1..=seen.len() as u64).collect::<Vec<_>>(), "from the beginning, each once");
    assert!(matches!(&seen[1].1, EventKind::Joined { player: who, .. } if *who == player(2)));
    process.drain.begin();
    process.task.await.unwrap();
    process.store.close().await;
}
