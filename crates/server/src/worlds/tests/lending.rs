//! Who runs a writer: one at a time, its thread or whoever brings a few inputs while that sleeps, and nothing is lost between them.

use super::super::door::{Mailbox, Order};
use super::super::lending::{self, Rounds};
use super::super::tray::Put;
use super::ear::Heard;
use super::house::{House, Node, Player, name, until, walker};
use crate::worlds::Ending;
use engine::limits::WORLD_INLINE_SENDS_MAX;
use engine::worlds::{Input, InputKind, MoverId, MoverRef};
use rules::world::{Cell, Step};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

async fn alone() -> (Arc<House>, Node, Player) {
    let house = House::with_world(false);
    let node = Node::start(&house, "a");
    let player = node.come(walker(Cell { x: 5, y: 5 })).await;
    (house, node, player)
}

impl Player {
    async fn until_asleep(&self) {
        until("the writer sleeps", || self.door.inside.mailbox.tray.is_asleep()).await;
    }

    /// Wants so many steps at once, while the writer sleeps; how many answers have come when that returns.
    async fn steps_at_once(&mut self, count: usize) -> usize {
        self.until_asleep().await;
        let first = self.next;
        let steps = std::iter::repeat_with(|| {
            self.next += 1;
            Input {
                mover: self.seat(),
                seq: self.next - 1,
                tag: 0,
                at_us: self.door.now_us(),
                kind: InputKind::Step(Step::Stay),
            }
        });
        let mut inputs: Vec<_> = steps.take(count).collect();
        self.door.send(&mut inputs).unwrap();
        let is_new = |heard: &&Heard| matches!(heard, Heard::Answer(answer) if answer.seq >= first);
        self.ear.all().iter().filter(is_new).count()
    }
}

#[tokio::test]
async fn a_few_inputs_are_answered_where_they_come_from() {
    let (_house, node, mut player) = alone().await;
    let rounds_aside = || node.metrics.worlds().rounds_aside.get();
    let before = rounds_aside();
    assert_eq!(player.steps_at_once(1).await, 1);
    assert_eq!(rounds_aside(), before + 1);
}

#[tokio::test]
async fn many_inputs_are_for_the_thread() {
    let (_house, node, mut player) = alone().await;
    let before = node.metrics.worlds().rounds_aside.get();
    player.steps_at_once(WORLD_INLINE_SENDS_MAX + 1).await;
    player.ear.answer(player.next - 1).await.unwrap();
    assert_eq!(node.metrics.worlds().rounds_aside.get(), before);
}

#[tokio::test]
async fn a_writer_that_breaks_down_on_somebody_elses_thread_ends_like_any_other() {
    let (house, node, player) = alone().await;
    let what = InputKind::Step(Step::Stay);
    let mut input =
        vec![Input { mover: player.seat(), seq: player.next, tag: 0, at_us: player.door.now_us(), kind: what }];
    player.until_asleep().await;
    house.break_clock();
    assert!(catch_unwind(AssertUnwindSafe(|| player.door.send(&mut input))).is_err());
    assert_eq!(player.ear.end().await, Ending::Broken);
    let Player { place, door, .. } = player;
    drop((place, door));
    let mut again = node.come(walker(Cell { x: 5, y: 5 })).await;
    again.step(Step::Stay).await.unwrap();
    assert_eq!(house.loads.load(Ordering::Relaxed), 2, "{} came into memory again", name());
}

/// Writes down what it takes, and fails if it is run by two at once.
struct Clerk {
    mailbox: Arc<Mailbox>,
    taken: Arc<Mutex<Vec<u64>>>,
    is_busy: Arc<AtomicBool>,
    rounds: usize,
}

impl Rounds for Clerk {
    fn rest(&mut self) -> Instant {
        // Often late, so that a turn is wanted while it is lent.
        Instant::now() + Duration::from_micros(20)
    }

    fn round(&mut self) -> bool {
        assert!(!self.is_busy.swap(true, Ordering::SeqCst), "two at once");
        let (mut inputs, mut orders) = (Vec::new(), Vec::new());
        self.mailbox.tray.take_now(&mut inputs, &mut orders);
        self.taken.lock().unwrap().extend(inputs.iter().map(|input| input.tag));
        self.rounds += 1;
        self.is_busy.store(false, Ordering::SeqCst);
        orders.is_empty()
    }

    fn round_aside(&mut self) -> bool {
        self.round();
        self.rounds.is_multiple_of(3)
    }

    fn end(self: Box<Self>) {
        self.mailbox.close(Ending::Leaving);
    }
}

#[test]
fn whoever_runs_it_everything_is_taken_once_and_in_the_order_of_each() {
    const THREADS: u64 = 4;
    const EACH: u64 = 5_000;
    let mailbox = Arc::new(Mailbox::new(usize::MAX));
    let taken = Arc::new(Mutex::default());
    let clerk = Clerk { mailbox: mailbox.clone(), taken: taken.clone(), is_busy: Arc::default(), rounds: 0 };
    let mover = MoverRef { slot: 0, id: MoverId(1) };
    std::thread::scope(|scope| {
        let server = scope.spawn(|| lending::serve(&mailbox, Box::new(clerk)));
        let bringers: Vec<_> = (0..THREADS)
            .map(|thread| {
                let mailbox = &mailbox;
                scope.spawn(move || {
                    for nth in 0..EACH {
                        let tag = thread * EACH + nth;
                        let mut input = vec![Input { mover, seq: 0, tag, at_us: 0, kind: InputKind::Dig }];
                        if mailbox.tray.put_or_borrow(&mut input, 2).unwrap() == Put::Lent {
                            lending::round_aside(mailbox);
                        }
                    }
                })
            })
            .collect();
        bringers.into_iter().for_each(|bringer| bringer.join().unwrap());
        mailbox.tray.order(Order::Look).ok();
        server.join().unwrap();
    });
    let taken = std::mem::take(&mut *taken.lock().unwrap());
    assert_eq!(taken.len(), (THREADS * EACH) as usize);
    for thread in 0..THREADS {
        let of_one: Vec<_> = taken.iter().filter(|tag| **tag / EACH == thread).copied().collect();
        assert_eq!(of_one, (thread * EACH..(thread + 1) * EACH).collect::<Vec<_>>());
    }
}
