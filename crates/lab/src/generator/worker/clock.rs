//! The worker's clock: time from the start of the plan, as of the last reading. Does not know what is due.

use std::time::Duration;

use crate::generator::monotonic_time::MonotonicTime;

#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    start: MonotonicTime,
    read_at: MonotonicTime,
    now: Duration,
}

impl Clock {
    pub(super) fn new(start: MonotonicTime) -> Self {
        let read_at = MonotonicTime::now();
        Self { start, read_at, now: read_at.since(start) }
    }

    pub(super) fn read(&mut self) {
        *self = Self::new(self.start);
    }

    /// The last reading; zero before the start.
    pub(super) fn now(&self) -> Duration {
        self.now
    }

    pub(super) fn has_started(&self) -> bool {
        self.read_at >= self.start
    }

    /// How long after the last reading a moment is.
    pub(super) fn until(&self, moment: Duration) -> Duration {
        (self.start + moment).since(self.read_at)
    }

    pub(super) fn unix_us(&self, moment: Duration) -> i64 {
        (self.start + moment).unix_us()
    }

    /// The time from a moment in microseconds of Unix time until `moment`.
    pub(super) fn since_unix_us(&self, moment: Duration, earlier_us: i64) -> Duration {
        (self.start + moment).since_unix_us(earlier_us)
    }
}
