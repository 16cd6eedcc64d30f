//! Concurrent requests: the last seats, and readers beside writers.

use super::super::*;
use super::support::{CommitFault, events, newcomer, player};
use super::{Node, TestStore};
use engine::tables::Action;
use proptest::prelude::*;
use std::time::Duration;
use tokio::time::{sleep, timeout};

#[tokio::test(start_paused = true)]
async fn exactly_the_free_seats_are_taken() {
    let node = Node::start(&TestStore::new(), "a").await;
    let table = node.open().await;
    let joins: Vec<_> = (2..42)
        .map(|number| {
            let tables = node.tables.clone();
            tokio::spawn(async move {
                tables.act(table, Some(1), player(number), Action::Join(newcomer(number))).await.map(|_| ())
            })
        })
        .collect();
    let mut done = 0;
    for join in joins {
        match join.await.unwrap() {
            Ok(()) => done += 1,
            Err(TableError::Refused(Refusal::TableFull { .. })) => {}
            Err(other) => panic!("{other}"),
        }
    }
    let seen = node.tables.view(table, None).await.unwrap();
    assert_eq!((done, seen.view.members.len(), seen.view.seq), (5, 6, 6));
}

/// One step of a client, after a pause.
#[derive(Clone, Debug)]
enum Step {
    /// Chats, so that the table changes.
    Chat(u128),
    /// Waits for updates for at most this long.
    Poll {
        reader: usize,
        for_ms: u64,
    },
    /// Makes the store fail at the next commits.
    InjectFaults(Vec<bool>),
    Pause(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (1..4u128).prop_map(Step::Chat),
        4 => (0..READERS, 0..3_000u64).prop_map(|(reader, for_ms)| Step::Poll { reader, for_ms }),
        1 => prop::collection::vec(any::<bool>(), 1..3).prop_map(Step::InjectFaults),
        3 => (0..1_500u64).prop_map(Step::Pause),
    ];
    prop::collection::vec(step, 1..60)
}

const READERS: usize = 4;

/// A client that polls: it continues from the last event that it saw.
#[derive(Default)]
struct Reader {
    after: u64,
    seen: Vec<u64>,
}

async fn poll(tables: Tables, table: TableId, viewer: Option<PlayerId>, reader: Arc<Mutex<Reader>>, for_ms: u64) {
    // One poll of a reader at a time, as clients do.
    let mut reader = reader.lock().await;
    let Ok(mut wait) = tables.wait(table, viewer, reader.after).await else { return };
    let response = match timeout(Duration::from_millis(for_ms), &mut wait).await {
        Ok(response) => response.unwrap(),
        Err(_) => wait.so_far().unwrap(),
    };
    for (seq, _) in events(&response) {
        reader.seen.push(seq);
        reader.after = seq;
    }
}

async fn play(steps: Vec<Step>) {
    let world = TestStore::new();
    let node = Node::start(&world, "a").await;
    let table = node.open().await;
    node.join(table, 2).await.unwrap();
    node.join(table, 3).await.unwrap();
    let viewers = [Some(player(1)), Some(player(2)), Some(player(9)), None];
    let readers: [Arc<Mutex<Reader>>; READERS] = Default::default();
    let mut tasks = Vec::new();
    for step in steps {
        match step {
            Step::Chat(number) => {
                let tables = node.tables.clone();
                let action = async move {
                    // Refused when it chats too fast; lost or unreported when the store fails.
                    let _ = tables.act(table, None, player(number), Action::Chat("word".to_owned())).await;
                };
                tasks.push(tokio::spawn(action));
            }
            Step::Poll { reader, for_ms } => {
                let poll = poll(node.tables.clone(), table, viewers[reader], readers[reader].clone(), for_ms);
                tasks.push(tokio::spawn(poll));
            }
            Step::InjectFaults(are_saved) => {
                let fault = |is_saved| if is_saved { CommitFault::Unreported } else { CommitFault::Lost };
                world.inject_faults(&are_saved.into_iter().map(fault).collect::<Vec<_>>());
            }
            Step::Pause(ms) => sleep(Duration::from_millis(ms)).await,
        }
        tokio::task::yield_now().await;
    }
    for task in tasks {
        task.await.unwrap();
    }
    world.inject_faults(&[]);
    for (reader, viewer) in readers.into_iter().zip(viewers) {
        // A last poll: anything that was not seen yet is returned at once.
        poll(node.tables.clone(), table, viewer, reader.clone(), 0).await;
        let reader = reader.lock().await;
        let seq = node.tables.view(table, viewer).await.unwrap().view.seq;
        assert_eq!(reader.seen, (1..=seq).collect::<Vec<_>>(), "every event once, in order: {viewer:?}");
    }
    assert_eq!(node.tables.totals().waiters, 0);
    node.stop().await;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// However polls and actions interleave and whatever the store does: a reader sees every event exactly once.
    #[test]
    fn no_event_is_lost(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(play(steps));
    }
}

/// An uninterrupted wait ends with the change, not with anything later.
#[tokio::test(start_paused = true)]
async fn no_wake_up_is_missed_between_a_look_and_a_wait() {
    let node = Node::start(&TestStore::new(), "a").await;
    let table = node.open().await;
    for number in 2..=6 {
        let seq = node.tables.view(table, None).await.unwrap().view.seq;
        let (wait, joined) = tokio::join!(node.tables.wait(table, None, seq), node.join(table, number));
        joined.unwrap();
        let response = timeout(Duration::from_millis(1), wait.unwrap()).await.expect("it is woken").unwrap();
        assert_eq!(events(&response).len(), 1);
    }
}
