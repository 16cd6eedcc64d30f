//! Which parts of a leg are over for this worker: no arrival of them is still to come, and none is under way. Each is
//! said to be over once. Refuses to know arrivals.

use std::collections::VecDeque;
use std::time::Duration;

/// The parts of one leg, as one worker sees them.
#[derive(Debug)]
pub(super) struct LoadStepTracker {
    /// The number of the first in `open`.
    base: u32,
    /// Parts of which anything is known; those before are over.
    open: VecDeque<LoadStepState>,
    /// Parts below have no arrivals to come.
    closed_below: u32,
    /// The number after the last.
    end: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct LoadStepState {
    in_flight: u64,
    not_sent: u64,
    until: Duration,
    over: bool,
}

/// A part that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FinishedLoadStep {
    pub(super) load_step: u32,
    pub(super) not_sent: u64,
    /// When its last exchange would have ended, but for the worker's own share of it.
    pub(super) until: Duration,
}

impl LoadStepState {
    fn finish(&mut self, part: u32) -> FinishedLoadStep {
        self.over = true;
        FinishedLoadStep { load_step: part, not_sent: self.not_sent, until: self.until }
    }
}

impl LoadStepTracker {
    /// `count` parts from `first` on.
    pub(super) fn new(first: u32, count: u32) -> Self {
        Self { base: first, open: VecDeque::new(), closed_below: first, end: first.saturating_add(count) }
    }

    /// Whether the part belongs to this leg.
    pub(super) fn contains(&self, first: u32, part: u32) -> bool {
        (first..self.end).contains(&part)
    }

    /// The number after the last.
    pub(super) fn end(&self) -> u32 {
        self.end
    }

    /// Whether all are over.
    pub(super) fn is_over(&self) -> bool {
        self.base >= self.end
    }

    fn step_mut(&mut self, part: u32) -> &mut LoadStepState {
        let place = part.saturating_sub(self.base) as usize;
        if self.open.len() <= place {
            self.open.resize(place + 1, LoadStepState::default());
        }
        &mut self.open[place]
    }

    /// Something of the part is under way.
    pub(super) fn count_started(&mut self, part: u32) {
        self.step_mut(part).in_flight += 1;
    }

    /// Arrivals of the part were due and will never be sent.
    pub(super) fn count_not_sent(&mut self, part: u32, count: u64) {
        self.step_mut(part).not_sent += count;
    }

    /// The part takes until this moment, whatever the worker itself does to it.
    pub(super) fn extend_until(&mut self, part: u32, until: Duration) {
        let state = self.step_mut(part);
        state.until = state.until.max(until);
    }

    /// Something of the part has ended.
    pub(super) fn count_ended(&mut self, part: u32, overs: &mut Vec<FinishedLoadStep>) {
        let closed = part < self.closed_below;
        let state = self.step_mut(part);
        state.in_flight = state.in_flight.saturating_sub(1);
        if closed && state.in_flight == 0 && !state.over {
            overs.push(state.finish(part));
            self.drop_finished();
        }
    }

    /// Nothing is to come of the parts below `part`.
    pub(super) fn close_below(&mut self, part: u32, overs: &mut Vec<FinishedLoadStep>) {
        for part in self.closed_below..part.min(self.end) {
            let state = self.step_mut(part);
            if state.in_flight == 0 && !state.over {
                overs.push(state.finish(part));
            }
            self.closed_below = part + 1;
            self.drop_finished();
        }
    }

    fn drop_finished(&mut self) {
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
        let (mut parts, mut overs) = (LoadStepTracker::new(5, 4), Vec::new());
        parts.count_started(5);
        parts.count_started(5);
        parts.count_started(6);
        parts.close_below(6, &mut overs);
        parts.count_ended(6, &mut overs);
        parts.count_ended(5, &mut overs);
        assert_eq!(overs, []);
        parts.count_ended(5, &mut overs);
        assert_eq!(overs, [FinishedLoadStep { load_step: 5, not_sent: 0, until: Duration::ZERO }]);
        parts.count_not_sent(7, 3);
        [3, 9, 5].into_iter().for_each(|s| parts.extend_until(7, Duration::from_secs(s)));
        parts.close_below(u32::MAX, &mut overs);
        let rest = [(6, 0, 0), (7, 3, 9), (8, 0, 0)];
        let rest = rest.map(|(part, not_sent, s)| FinishedLoadStep {
            load_step: part,
            not_sent,
            until: Duration::from_secs(s),
        });
        assert_eq!(overs[1..], rest);
        assert!(parts.is_over());
        parts.close_below(u32::MAX, &mut overs);
        assert_eq!(overs.len(), 4);
    }

    #[test]
    fn a_later_part_may_be_over_first() {
        let (mut parts, mut overs) = (LoadStepTracker::new(0, 2), Vec::new());
        parts.count_started(0);
        parts.count_started(1);
        parts.close_below(2, &mut overs);
        parts.count_ended(1, &mut overs);
        assert_eq!((overs.last().map(|over| over.load_step), parts.is_over()), (Some(1), false));
        parts.count_ended(0, &mut overs);
        assert_eq!((overs.last().map(|over| over.load_step), parts.is_over()), (Some(0), true));
    }
}
