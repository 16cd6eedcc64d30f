//! The contents of a mailbox and the state of its consumer: every step of the protocol as a function of values, so that a test can walk
//! through all interleavings. Knows no lock and no condition variable: it says when the consumer is to be notified.

/// Why a message was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) enum TrySendError {
    Full,
    /// The consumer has ended.
    Closed,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct MailboxState<T, O> {
    pub(super) items: Vec<T>,
    pub(super) control: Vec<O>,
    consumer: ConsumerState,
    is_closed: bool,
}

/// Which thread may take messages out: one at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ConsumerState {
    /// The consumer.
    Running,
    /// The consumer is parked.
    Parked,
    /// The consumer has been woken, and will take messages.
    Unparked,
    /// A sender runs inline while the consumer is parked; whether the consumer wants to run meanwhile.
    Inline { is_wanted: bool },
}

impl<T, O> MailboxState<T, O> {
    /// Empty, with a running consumer.
    pub(super) fn new() -> Self {
        Self { items: Vec::new(), control: Vec::new(), consumer: ConsumerState::Running, is_closed: false }
    }

    /// Takes items from the front while there is room; returns how many are queued.
    pub(super) fn push_items(&mut self, items: &mut Vec<T>, max: usize) -> Result<usize, TrySendError> {
        if self.is_closed {
            return Err(TrySendError::Closed);
        }
        let room = max.saturating_sub(self.items.len());
        let is_all = items.len() <= room;
        self.items.extend(items.drain(..room.min(items.len())));
        if is_all { Ok(self.items.len()) } else { Err(TrySendError::Full) }
    }

    /// Takes a control message unless `max` are queued.
    pub(super) fn push_control(&mut self, message: O, max: usize) -> Result<(), (TrySendError, O)> {
        if self.is_closed || self.control.len() >= max {
            let error = if self.is_closed { TrySendError::Closed } else { TrySendError::Full };
            return Err((error, message));
        }
        self.control.push(message);
        Ok(())
    }

    pub(super) fn close(&mut self) {
        self.is_closed = true;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Something was queued: returns whether to notify the consumer. Once for everything that is queued until it wakes.
    #[must_use = "a consumer that is not notified stays parked"]
    pub(super) fn unpark(&mut self) -> bool {
        let is_asleep = self.is_parked();
        if is_asleep {
            self.consumer = ConsumerState::Unparked;
        }
        is_asleep
    }

    /// Lets the sender run inline if the consumer is parked, which it is only while nothing is queued, and at most `few` items are queued
    /// now. Returns whether it did.
    pub(super) fn try_inline(&mut self, few: usize) -> bool {
        let may = self.is_parked() && self.items.len() <= few;
        if may {
            self.consumer = ConsumerState::Inline { is_wanted: false };
        }
        may
    }

    /// The inline run is over: returns whether to notify the consumer, because something is queued, it wanted to run meanwhile, or
    /// `is_to_wake`.
    #[must_use = "a consumer that is not notified stays parked"]
    pub(super) fn finish_inline(&mut self, is_to_wake: bool) -> bool {
        let is_wanted = self.consumer != ConsumerState::Inline { is_wanted: false };
        self.consumer = ConsumerState::Parked;
        (is_wanted || is_to_wake || !self.is_idle()) && self.unpark()
    }

    pub(super) fn park(&mut self) {
        self.consumer = ConsumerState::Parked;
    }

    pub(super) fn is_parked(&self) -> bool {
        self.consumer == ConsumerState::Parked
    }

    pub(super) fn is_unparked(&self) -> bool {
        self.consumer == ConsumerState::Unparked
    }

    /// Whether the consumer waits for an inline run.
    #[cfg(test)]
    pub(super) fn is_consumer_waiting(&self) -> bool {
        self.consumer == ConsumerState::Inline { is_wanted: true }
    }

    /// The consumer wants to run: returns whether it may. If not, it is notified when the inline run is over.
    pub(super) fn try_resume(&mut self) -> bool {
        let is_inline = matches!(self.consumer, ConsumerState::Inline { .. });
        self.consumer = if is_inline { ConsumerState::Inline { is_wanted: true } } else { ConsumerState::Running };
        !is_inline
    }

    /// Whether a consumer has nothing to take and something to wait for.
    pub(super) fn is_idle(&self) -> bool {
        self.items.is_empty() && self.control.is_empty() && !self.is_closed
    }

    /// Takes everything out, into empty lists.
    pub(super) fn swap(&mut self, items: &mut Vec<T>, control: &mut Vec<O>) {
        debug_assert!(items.is_empty() && control.is_empty(), "the previous batch has been handled");
        std::mem::swap(&mut self.items, items);
        std::mem::swap(&mut self.control, control);
    }
}
