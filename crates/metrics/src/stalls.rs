//! When this process did not get to run: the pauses in which a task woke late from its sleep.
//!
//! A bot that is timed by this process must not pay for its pauses. So each is kept with its beginning and end, and the one that is
//! still going on is known from the time at which the probing task should have woken. Knows no clock but the one that is passed in.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Shortest delay of a task that counts as a stall: timers alone are late by a few milliseconds.
const STALL_MIN: Duration = Duration::from_millis(20);
/// Stalls that are remembered. With the probe's sleep of 10 ms each takes 30 ms at least, so they cover the minute before.
const STALLS_KEPT: usize = 2_048;
/// Stands for "no wake-up is expected", in the unit of [`StallLog::nanos`].
const NEVER: u64 = u64::MAX;

/// The stalls of one process.
#[derive(Debug)]
pub struct StallLog {
    base: Instant,
    /// Ordered by time, without overlaps.
    recent: Mutex<VecDeque<Stall>>,
    /// The end of the last one, in nanoseconds since `base`: most readers need nothing else.
    last_end: AtomicU64,
    /// When the probing task should wake, in nanoseconds since `base`.
    due: AtomicU64,
}

#[derive(Clone, Copy, Debug)]
struct Stall {
    begun: Instant,
    ended: Instant,
}

/// How long this process was stalled between two moments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StalledTime {
    pub total: Duration,
    /// The longest of the stalls.
    pub longest: Duration,
}

/// A wake-up that is expected; dropped before it happened, nothing is expected any more.
#[derive(Debug)]
pub struct ExpectedWake<'a> {
    log: &'a StallLog,
    due: Instant,
}

impl Default for StallLog {
    fn default() -> Self {
        Self { base: Instant::now(), recent: Mutex::default(), last_end: AtomicU64::new(0), due: AtomicU64::new(NEVER) }
    }
}

impl StallLog {
    /// The caller sleeps until `due`, and then says when it woke.
    #[must_use]
    pub fn expect_wake(&self, due: Instant) -> ExpectedWake<'_> {
        self.due.store(self.nanos(due), Relaxed);
        ExpectedWake { log: self, due }
    }

    /// The stalled time between two moments, a stall that goes on at `until` included.
    #[must_use]
    pub fn between(&self, from: Instant, until: Instant) -> StalledTime {
        let mut stalled = StalledTime::default();
        let due = self.due.load(Relaxed);
        if due < self.nanos(until) {
            let due = (self.base + Duration::from_nanos(due)).max(from);
            let late = until.saturating_duration_since(due);
            stalled.add(if late >= STALL_MIN { late } else { Duration::ZERO });
        }
        if self.last_end.load(Relaxed) > self.nanos(from) {
            let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
            for stall in recent.iter().rev().take_while(|stall| stall.ended > from) {
                stalled.add(stall.ended.min(until).saturating_duration_since(stall.begun.max(from)));
            }
        }
        stalled
    }

    /// A task that should have woken at `due` woke at `woke`.
    fn record(&self, due: Instant, woke: Instant) {
        self.due.store(NEVER, Relaxed);
        if woke.saturating_duration_since(due) < STALL_MIN {
            return;
        }
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.len() >= STALLS_KEPT {
            recent.pop_front();
        }
        recent.push_back(Stall { begun: due, ended: woke });
        self.last_end.store(self.nanos(woke), Relaxed);
    }

    fn nanos(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.base).as_nanos()).unwrap_or(NEVER)
    }
}

impl StalledTime {
    fn add(&mut self, stall: Duration) {
        self.total += stall;
        self.longest = self.longest.max(stall);
    }
}

impl ExpectedWake<'_> {
    /// Woke at this moment; returns by how much that was too late, and whether it counts as a stall.
    pub(crate) fn woke(self, at: Instant) -> (Duration, bool) {
        let delay = at.saturating_duration_since(self.due);
        self.log.record(self.due, at);
        (delay, delay >= STALL_MIN)
    }
}

impl Drop for ExpectedWake<'_> {
    /// A probe that has ended must not look like a stall that never does.
    fn drop(&mut self) {
        self.log.due.store(NEVER, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Wake-ups as (due, woke), the one that is still expected, what is asked for, and the answer as (total, longest); all in milliseconds.
    #[track_caller]
    fn check(wakes: &[(u64, u64)], expected: Option<u64>, (from, until): (u64, u64), want: (u64, u64)) {
        let log = StallLog::default();
        let at = |at_ms: u64| log.base + ms(at_ms);
        for &(due, woke) in wakes {
            log.expect_wake(at(due)).woke(at(woke));
        }
        let _expected = expected.map(|due| log.expect_wake(at(due)));
        let stalled = log.between(at(from), at(until));
        assert_eq!((stalled.total, stalled.longest), (ms(want.0), ms(want.1)), "{wakes:?} {expected:?}");
    }

    #[test]
    fn stalls_are_cut_to_what_is_asked_for() {
        check(&[], None, (0, 100), (0, 0));
        check(&[(10, 29)], None, (0, 100), (0, 0));
        check(&[(10, 30)], None, (0, 100), (20, 20));
        check(&[(10, 60), (70, 100)], None, (0, 200), (80, 50));
        check(&[(10, 60), (70, 100)], None, (40, 90), (40, 20));
        check(&[(10, 60)], None, (60, 90), (0, 0));
        check(&[(10, 60)], Some(70), (0, 85), (50, 50));
        check(&[(10, 60)], Some(70), (0, 130), (110, 60));
        check(&[], Some(10), (50, 130), (80, 80));
    }

    #[test]
    fn a_probe_that_ended_is_not_waited_for() {
        let log = StallLog::default();
        drop(log.expect_wake(log.base + ms(10)));
        assert_eq!(log.between(log.base, log.base + ms(1_000)), StalledTime::default());
    }

    #[test]
    fn old_stalls_are_forgotten() {
        let log = StallLog::default();
        let last = 2 * STALLS_KEPT as u64;
        for turn in 0..last {
            log.expect_wake(log.base + ms(turn * 30)).woke(log.base + ms(turn * 30 + 20));
        }
        let stalled = log.between(log.base, log.base + ms(last * 30));
        assert_eq!(stalled, StalledTime { total: ms(20 * STALLS_KEPT as u64), longest: ms(20) });
    }
}
