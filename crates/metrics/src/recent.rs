//! The recent past: what happened in the last seconds, computed from counters. The owner calls `tick` about once a second; nothing here has
//! a timer.

use super::instruments::HistogramSnapshot;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// A rate is taken over this time.
pub const RATE_WINDOW: Duration = Duration::from_secs(10);
/// Quantiles are taken over at least this time, and up to one step more.
pub const TIMING_WINDOW: Duration = Duration::from_secs(60);
const TIMING_STEP: Duration = Duration::from_secs(10);
/// Ticks closer together than this are ignored, so that memory stays bounded.
const TICK_MIN: Duration = Duration::from_millis(500);

/// Earlier values of counters, with their times.
#[derive(Debug)]
pub(super) struct Recent {
    begun: Instant,
    turns: VecDeque<(Instant, u64)>,
    timings: VecDeque<(Instant, Vec<HistogramSnapshot>)>,
}

impl Recent {
    pub(super) fn new(begun: Instant) -> Self {
        Self { begun, turns: VecDeque::new(), timings: VecDeque::new() }
    }

    /// Records the values at `now`; the snapshots are taken only when they are due.
    pub(super) fn tick(&mut self, now: Instant, turns: u64, timings: impl FnOnce() -> Vec<HistogramSnapshot>) {
        if self.turns.back().is_none_or(|(at, _)| now.duration_since(*at) >= TICK_MIN) {
            self.turns.push_back((now, turns));
            forget(&mut self.turns, now, RATE_WINDOW);
        }
        if self.timings.back().is_none_or(|(at, _)| now.duration_since(*at) >= TIMING_STEP) {
            self.timings.push_back((now, timings()));
            forget(&mut self.timings, now, TIMING_WINDOW);
        }
    }

    /// Turns per second over the last [`RATE_WINDOW`], or since the start while that is shorter.
    pub(super) fn turns_per_s(&self, now: Instant, turns: u64) -> f64 {
        let (since, before) = self.turns.front().copied().unwrap_or((self.begun, 0));
        let span_s = now.duration_since(since).as_secs_f64();
        if span_s > 0.0 { turns.saturating_sub(before) as f64 / span_s } else { 0.0 }
    }

    /// The snapshots with which the present ones are compared; `None` at the beginning of the process.
    pub(super) fn timings_before(&self) -> Option<&[HistogramSnapshot]> {
        self.timings.front().map(|(_, timings)| timings.as_slice())
    }
}

/// Drops what is not needed to look back over `window`: all but the youngest of those that are older.
fn forget<T>(past: &mut VecDeque<(Instant, T)>, now: Instant, window: Duration) {
    while past.get(1).is_some_and(|(at, _)| now.duration_since(*at) >= window) {
        past.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ticks at these seconds with these totals; checks the rate at the last of them, with the total then.
    #[track_caller]
    fn check(ticks: &[(u64, u64)], ask: (u64, u64), want: f64) {
        let begun = Instant::now();
        let mut recent = Recent::new(begun);
        for (at_s, turns) in ticks {
            recent.tick(begun + Duration::from_secs(*at_s), *turns, Vec::new);
        }
        assert_eq!(recent.turns_per_s(begun + Duration::from_secs(ask.0), ask.1), want);
    }

    #[test]
    fn a_rate_looks_back_ten_seconds() {
        check(&[], (0, 0), 0.0);
        check(&[], (5, 50), 10.0);
        check(&[(0, 0), (5, 1_000)], (10, 1_000), 100.0);
        check(&[(0, 0), (5, 1_000), (15, 1_000)], (15, 1_000), 0.0);
        check(&[(0, 0), (1, 0), (2, 0), (12, 500)], (12, 500), 50.0);
    }

    #[test]
    fn memory_is_bounded_however_often_it_ticks() {
        let begun = Instant::now();
        let mut recent = Recent::new(begun);
        for at_ms in 0..200_000 {
            recent.tick(begun + Duration::from_millis(at_ms), at_ms, Vec::new);
        }
        assert_eq!((recent.turns.len(), recent.timings.len()), (21, 7));
    }
}
