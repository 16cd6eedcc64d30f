//! Hands items between threads in batches: two lists under a lock, swapped with the consumer's empty ones, and one wake-up however much was
//! sent. Sending an item costs its copy; nothing is allocated once the lists have grown.
//!
//! The list of items is bounded, and a send fails when it is full; the control list is for rare messages that must never be refused. While
//! the consumer is parked, a sender of a few items may run its work inline instead of waking it. Knows neither what the items mean nor who
//! sends them.

#[cfg(test)]
mod interleavings;
mod state;

pub(super) use state::TrySendError;

use state::MailboxState;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Capacity that an empty list keeps: what a burst allocated is freed.
const CAPACITY_KEPT: usize = 4_096;

/// A queue with one consumer, which takes batches, and any number of senders.
pub(super) struct Mailbox<T, O> {
    state: Mutex<MailboxState<T, O>>,
    condvar: Condvar,
    max: usize,
}

/// What happens to items that were sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SendOutcome {
    /// The consumer has them, or will soon.
    Queued,
    /// The consumer is parked; the sender acts for it until [`Mailbox::finish_inline`].
    RunInline,
}

impl<T, O> Mailbox<T, O> {
    /// An empty mailbox with room for `max` items.
    pub(super) fn new(max: usize) -> Self {
        Self { state: Mutex::new(MailboxState::new()), condvar: Condvar::new(), max }
    }

    /// Takes items from the front while there is room; returns how many are queued. The rest stays in `items`.
    ///
    /// # Errors
    /// Why items are left.
    pub(super) fn send(&self, items: &mut Vec<T>) -> Result<usize, TrySendError> {
        let mut state = self.lock();
        let put = state.push_items(items, self.max);
        self.notify_consumer(state);
        put
    }

    /// The same; the caller runs inline if the consumer is parked and at most `few` items are queued.
    ///
    /// # Errors
    /// As for [`Mailbox::send`].
    pub(super) fn send_or_run_inline(&self, items: &mut Vec<T>, few: usize) -> Result<SendOutcome, TrySendError> {
        let mut state = self.lock();
        let put = state.push_items(items, self.max);
        if put.is_ok() && state.try_inline(few) {
            return Ok(SendOutcome::RunInline);
        }
        self.notify_consumer(state);
        put.map(|_| SendOutcome::Queued)
    }

    /// Ends an inline run. The consumer stays parked unless it has something to do: something is queued, it wanted to run meanwhile, or
    /// `is_to_wake`.
    pub(super) fn finish_inline(&self, is_to_wake: bool) {
        let mut state = self.lock();
        let should_notify = state.finish_inline(is_to_wake);
        self.unlock_and_notify(state, should_notify);
    }

    /// Sends a control message without a limit; gives it back when the mailbox is closed.
    pub(super) fn send_control(&self, message: O) -> Result<(), O> {
        self.try_send_control(message, usize::MAX).map_err(|(_, message)| message)
    }

    /// Sends a control message unless `max` are queued already.
    pub(super) fn try_send_control(&self, message: O, max: usize) -> Result<(), (TrySendError, O)> {
        let mut state = self.lock();
        state.push_control(message, max)?;
        self.notify_consumer(state);
        Ok(())
    }

    /// Takes everything out, into empty lists. Waits until something is queued, or until `until`. Returns whether the mailbox is open or
    /// was not empty: more may come.
    pub(super) fn recv_batch(&self, items: &mut Vec<T>, control: &mut Vec<O>, until: Option<Instant>) -> bool {
        let mut state = self.lock();
        let mut is_late = false;
        while state.is_idle() && !is_late {
            (state, is_late) = self.park(state, until);
        }
        if is_late {
            shrink(items);
            shrink(control);
        }
        state.swap(items, control);
        !state.is_closed() || !items.is_empty() || !control.is_empty()
    }

    /// Waits like [`Mailbox::recv_batch`], or until a wake-up without a message, and takes nothing out.
    pub(super) fn wait(&self, until: Instant) {
        let state = self.lock();
        if state.is_idle() {
            drop(self.park(state, Some(until)));
        }
    }

    /// Takes out what is queued, into empty lists, without waiting.
    pub(super) fn try_recv_batch(&self, items: &mut Vec<T>, control: &mut Vec<O>) {
        self.lock().swap(items, control);
    }

    /// Refuses further messages, and wakes the consumer.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.close();
        self.notify_consumer(state);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().is_closed()
    }

    /// Whether the consumer sleeps, and no sender runs inline.
    #[cfg(test)]
    pub(super) fn is_parked(&self) -> bool {
        self.lock().is_parked()
    }

    /// Items that are queued.
    pub(super) fn len(&self) -> usize {
        self.lock().items.len()
    }

    /// Parks the consumer until it is woken or until `until`; returns the lock, and whether it timed out. Waits for an inline run to
    /// finish.
    fn park<'a>(&'a self, mut state: Guard<'a, T, O>, until: Option<Instant>) -> (Guard<'a, T, O>, bool) {
        state.park();
        let is_late = loop {
            let pause = until.map(|until| until.saturating_duration_since(Instant::now()));
            if pause == Some(Duration::ZERO) {
                break true;
            }
            state = self.wait_for_notify(state, pause);
            if state.is_unparked() {
                break false;
            }
        };
        while !state.try_resume() {
            state = self.wait_for_notify(state, None);
        }
        if is_late {
            // A quiet moment: what a burst allocated is freed.
            shrink(&mut state.items);
            shrink(&mut state.control);
        }
        (state, is_late)
    }

    fn wait_for_notify<'a>(&self, state: Guard<'a, T, O>, pause: Option<Duration>) -> Guard<'a, T, O> {
        match pause {
            None => self.condvar.wait(state).unwrap_or_else(PoisonError::into_inner),
            Some(pause) => self.condvar.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0,
        }
    }

    /// Notifies once for everything that is sent until the consumer wakes: a notification is a system call.
    fn notify_consumer(&self, mut state: Guard<'_, T, O>) {
        let should_notify = state.unpark();
        self.unlock_and_notify(state, should_notify);
    }

    /// Notifies after releasing the lock: the woken thread needs it.
    fn unlock_and_notify(&self, state: Guard<'_, T, O>, should_notify: bool) {
        drop(state);
        if should_notify {
            self.condvar.notify_one();
        }
    }

    /// The lists are consistent even if a holder of the lock panicked: each is changed by one call.
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

    /// What one receive gives.
    fn received(mailbox: &Mailbox<u32, &'static str>) -> (Vec<u32>, Vec<&'static str>) {
        let (mut items, mut control) = (Vec::new(), Vec::new());
        mailbox.recv_batch(&mut items, &mut control, Some(Instant::now()));
        (items, control)
    }

    #[test]
    fn items_without_room_stay_with_the_sender() {
        let mailbox = Mailbox::new(3);
        let mut batch = vec![1, 2];
        assert_eq!((mailbox.send(&mut batch), batch.len()), (Ok(2), 0));
        batch.extend([3, 4, 5]);
        assert_eq!((mailbox.send(&mut batch), batch.as_slice()), (Err(TrySendError::Full), [4, 5].as_slice()));
        assert_eq!((mailbox.send(&mut batch), batch.as_slice()), (Err(TrySendError::Full), [4, 5].as_slice()));
        assert_eq!(mailbox.send_control("a control message is still taken"), Ok(()));
        assert_eq!(mailbox.try_send_control("one too many", 1), Err((TrySendError::Full, "one too many")));
        assert_eq!(received(&mailbox), (vec![1, 2, 3], vec!["a control message is still taken"]));
        assert_eq!((mailbox.send(&mut batch), received(&mailbox).0), (Ok(2), vec![4, 5]));
    }

    #[test]
    fn a_closed_mailbox_refuses_items_and_gives_what_it_has() {
        let mailbox = Mailbox::new(3);
        assert_eq!(mailbox.send(&mut vec![1]), Ok(1));
        mailbox.close();
        let mut batch = vec![2];
        assert_eq!((mailbox.send(&mut batch), batch.len()), (Err(TrySendError::Closed), 1));
        assert_eq!(mailbox.send_control("late"), Err("late"));
        assert_eq!(mailbox.try_send_control("late", 9), Err((TrySendError::Closed, "late")));
        assert_eq!(received(&mailbox).0, [1]);
    }

    /// Starts a thread that receives once; it is parked when this returns. The thread's result is what it received.
    fn start_consumer(mailbox: &Arc<Mailbox<u32, &'static str>>, until: Option<Instant>) -> JoinHandle<Vec<u32>> {
        let receiving = mailbox.clone();
        let start_consumer = std::thread::spawn(move || {
            let mut items = Vec::new();
            receiving.recv_batch(&mut items, &mut Vec::new(), until);
            items
        });
        until_so(|| mailbox.is_parked() || start_consumer.is_finished());
        start_consumer
    }

    fn until_so(is_so: impl Fn() -> bool) {
        while !is_so() {
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_sender_of_few_items_runs_inline_while_the_consumer_is_parked() {
        let mailbox = Arc::new(Mailbox::new(9));
        assert_eq!(mailbox.send_or_run_inline(&mut vec![1], 2), Ok(SendOutcome::Queued), "the consumer is running");
        assert_eq!(received(&mailbox).0, [1]);
        let consumer = start_consumer(&mailbox, None);
        assert_eq!(mailbox.send_or_run_inline(&mut vec![2, 3], 2), Ok(SendOutcome::RunInline));
        assert_eq!(
            mailbox.send_or_run_inline(&mut vec![4], 2),
            Ok(SendOutcome::Queued),
            "one sender runs inline at a time"
        );
        let (mut items, mut control) = (Vec::new(), Vec::new());
        mailbox.try_recv_batch(&mut items, &mut control);
        assert_eq!((items.as_slice(), control.len()), ([2, 3, 4].as_slice(), 0));
        mailbox.finish_inline(false);
        assert!(mailbox.is_parked(), "nothing is left to do");
        assert_eq!(
            mailbox.send_or_run_inline(&mut vec![5, 6, 7], 2),
            Ok(SendOutcome::Queued),
            "more than a few wake the consumer"
        );
        assert_eq!(consumer.join().unwrap(), [5, 6, 7]);
    }

    #[test]
    fn the_consumer_is_woken_when_an_inline_run_leaves_work() {
        type Meanwhile = fn(&Mailbox<u32, &'static str>) -> bool;
        let cases: [Meanwhile; 4] = [
            |mailbox| mailbox.send(&mut vec![8]).is_err(),
            |mailbox| mailbox.send_control("look").is_err(),
            |mailbox| {
                mailbox.close();
                false
            },
            // The sender says so; the consumer's receive waits for a message, so one is sent afterwards.
            |_| true,
        ];
        for meanwhile in cases {
            let mailbox = Arc::new(Mailbox::new(9));
            let consumer = start_consumer(&mailbox, None);
            assert_eq!(mailbox.send_or_run_inline(&mut vec![1], 1), Ok(SendOutcome::RunInline));
            assert_eq!(received(&mailbox).0, [1]);
            let is_to_wake = meanwhile(&mailbox);
            mailbox.finish_inline(is_to_wake);
            if is_to_wake {
                until_so(|| mailbox.is_parked());
                assert_eq!(mailbox.send(&mut vec![8]), Ok(1));
            }
            consumer.join().unwrap();
        }
    }

    #[test]
    fn a_consumer_that_times_out_waits_for_an_inline_run() {
        let (mailbox, consumer) = loop {
            let mailbox = Arc::new(Mailbox::new(9));
            let consumer = start_consumer(&mailbox, Some(Instant::now() + Duration::from_millis(50)));
            // Otherwise it timed out before this.
            if mailbox.send_or_run_inline(&mut vec![1], 1) == Ok(SendOutcome::RunInline) {
                break (mailbox, consumer);
            }
        };
        until_so(|| mailbox.lock().is_consumer_waiting());
        assert_eq!(received(&mailbox).0, [1]);
        mailbox.finish_inline(false);
        assert!(consumer.join().unwrap().is_empty(), "it timed out, and nothing was queued");
    }

    #[test]
    fn a_parked_consumer_is_woken_by_items_control_and_close() {
        type Wake = fn(&Mailbox<u32, &'static str>);
        let cases: [Wake; 3] = [
            |mailbox| assert_eq!(mailbox.send(&mut vec![7]), Ok(1)),
            |mailbox| assert_eq!(mailbox.send_control("look"), Ok(())),
            |mailbox| mailbox.close(),
        ];
        for wake in cases {
            let mailbox = Arc::new(Mailbox::new(3));
            let consumer = start_consumer(&mailbox, None);
            wake(&mailbox);
            consumer.join().unwrap();
        }
    }
}
