//! What is in a tray, and whose turn it is to take it out: every step of the protocol as a function of values, so that a test can walk
//! through all orders in which threads may take them. Knows no lock and no bell: it says when the taker is to be rung for.

/// Why something was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) enum TrySendError {
    /// As many wait as may.
    Full,
    /// Nobody takes anything out any more.
    Closed,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct MailboxState<T, O> {
    pub(super) items: Vec<T>,
    pub(super) control: Vec<O>,
    consumer: ConsumerState,
    is_closed: bool,
}

/// Who may take things out. There is one turn, so that there is one taker at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ConsumerState {
    /// The taker has it.
    Running,
    /// The taker sleeps.
    Parked,
    /// The taker has been woken, and will take.
    Unparked,
    /// Somebody else has it while the taker sleeps; whether the taker asks for it meanwhile.
    Inline { is_wanted: bool },
}

impl<T, O> MailboxState<T, O> {
    /// Nothing, and the taker is awake.
    pub(super) fn new() -> Self {
        Self { items: Vec::new(), control: Vec::new(), consumer: ConsumerState::Running, is_closed: false }
    }

    /// Takes in what there is room for, from the front; how many wait now.
    pub(super) fn push_items(&mut self, things: &mut Vec<T>, max: usize) -> Result<usize, TrySendError> {
        if self.is_closed {
            return Err(TrySendError::Closed);
        }
        let room = max.saturating_sub(self.items.len());
        let is_all = things.len() <= room;
        self.items.extend(things.drain(..room.min(things.len())));
        if is_all { Ok(self.items.len()) } else { Err(TrySendError::Full) }
    }

    /// Takes an order in, unless so many wait already.
    pub(super) fn push_control(&mut self, order: O, max: usize) -> Result<(), (TrySendError, O)> {
        if self.is_closed || self.control.len() >= max {
            let why = if self.is_closed { TrySendError::Closed } else { TrySendError::Full };
            return Err((why, order));
        }
        self.control.push(order);
        Ok(())
    }

    pub(super) fn close(&mut self) {
        self.is_closed = true;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// There is something to take: whether the taker is to be rung for. Once for everything that comes until it wakes.
    #[must_use = "a taker that is not rung for sleeps on"]
    pub(super) fn unpark(&mut self) -> bool {
        let is_asleep = self.is_parked();
        if is_asleep {
            self.consumer = ConsumerState::Unparked;
        }
        is_asleep
    }

    /// Lends the turn for what was just taken in, if the taker sleeps, which it does only while nothing waits, and that is at most
    /// `few` things. Whether it did.
    pub(super) fn try_inline(&mut self, few: usize) -> bool {
        let may = self.is_parked() && self.items.len() <= few;
        if may {
            self.consumer = ConsumerState::Inline { is_wanted: false };
        }
        may
    }

    /// The turn that was lent is back: whether the taker is to be rung for, because something waits, it asked for its turn
    /// meanwhile, or `is_to_wake`.
    #[must_use = "a taker that is not rung for sleeps on"]
    pub(super) fn finish_inline(&mut self, is_to_wake: bool) -> bool {
        let is_wanted = self.consumer != ConsumerState::Inline { is_wanted: false };
        self.consumer = ConsumerState::Parked;
        (is_wanted || is_to_wake || !self.is_idle()) && self.unpark()
    }

    /// The taker lets its turn lie.
    pub(super) fn park(&mut self) {
        self.consumer = ConsumerState::Parked;
    }

    pub(super) fn is_parked(&self) -> bool {
        self.consumer == ConsumerState::Parked
    }

    pub(super) fn is_unparked(&self) -> bool {
        self.consumer == ConsumerState::Unparked
    }

    /// Whether the taker waits for a turn that is lent.
    #[cfg(test)]
    pub(super) fn is_consumer_waiting(&self) -> bool {
        self.consumer == ConsumerState::Inline { is_wanted: true }
    }

    /// The taker wants its turn: whether it has it. If not, it is rung for when the turn that is lent comes back.
    pub(super) fn try_resume(&mut self) -> bool {
        let is_lent = matches!(self.consumer, ConsumerState::Inline { .. });
        self.consumer = if is_lent { ConsumerState::Inline { is_wanted: true } } else { ConsumerState::Running };
        !is_lent
    }

    /// Whether a taker has nothing to take and something to wait for.
    pub(super) fn is_idle(&self) -> bool {
        self.items.is_empty() && self.control.is_empty() && !self.is_closed
    }

    /// Everything goes out, into lists that are empty.
    pub(super) fn swap(&mut self, things: &mut Vec<T>, orders: &mut Vec<O>) {
        debug_assert!(things.is_empty() && orders.is_empty(), "what was taken out before has been dealt with");
        std::mem::swap(&mut self.items, things);
        std::mem::swap(&mut self.control, orders);
    }
}
