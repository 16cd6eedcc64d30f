//! A writer that is paused between two lines for longer than its lease, as when the system stops the process: it shows nothing that another
//! node may own by then.

use super::recording_sink::{PATIENCE, RecordingSink};
use super::support::{Node, TestStore, name, until, viewer, walker};
use crate::actors::ActorPlan;
use crate::{ClientSink, CloseReason, MoverHandle, OutboundMessage, RegisterError, WorldHandle};
use engine::worlds::{Input, InputKind};
use futures_util::FutureExt;
use rules::world::{Cell, Step};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const MIDDLE: Cell = Cell { x: 5, y: 5 };

/// Blocks the thread that sends to it, until it is released.
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

/// A writer that is paused in the middle of a round.
struct Stalled {
    world: WorldHandle,
    release: Sender<()>,
    _mover: MoverHandle,
}

impl Stalled {
    /// Pauses the world's writer: it sends a single answer itself.
    async fn stop(node: &Node) -> Self {
        let (world, (release, released)) = (node.visit().await.unwrap(), channel());
        let trap = Arc::new(BlockingSink { is_sprung: AtomicBool::new(false), released: Mutex::new(released) });
        let (registered, mover) = world.register(walker(MIDDLE), trap.clone()).await.unwrap();
        let what = InputKind::Step(Step::Stay);
        let input = Input { mover: mover.seat(), seq: registered.next_seq, tag: 0, at_us: world.now_us(), kind: what };
        // On a thread of its own: a sender of few inputs to a parked writer may have to run its round.
        let sender = world.clone();
        std::thread::spawn(move || sender.send(&mut vec![input]));
        until("the writer is paused", || trap.is_sprung.load(Ordering::Acquire)).await;
        Self { world, release, _mover: mover }
    }
}

/// Waits until the lease of the worlds is over, as their owner knows.
async fn lose_lease(store: &TestStore) {
    store.refuse_renewal();
    until("the lease is lost", || store.leases_ended.load(Ordering::Relaxed) == 1).await;
}

#[tokio::test]
async fn a_writer_paused_for_longer_than_its_lease_shows_nothing() {
    let store = TestStore::with_world(false);
    let node = Node::start(&store, "a");
    let mut player = node.come(viewer(MIDDLE)).await;
    let writer = Stalled::stop(&node).await;
    lose_lease(&store).await;
    let received = player.sink.all().len();
    player.want(InputKind::Step(Step::E));
    let sink = RecordingSink::new();
    let mut newcomer = Box::pin(writer.world.register(viewer(MIDDLE), sink.clone()));
    assert!((&mut newcomer).now_or_never().is_none(), "a registration waits");
    assert!(writer.world.picture().await.is_none());
    writer.release.send(()).unwrap();
    assert_eq!(player.sink.end().await, CloseReason::WorldMoved);
    assert_eq!(player.sink.all().len(), received + 1, "{:?}", player.sink.all());
    assert_eq!(newcomer.await.err(), Some(RegisterError::Gone(CloseReason::WorldMoved)));
    assert!(sink.all().is_empty());
}

#[tokio::test]
async fn actors_that_start_while_their_world_goes_start_again() {
    let store = TestStore::with_world(false);
    let node = Node::start(&store, "a");
    let writer = Stalled::stop(&node).await;
    node.worlds.set_actors(&name(), ActorPlan { period: Duration::from_millis(20), ..ActorPlan::of(8) }).await.unwrap();
    let stats = || node.worlds.actors(&name()).unwrap_or_default();
    until("they are on their way", || stats().planned == 8).await;
    lose_lease(&store).await;
    writer.release.send(()).unwrap();
    until("they move", || stats().run.moves > 8).await;
    assert_eq!(store.loads.load(Ordering::Relaxed), 2, "in a world that was loaded again");
}
