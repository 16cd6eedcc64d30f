//! Claims are saved before they are sent; and a world whose claims were not saved.

use super::recording_sink::{Received, RecordingSink};
use super::support::{CommitFault, Node, Player, TestStore, settings, until, viewer, walker};
use crate::{CloseReason, VisitError, WorldsConfig};
use engine::worlds::{Done, HuntEvent, InputKind, Refusal};
use rules::world::{Cell, Step};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A hunter on a chest, in a running round.
async fn hunter(node: &Node) -> Player {
    let scout = node.come(viewer(Cell { x: 0, y: 0 })).await;
    scout.sink.wait("a round", |received| matches!(received, Received::Event(HuntEvent::Began(_))).then_some(())).await;
    let chest = loop {
        // A picture may be a tick old, from before the round.
        if let Some(chest) = scout.chests().await.first() {
            break *chest;
        }
        tokio::task::yield_now().await;
    };
    node.come(walker(chest)).await
}

fn is_dug(sink: &Arc<RecordingSink>) -> bool {
    let is_dug = |received: &Received| matches!(received, Received::Answer(answer) if matches!(answer.result, Ok(Done::Dug { .. })));
    sink.all().iter().any(is_dug)
}

#[tokio::test]
async fn a_claim_is_not_sent_before_its_commit() {
    let store = TestStore::with_world(true);
    let node = Node::start(&store, "a");
    let mut first = hunter(&node).await;
    let mut second = node.come(walker(first.registered.cell)).await;
    let chests = first.chests().await.len();
    store.hold(true);
    let requests = store.claims_requested.load(Ordering::Relaxed);
    let (dug, late) = (first.want(InputKind::Dig), second.want(InputKind::Dig));
    until("the claim is on its way", || store.claims_requested.load(Ordering::Relaxed) > requests).await;
    // Moves go on meanwhile. After their answers, everything that was decided before has been sent, or is held back.
    assert!(first.step(Step::Stay).await.is_ok());
    assert!(second.step(Step::Stay).await.is_ok());
    assert!(!is_dug(&first.sink) && !is_dug(&second.sink));
    assert_eq!(first.chests().await.len(), chests, "the chest still shows");
    store.hold(false);
    // It is random which input was first when both came in one batch.
    let results = [first.sink.answer(dug).await, second.sink.answer(late).await];
    let won = results.iter().filter(|result| matches!(result, Ok(Done::Dug { .. }))).count();
    assert!(won == 1 && results.contains(&Err(Refusal::Taken)), "one gets it, the other is refused: {results:?}");
}

#[tokio::test]
async fn a_claim_with_an_unknown_outcome_ends_the_world_here_and_is_not_sent() {
    for fault in [CommitFault::Lost, CommitFault::Unreported, CommitFault::Overloaded] {
        let store = TestStore::with_world(true);
        let node = Node::start(&store, "a");
        let (mut hunter, other) = (hunter(&node).await, node.come(walker(Cell { x: 0, y: 0 })).await);
        let stood = hunter.registered.cell;
        store.inject_faults(&[fault]);
        let dug = hunter.want(InputKind::Dig);
        if fault == CommitFault::Overloaded {
            assert!(matches!(hunter.sink.answer(dug).await, Ok(Done::Dug { .. })), "tried again");
            continue;
        }
        assert_eq!(
            (hunter.sink.end().await, other.sink.end().await),
            (CloseReason::WorldMoved, CloseReason::WorldMoved)
        );
        assert!(!is_dug(&hunter.sink));
        // The next visitor finds what was saved.
        let again = node.come(walker(stood)).await;
        let is_there = again.chests().await.contains(&stood);
        assert_eq!(is_there, fault == CommitFault::Lost, "{fault:?}");
    }
}

/// A disk may stall for longer than a process may take to drain.
#[tokio::test]
async fn a_drain_without_the_stores_answer_disconnects_clients_and_sends_no_claim() {
    let store = TestStore::with_world(true);
    let node = Node::start_with(&store, "a", WorldsConfig { drain_max: Duration::ZERO, ..settings() });
    let (mut hunter, other) = (hunter(&node).await, node.come(walker(Cell { x: 0, y: 0 })).await);
    store.hold(true);
    let requests = store.claims_requested.load(Ordering::Relaxed);
    hunter.want(InputKind::Dig);
    until("the claim is on its way", || store.claims_requested.load(Ordering::Relaxed) > requests).await;
    let draining = tokio::spawn(node.stop());
    assert_eq!((hunter.sink.end().await, other.sink.end().await), (CloseReason::Draining, CloseReason::Draining));
    assert!(!is_dug(&hunter.sink));
    store.hold(false);
    draining.await.unwrap();
    // The commit was in flight, and has arrived.
    let stood = hunter.registered.cell;
    assert!(!Node::start(&store, "b").come(walker(stood)).await.chests().await.contains(&stood));
}

#[tokio::test]
async fn a_fenced_claim_ends_the_world_here() {
    let store = TestStore::with_world(true);
    let node = Node::start(&store, "a");
    let mut hunter = hunter(&node).await;
    store.steal();
    hunter.want(InputKind::Dig);
    assert_eq!(hunter.sink.end().await, CloseReason::WorldMoved);
    assert!(!is_dug(&hunter.sink));
    drop(hunter);
    until("it has gone", || node.worlds.all_loaded().is_empty()).await;
    assert_eq!(node.visit().await.err(), Some(VisitError::Elsewhere { address: "c".to_owned() }));
}
