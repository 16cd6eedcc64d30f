//! Events for all clients of a world: sent a portion at a time, and before any message that follows from them.

use super::recording_sink::{Received, RecordingSink};
use super::support::{Node, TestStore, walker};
use engine::worlds::HuntEvent;
use rules::world::{Cell, HuntSettings, Step};
use std::sync::Arc;

/// Several portions' worth.
const HUNTERS: usize = 300;

fn is_end(received: &Received) -> bool {
    matches!(received, Received::Event(HuntEvent::Ended { .. }))
}

async fn receives_the_end(sink: &Arc<RecordingSink>) {
    sink.wait("the end of a round", |received| is_end(received).then_some(())).await;
}

#[tokio::test]
async fn events_arrive_before_answers_that_follow_from_them() {
    let store = TestStore::own_hunt();
    let node = Node::start(&store, "a");
    let mut hunters = Vec::new();
    for _ in 0..HUNTERS {
        hunters.push(node.come(walker(Cell { x: 5, y: 5 })).await);
    }
    hunters[0]
        .sink
        .wait("a round", |received| matches!(received, Received::Event(HuntEvent::Began(_))).then_some(()))
        .await;
    // The first round lasts up to twice the usual length.
    store.pass(HuntSettings::default().round * 2);
    receives_the_end(&hunters[0].sink).await;
    // The last subscribers get their portion later; but one that sends an input gets the event at once, before its answer.
    for hunter in hunters.iter_mut().rev().take(4) {
        assert!(hunter.step(Step::Stay).await.is_ok());
        let all = hunter.sink.all();
        let (sent, answered) =
            (all.iter().position(is_end), all.iter().position(|received| matches!(received, Received::Answer(_))));
        assert!(sent.is_some() && sent < answered, "{all:?}");
    }
    for hunter in &hunters {
        receives_the_end(&hunter.sink).await;
        assert_eq!(hunter.sink.all().iter().filter(|received| is_end(received)).count(), 1);
    }
}
