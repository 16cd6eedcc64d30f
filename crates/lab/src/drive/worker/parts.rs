//! Which parts of a leg are over for this worker: no arrival of them is still to come, and none is under way. Each is
//! said to be over once. Refuses to know arrivals.

use std::collections::VecDeque;
use std::time::Duration;

/// The parts of one leg, as one worker sees them.
#[derive(Debug)]
pub(super) struct Parts {
    /// The number of the first in `open`.
    base: u32,
    /// Parts of which anything is known; those before are over.
    open: VecDeque<Part>,
    /// Parts below have no arrivals to come.
    closed_below: u32,
    /// The number after the last.
    end: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Part {
    under_way: u64,
    not_sent: u64,
    until: Duration,
    over: bool,
}

/// A part that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Over {
    pub(super) part: u32,
    pub(super) not_sent: u64,
    /// When its last exchange would have ended, but for the worker's own share of it.
    pub(super) until: Duration,
}

impl Part {
    fn close(&mut self, part: u32) -> Over {
        self.over = true;
        Over { part, not_sent: self.not_sent, until: self.until }
    }
}

impl Parts {
    /// `count` parts from `first` on.
    pub(super) fn new(first: u32, count: u32) -> Self {
        Self { base: first, open: VecDeque::new(), closed_below: first, end: first.saturating_add(count) }
    }

    /// Whether the part belongs to this leg.
    pub(super) fn contain(&self, first: u32, part: u32) -> bool {
        (first..self.end).contains(&part)
    }

    /// The number after the last.
    pub(super) fn end(&self) -> u32 {
        self.end
    }

    /// Whether all are over.
    pub(super) fn are_over(&self) -> bool {
        self.base >= self.end
    }

    fn at(&mut self, part: u32) -> &mut Part {
        let place = part.saturating_sub(self.base) as usize;
        if self.open.len() <= place {
            self.open.resize(place + 1, Part::default());
        }
        &mut self.open[place]
    }

    /// Something of the part is under way.
    pub(super) fn began(&mut self, part: u32) {
        self.at(part).under_way += 1;
    }

    /// Arrivals of the part were due and will never be sent.
    pub(super) fn not_sent(&mut self, part: u32, count: u64) {
        self.at(part).not_sent += count;
    }

    /// The part takes until this moment, whatever the worker itself does to it.
    pub(super) fn takes_until(&mut self, part: u32, until: Duration) {
        let state = self.at(part);
        state.until = state.until.max(until);
    }

    /// Something of the part has ended.
    pub(super) fn ended(&mut self, part: u32, overs: &mut Vec<Over>) {
        let closed = part < self.closed_below;
        let state = self.at(part);
        state.under_way = state.under_way.saturating_sub(1);
        if closed && state.under_way == 0 && !state.over {
            overs.push(state.close(part));
            self.forget();
        }
    }

    /// Nothing is to come of the parts below `part`.
    pub(super) fn close_below(&mut self, part: u32, overs: &mut Vec<Over>) {
        for part in self.closed_below..part.min(self.end) {
            let state = self.at(part);
            if state.under_way == 0 && !state.over {
                overs.push(state.close(part));
            }
            self.closed_below = part + 1;
            self.forget();
        }
    }

    fn forget(&mut self) {
        while self.open.front().is_some_and(|part| part.over) {
            self.open.pop_front();
            self.base += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_is_over_once_when_nothing_is_to_come_and_nothing_under_way() {
        let (mut parts, mut overs) = (Parts::new(5, 4), Vec::new());
        parts.began(5);
        parts.began(5);
        parts.began(6);
        parts.close_below(6, &mut overs);
        parts.ended(6, &mut overs);
        parts.ended(5, &mut overs);
        assert_eq!(overs, []);
        parts.ended(5, &mut overs);
        assert_eq!(overs, [Over { part: 5, not_sent: 0, until: Duration::ZERO }]);
        parts.not_sent(7, 3);
        [3, 9, 5].into_iter().for_each(|s| parts.takes_until(7, Duration::from_secs(s)));
        parts.close_below(u32::MAX, &mut overs);
        let rest = [(6, 0, 0), (7, 3, 9), (8, 0, 0)];
        let rest = rest.map(|(part, not_sent, s)| Over { part, not_sent, until: Duration::from_secs(s) });
        assert_eq!(overs[1..], rest);
        assert!(parts.are_over());
        parts.close_below(u32::MAX, &mut overs);
        assert_eq!(overs.len(), 4);
    }

    #[test]
    fn a_later_part_may_be_over_first() {
        let (mut parts, mut overs) = (Parts::new(0, 2), Vec::new());
        parts.began(0);
        parts.began(1);
        parts.close_below(2, &mut overs);
        parts.ended(1, &mut overs);
        assert_eq!((overs.last().map(|over| over.part), parts.are_over()), (Some(1), false));
        parts.ended(0, &mut overs);
        assert_eq!((overs.last().map(|over| over.part), parts.are_over()), (Some(0), true));
    }
}
