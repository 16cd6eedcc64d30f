//! Which load steps of a load are finished at this worker: they have no arrivals left, and none is in flight. Each is
//! reported once. Does not know arrivals.

use std::collections::VecDeque;
use std::time::Duration;

/// The load steps of one load, as one worker sees them.
#[derive(Debug)]
pub(crate) struct LoadStepTracker {
    /// The number of the first in `open`.
    base: u32,
    /// Known load steps; those before are finished.
    open: VecDeque<LoadStepState>,
    /// Load steps below have no arrivals left.
    closed_below: u32,
    /// The number after the last.
    end: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct LoadStepState {
    in_flight: u64,
    not_sent: u64,
    not_sent_behind_pauses: u64,
    until: Duration,
    finished: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FinishedLoadStep {
    pub(crate) load_step: u32,
    pub(crate) not_sent: u64,
    /// Arrivals among them that a pause of the generator has held up.
    pub(crate) not_sent_behind_pauses: u64,
    /// When its last exchange would have ended without the generator's own share of it.
    pub(crate) until: Duration,
}

impl LoadStepState {
    /// Finishes it, if nothing of it is in flight; does so only once.
    fn finish(&mut self, load_step: u32) -> Option<FinishedLoadStep> {
        if self.in_flight > 0 || std::mem::replace(&mut self.finished, true) {
            return None;
        }
        let Self { not_sent, not_sent_behind_pauses, until, .. } = *self;
        Some(FinishedLoadStep { load_step, not_sent, not_sent_behind_pauses, until })
    }
}

impl LoadStepTracker {
    /// `count` load steps from `first` on.
    pub(super) fn new(first: u32, count: u32) -> Self {
        Self { base: first, open: VecDeque::new(), closed_below: first, end: first.saturating_add(count) }
    }

    pub(super) fn contains(&self, first: u32, load_step: u32) -> bool {
        (first..self.end).contains(&load_step)
    }

    pub(super) fn end(&self) -> u32 {
        self.end
    }

    pub(super) fn is_over(&self) -> bool {
        self.base >= self.end
    }

    fn step_mut(&mut self, load_step: u32) -> &mut LoadStepState {
        let index = load_step.saturating_sub(self.base) as usize;
        if self.open.len() <= index {
            self.open.resize(index + 1, LoadStepState::default());
        }
        &mut self.open[index]
    }

    /// Something of the load step is in flight.
    pub(super) fn count_started(&mut self, load_step: u32) {
        self.step_mut(load_step).in_flight += 1;
    }

    /// Arrivals of the load step were due and will never be sent.
    pub(crate) fn count_not_sent(&mut self, load_step: u32, count: u64) {
        self.step_mut(load_step).not_sent += count;
    }

    /// Of the arrivals that are counted as not sent, a pause of the generator has held up so many.
    pub(super) fn count_not_sent_behind_pauses(&mut self, load_step: u32, count: u64) {
        self.step_mut(load_step).not_sent_behind_pauses += count;
    }

    /// The load step lasts at least until then, without the generator's own delay.
    pub(crate) fn extend_until(&mut self, load_step: u32, until: Duration) {
        let state = self.step_mut(load_step);
        state.until = state.until.max(until);
    }

    /// Something of the load step has ended.
    pub(super) fn count_ended(&mut self, load_step: u32) -> Option<FinishedLoadStep> {
        let closed = load_step < self.closed_below;
        let state = self.step_mut(load_step);
        state.in_flight = state.in_flight.saturating_sub(1);
        let finished = if closed { state.finish(load_step) } else { None };
        self.drop_finished();
        finished
    }

    /// The load steps below `load_step` have no arrivals left.
    pub(super) fn close_below(&mut self, load_step: u32, mut on_finished: impl FnMut(FinishedLoadStep)) {
        for load_step in self.closed_below..load_step.min(self.end) {
            self.step_mut(load_step).finish(load_step).into_iter().for_each(&mut on_finished);
            self.closed_below = load_step + 1;
            self.drop_finished();
        }
    }

    fn drop_finished(&mut self) {
        while self.open.front().is_some_and(|load_step| load_step.finished) {
            self.open.pop_front();
            self.base += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_step_finishes_once_when_nothing_is_left_or_in_flight() {
        let (mut load_steps, mut finished) = (LoadStepTracker::new(5, 4), Vec::new());
        load_steps.count_started(5);
        load_steps.count_started(5);
        load_steps.count_started(6);
        load_steps.close_below(6, |step| finished.push(step));
        assert_eq!((load_steps.count_ended(6), load_steps.count_ended(5), finished.len()), (None, None, 0));
        let first = FinishedLoadStep { load_step: 5, not_sent: 0, not_sent_behind_pauses: 0, until: Duration::ZERO };
        assert_eq!(load_steps.count_ended(5), Some(first));
        load_steps.count_not_sent(7, 3);
        load_steps.count_not_sent_behind_pauses(7, 2);
        [3, 9, 5].into_iter().for_each(|s| load_steps.extend_until(7, Duration::from_secs(s)));
        load_steps.close_below(u32::MAX, |step| finished.push(step));
        let rest = [(6, 0, 0), (7, 3, 9), (8, 0, 0)];
        let rest = rest.map(|(load_step, not_sent, s)| FinishedLoadStep {
            load_step,
            not_sent,
            not_sent_behind_pauses: if not_sent > 0 { 2 } else { 0 },
            until: Duration::from_secs(s),
        });
        assert_eq!(finished, rest);
        assert!(load_steps.is_over());
        load_steps.close_below(u32::MAX, |step| finished.push(step));
        assert_eq!(finished.len(), 3);
    }

    #[test]
    fn a_later_load_step_may_finish_first() {
        let mut load_steps = LoadStepTracker::new(0, 2);
        load_steps.count_started(0);
        load_steps.count_started(1);
        load_steps.close_below(2, |step| panic!("{step:?} is in flight"));
        let ended = |load_steps: &mut LoadStepTracker, step| load_steps.count_ended(step).map(|over| over.load_step);
        assert_eq!((ended(&mut load_steps, 1), load_steps.is_over()), (Some(1), false));
        assert_eq!((ended(&mut load_steps, 0), load_steps.is_over()), (Some(0), true));
    }
}
