//! Hands items between threads in batches: two lists under a lock, swapped with the consumer's empty ones, and one wake-up however much was
//! sent. Sending an item costs its copy; nothing is allocated once the lists have grown.
//!
//! The list of items is bounded, and a send fails when it is full; the control list is for rare messages that must never be refused. While
//! the consumer is parked, a sender of a few items may run its work inline instead of waking it. Knows neither what the items mean nor who
//! sends them.

mod state;
#[cfg(test)]
mod tests;

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
