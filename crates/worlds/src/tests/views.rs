//! Movers and viewers.

use super::recording_sink::{Received, RecordingSink};
use super::support::{Node, TestStore, settings, until, viewer, walker};
use crate::{CloseReason, SendError, WorldsConfig};
use engine::limits::MOVER_GRACE;
use engine::worlds::{Done, Input, InputKind, MoverId, ViewOptions};
use rules::world::{Cell, Step};
use std::sync::Arc;
use std::sync::atomic::Ordering;

const MIDDLE: Cell = Cell { x: 5, y: 5 };

/// Waits until this viewer sees this mover leave or enter this cell.
async fn sees(sink: &Arc<RecordingSink>, who: MoverId, cell: Cell) -> u32 {
    sink.wait("a mover on a cell", |received| match received {
        Received::View(view) => {
            let came = view.entered.iter().any(|entered| entered.id == who && entered.cell == cell);
            (came || view.moved.contains(&(who, cell))).then_some(view.skipped)
        }
        _ => None,
    })
    .await
}

/// Waits until this viewer gets a full view of this radius.
async fn sees_full(sink: &Arc<RecordingSink>, radius: u8) {
    sink.wait("a full view", |received| {
        matches!(received, Received::View(view) if view.is_full && view.radius_x == radius).then_some(())
    })
    .await;
}

async fn sees_leave(sink: &Arc<RecordingSink>, who: MoverId) {
    sink.wait("a mover leave", |received| {
        matches!(received, Received::View(view) if view.left.contains(&who)).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_mover_gets_its_answer_and_others_see_its_move() {
    let node = Node::start(&TestStore::with_world(false), "a");
    let looker = node.come(viewer(Cell { x: 0, y: 0 })).await;
    let mut walker = node.come(walker(MIDDLE)).await;
    sees(&looker.sink, walker.seat().id, MIDDLE).await;
    let east = Cell { x: 6, y: 5 };
    assert_eq!(walker.step(Step::E).await, Ok(Done::Moved(east)));
    sees(&looker.sink, walker.seat().id, east).await;
    assert!(
        walker.sink.all().iter().all(|received| !matches!(received, Received::View(_))),
        "it did not ask for views"
    );
    let id = walker.seat().id;
    walker.mover.leave();
    sees_leave(&looker.sink, id).await;
}

#[tokio::test]
async fn a_viewer_that_is_behind_is_skipped_and_then_sees_the_newest() {
    let node = Node::start(&TestStore::with_world(false), "a");
    let looker = node.come(viewer(Cell { x: 0, y: 0 })).await;
    let mut walker = node.come(walker(MIDDLE)).await;
    sees(&looker.sink, walker.seat().id, MIDDLE).await;
    looker.sink.is_behind.store(true, Ordering::Relaxed);
    let skipped = || node.metrics.worlds.views_skipped.get();
    let before = skipped();
    until("it is skipped", || skipped() > before).await;
    let received = looker.sink.all().len();
    for step in [Step::E, Step::E, Step::S] {
        assert!(walker.step(step).await.is_ok());
    }
    let passed = skipped();
    until("it is skipped again", || skipped() > passed + 1).await;
    assert_eq!(looker.sink.all().len(), received, "nothing is queued for it");
    looker.sink.is_behind.store(false, Ordering::Relaxed);
    let newest = sees(&looker.sink, walker.seat().id, Cell { x: 7, y: 6 }).await;
    assert!(newest >= 2, "the view says that {newest} were skipped");
    let views = looker.sink.all()[received..].iter().filter(|received| matches!(received, Received::View(_))).count();
    assert_eq!(views, 1, "the newest, and nothing between");
}

#[tokio::test]
async fn a_lost_mover_is_gone_after_its_grace_and_leaves_no_ghost() {
    let store = TestStore::with_world(false);
    let node = Node::start(&store, "a");
    let looker = node.come(viewer(Cell { x: 0, y: 0 })).await;
    let lost = node.come(walker(MIDDLE)).await;
    let id = lost.seat().id;
    sees(&looker.sink, id, MIDDLE).await;
    drop(lost);
    let picture = async || looker.world.picture().await.unwrap();
    loop {
        // The mailbox is in order: a picture that was requested after the loss shows it.
        if picture().await.stats().lost == 1 {
            break;
        }
    }
    assert_eq!(picture().await.stats().movers, 2, "it may come back");
    store.pass(MOVER_GRACE);
    sees_leave(&looker.sink, id).await;
    drop(looker.mover);
}

#[tokio::test]
async fn a_mover_that_is_gone_before_its_registration_returns_leaves_no_ghost() {
    let store = TestStore::with_world(false);
    let node = Node::start(&store, "a");
    let looker = node.come(viewer(Cell { x: 0, y: 0 })).await;
    let world = node.visit().await.unwrap();
    let mut coming = Box::pin(world.register(walker(MIDDLE), RecordingSink::new()));
    assert!(futures_util::FutureExt::now_or_never(coming.as_mut()).is_none());
    drop(coming);
    until("it was registered, and is lost", || {
        futures_util::FutureExt::now_or_never(looker.world.picture())
            .flatten()
            .is_some_and(|picture| picture.stats().lost == 1)
    })
    .await;
    store.pass(MOVER_GRACE);
    looker
        .sink
        .wait("it leave", |received| matches!(received, Received::View(view) if !view.left.is_empty()).then_some(()))
        .await;
}

#[tokio::test]
async fn a_mover_that_returns_through_another_connection_ends_the_first() {
    let node = Node::start(&TestStore::with_world(false), "a");
    let first = node.come(walker(MIDDLE)).await;
    let mut again = walker(MIDDLE);
    again.resume = Some((first.seat().id, first.registered.key));
    let mut second = node.come(again).await;
    assert!(second.registered.is_resumed);
    assert_eq!(first.sink.end().await, CloseReason::Replaced);
    drop(first);
    assert!(second.step(Step::E).await.is_ok(), "the late end of the first connection does not affect it");
    assert_eq!(second.world.picture().await.unwrap().stats().lost, 0);
}

#[tokio::test]
async fn a_change_of_views_is_sent_after_the_last_old_view_and_before_the_first_new_one() {
    let node = Node::start(&TestStore::with_world(false), "a");
    let looker = node.come(viewer(Cell { x: 0, y: 0 })).await;
    sees_full(&looker.sink, 12).await;
    let narrow = ViewOptions { radius_x: 3, radius_y: 2, per_s: 60 };
    looker.mover.watch(Some(narrow)).unwrap();
    sees_full(&looker.sink, 3).await;
    let received = looker.sink.all();
    let at = received
        .iter()
        .position(|received| matches!(received, Received::ViewChanged(options) if *options == Some(narrow)));
    let (before, after) = received.split_at(at.expect("the change is sent"));
    let shown = |received: &[Received]| -> Vec<(bool, u8)> {
        received
            .iter()
            .filter_map(|received| match received {
                Received::View(view) => Some((view.is_full, view.radius_x)),
                _ => None,
            })
            .collect()
    };
    assert!(shown(before).iter().all(|(_, radius)| *radius == 12), "{before:?}");
    assert_eq!(shown(after).first(), Some(&(true, 3)), "{after:?}");
}

#[tokio::test]
async fn a_full_mailbox_refuses_inputs_and_keeps_nothing_of_them() {
    let node = Node::start_with(&TestStore::with_world(false), "a", WorldsConfig { mailbox_max: 4, ..settings() });
    let walker = node.come(walker(MIDDLE)).await;
    let input = |nth: u32| Input {
        mover: walker.seat(),
        seq: walker.next + nth,
        tag: 0,
        at_us: walker.world.now_us(),
        kind: InputKind::Step(Step::Stay),
    };
    let mut inputs: Vec<_> = (0..10).map(input).collect();
    assert_eq!((walker.world.send(&mut inputs), inputs.len()), (Err(SendError::Busy), 6));
    assert_eq!(inputs[0].seq, walker.next + 4, "those at the front were taken");
    assert!(walker.sink.answer(walker.next + 3).await.is_ok());
    assert_eq!(node.metrics.worlds.inputs_refused.get(), 6);
}

#[tokio::test]
async fn a_connection_whose_encoding_panics_affects_no_other() {
    let node = Node::start(&TestStore::with_world(false), "a");
    let (mut broken, mut sound) = (node.come(walker(MIDDLE)).await, node.come(walker(MIDDLE)).await);
    broken.sink.is_broken.store(true, Ordering::Relaxed);
    for _ in 0..2 {
        broken.want(InputKind::Step(Step::Stay));
    }
    assert_eq!(broken.sink.end().await, CloseReason::Broken);
    assert!(sound.step(Step::E).await.is_ok());
}
