//! Claims: saved, then told; and a world whose claims were not saved.

use super::ear::{Ear, Heard};
use super::house::{House, Node, Player, Trouble, settings, until, viewer, walker};
use crate::worlds::{Ending, Settings, VisitError};
use engine::worlds::{Done, HuntEvent, InputKind, Refusal};
use rules::world::{Cell, Step};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A hunter who stands on a chest, in a round that is running.
async fn hunter(node: &Node) -> Player {
    let scout = node.come(viewer(Cell { x: 0, y: 0 })).await;
    scout.ear.wait("a round", |heard| matches!(heard, Heard::News(HuntEvent::Began(_))).then_some(())).await;
    let chest = loop {
        // A picture may be a tick old, from before the round.
        if let Some(chest) = scout.chests().await.first() {
            break *chest;
        }
        tokio::task::yield_now().await;
    };
    node.come(walker(chest)).await
}

fn is_dug(ear: &Arc<Ear>) -> bool {
    let is_dug =
        |heard: &Heard| matches!(heard, Heard::Answer(answer) if matches!(answer.result, Ok(Done::Dug { .. })));
    ear.all().iter().any(is_dug)
}

#[tokio::test]
async fn nothing_of_a_claim_is_told_before_its_commit() {
    let house = House::with_world(true);
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
    assert!(!is_dug(&first.ear) && !is_dug(&second.ear));
    assert_eq!(first.chests().await.len(), chests, "nobody sees it gone");
    house.hold(false);
    // Chance says who was first when both came in one batch.
    let results = [first.ear.answer(dug).await, second.ear.answer(late).await];
    let won = results.iter().filter(|result| matches!(result, Ok(Done::Dug { .. }))).count();
    assert!(won == 1 && results.contains(&Err(Refusal::Taken)), "one has it, and the other hears so: {results:?}");
}

#[tokio::test]
async fn a_claim_of_which_nobody_knows_ends_the_world_here_and_is_not_told() {
    for trouble in [Trouble::Lost, Trouble::Unheard, Trouble::Overloaded] {
        let house = House::with_world(true);
        let node = Node::start(&house, "a");
        let (mut hunter, other) = (hunter(&node).await, node.come(walker(Cell { x: 0, y: 0 })).await);
        let stood = hunter.registered.cell;
        house.trouble(&[trouble]);
        let dug = hunter.want(InputKind::Dig);
        if trouble == Trouble::Overloaded {
            assert!(matches!(hunter.ear.answer(dug).await, Ok(Done::Dug { .. })), "tried again");
            continue;
        }
        assert_eq!((hunter.ear.end().await, other.ear.end().await), (Ending::WorldMoved, Ending::WorldMoved));
        assert!(!is_dug(&hunter.ear));
        // Whoever comes next finds what is so.
        let again = node.come(walker(stood)).await;
        let is_there = again.chests().await.contains(&stood);
        assert_eq!(is_there, trouble == Trouble::Lost, "{trouble:?}");
    }
}

/// A disk may stall for longer than a process may take to leave.
#[tokio::test]
async fn who_leaves_without_the_stores_answer_sends_everybody_away_and_tells_no_claim() {
    let house = House::with_world(true);
    let node = Node::start_with(&house, "a", Settings { leave_max: Duration::ZERO, ..settings() });
    let (mut hunter, other) = (hunter(&node).await, node.come(walker(Cell { x: 0, y: 0 })).await);
    house.hold(true);
    let asked = house.claims_asked.load(Ordering::Relaxed);
    hunter.want(InputKind::Dig);
    until("the claim is on its way", || house.claims_asked.load(Ordering::Relaxed) > asked).await;
    let leaving = tokio::spawn(node.stop());
    assert_eq!((hunter.ear.end().await, other.ear.end().await), (Ending::Leaving, Ending::Leaving));
    assert!(!is_dug(&hunter.ear));
    house.hold(false);
    leaving.await.unwrap();
    // It was on its way, and has arrived.
    let stood = hunter.registered.cell;
    assert!(!Node::start(&house, "b").come(walker(stood)).await.chests().await.contains(&stood));
}

#[tokio::test]
async fn a_fenced_claim_ends_the_world_here() {
    let house = House::with_world(true);
    let node = Node::start(&house, "a");
    let mut hunter = hunter(&node).await;
    house.steal();
    hunter.want(InputKind::Dig);
    assert_eq!(hunter.ear.end().await, Ending::WorldMoved);
    assert!(!is_dug(&hunter.ear));
    drop(hunter);
    until("it has gone", || node.worlds.all_here().is_empty()).await;
    assert_eq!(node.visit().await.err(), Some(VisitError::Elsewhere { address: "c".to_owned() }));
}
