//! When a worker did not run: stopped, starved of processor, or busy for too long with one thing. A worker reads its
//! clock at least every few milliseconds; a reading that is far too late ends a pause. When in between the pause
//! started is unknown, so it counts from the previous reading. What was due in a pause, waited behind it, or was in
//! flight during it attributes that time to the generator. All times count from the start of the plan. Does not know
//! sockets and the system's clock.

use std::collections::VecDeque;
use std::time::Duration;

use crate::limits::{CLOCK_CHECK_EVERY, CLOCK_CHECK_EVERY_MAX, CLOCK_CHECK_WORKERS, PAUSES_KEPT};

#[derive(Debug)]
pub(super) struct PauseTracker {
    check_interval: Duration,
    last_check: Duration,
    /// The oldest first; none overlaps another.
    pauses: VecDeque<Pause>,
    recovery: Option<Recovery>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pause {
    pub(super) from: Duration,
    pub(super) to: Duration,
    /// Pauses until the end of this one, together.
    sum: Duration,
}

/// The worker is catching up after a pause: everything that it sends meanwhile waits behind the pause, here or in the
/// target.
#[derive(Clone, Copy, Debug)]
struct Recovery {
    /// The start of the first pause that it has not caught up with.
    since: Duration,
    /// What was in flight or waited when that pause started.
    pending_count: u64,
}

impl PauseTracker {
    /// No pauses yet; `workers` is the number of all workers.
    pub(super) fn new(workers: u32) -> Self {
        let every = (CLOCK_CHECK_EVERY * workers.div_ceil(CLOCK_CHECK_WORKERS).max(1)).min(CLOCK_CHECK_EVERY_MAX);
        Self { check_interval: every, last_check: Duration::ZERO, pauses: VecDeque::new(), recovery: None }
    }

    /// The longest time between two readings.
    pub(super) fn check_interval(&self) -> Duration {
        self.check_interval
    }

    /// Reads the clock, which should have happened by `due`; returns the pause that ends here, if one does. `load` is
    /// what was in flight or waited before.
    pub(super) fn check_clock(&mut self, now: Duration, due: Duration, load: u64) -> Option<Pause> {
        let from = std::mem::replace(&mut self.last_check, now);
        if now.saturating_sub(due) < self.check_interval {
            return None;
        }
        self.add(from, now, load)
    }

    /// Reads the clock between two readings that are due. Only a reading that is too late for the next one ends a
    /// pause, so that many short pieces of work without a wait in between still add up to one.
    pub(super) fn glance(&mut self, now: Duration, load: u64) -> Option<Pause> {
        let due = self.last_check + self.check_interval;
        if now.saturating_sub(due) < self.check_interval { None } else { self.check_clock(now, due, load) }
    }

    /// Reads the clock when nothing was due, so that no pause can have mattered.
    pub(super) fn skip_check(&mut self, now: Duration) {
        self.last_check = now;
    }

    /// The worker could not run between these times.
    pub(super) fn add(&mut self, from: Duration, to: Duration, load: u64) -> Option<Pause> {
        let last = self.pauses.back();
        let from = last.map_or(from, |last| from.max(last.to));
        if from >= to {
            return None;
        }
        let pause = Pause { from, to, sum: last.map_or(Duration::ZERO, |last| last.sum) + (to - from) };
        if self.pauses.len() == PAUSES_KEPT {
            self.pauses.pop_front();
        }
        self.pauses.push_back(pause);
        self.recovery.get_or_insert(Recovery { since: from, pending_count: load });
        Some(pause)
    }

    /// The worker has nothing left to do; `load` is in flight or waits now.
    pub(super) fn update_recovery(&mut self, load: u64) {
        self.recovery = self.recovery.filter(|recovery| load > recovery.pending_count);
    }

    /// Since when what is sent now waits behind a pause, if it does.
    pub(super) fn recovering_since(&self) -> Option<Duration> {
        self.recovery.map(|recovery| recovery.since)
    }

    /// How much of the time between two moments was paused.
    pub(super) fn paused_between(&self, from: Duration, to: Duration) -> Duration {
        // Usually the last pause was over long ago.
        if from >= to || self.pauses.back().is_none_or(|last| last.to <= from) {
            return Duration::ZERO;
        }
        self.paused_until(to).saturating_sub(self.paused_until(from))
    }

    /// Pauses until a moment, together; forgotten ones count as over.
    fn paused_until(&self, moment: Duration) -> Duration {
        let after = self.pauses.partition_point(|pause| pause.to <= moment);
        let before = after.checked_sub(1).and_then(|index| self.pauses.get(index)).map(|pause| pause.sum);
        match (self.pauses.get(after), before) {
            (Some(pause), _) => pause.sum.saturating_sub(pause.to - pause.from.max(moment).min(pause.to)),
            (None, before) => before.unwrap_or(Duration::ZERO),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Pauses of a worker that reads its clock every 5 ms: starts and ends, in milliseconds.
    fn paused(spans: &[(u64, u64)]) -> PauseTracker {
        let mut pauses = PauseTracker::new(1);
        for (from, to) in spans {
            pauses.last_check = ms(*from);
            assert!(pauses.check_clock(ms(*to), ms(*from), 0).is_some());
        }
        pauses
    }

    #[track_caller]
    fn check_look(every: u32, looked: u64, due: u64, now: u64, expected: Option<(u64, u64)>) {
        let mut pauses = PauseTracker::new(every);
        pauses.last_check = ms(looked);
        let found = pauses.check_clock(ms(now), ms(due), 0).map(|pause| (pause.from, pause.to));
        assert_eq!(found, expected.map(|(from, to)| (ms(from), ms(to))), "{looked} {due} {now}");
        assert_eq!(pauses.last_check, ms(now));
    }

    #[test]
    fn a_reading_far_too_late_ends_a_pause() {
        check_look(1, 100, 105, 105, None);
        check_look(1, 100, 105, 109, None);
        check_look(1, 100, 105, 110, Some((100, 110)));
        check_look(1, 100, 101, 2100, Some((100, 2100)));
        // Earlier than due: a response was received.
        check_look(1, 100, 105, 101, None);
        // Many workers read their clocks less often.
        check_look(53, 100, 120, 139, None);
        check_look(53, 100, 120, 140, Some((100, 140)));
    }

    #[test]
    fn a_glance_counts_only_where_it_ends_a_pause() {
        let mut pauses = PauseTracker::new(1);
        let mut glance = |now| pauses.glance(ms(now), 0).map(|pause| (pause.from, pause.to));
        // The last reading was at the start.
        assert_eq!(
            [4, 9, 11, 20, 700].map(&mut glance),
            [None, None, Some((ms(0), ms(11))), None, Some((ms(11), ms(700)))]
        );
    }

    #[test]
    fn a_worker_recovers_until_no_more_is_in_flight_than_before() {
        let mut pauses = PauseTracker::new(1);
        assert_eq!(pauses.recovering_since(), None);
        pauses.check_clock(ms(2000), ms(5), 3);
        pauses.update_recovery(1000);
        assert_eq!(pauses.recovering_since(), Some(Duration::ZERO));
        // Another one before it has caught up with the first.
        pauses.check_clock(ms(3000), ms(2005), 700);
        pauses.update_recovery(4);
        assert_eq!(pauses.recovering_since(), Some(Duration::ZERO));
        pauses.update_recovery(3);
        assert_eq!(pauses.recovering_since(), None);
        pauses.check_clock(ms(4000), ms(3005), 5);
        assert_eq!(pauses.recovering_since(), Some(ms(3000)));
    }

    #[test]
    fn old_pauses_are_forgotten_one_by_one() {
        let spans: Vec<(u64, u64)> = (0..PAUSES_KEPT as u64 + 9).map(|i| (i * 100, i * 100 + 10)).collect();
        let pauses = paused(&spans);
        assert_eq!(pauses.pauses.len(), PAUSES_KEPT);
        let last = spans.last().unwrap().1;
        assert_eq!(pauses.paused_between(ms(last - 110), ms(last)), ms(20));
        assert_eq!(pauses.paused_between(ms(900), ms(last)), ms(10) * PAUSES_KEPT as u32);
    }

    proptest! {
        #[test]
        fn the_share_of_a_time_is_what_its_pauses_cover(
            lengths in prop::collection::vec((0u64..50, 10u64..60), 0..12),
            from in 0u64..900,
            length in 0u64..900,
        ) {
            let mut end = 0;
            let spans: Vec<(u64, u64)> = lengths.iter().map(|(gap, long)| {
                let from = end + gap;
                end = from + long;
                (from, end)
            }).collect();
            let pauses = paused(&spans);
            let to = from + length;
            let covered: u64 = spans.iter().map(|(a, b)| (*b).min(to).saturating_sub((*a).max(from))).sum();
            prop_assert_eq!(pauses.paused_between(ms(from), ms(to)), ms(covered));
        }
    }
}
