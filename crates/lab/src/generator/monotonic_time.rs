//! Time of the monotonic clock as one number: every process of a machine reads the same one, so that workers in several
//! processes share the start of a plan. Does not know dates, and what is due.

use std::ops::Add;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

/// Nanoseconds of CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MonotonicTime(u64);

impl MonotonicTime {
    #[must_use]
    pub fn now() -> Self {
        let time = clock_gettime(ClockId::Monotonic);
        // The clock counts from the start of the machine: neither part is negative, and 584 years fit.
        Self(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
    }

    /// This time in microseconds of Unix time, assuming that the wall clock was not set since.
    fn unix_us(self) -> i64 {
        let (wall, now) = (clock_gettime(ClockId::Realtime), Self::now());
        // Neither part comes near what 64 bits hold.
        let wall_us = wall.tv_sec * 1_000_000 + wall.tv_nsec / 1000;
        wall_us - (now.0 as i64 - self.0 as i64) / 1000
    }

    /// The time since an earlier moment; zero if that moment is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for MonotonicTime {
    type Output = Self;

    fn add(self, time: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// A worker's clock: time from the start of the plan, as of the last reading.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    start: MonotonicTime,
    read_at: MonotonicTime,
    now: Duration,
}

impl Clock {
    pub(crate) fn new(start: MonotonicTime) -> Self {
        let read_at = MonotonicTime::now();
        Self { start, read_at, now: read_at.since(start) }
    }

    pub(crate) fn read(&mut self) {
        *self = Self::new(self.start);
    }

    /// The last reading; zero before the start.
    pub(crate) fn now(&self) -> Duration {
        self.now
    }

    pub(crate) fn has_started(&self) -> bool {
        self.read_at >= self.start
    }

    /// How long after the last reading a moment is.
    pub(crate) fn until(&self, moment: Duration) -> Duration {
        (self.start + moment).since(self.read_at)
    }

    pub(crate) fn unix_us(&self, moment: Duration) -> i64 {
        (self.start + moment).unix_us()
    }

    /// The time from a moment in microseconds of Unix time until `moment`; zero if `moment` is earlier.
    pub(crate) fn since_unix_us(&self, moment: Duration, earlier_us: i64) -> Duration {
        Duration::from_micros(u64::try_from(self.unix_us(moment) - earlier_us).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_add_up_and_never_overflow() {
        let (start, second) = (MonotonicTime::now(), Duration::from_secs(1));
        assert_eq!((start + second).since(start), second);
        assert_eq!(start.since(start + second), Duration::ZERO);
        assert_eq!(start + Duration::MAX, MonotonicTime(u64::MAX));
        assert!(MonotonicTime::now() >= start);
        assert_eq!(((start + second).unix_us() - start.unix_us() + 500) / 100_000, 10);
    }
}
