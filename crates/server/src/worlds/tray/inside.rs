//! What is in a tray, and whose turn it is to take it out: every step of the protocol as a function of values, so that a test can walk
//! through all orders in which threads may take them. Knows no lock and no bell: it says when the taker is to be rung for.

/// Why something was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in super::super) enum Refused {
    /// As many wait as may.
    Full,
    /// Nobody takes anything out any more.
    Closed,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Inside<T, O> {
    pub(super) things: Vec<T>,
    pub(super) orders: Vec<O>,
    turn: Turn,
    is_closed: bool,
}

/// Who may take things out. There is one turn, so that there is one taker at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Turn {
    /// The taker has it.
    Held,
    /// The taker sleeps.
    Asleep,
    /// The taker has been woken, and will take.
    Woken,
    /// Somebody else has it while the taker sleeps; whether the taker asks for it meanwhile.
    Lent { is_wanted: bool },
}

impl<T, O> Inside<T, O> {
    /// Nothing, and the taker is awake.
    pub(super) fn new() -> Self {
        Self { things: Vec::new(), orders: Vec::new(), turn: Turn::Held, is_closed: false }
    }

    /// Takes in what there is room for, from the front; how many wait now.
    pub(super) fn fill(&mut self, things: &mut Vec<T>, max: usize) -> Result<usize, Refused> {
        if self.is_closed {
            return Err(Refused::Closed);
        }
        let room = max.saturating_sub(self.things.len());
        let is_all = things.len() <= room;
        self.things.extend(things.drain(..room.min(things.len())));
        if is_all { Ok(self.things.len()) } else { Err(Refused::Full) }
    }

    /// Takes an order in, unless so many wait already.
    pub(super) fn order(&mut self, order: O, max: usize) -> Result<(), (Refused, O)> {
        if self.is_closed || self.orders.len() >= max {
            let why = if self.is_closed { Refused::Closed } else { Refused::Full };
            return Err((why, order));
        }
        self.orders.push(order);
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
    pub(super) fn rouse(&mut self) -> bool {
        let is_asleep = self.is_asleep();
        if is_asleep {
            self.turn = Turn::Woken;
        }
        is_asleep
    }

    /// Lends the turn for what was just taken in, if the taker sleeps, which it does only while nothing waits, and that is at most
    /// `few` things. Whether it did.
    pub(super) fn lend(&mut self, few: usize) -> bool {
        let may = self.is_asleep() && self.things.len() <= few;
        if may {
            self.turn = Turn::Lent { is_wanted: false };
        }
        may
    }

    /// The turn that was lent is back: whether the taker is to be rung for, because something waits, it asked for its turn
    /// meanwhile, or `is_to_wake`.
    #[must_use = "a taker that is not rung for sleeps on"]
    pub(super) fn give_back(&mut self, is_to_wake: bool) -> bool {
        let is_wanted = self.turn != Turn::Lent { is_wanted: false };
        self.turn = Turn::Asleep;
        (is_wanted || is_to_wake || !self.is_quiet()) && self.rouse()
    }

    /// The taker lets its turn lie.
    pub(super) fn lie_down(&mut self) {
        self.turn = Turn::Asleep;
    }

    pub(super) fn is_asleep(&self) -> bool {
        self.turn == Turn::Asleep
    }

    pub(super) fn is_woken(&self) -> bool {
        self.turn == Turn::Woken
    }

    /// Whether the taker waits for a turn that is lent.
    #[cfg(test)]
    pub(super) fn is_wanted(&self) -> bool {
        self.turn == Turn::Lent { is_wanted: true }
    }

    /// The taker wants its turn: whether it has it. If not, it is rung for when the turn that is lent comes back.
    pub(super) fn claim(&mut self) -> bool {
        let is_lent = matches!(self.turn, Turn::Lent { .. });
        self.turn = if is_lent { Turn::Lent { is_wanted: true } } else { Turn::Held };
        !is_lent
    }

    /// Whether a taker has nothing to take and something to wait for.
    pub(super) fn is_quiet(&self) -> bool {
        self.things.is_empty() && self.orders.is_empty() && !self.is_closed
    }

    /// Everything goes out, into lists that are empty.
    pub(super) fn swap(&mut self, things: &mut Vec<T>, orders: &mut Vec<O>) {
        debug_assert!(things.is_empty() && orders.is_empty(), "what was taken out before has been dealt with");
        std::mem::swap(&mut self.things, things);
        std::mem::swap(&mut self.orders, orders);
    }
}
