//! Claims: saved, then told; and a world whose claims were not saved.

use super::recording_sink::{Received, RecordingSink};
use super::support::{CommitFault, Node, Player, TestStore, settings, until, viewer, walker};
use crate::worlds::{CloseReason, VisitError, WorldsConfig};
use engine::worlds::{Done, HuntEvent, InputKind, Refusal};
use rules::world::{Cell, Step};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A hunter who stands on a chest, in a round that is running.
async fn hunter(node: &Node) -> Player {
    let scout = node.come(viewer(Cell { x: 0, y: 0 })).await;
    scout.sink.wait("a round", |heard| matches!(heard, Received::Event(HuntEvent::Began(_))).then_some(())).await;
    let chest = loop {
        // A picture may be a tick old, from before the round.
        if let Some(chest) = scout.chests().await.first() {
            break *chest;
        }
        tokio::task::yield_now().await;
    };
    node.come(walker(chest)).await
}

fn is_dug(ear: &Arc<RecordingSink>) -> bool {
    let is_dug =
        |heard: &Received| matches!(heard, Received::Answer(answer) if matches!(answer.result, Ok(Done::Dug { .. })));
    ear.all().iter().any(is_dug)
}

#[tokio::test]
async fn nothing_of_a_claim_is_told_before_its_commit() {
    let house = TestStore::with_world(true);
    let node = Node::start(&house, "a");
    let mut first = hunter(&node).await;
    let mut second = node.come(walker(first.registered.cell)).await;
    let chests = first.chests().await.len();
    house.hold(true);
    let asked = house.claims_asked.load(Ordering::Relaxed);
    let (dug, late) = (first.want(InputKind::Dig), second.want(InputKind::Dig));
    until("the claim is on its way", || house.claims_asked.load(Ordering::Relaxed) > asked).await;
    // Moves go on meanwhile, and by their answers everything that was decided before has been told, or is held.
    assert!(first.step(Step::Stay).await.is_ok());
    assert!(second.step(Step::Stay).await.is_ok());
    assert!(!is_dug(&first.sink) && !is_dug(&second.sink));
    assert_eq!(first.chests().await.len(), chests, "nobody sees it gone");
    house.hold(false);
    // Chance says who was first when both came in one batch.
    let results = [first.sink.answer(dug).await, second.sink.answer(late).await];
    let won = results.iter().filter(|result| matches!(result, Ok(Done::Dug { .. }))).count();
    assert!(won == 1 && results.contains(&Err(Refusal::Taken)), "one has it, and the other hears so: {results:?}");
}

#[tokio::test]
async fn a_claim_of_which_nobody_knows_ends_the_world_here_and_is_not_told() {
    for trouble in [CommitFault::Lost, CommitFault::Unreported, CommitFault::Overloaded] {
        let house = TestStore::with_world(true);
        let node = Node::start(&house, "a");
        let (mut hunter, other) = (hunter(&node).await, node.come(walker(Cell { x: 0, y: 0 })).await);
        let stood = hunter.registered.cell;
        house.inject_faults(&[trouble]);
        let dug = hunter.want(InputKind::Dig);
        if trouble == CommitFault::Overloaded {
            assert!(matches!(hunter.sink.answer(dug).await, Ok(Done::Dug { .. })), "tried again");
            continue;
        }
        assert_eq!(
            (hunter.sink.end().await, other.sink.end().await),
            (CloseReason::WorldMoved, CloseReason::WorldMoved)
        );
        assert!(!is_dug(&hunter.sink));
        // Whoever comes next finds what is so.
        let again = node.come(walker(stood)).await;
        let is_there = again.chests().await.contains(&stood);
        assert_eq!(is_there, trouble == CommitFault::Lost, "{trouble:?}");
    }
}

/// A disk may stall for longer than a process may take to leave.
#[tokio::test]
async fn who_leaves_without_the_stores_answer_sends_everybody_away_and_tells_no_claim() {
    let house = TestStore::with_world(true);
    let node = Node::start_with(&house, "a", WorldsConfig { drain_max: Duration::ZERO, ..settings() });
    let (mut hunter, other) = (hunter(&node).await, node.come(walker(Cell { x: 0, y: 0 })).await);
    house.hold(true);
    let asked = house.claims_asked.load(Ordering::Relaxed);
    hunter.want(InputKind::Dig);
    until("the claim is on its way", || house.claims_asked.load(Ordering::Relaxed) > asked).await;
    let leaving = tokio::spawn(node.stop());
    assert_eq!((hunter.sink.end().await, other.sink.end().await), (CloseReason::Draining, CloseReason::Draining));
    assert!(!is_dug(&hunter.sink));
    house.hold(false);
    leaving.await.unwrap();
    // It was on its way, and has arrived.
    let stood = hunter.registered.cell;
    assert!(!Node::start(&house, "b").come(walker(stood)).await.chests().await.contains(&stood));
}

#[tokio::test]
async fn a_fenced_claim_ends_the_world_here() {
    let house = TestStore::with_world(true);
    let node = Node::start(&house, "a");
    let mut hunter = hunter(&node).await;
    house.steal();
    hunter.want(InputKind::Dig);
    assert_eq!(hunter.sink.end().await, CloseReason::WorldMoved);
    assert!(!is_dug(&hunter.sink));
    drop(hunter);
    until("it has gone", || node.worlds.all_loaded().is_empty()).await;
    assert_eq!(node.visit().await.err(), Some(VisitError::Elsewhere { address: "c".to_owned() }));
}
