//! A writer that stands still between two lines for longer than its lease, as a process does that the system stopped: it shows nothing
//! of what another node may own by then.

use super::recording_sink::{PATIENCE, RecordingSink};
use super::support::{Node, TestStore, name, until, viewer, walker};
use crate::worlds::actors::ActorPlan;
use crate::worlds::{ClientSink, CloseReason, MoverHandle, OutboundMessage, RegisterError, WorldHandle};
use engine::worlds::{Input, InputKind};
use futures_util::FutureExt;
use rules::world::{Cell, Step};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const MIDDLE: Cell = Cell { x: 5, y: 5 };

/// What it is told stops whoever tells it, until it is let go.
struct BlockingSink {
    is_sprung: AtomicBool,
    released: Mutex<Receiver<()>>,
}

impl ClientSink for BlockingSink {
    fn encode(&self, _: &OutboundMessage<'_>, out: &mut Vec<u8>) {
        out.push(0);
    }

    fn send(&self, _: &[u8]) {
        self.is_sprung.store(true, Ordering::Release);
        let _ = self.released.lock().unwrap().recv_timeout(PATIENCE);
    }

    fn is_behind(&self) -> bool {
        false
    }

    fn close(&self, _: CloseReason) {}
}

/// A writer that stands still, in the middle of a round.
struct Stalled {
    world: WorldHandle,
    release: Sender<()>,
    _mover: MoverHandle,
}

impl Stalled {
    /// Stops the world's writer: it tells a single answer itself.
    async fn stop(node: &Node) -> Self {
        let (door, (release, released)) = (node.visit().await.unwrap(), channel());
        let trap = Arc::new(BlockingSink { is_sprung: AtomicBool::new(false), released: Mutex::new(released) });
        let (registered, place) = door.register(walker(MIDDLE), trap.clone()).await.unwrap();
        let what = InputKind::Step(Step::Stay);
        let input = Input { mover: place.seat(), seq: registered.next_seq, tag: 0, at_us: door.now_us(), kind: what };
        // On a thread of its own: who brings a few inputs to a writer that sleeps may have to do its round.
        let sender = door.clone();
        std::thread::spawn(move || sender.send(&mut vec![input]));
        until("the writer stands still", || trap.is_sprung.load(Ordering::Acquire)).await;
        Self { world: door, release, _mover: place }
    }
}

/// Until the lease of the worlds is over, as their owner knows.
async fn lose_lease(house: &TestStore) {
    house.refuse_renewal();
    until("the lease is lost", || house.leases_ended.load(Ordering::Relaxed) == 1).await;
}

#[tokio::test]
async fn who_stood_still_for_longer_than_his_lease_shows_nothing() {
    let house = TestStore::with_world(false);
    let node = Node::start(&house, "a");
    let mut player = node.come(viewer(MIDDLE)).await;
    let writer = Stalled::stop(&node).await;
    lose_lease(&house).await;
    let heard = player.sink.all().len();
    player.want(InputKind::Step(Step::E));
    let ear = RecordingSink::new();
    let mut newcomer = Box::pin(writer.world.register(viewer(MIDDLE), ear.clone()));
    assert!((&mut newcomer).now_or_never().is_none(), "who asks now waits");
    assert!(writer.world.picture().await.is_none());
    writer.release.send(()).unwrap();
    assert_eq!(player.sink.end().await, CloseReason::WorldMoved);
    assert_eq!(player.sink.all().len(), heard + 1, "{:?}", player.sink.all());
    assert_eq!(newcomer.await.err(), Some(RegisterError::Gone(CloseReason::WorldMoved)));
    assert!(ear.all().is_empty());
}

#[tokio::test]
async fn actors_that_come_while_a_world_goes_come_again() {
    let house = TestStore::with_world(false);
    let node = Node::start(&house, "a");
    let writer = Stalled::stop(&node).await;
    node.worlds.set_actors(&name(), ActorPlan { period: Duration::from_millis(20), ..ActorPlan::of(8) }).await.unwrap();
    let stats = || node.worlds.actors(&name()).unwrap_or_default();
    until("they are on their way", || stats().planned == 8).await;
    lose_lease(&house).await;
    writer.release.send(()).unwrap();
    until("they move", || stats().run.moves > 8).await;
    assert_eq!(house.loads.load(Ordering::Relaxed), 2, "in a world that was read again");
}
