//! Hunts that are over: with players, without players, and when their node stalls, drains or dies.

use super::recording_sink::Received;
use super::support::{CommitFault, Node, Player, TestStore, settings, until, walker};
use crate::actors::ActorPlan;
use crate::{CloseReason, VisitError, WorldsConfig};
use engine::ids::{PlayerId, WorldName};
use engine::worlds::{Done, Fact, HuntEvent, InputKind, Refusal, Registration, RoundPhase};
use rules::world::Cell;
use std::sync::Arc;
use std::time::Duration;

/// The duration that [`TestStore::make_passing`] gives a world.
const OPEN: Duration = Duration::from_secs(3_600);
const ID: u128 = 8;

fn harbour() -> WorldName {
    "harbour".parse().unwrap()
}

/// A process that has the store for itself: its lease does not end when the clock advances.
fn own_store() -> Arc<TestStore> {
    let store = TestStore::own();
    store.make_passing(ID, &harbour());
    store
}

/// A hunter on a chest, in a running round.
async fn hunter(node: &Node) -> Player {
    let scout = node.come_to(&harbour(), walker(Cell { x: 0, y: 0 })).await;
    scout.sink.wait("a round", |received| matches!(received, Received::Event(HuntEvent::Began(_))).then_some(())).await;
    let chest = loop {
        // A picture may be a tick old, from before the round.
        if let Some(chest) = scout.chests().await.first() {
            break *chest;
        }
        tokio::task::yield_now().await;
    };
    scout.mover.leave();
    node.come_to(&harbour(), walker(chest)).await
}

async fn digger(node: &Node) -> Player {
    let mut hunter = hunter(node).await;
    let seq = hunter.want(InputKind::Dig);
    assert!(matches!(hunter.sink.answer(seq).await, Ok(Done::Dug { .. })));
    hunter
}

/// The rounds that ended by the log, each with the number of its players who scored.
fn ended_rounds(store: &TestStore) -> Vec<(u32, u32)> {
    let ended = |fact| if let Fact::RoundEnded { number, hunters, .. } = fact { Some((number, hunters)) } else { None };
    store.facts(ID).into_iter().filter_map(ended).collect()
}

#[tokio::test]
async fn players_get_the_result_and_the_end_of_a_hunt() {
    let store = own_store();
    let node = Node::start(&store, "a");
    let mut hunter = digger(&node).await;
    store.pass(OPEN);
    let late = hunter.want(InputKind::Dig);
    assert_eq!(hunter.sink.answer(late).await, Err(Refusal::RoundOver));
    assert_eq!(hunter.sink.end().await, CloseReason::Over);
    let last = hunter.sink.wait("the end of the round", |received| match received {
        Received::Event(HuntEvent::Ended { number, scores, next }) => Some((*number, scores.len(), next.phase)),
        _ => None,
    });
    assert_eq!(last.await, (1, 1, RoundPhase::Over));
    assert_eq!(ended_rounds(&store), [(1, 1)]);
    assert_eq!(node.worlds.visit(&harbour()).await.err(), Some(VisitError::Over));
    until("it has left memory", || node.worlds.all_loaded().is_empty()).await;
    node.stop().await;
    assert_eq!(store.unfinished(), 0);
}

#[tokio::test]
async fn a_hunt_between_two_rounds_is_over_at_its_end() {
    let store = own_store();
    let node = Node::start(&store, "a");
    let mut hunter = digger(&node).await;
    store.pass(OPEN - Duration::from_secs(1));
    hunter.want(InputKind::Dig);
    hunter
        .sink
        .wait("a pause", |received| matches!(received, Received::Event(HuntEvent::Ended { .. })).then_some(()))
        .await;
    store.pass(Duration::from_secs(1));
    hunter.want(InputKind::Dig);
    hunter.sink.wait("the end", |received| matches!(received, Received::Event(HuntEvent::Over(_))).then_some(())).await;
    assert_eq!(hunter.sink.end().await, CloseReason::Over);
    assert_eq!(ended_rounds(&store), [(1, 1)]);
}

#[tokio::test]
async fn the_end_is_sent_when_it_is_saved_however_late_that_is() {
    let store = own_store();
    let node = Node::start(&store, "a");
    let mut hunter = digger(&node).await;
    store.hold(true);
    store.pass(OPEN);
    let late = hunter.want(InputKind::Dig);
    until("the end is on its way", || store.claims_requested.load(std::sync::atomic::Ordering::Relaxed) > 2).await;
    assert_eq!(hunter.sink.answer(late).await, Err(Refusal::RoundOver));
    let is_end = |received: &Received| matches!(received, Received::Event(HuntEvent::Ended { .. }) | Received::End(_));
    assert!(!hunter.sink.all().iter().any(is_end), "nothing unsaved is sent");
    store.hold(false);
    assert_eq!(hunter.sink.end().await, CloseReason::Over);
    assert_eq!(ended_rounds(&store), [(1, 1)]);
}

/// How a node loses a hunt with a running round.
#[derive(Clone, Copy, Debug)]
enum Loss {
    Drained,
    Killed,
    /// All players left.
    Idle,
}

#[tokio::test]
async fn any_node_ends_a_round_that_was_lost() {
    for loss in [Loss::Drained, Loss::Killed, Loss::Idle] {
        let store = TestStore::with_world(false);
        store.make_passing(ID, &harbour());
        let idle = if matches!(loss, Loss::Idle) { Duration::ZERO } else { settings().idle_timeout };
        let node = Node::start_with(&store, "a", WorldsConfig { idle_timeout: idle, ..settings() });
        let hunter = digger(&node).await;
        match loss {
            Loss::Drained => node.stop().await,
            Loss::Killed => node.kill().await,
            Loss::Idle => {
                hunter.mover.leave();
                drop(hunter.world);
                until("it has left memory", || node.worlds.all_loaded().is_empty()).await;
                node.stop().await;
            }
        }
        assert_eq!(ended_rounds(&store), [], "{loss:?}");
        store.pass(OPEN);
        assert_eq!(store.unfinished(), 1, "{loss:?}");
        let other = Node::start(&store, "b");
        for _ in 0..2 {
            for row in store.hunts_unfinished() {
                other.worlds.finish(row).await.unwrap();
            }
        }
        until("it is finished", || store.unfinished() == 0).await;
        assert_eq!(ended_rounds(&store), [(1, 1)], "{loss:?}");
        assert_eq!(other.worlds.visit(&harbour()).await.err(), Some(VisitError::Over), "{loss:?}");
        other.stop().await;
    }
}

#[tokio::test]
async fn an_unsaved_end_is_made_up_for() {
    for fault in [CommitFault::Lost, CommitFault::Unreported, CommitFault::Overloaded] {
        let store = own_store();
        let node = Node::start(&store, "a");
        let mut hunter = digger(&node).await;
        store.inject_faults(&[fault]);
        store.pass(OPEN);
        hunter.want(InputKind::Dig);
        let sent = if fault == CommitFault::Overloaded { CloseReason::Over } else { CloseReason::WorldMoved };
        assert_eq!(hunter.sink.end().await, sent, "{fault:?}");
        let is_gone = || node.worlds.shared.entries().is_empty();
        until("it has left memory", is_gone).await;
        for row in store.hunts_unfinished() {
            node.worlds.finish(row).await.unwrap();
        }
        until("it has left memory again", is_gone).await;
        node.stop().await;
        assert_eq!((ended_rounds(&store), store.unfinished()), (vec![(1, 1)], 0), "{fault:?}");
    }
}

#[tokio::test]
async fn actors_leave_a_hunt_that_is_over() {
    let store = own_store();
    let node = Node::start(&store, "a");
    let plan = ActorPlan { period: Duration::from_millis(20), ..ActorPlan::of(8) };
    node.worlds.set_actors(&harbour(), plan).await.unwrap();
    let moving = || node.worlds.actors(&harbour()).is_some_and(|actors| actors.moving == 8);
    until("they move", moving).await;
    store.pass(OPEN);
    until("it has left memory", || node.worlds.all_loaded().is_empty()).await;
    until("its actors stop", || node.worlds.actors(&harbour()).is_none()).await;
}

#[tokio::test]
async fn the_mover_of_a_player_who_left_goes_and_the_next_one_is_another() {
    let node = Node::start(&own_store(), "a");
    let (ann, ben) = (PlayerId(1), PlayerId(2));
    let of = |player| Registration { player: Some(player), ..walker(Cell { x: 3, y: 3 }) };
    let (first, other) = (node.come_to(&harbour(), of(ann)).await, node.come_to(&harbour(), of(ben)).await);
    node.worlds.remove_player(&harbour(), ann);
    assert_eq!(first.sink.end().await, CloseReason::Left);
    while other.world.picture().await.unwrap().stats().movers != 1 {
        tokio::task::yield_now().await;
    }
    let resume = Some((first.seat().id, first.registered.key));
    drop(first.mover);
    let again = node.come_to(&harbour(), Registration { resume, ..of(ann) }).await;
    assert!(!again.registered.is_resumed);
}
