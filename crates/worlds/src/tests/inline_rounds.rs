//! Which thread runs a writer: one at a time, its own or that of a sender of few inputs, and nothing is lost between them.

use super::super::inbox::{ControlMessage, WriterInbox};
use super::super::inline_rounds::{self, RoundRunner};
use super::super::mailbox::SendOutcome;
use super::recording_sink::Received;
use super::support::{Node, Player, TestStore, name, until, walker};
use crate::CloseReason;
use engine::limits::WORLD_INLINE_SENDS_MAX;
use engine::worlds::{Input, InputKind, MoverId, MoverRef};
use rules::world::{Cell, Step};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

async fn alone() -> (Arc<TestStore>, Node, Player) {
    let store = TestStore::with_world(false);
    let node = Node::start(&store, "a");
    let player = node.come(walker(Cell { x: 5, y: 5 })).await;
    (store, node, player)
}

impl Player {
    async fn until_asleep(&self) {
        until("the writer sleeps", || self.world.context.inbox.mailbox.is_parked()).await;
    }

    /// Sends `count` steps at once, while the writer sleeps; returns how many answers have come when that returns.
    async fn steps_at_once(&mut self, count: usize) -> usize {
        self.until_asleep().await;
        let first = self.next;
        let steps = std::iter::repeat_with(|| {
            self.next += 1;
            Input {
                mover: self.seat(),
                seq: self.next - 1,
                tag: 0,
                at_us: self.world.now_us(),
                kind: InputKind::Step(Step::Stay),
            }
        });
        let mut inputs: Vec<_> = steps.take(count).collect();
        self.world.send(&mut inputs).unwrap();
        let is_new = |received: &&Received| matches!(received, Received::Answer(answer) if answer.seq >= first);
        self.sink.all().iter().filter(is_new).count()
    }
}

#[tokio::test]
async fn few_inputs_are_answered_on_the_senders_thread() {
    let (_house, node, mut player) = alone().await;
    let inline_rounds = || node.metrics.worlds.inline_rounds.get();
    let before = inline_rounds();
    assert_eq!(player.steps_at_once(1).await, 1);
    assert_eq!(inline_rounds(), before + 1);
}

#[tokio::test]
async fn many_inputs_are_answered_on_the_writers_thread() {
    let (_house, node, mut player) = alone().await;
    let before = node.metrics.worlds.inline_rounds.get();
    player.steps_at_once(WORLD_INLINE_SENDS_MAX + 1).await;
    player.sink.answer(player.next - 1).await.unwrap();
    assert_eq!(node.metrics.worlds.inline_rounds.get(), before);
}

#[tokio::test]
async fn a_writer_that_panics_on_a_senders_thread_ends_like_any_other() {
    let (store, node, player) = alone().await;
    let what = InputKind::Step(Step::Stay);
    let mut input =
        vec![Input { mover: player.seat(), seq: player.next, tag: 0, at_us: player.world.now_us(), kind: what }];
    player.until_asleep().await;
    store.break_clock();
    assert!(catch_unwind(AssertUnwindSafe(|| player.world.send(&mut input))).is_err());
    assert_eq!(player.sink.end().await, CloseReason::Broken);
    let Player { mover, world, .. } = player;
    drop((mover, world));
    let mut again = node.come(walker(Cell { x: 5, y: 5 })).await;
    again.step(Step::Stay).await.unwrap();
    assert_eq!(store.loads.load(Ordering::Relaxed), 2, "{} was loaded again", name());
}

/// Records what it takes, and fails if two threads run it at once.
struct RecordingRunner {
    mailbox: Arc<WriterInbox>,
    taken: Arc<Mutex<Vec<u64>>>,
    is_busy: Arc<AtomicBool>,
    rounds: usize,
}

impl RoundRunner for RecordingRunner {
    fn throttle(&mut self) -> Instant {
        // Often late, so that the consumer wants to run during an inline run.
        Instant::now() + Duration::from_micros(20)
    }

    fn run_round(&mut self) -> bool {
        assert!(!self.is_busy.swap(true, Ordering::SeqCst), "two at once");
        let (mut inputs, mut control) = (Vec::new(), Vec::new());
        self.mailbox.mailbox.try_recv_batch(&mut inputs, &mut control);
        self.taken.lock().unwrap().extend(inputs.iter().map(|input| input.tag));
        self.rounds += 1;
        self.is_busy.store(false, Ordering::SeqCst);
        control.is_empty()
    }

    fn run_inline_round(&mut self) -> bool {
        self.run_round();
        self.rounds.is_multiple_of(3)
    }

    fn end(self: Box<Self>) {
        self.mailbox.close(CloseReason::Draining);
    }
}

#[test]
fn every_item_is_taken_once_and_in_its_senders_order() {
    const THREADS: u64 = 4;
    const EACH: u64 = 5_000;
    let mailbox = Arc::new(WriterInbox::new(usize::MAX));
    let taken = Arc::new(Mutex::default());
    let clerk = RecordingRunner { mailbox: mailbox.clone(), taken: taken.clone(), is_busy: Arc::default(), rounds: 0 };
    let mover = MoverRef { slot: 0, id: MoverId(1) };
    std::thread::scope(|scope| {
        let server =
            scope.spawn(|| inline_rounds::run_writer(&mailbox.mailbox, &mailbox.parked_writer, Box::new(clerk)));
        let senders: Vec<_> = (0..THREADS)
            .map(|thread| {
                let mailbox = &mailbox;
                scope.spawn(move || {
                    for nth in 0..EACH {
                        let tag = thread * EACH + nth;
                        let mut input = vec![Input { mover, seq: 0, tag, at_us: 0, kind: InputKind::Dig }];
                        if mailbox.mailbox.send_or_run_inline(&mut input, 2).unwrap() == SendOutcome::RunInline {
                            inline_rounds::run_round_inline(&mailbox.mailbox, &mailbox.parked_writer);
                        }
                    }
                })
            })
            .collect();
        senders.into_iter().for_each(|sender| sender.join().unwrap());
        mailbox.mailbox.send_control(ControlMessage::PublishPicture).ok();
        server.join().unwrap();
    });
    let taken = std::mem::take(&mut *taken.lock().unwrap());
    assert_eq!(taken.len(), (THREADS * EACH) as usize);
    for thread in 0..THREADS {
        let of_one: Vec<_> = taken.iter().filter(|tag| **tag / EACH == thread).copied().collect();
        assert_eq!(of_one, (thread * EACH..(thread + 1) * EACH).collect::<Vec<_>>());
    }
}
