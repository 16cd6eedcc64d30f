//! A clock that never goes back, made of one that may. Does not know the real time.
//!
//! A call may come with an earlier moment than the one before it for two reasons. Its thread was slow between reading
//! the clock and calling, perhaps because the whole process was stopped: then it counts as now. Or the clock was set
//! back: then all calls are earlier from now on, and a denied caller must not wait for the old time to come again. The
//! two look the same at first. A call of the second kind is recognised by others like it: when a second has passed on
//! the earlier clock and no call has come with the later one, the clock was set back, and time continues from where it
//! was.

use crate::Moment;
use crate::limits::STRAGGLER_NS_MAX;

/// Time of one shard.
#[derive(Debug)]
pub(crate) struct ShardClock {
    /// The latest moment that a caller came with, on the clock that callers have now.
    latest_ns: u64,
    /// By how much that clock has been set back since the beginning.
    set_back_ns: u64,
    /// The first moment of what may be a clock that was set back; the end of time while there is no doubt.
    set_back_candidate_ns: u64,
}

/// What a shard takes for now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClockReading {
    /// Never earlier than any reading before.
    pub(crate) now: Moment,
    /// How much that is ahead of the caller's clock: subtracted from the moments in decisions.
    pub(crate) ahead_ns: u64,
}

impl ShardClock {
    pub(crate) const fn new() -> Self {
        Self { latest_ns: 0, set_back_ns: 0, set_back_candidate_ns: u64::MAX }
    }

    #[inline]
    pub(crate) fn read(&mut self, now: Moment) -> ClockReading {
        if now.0 < self.latest_ns {
            return self.read_earlier(now);
        }
        self.latest_ns = now.0;
        self.set_back_candidate_ns = u64::MAX;
        self.reading()
    }

    #[cold]
    fn read_earlier(&mut self, now: Moment) -> ClockReading {
        if self.latest_ns - now.0 <= STRAGGLER_NS_MAX {
            return self.reading();
        }
        let first = self.set_back_candidate_ns.min(now.0);
        if now.0 - first >= STRAGGLER_NS_MAX {
            self.set_back_ns = self.set_back_ns.saturating_add(self.latest_ns - first);
            self.latest_ns = now.0;
            self.set_back_candidate_ns = u64::MAX;
            return self.reading();
        }
        self.set_back_candidate_ns = first;
        let standing = self.reading().now;
        ClockReading { now: standing, ahead_ns: standing.ns_since(now) }
    }

    fn reading(&self) -> ClockReading {
        ClockReading { now: Moment(self.latest_ns).plus_ns(self.set_back_ns), ahead_ns: self.set_back_ns }
    }
}
