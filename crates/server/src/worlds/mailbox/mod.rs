//! How threads hand things to each other in batches: two lists under a lock, exchanged for the taker's empty ones, and one wake-up
//! however much was put in. A thing that is put in costs its copy and nothing else; nothing is allocated once the lists have grown.
//!
//! One lane is bounded, and says so when it is full; the other is for what comes seldom and must never be refused. While the taker
//! sleeps, whoever puts a few things in may be lent its turn, and do at once what the taker would be woken for. Knows neither
//! what the things are nor who hands them over.

#[cfg(test)]
mod interleavings;
mod state;

pub(super) use state::TrySendError;

use state::MailboxState;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Places that a list keeps when it is empty: what a burst took is given back.
const CAPACITY_KEPT: usize = 4_096;

/// What one thread takes, in batches, and any number of others put in.
pub(super) struct Mailbox<T, O> {
    state: Mutex<MailboxState<T, O>>,
    condvar: Condvar,
    max: usize,
}

/// What became of things that were put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SendOutcome {
    /// The taker has them, or soon will.
    Queued,
    /// The taker sleeps, and whoever put them in has its turn until [`Mailbox::finish_inline`].
    RunInline,
}

impl<T, O> Mailbox<T, O> {
    /// An empty tray with room for `max` things.
    pub(super) fn new(max: usize) -> Self {
        Self { state: Mutex::new(MailboxState::new()), condvar: Condvar::new(), max }
    }

    /// Puts in what there is room for, from the front; how many wait now. What was not taken stays in `things`.
    ///
    /// # Errors
    /// Why anything was left.
    pub(super) fn send(&self, things: &mut Vec<T>) -> Result<usize, TrySendError> {
        let mut inside = self.lock();
        let put = inside.push_items(things, self.max);
        self.notify_consumer(inside);
        put
    }

    /// The same; lends the turn to the caller if the taker sleeps and nothing waits but at most `few` things.
    ///
    /// # Errors
    /// As for [`Mailbox::send`].
    pub(super) fn send_or_run_inline(&self, things: &mut Vec<T>, few: usize) -> Result<SendOutcome, TrySendError> {
        let mut inside = self.lock();
        let put = inside.push_items(things, self.max);
        if put.is_ok() && inside.try_inline(few) {
            return Ok(SendOutcome::RunInline);
        }
        self.notify_consumer(inside);
        put.map(|_| SendOutcome::Queued)
    }

    /// Gives back a turn that was lent. The taker sleeps on, unless there is something for it to do: something waits, it asked for its
    /// turn meanwhile, or `is_to_wake`.
    pub(super) fn finish_inline(&self, is_to_wake: bool) {
        let mut inside = self.lock();
        let is_to_ring = inside.finish_inline(is_to_wake);
        self.unlock_and_notify(inside, is_to_ring);
    }

    /// Puts in one order, always; gives it back when nobody takes anything any more.
    pub(super) fn send_control(&self, order: O) -> Result<(), O> {
        self.try_send_control(order, usize::MAX).map_err(|(_, order)| order)
    }

    /// Puts in one order unless `max` orders wait already.
    pub(super) fn try_send_control(&self, order: O, max: usize) -> Result<(), (TrySendError, O)> {
        let mut inside = self.lock();
        inside.push_control(order, max)?;
        self.notify_consumer(inside);
        Ok(())
    }

    /// Takes everything out, into lists that are empty. Waits until something is there, or until `until`. Whether the tray is
    /// open, or was not empty: more may come.
    pub(super) fn recv_batch(&self, things: &mut Vec<T>, orders: &mut Vec<O>, until: Option<Instant>) -> bool {
        let mut inside = self.lock();
        let mut is_late = false;
        while inside.is_idle() && !is_late {
            (inside, is_late) = self.park(inside, until);
        }
        if is_late {
            shrink(things);
            shrink(orders);
        }
        inside.swap(things, orders);
        !inside.is_closed() || !things.is_empty() || !orders.is_empty()
    }

    /// Waits like [`Mailbox::recv_batch`], or until it is woken for nothing, and takes nothing out.
    pub(super) fn wait(&self, until: Instant) {
        let inside = self.lock();
        if inside.is_idle() {
            drop(self.park(inside, Some(until)));
        }
    }

    /// Takes everything out that is there, into lists that are empty.
    pub(super) fn try_recv_batch(&self, things: &mut Vec<T>, orders: &mut Vec<O>) {
        self.lock().swap(things, orders);
    }

    /// Takes nothing more in, and wakes the taker.
    pub(super) fn close(&self) {
        let mut inside = self.lock();
        inside.close();
        self.notify_consumer(inside);
    }

    /// Whether nothing more is taken in.
    pub(super) fn is_closed(&self) -> bool {
        self.lock().is_closed()
    }

    /// Whether the taker sleeps, and nobody has its turn.
    #[cfg(test)]
    pub(super) fn is_parked(&self) -> bool {
        self.lock().is_parked()
    }

    /// Things that wait.
    pub(super) fn len(&self) -> usize {
        self.lock().items.len()
    }

    /// Lets the turn lie, and sleeps until it is woken or until `until`; gives the turn, and whether it is late. A turn that is lent then is
    /// waited for.
    fn park<'a>(&'a self, mut inside: Guard<'a, T, O>, until: Option<Instant>) -> (Guard<'a, T, O>, bool) {
        inside.park();
        let is_late = loop {
            let pause = until.map(|until| until.saturating_duration_since(Instant::now()));
            if pause == Some(Duration::ZERO) {
                break true;
            }
            inside = self.wait_for_notify(inside, pause);
            if inside.is_unparked() {
                break false;
            }
        };
        while !inside.try_resume() {
            inside = self.wait_for_notify(inside, None);
        }
        if is_late {
            // A quiet moment: what a burst took is given back.
            shrink(&mut inside.items);
            shrink(&mut inside.control);
        }
        (inside, is_late)
    }

    fn wait_for_notify<'a>(&self, inside: Guard<'a, T, O>, pause: Option<Duration>) -> Guard<'a, T, O> {
        match pause {
            None => self.condvar.wait(inside).unwrap_or_else(PoisonError::into_inner),
            Some(pause) => self.condvar.wait_timeout(inside, pause).unwrap_or_else(PoisonError::into_inner).0,
        }
    }

    /// Rings once for everything that is put in until the taker wakes: a ring is a system call.
    fn notify_consumer(&self, mut inside: Guard<'_, T, O>) {
        let is_to_ring = inside.unpark();
        self.unlock_and_notify(inside, is_to_ring);
    }

    /// The bell is rung when the lock is free: who is woken by it wants the lock.
    fn unlock_and_notify(&self, inside: Guard<'_, T, O>, is_to_ring: bool) {
        drop(inside);
        if is_to_ring {
            self.condvar.notify_one();
        }
    }

    /// The lists are whole even if a holder of the lock panicked: each is changed by one call.
    fn lock(&self) -> Guard<'_, T, O> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Guard<'a, T, O> = MutexGuard<'a, MailboxState<T, O>>;

fn shrink<T>(list: &mut Vec<T>) {
    if list.capacity() > CAPACITY_KEPT {
        list.shrink_to(CAPACITY_KEPT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::thread::JoinHandle;

    /// What one take gives.
    fn taken(tray: &Mailbox<u32, &'static str>) -> (Vec<u32>, Vec<&'static str>) {
        let (mut things, mut orders) = (Vec::new(), Vec::new());
        tray.recv_batch(&mut things, &mut orders, Some(Instant::now()));
        (things, orders)
    }

    #[test]
    fn what_there_is_no_room_for_stays_with_its_owner() {
        let tray = Mailbox::new(3);
        let mut batch = vec![1, 2];
        assert_eq!((tray.send(&mut batch), batch.len()), (Ok(2), 0));
        batch.extend([3, 4, 5]);
        assert_eq!((tray.send(&mut batch), batch.as_slice()), (Err(TrySendError::Full), [4, 5].as_slice()));
        assert_eq!((tray.send(&mut batch), batch.as_slice()), (Err(TrySendError::Full), [4, 5].as_slice()));
        assert_eq!(tray.send_control("an order is taken all the same"), Ok(()));
        assert_eq!(tray.try_send_control("one too many", 1), Err((TrySendError::Full, "one too many")));
        assert_eq!(taken(&tray), (vec![1, 2, 3], vec!["an order is taken all the same"]));
        assert_eq!((tray.send(&mut batch), taken(&tray).0), (Ok(2), vec![4, 5]));
    }

    #[test]
    fn a_closed_tray_takes_nothing_and_gives_what_it_has() {
        let tray = Mailbox::new(3);
        assert_eq!(tray.send(&mut vec![1]), Ok(1));
        tray.close();
        let mut batch = vec![2];
        assert_eq!((tray.send(&mut batch), batch.len()), (Err(TrySendError::Closed), 1));
        assert_eq!(tray.send_control("late"), Err("late"));
        assert_eq!(tray.try_send_control("late", 9), Err((TrySendError::Closed, "late")));
        assert_eq!(taken(&tray).0, [1]);
    }

    /// Lets a thread take once; it is asleep when this returns. What it took.
    fn taker(tray: &Arc<Mailbox<u32, &'static str>>, until: Option<Instant>) -> JoinHandle<Vec<u32>> {
        let taking = tray.clone();
        let taker = std::thread::spawn(move || {
            let mut things = Vec::new();
            taking.recv_batch(&mut things, &mut Vec::new(), until);
            things
        });
        until_so(|| tray.is_parked() || taker.is_finished());
        taker
    }

    fn until_so(is_so: impl Fn() -> bool) {
        while !is_so() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_turn_is_lent_for_a_few_things_while_the_taker_sleeps() {
        let tray = Arc::new(Mailbox::new(9));
        assert_eq!(tray.send_or_run_inline(&mut vec![1], 2), Ok(SendOutcome::Queued), "the taker holds its turn");
        assert_eq!(taken(&tray).0, [1]);
        let sleeper = taker(&tray, None);
        assert_eq!(tray.send_or_run_inline(&mut vec![2, 3], 2), Ok(SendOutcome::RunInline));
        assert_eq!(tray.send_or_run_inline(&mut vec![4], 2), Ok(SendOutcome::Queued), "there is one turn");
        let (mut things, mut orders) = (Vec::new(), Vec::new());
        tray.try_recv_batch(&mut things, &mut orders);
        assert_eq!((things.as_slice(), orders.len()), ([2, 3, 4].as_slice(), 0));
        tray.finish_inline(false);
        assert!(tray.is_parked(), "nothing is left to do");
        assert_eq!(
            tray.send_or_run_inline(&mut vec![5, 6, 7], 2),
            Ok(SendOutcome::Queued),
            "more than a few wake the taker"
        );
        assert_eq!(sleeper.join().unwrap(), [5, 6, 7]);
    }

    #[test]
    fn a_taker_is_woken_when_a_turn_comes_back_with_something_to_do() {
        type Meanwhile = fn(&Mailbox<u32, &'static str>) -> bool;
        let ways: [Meanwhile; 4] = [
            |tray| tray.send(&mut vec![8]).is_err(),
            |tray| tray.send_control("look").is_err(),
            |tray| {
                tray.close();
                false
            },
            // Its owner says so; a taker who takes looks for something to take, so something is put in afterwards.
            |_| true,
        ];
        for meanwhile in ways {
            let tray = Arc::new(Mailbox::new(9));
            let sleeper = taker(&tray, None);
            assert_eq!(tray.send_or_run_inline(&mut vec![1], 1), Ok(SendOutcome::RunInline));
            assert_eq!(taken(&tray).0, [1]);
            let is_to_wake = meanwhile(&tray);
            tray.finish_inline(is_to_wake);
            if is_to_wake {
                until_so(|| tray.is_parked());
                assert_eq!(tray.send(&mut vec![8]), Ok(1));
            }
            sleeper.join().unwrap();
        }
    }

    #[test]
    fn a_taker_whose_time_comes_waits_for_a_turn_that_is_lent() {
        let (tray, sleeper) = loop {
            let tray = Arc::new(Mailbox::new(9));
            let sleeper = taker(&tray, Some(Instant::now() + Duration::from_millis(50)));
            // Otherwise its time came before this.
            if tray.send_or_run_inline(&mut vec![1], 1) == Ok(SendOutcome::RunInline) {
                break (tray, sleeper);
            }
        };
        until_so(|| tray.lock().is_consumer_waiting());
        assert_eq!(taken(&tray).0, [1]);
        tray.finish_inline(false);
        assert!(sleeper.join().unwrap().is_empty(), "it was late, and nothing had come");
    }

    #[test]
    fn a_taker_that_sleeps_is_woken_by_each_lane_and_by_the_end() {
        type Wake = fn(&Mailbox<u32, &'static str>);
        let ways: [Wake; 3] = [
            |tray| assert_eq!(tray.send(&mut vec![7]), Ok(1)),
            |tray| assert_eq!(tray.send_control("look"), Ok(())),
            |tray| tray.close(),
        ];
        for wake in ways {
            let tray = Arc::new(Mailbox::new(3));
            let sleeper = taker(&tray, None);
            wake(&tray);
            sleeper.join().unwrap();
        }
    }
}
