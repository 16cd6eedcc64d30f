//! News that everybody in a world is told: a portion at a time, and before anything that follows from them.

use super::recording_sink::{Received, RecordingSink};
use super::support::{Node, TestStore, walker};
use engine::worlds::HuntEvent;
use rules::world::{Cell, HuntSettings, Step};
use std::sync::Arc;

/// More than a few portions' worth.
const HUNTERS: usize = 300;

fn is_end(heard: &Received) -> bool {
    matches!(heard, Received::Event(HuntEvent::Ended { .. }))
}

async fn hears_the_end(ear: &Arc<RecordingSink>) {
    ear.wait("the end of a round", |heard| is_end(heard).then_some(())).await;
}

#[tokio::test]
async fn nobody_learns_from_an_answer_what_the_news_was_to_say() {
    let house = TestStore::own_hunt();
    let node = Node::start(&house, "a");
    let mut hunters = Vec::new();
    for _ in 0..HUNTERS {
        hunters.push(node.come(walker(Cell { x: 5, y: 5 })).await);
    }
    hunters[0].sink.wait("a round", |heard| matches!(heard, Received::Event(HuntEvent::Began(_))).then_some(())).await;
    // The first round lasts up to twice as long as one.
    house.pass(HuntSettings::default().round * 2);
    hears_the_end(&hunters[0].sink).await;
    // The last ones are told later; but whoever asks is told at once, and first.
    for hunter in hunters.iter_mut().rev().take(4) {
        assert!(hunter.step(Step::Stay).await.is_ok());
        let all = hunter.sink.all();
        let (told, answered) =
            (all.iter().position(is_end), all.iter().position(|heard| matches!(heard, Received::Answer(_))));
        assert!(told.is_some() && told < answered, "{all:?}");
    }
    for hunter in &hunters {
        hears_the_end(&hunter.sink).await;
        assert_eq!(hunter.sink.all().iter().filter(|heard| is_end(heard)).count(), 1);
    }
}
