//! Hunts that are over: while somebody is in them, while nobody is, and while their node stalls, leaves or dies.

use super::recording_sink::Received;
use super::support::{CommitFault, Node, Player, TestStore, settings, until, walker};
use crate::worlds::actors::ActorPlan;
use crate::worlds::{CloseReason, VisitError, WorldsConfig};
use engine::ids::WorldName;
use engine::worlds::{Done, Fact, HuntEvent, InputKind, Refusal, RoundPhase};
use rules::world::Cell;
use std::sync::Arc;
use std::time::Duration;

/// As long as [`House::make_passing`] has it.
const OPEN: Duration = Duration::from_secs(3_600);
const ID: u128 = 8;

fn harbour() -> WorldName {
    "harbour".parse().unwrap()
}

/// A process that has the store for itself: its lease does not end when the clock is moved on.
fn own_house() -> Arc<TestStore> {
    let house = TestStore::own();
    house.make_passing(ID, &harbour());
    house
}

/// Somebody on a chest of the hunt, in a round that is running.
async fn hunter(node: &Node) -> Player {
    let scout = node.come_to(&harbour(), walker(Cell { x: 0, y: 0 })).await;
    scout.sink.wait("a round", |heard| matches!(heard, Received::Event(HuntEvent::Began(_))).then_some(())).await;
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

/// The rounds that ended by the log, with how many had points.
fn ended_rounds(house: &TestStore) -> Vec<(u32, u32)> {
    let ended = |fact| if let Fact::RoundEnded { number, hunters, .. } = fact { Some((number, hunters)) } else { None };
    house.facts(ID).into_iter().filter_map(ended).collect()
}

#[tokio::test]
async fn whoever_is_in_a_hunt_at_its_end_hears_who_won_and_that_it_is_over() {
    let house = own_house();
    let node = Node::start(&house, "a");
    let mut hunter = digger(&node).await;
    house.pass(OPEN);
    let late = hunter.want(InputKind::Dig);
    assert_eq!(hunter.sink.answer(late).await, Err(Refusal::RoundOver));
    assert_eq!(hunter.sink.end().await, CloseReason::Over);
    let last = hunter.sink.wait("the end of the round", |heard| match heard {
        Received::Event(HuntEvent::Ended { number, scores, next }) => Some((*number, scores.len(), next.phase)),
        _ => None,
    });
    assert_eq!(last.await, (1, 1, RoundPhase::Over));
    assert_eq!(ended_rounds(&house), [(1, 1)]);
    assert_eq!(node.worlds.visit(&harbour()).await.err(), Some(VisitError::Over));
    until("it has left memory", || node.worlds.all_loaded().is_empty()).await;
    node.stop().await;
    assert_eq!(house.unfinished(), 0);
}

#[tokio::test]
async fn a_hunt_between_two_rounds_is_over_at_its_end() {
    let house = own_house();
    let node = Node::start(&house, "a");
    let mut hunter = digger(&node).await;
    house.pass(OPEN - Duration::from_secs(1));
    hunter.want(InputKind::Dig);
    hunter.sink.wait("a pause", |heard| matches!(heard, Received::Event(HuntEvent::Ended { .. })).then_some(())).await;
    house.pass(Duration::from_secs(1));
    hunter.want(InputKind::Dig);
    hunter.sink.wait("the end", |heard| matches!(heard, Received::Event(HuntEvent::Over(_))).then_some(())).await;
    assert_eq!(hunter.sink.end().await, CloseReason::Over);
    assert_eq!(ended_rounds(&house), [(1, 1)]);
}

#[tokio::test]
async fn the_end_is_told_when_it_is_saved_however_late_that_is() {
    let house = own_house();
    let node = Node::start(&house, "a");
    let mut hunter = digger(&node).await;
    house.hold(true);
    house.pass(OPEN);
    let late = hunter.want(InputKind::Dig);
    until("the end is on its way", || house.claims_asked.load(std::sync::atomic::Ordering::Relaxed) > 2).await;
    assert_eq!(hunter.sink.answer(late).await, Err(Refusal::RoundOver));
    let is_end = |heard: &Received| matches!(heard, Received::Event(HuntEvent::Ended { .. }) | Received::End(_));
    assert!(!hunter.sink.all().iter().any(is_end), "nothing is told that is not saved");
    house.hold(false);
    assert_eq!(hunter.sink.end().await, CloseReason::Over);
    assert_eq!(ended_rounds(&house), [(1, 1)]);
}

/// How a node loses a hunt whose round is running.
#[derive(Clone, Copy, Debug)]
enum Loss {
    Drained,
    Killed,
    /// Everybody left.
    Idle,
}

#[tokio::test]
async fn a_round_that_nobody_saw_to_its_end_is_ended_by_any_node() {
    for loss in [Loss::Drained, Loss::Killed, Loss::Idle] {
        let house = TestStore::with_world(false);
        house.make_passing(ID, &harbour());
        let idle = if matches!(loss, Loss::Idle) { Duration::ZERO } else { settings().idle_timeout };
        let node = Node::start_with(&house, "a", WorldsConfig { idle_timeout: idle, ..settings() });
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
        assert_eq!(ended_rounds(&house), [], "{loss:?}");
        house.pass(OPEN);
        assert_eq!(house.unfinished(), 1, "{loss:?}");
        let other = Node::start(&house, "b");
        for _ in 0..2 {
            for row in house.hunts_unfinished() {
                other.worlds.finish(row).await.unwrap();
            }
        }
        until("it is finished", || house.unfinished() == 0).await;
        assert_eq!(ended_rounds(&house), [(1, 1)], "{loss:?}");
        assert_eq!(other.worlds.visit(&harbour()).await.err(), Some(VisitError::Over), "{loss:?}");
        other.stop().await;
    }
}

#[tokio::test]
async fn an_end_that_was_not_saved_is_made_up_for() {
    for trouble in [CommitFault::Lost, CommitFault::Unreported, CommitFault::Overloaded] {
        let house = own_house();
        let node = Node::start(&house, "a");
        let mut hunter = digger(&node).await;
        house.inject_faults(&[trouble]);
        house.pass(OPEN);
        hunter.want(InputKind::Dig);
        let told = if trouble == CommitFault::Overloaded { CloseReason::Over } else { CloseReason::WorldMoved };
        assert_eq!(hunter.sink.end().await, told, "{trouble:?}");
        let is_gone = || node.worlds.shared.entries().is_empty();
        until("it has left memory", is_gone).await;
        for row in house.hunts_unfinished() {
            node.worlds.finish(row).await.unwrap();
        }
        until("it has left memory again", is_gone).await;
        node.stop().await;
        assert_eq!((ended_rounds(&house), house.unfinished()), (vec![(1, 1)], 0), "{trouble:?}");
    }
}

#[tokio::test]
async fn actors_leave_a_hunt_that_is_over() {
    let house = own_house();
    let node = Node::start(&house, "a");
    let plan = ActorPlan { period: Duration::from_millis(20), ..ActorPlan::of(8) };
    node.worlds.set_actors(&harbour(), plan).await.unwrap();
    let moving = || node.worlds.actors(&harbour()).is_some_and(|actors| actors.moving == 8);
    until("they move", moving).await;
    house.pass(OPEN);
    until("it has left memory", || node.worlds.all_loaded().is_empty()).await;
    until("nobody asks for it any more", || node.worlds.actors(&harbour()).is_none()).await;
}
