//! The exact sliding window: a timestamp for every unit. It takes the most memory, and is the only algorithm that is
//! always exact.

use crate::timestamps::{TIMESTAMPS_MAX, Timestamps};
use crate::{Decision, Moment, Quota, State};

/// When each unit of the last window was taken, oldest first.
///
/// At most L units in any (t - W, t]: a stamp that is exactly W old has expired.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Log {
    timestamps: Timestamps,
}

/// Smallest step of memory.
const TIMESTAMPS_GROWTH_MIN: usize = 4;

impl Log {
    fn expire(&mut self, now: Moment, window_ns: u64) {
        while self.timestamps.oldest().is_some_and(|timestamp| timestamp.plus_ns(window_ns) <= now) {
            self.timestamps.pop_oldest();
        }
    }

    /// The memory that a log of `wanted` timestamps gets: an eighth to spare, but never beyond what the limit can use.
    fn capacity_for(&self, wanted: usize, limit: u64) -> usize {
        let held = self.timestamps.reserved();
        let spare = held + TIMESTAMPS_GROWTH_MIN.max(held / 8);
        spare.min(usize::try_from(limit).unwrap_or(usize::MAX)).max(wanted)
    }

    /// Frees what a busier time needed.
    fn shrink(&mut self) {
        let len = self.timestamps.len();
        if self.timestamps.reserved() > TIMESTAMPS_GROWTH_MIN.max(4 * len) {
            self.timestamps.resize(2 * len);
        }
    }
}

impl State for Log {
    fn decide(&mut self, now: Moment, quota: Quota, cost: u64) -> Decision {
        self.expire(now, quota.window_ns());
        let (used, limit) = (self.timestamps.len() as u64, quota.limit());
        if cost > limit {
            return Decision::Never;
        }
        if cost == 0 {
            return Decision::Allow { remaining: limit.saturating_sub(used), whole_at: self.reset_at(quota).max(now) };
        }
        let Some(over) = (used + cost).checked_sub(limit + 1) else {
            return Decision::Allow { remaining: limit - used - cost, whole_at: now.plus_ns(quota.window_ns()) };
        };
        // So many of the oldest timestamps, and this one, must have expired; it is one of ours, because cost <= limit.
        let last = self.timestamps.get(over as usize).unwrap_or(now);
        Decision::NotUntil { at: last.plus_ns(quota.window_ns()) }
    }

    fn charge(&mut self, now: Moment, quota: Quota, cost: u64) {
        let wanted = self.timestamps.len() + cost as usize;
        if !self.timestamps.fits(wanted) {
            self.timestamps.resize(self.capacity_for(wanted, quota.limit()));
        }
        self.timestamps.add(now, cost as usize);
        self.shrink();
    }

    /// Timestamps are valid under any quota.
    fn change_quota(&mut self, now: Moment, old: Quota, _: Quota) {
        self.expire(now, old.window_ns());
    }

    fn reset_at(&self, quota: Quota) -> Moment {
        self.timestamps.latest().map_or(Moment::ZERO, |last| last.plus_ns(quota.window_ns()))
    }

    fn timestamps_held(&self) -> usize {
        self.timestamps.reserved()
    }

    fn timestamps_needed(&self, quota: Quota, cost: u64) -> usize {
        let wanted = self.timestamps.len().saturating_add(usize::try_from(cost).unwrap_or(usize::MAX));
        if self.timestamps.fits(wanted) {
            0
        } else if wanted > TIMESTAMPS_MAX {
            usize::MAX
        } else {
            self.capacity_for(wanted, quota.limit()) - self.timestamps.reserved()
        }
    }
}
