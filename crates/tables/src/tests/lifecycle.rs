//! Processes that die, drain and share a store; tables that leave memory and are loaded again.

use super::super::*;
use super::support::{events, newcomer, player, worker};
use super::{Node, TestStore, settings};
use engine::commands::{Command, Outcome};
use engine::limits::{LEASE_DURATION, TABLE_DRAIN_LINGER, TABLE_MAILBOX_MAX};
use engine::tables::{Action, EventKind, Phase};
use futures_util::FutureExt;
use std::time::Duration;
use tokio::time::{sleep, timeout};

/// Requests the table until it is served again.
async fn until_served(node: &Node, table: TableId) -> ViewResult {
    loop {
        match node.tables.view(table, None).await {
            Ok(seen) => return seen,
            Err(TableError::NotServing | TableError::HeldByPreviousProcess { .. } | TableError::Elsewhere { .. }) => {
                sleep(Duration::from_millis(50)).await;
            }
            Err(other) => panic!("{other}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_crash_keeps_everything_that_was_acknowledged() {
    let world = TestStore::new();
    let node = Node::start(&world, "a").await;
    let table = node.open().await;
    node.join(table, 2).await.unwrap();
    node.tell_story(table).await;
    let before = node.tables.view(table, Some(player(1))).await.unwrap();
    let wait = node.tables.wait(table, Some(player(1)), before.view.seq).await.unwrap();
    node.kill().await;
    assert_eq!(timeout(Duration::from_secs(1), wait).await.unwrap().err(), Some(TableError::NotServing));

    let node = Node::start(&world, "a").await;
    assert_eq!(until_served(&node, table).await.view.members.len(), 2);
    let after = node.tables.view(table, Some(player(1))).await.unwrap();
    assert_eq!(before.view, after.view, "sequences and timers included");
    let all = node.tables.wait(table, Some(player(1)), 0).await.unwrap().now_or_never().unwrap().unwrap();
    assert_eq!(events(&all).len() as u64, after.view.seq, "a new reader misses nothing");
    node.join(table, 3).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn timers_go_on_after_a_crash_without_requests() {
    let world = TestStore::new();
    let node = Node::start(&world, "a").await;
    let mut opening = node.opening(1);
    opening.settings.game_timeout = Duration::from_secs(60);
    opening.settings.countdown = Duration::from_secs(10);
    let game = engine::ids::GameId { table: opening.id, number: 1 };
    node.tables.open(opening).await.unwrap();
    sleep(Duration::from_secs(30)).await;
    node.kill().await;
    // Overdue by the time of the first request.
    sleep(Duration::from_secs(60)).await;
    let row = |world: &TestStore| world.read(|reader| reader.story_game(game)).unwrap().0;
    assert_eq!(row(&world).phase, Phase::Create);
    let node = Node::start(&world, "b").await;
    sleep(Duration::from_secs(3)).await;
    assert_eq!(row(&world).phase, Phase::Canceled);
    sleep(Duration::from_secs(20)).await;
    assert_eq!(node.tables.totals().tables, 0, "no players are present any more");
}

/// The system's clock is set: a game ends when its time is over, neither sooner nor later.
#[tokio::test(start_paused = true)]
async fn timers_do_not_follow_a_clock_that_is_set() {
    const HOUR_MS: i64 = 3_600_000;
    for set_ms in [HOUR_MS, -HOUR_MS, 1_000, -1_000] {
        let world = TestStore::own();
        let node = Node::start(&world, "a").await;
        let mut opening = node.opening(1);
        opening.settings.game_timeout = Duration::from_secs(60);
        opening.settings.countdown = Duration::from_secs(10);
        let game = engine::ids::GameId { table: opening.id, number: 1 };
        node.tables.open(opening).await.unwrap();
        let phase = || world.read(|reader| reader.story_game(game)).unwrap().0.phase;
        sleep(Duration::from_secs(30)).await;
        world.set_clock(set_ms);
        // An action after it is counted from then on, too.
        node.join(game.table, 2).await.unwrap();
        sleep(Duration::from_secs(58)).await;
        assert_eq!(phase(), Phase::Create, "set by {set_ms} ms");
        sleep(Duration::from_secs(3)).await;
        assert_eq!(phase(), Phase::Canceled, "set by {set_ms} ms");
        // The table leaves memory in time.
        sleep(Duration::from_secs(20)).await;
        assert_eq!(node.tables.totals().tables, 0, "set by {set_ms} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn a_draining_process_answers_waits_and_frees_its_tables_at_once() {
    let world = TestStore::new();
    let (first, second) = (Node::start(&world, "a").await, Node::start(&world, "b").await);
    let table = first.open().await;
    let elsewhere = second.tables.view(table, None).await.err();
    assert_eq!(elsewhere, Some(TableError::Elsewhere { address: "a".to_owned() }));
    let mut wait = first.tables.wait(table, Some(player(1)), 1).await.unwrap();
    first.drain.begin();
    sleep(TABLE_DRAIN_LINGER / 2).await;
    assert_eq!(first.tables.wait(table, None, 1).await.err(), Some(TableError::Draining));
    assert_eq!(first.tables.open(first.opening(2)).await.err(), Some(TableError::Draining));
    first.join(table, 2).await.unwrap();
    assert_eq!(events(&(&mut wait).await.unwrap()).len(), 1, "waits are served until the end");
    let wait = first.tables.feed(table, Some(player(1)), 1).await.unwrap();
    assert_eq!(events(&wait).len(), 1);
    first.stop().await;
    // No lease has to expire first.
    assert_eq!(timeout(LEASE_DURATION / 5, until_served(&second, table)).await.unwrap().view.members.len(), 2);
    second.join(table, 3).await.unwrap();
}

/// A process at the address of one that died waits for its lease: it sends no client back to where it came from.
#[tokio::test(start_paused = true)]
async fn a_successor_at_the_same_address_waits_for_the_lease() {
    let world = TestStore::new();
    let (first, successor) = (Node::start(&world, "a").await, Node::start(&world, "a").await);
    let table = first.open().await;
    let held = TableError::HeldByPreviousProcess { lease: LEASE_DURATION };
    assert_eq!(successor.tables.view(table, None).await.err(), Some(held));
}

#[tokio::test(start_paused = true)]
async fn waits_left_at_the_end_of_a_drain_are_refused() {
    let node = Node::start(&TestStore::new(), "a").await;
    let table = node.open().await;
    let wait = node.tables.wait(table, None, 1).await.unwrap();
    node.stop().await;
    assert_eq!(wait.await.err(), Some(TableError::Draining));
}

/// A lease that could not be renewed has expired by its owner's clock, and not yet by the store's.
#[tokio::test(start_paused = true)]
async fn a_lost_lease_does_not_delay_the_next_one() {
    let world = TestStore::new();
    let node = Node::start(&world, "a").await;
    let table = node.open().await;
    world.is_lease_stuck.store(true, Ordering::Relaxed);
    while node.tables.is_serving() {
        sleep(Duration::from_millis(10)).await;
    }
    world.is_lease_stuck.store(false, Ordering::Relaxed);
    while !node.tables.is_serving() {
        sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(node.tables.view(table, None).await.unwrap().view.members.len(), 1, "the lost lease is not waited for");
}

#[tokio::test(start_paused = true)]
async fn a_stalled_disk_costs_a_single_process_nothing() {
    let world = TestStore::own();
    let node = Node::start(&world, "a").await;
    let table = node.open().await;
    let mut wait = node.tables.wait(table, Some(player(1)), 1).await.unwrap();
    let owner = || world.read(|reader| reader.table_owner(table, world.now()));
    let before = owner();
    world.is_lease_stuck.store(true, Ordering::Relaxed);
    world.is_stuck.store(true, Ordering::Relaxed);
    let join = node.join(table, 2);
    tokio::pin!(join);
    assert!(timeout(LEASE_DURATION * 2, &mut join).await.is_err(), "nothing unsaved is answered");
    assert_eq!(node.tables.view(table, None).await.unwrap().view.members.len(), 1, "what is saved is shown");
    world.is_stuck.store(false, Ordering::Relaxed);
    join.await.unwrap();
    assert_eq!(events(&(&mut wait).await.unwrap()).len(), 1, "the wait goes on");
    assert_eq!(owner(), before);
}

#[tokio::test(start_paused = true)]
async fn the_next_single_process_has_everything_at_once() {
    let world = TestStore::own();
    let mut node = Node::start(&world, "a").await;
    let table = node.open().await;
    for _ in 0..3 {
        node.kill().await;
        node = Node::start(&world, "a").await;
        assert_eq!(node.tables.view(table, None).await.unwrap().view.members.len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_table_taken_by_another_worker_is_not_written_any_more() {
    let world = TestStore::new();
    let (first, second) = (Node::start(&world, "a").await, Node::start(&world, "b").await);
    let table = first.open().await;
    let wait = first.tables.wait(table, None, 1).await.unwrap();
    // As if the first had been paused beyond the end of its lease: another worker claims the table, and goes on.
    let epoch = world.steal(table, worker(77), "c");
    assert!(epoch > 1);
    let refused = first.join(table, 2).await.err();
    assert_eq!(refused, Some(TableError::Elsewhere { address: "c".to_owned() }), "fenced, and its owner read");
    assert_eq!(wait.await.err(), Some(TableError::Elsewhere { address: "c".to_owned() }));
    assert_eq!(second.tables.totals().tables, 0);
}

#[tokio::test(start_paused = true)]
async fn a_table_without_a_game_leaves_memory_without_players() {
    let world = TestStore::new();
    let node = Node::start(&world, "a").await;
    let mut opening = node.opening(1);
    opening.settings.game_timeout = Duration::from_secs(60);
    let table = opening.id;
    node.tables.open(opening).await.unwrap();
    let viewer = Some(player(1));
    let mut wait = node.tables.wait(table, viewer, 1).await.unwrap();
    let response = (&mut wait).await.unwrap();
    let canceled = events(&response);
    assert!(matches!(canceled[..], [(2, EventKind::Canceled { .. }), (3, EventKind::NextStoryteller { .. })]));
    let wait = node.tables.wait(table, viewer, 3).await.unwrap();
    sleep(Duration::from_secs(300)).await;
    assert_eq!(node.tables.totals().tables, 1, "a player is present");
    drop(wait);
    sleep(settings().presence_grace + Duration::from_secs(2)).await;
    assert_eq!(node.tables.totals(), Totals::default());
    assert!(node.tables.view_if_loaded(table, None).await.is_none(), "a view does not load it");
    assert_eq!(node.tables.totals().tables, 0);

    // The next request loads it, on any node.
    let other = Node::start(&world, "b").await;
    let acted = other.act(table, 1, Action::NextGame(newcomer(1))).await.unwrap();
    assert_eq!(acted.view.game.unwrap().id.number, 2);
    let elsewhere = node.tables.view(table, None).await.err();
    assert_eq!(elsewhere, Some(TableError::Elsewhere { address: "b".to_owned() }));
    let behind = other.tables.feed(table, viewer, 1).await.unwrap();
    assert!(matches!(behind.feed, Feed::TooOld(_)), "what happened before it left memory is forgotten");
}

#[tokio::test(start_paused = true)]
async fn an_unknown_table_costs_no_write_and_no_memory() {
    let node = Node::start(&TestStore::new(), "a").await;
    let unknown = node.opening(1).id;
    assert_eq!(node.tables.view(unknown, None).await.err(), Some(TableError::NoSuchTable));
    assert_eq!(node.join(unknown, 1).await.err(), Some(TableError::NoSuchTable));
    assert_eq!(node.tables.wait(unknown, None, 0).await.err(), Some(TableError::NoSuchTable));
    assert_eq!(node.tables.totals(), Totals::default());
}

#[tokio::test(start_paused = true)]
async fn an_opening_is_repeated_by_its_key() {
    let node = Node::start(&TestStore::new(), "a").await;
    let keyed = |fingerprint: u8| {
        let mut opening = node.opening(1);
        let response = opening.id.to_bytes().to_vec();
        opening.idempotency = Some(Idempotency { key: "key".to_owned(), fingerprint: [fingerprint; 32], response });
        opening
    };
    let first = keyed(1);
    let response = first.id.to_bytes().to_vec();
    assert!(matches!(node.tables.open(first).await.unwrap(), OpenResult::New { .. }));
    match node.tables.open(keyed(1)).await.unwrap() {
        OpenResult::Replayed(bytes) => assert_eq!(bytes, response),
        OpenResult::New { .. } => panic!("it was opened before"),
    }
    assert_eq!(node.tables.open(keyed(2)).await.err(), Some(TableError::KeyReused));
    assert_eq!(node.tables.totals().tables, 1, "the repeated opening takes no memory");
}

impl TestStore {
    /// Claims a table as another worker does when its owner's lease has expired. Returns the new epoch.
    fn steal(&self, table: TableId, worker: engine::ids::WorkerId, address: &str) -> u32 {
        let later = self.now().plus(LEASE_DURATION * 2);
        let lease =
            Command::RenewLease { worker, address: address.to_owned(), now: later, until: later.plus(LEASE_DURATION) };
        assert_eq!(self.commit_now(lease), Outcome::Done);
        match self.commit_now(Command::ClaimTable { id: table, worker, now: later }) {
            Outcome::TableClaimed(claimed) => claimed.epoch,
            other => panic!("{other:?}"),
        }
    }
}

/// An owner task that stops reading its full mailbox must not own its tables for ever.
#[tokio::test(start_paused = true)]
async fn a_stuck_owner_task_ends_the_lease() {
    let world = TestStore::new();
    let first = Node::start(&world, "a").await;
    let table = first.open().await;
    first.kill().await;
    let settings = TablesConfig { owner_tasks: 1, ..settings() };
    let tables = Tables::new(settings, Arc::default());
    // The mailbox is not read while the test holds its receiver.
    let stuck = tables.shared.mailboxes[0].inbox.clone().lock_owned().await;
    let node = Node::with(&world, "b", tables).await;
    for _ in 0..TABLE_MAILBOX_MAX {
        let (reply, _) = oneshot::channel();
        let look = OwnerMessage::ViewIfLoaded { table, viewer: None, reply };
        node.tables.shared.mailboxes[0].sender.try_send(look).map_err(|_| "it is full").unwrap();
        node.tables.shared.metrics.tables.messages.inc();
    }
    // The dead process's lease expires; its table is claimed, and cannot be handed over.
    sleep(LEASE_DURATION + Duration::from_secs(5)).await;
    assert!(!node.tables.is_serving());
    drop(stuck);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(node.tables.totals().tables, 1, "it is loaded under the next lease");
    node.stop().await;
}
