//! The sliding window counter: two buckets, the older one weighted by how much of it the window still covers.

use crate::{Decision, Moment, Quota, State};

/// Units of the bucket that runs, and of the one before.
///
/// With e the time since the bucket began: allowed when previous * (W - e) + (current + cost) * W <= L * W, in whole numbers.
/// A bucket never counts more than L, and a window touches two: never more than 2 L in any window, and that is approached by
/// a caller that takes L at the end of one bucket and the rest as it comes free. A bucket begins with the first unit that is taken.
///
/// The weight takes the units of the bucket before for evenly spread. How wrong that is was measured with a limit of 100 and a
/// million calls at random moments, at half the limit, at it, at twice and ten times it, and in bursts of five times it: what it
/// takes for used is off by 0.8 to 2.7 % of the limit in the mean; the busiest window had 21 % more than the limit; and it admitted
/// between 1.0 % less and 1.0 % more than the exact log (`tests/error.rs`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counter {
    began: Moment,
    current: u64,
    previous: u64,
}

impl Counter {
    /// The same counts, seen from the bucket in which `now` lies.
    fn at(&self, now: Moment, window_ns: u64) -> Self {
        let elapsed_ns = now.ns_since(self.began);
        let rolled = match elapsed_ns / window_ns {
            0 => *self,
            1 => Self { began: self.began.plus_ns(window_ns), current: 0, previous: self.current },
            _ => Self::default(),
        };
        if rolled.current == 0 && rolled.previous == 0 { Self { began: now, ..Self::default() } } else { rolled }
    }

    /// What is used, in units times nanoseconds of the window, `elapsed_ns` into the bucket.
    fn used(&self, elapsed_ns: u64, window_ns: u64) -> u128 {
        product(self.previous, window_ns - elapsed_ns) + product(self.current, window_ns)
    }

    /// The first moment at which `cost` more units fit. They do not fit now, and `cost` is within the limit.
    fn free_at(&self, quota: Quota, cost: u64) -> Moment {
        let (window_ns, limit) = (quota.window_ns(), quota.limit());
        match (limit - cost).checked_sub(self.current) {
            Some(free) => self.began.plus_ns(time_until_weight(self.previous, free, window_ns)),
            // Not while this bucket runs: in the next one it is the older, and has the same to lose.
            None => self.began.plus_ns(window_ns).plus_ns(time_until_weight(self.current, limit - cost, window_ns)),
        }
    }
}

/// How far into a bucket the one before it, of `units`, weighs at most `free` units: W - floor(free * W / units).
fn time_until_weight(units: u64, free: u64, window_ns: u64) -> u64 {
    let kept_ns = product(free, window_ns).checked_div(u128::from(units)).unwrap_or(u128::MAX);
    window_ns - u64::try_from(kept_ns).unwrap_or(u64::MAX).min(window_ns)
}

fn product(units: u64, span_ns: u64) -> u128 {
    u128::from(units) * u128::from(span_ns)
}

impl State for Counter {
    fn decide(&mut self, now: Moment, quota: Quota, cost: u64) -> Decision {
        if cost > quota.limit() {
            return Decision::Never;
        }
        let window_ns = quota.window_ns();
        let mut seen = self.at(now, window_ns);
        let wanted = seen.used(now.ns_since(seen.began), window_ns) + product(cost, window_ns);
        let Some(free) = product(quota.limit(), window_ns).checked_sub(wanted) else {
            if cost == 0 {
                return Decision::Allow { remaining: 0, whole_at: seen.reset_at(quota) };
            }
            return Decision::NotUntil { at: seen.free_at(quota, cost) };
        };
        seen.current += cost;
        let remaining = u64::try_from(free / u128::from(window_ns)).unwrap_or(u64::MAX);
        Decision::Allow { remaining, whole_at: seen.reset_at(quota).max(now) }
    }

    fn charge(&mut self, now: Moment, quota: Quota, cost: u64) {
        *self = self.at(now, quota.window_ns());
        self.current += cost;
    }

    /// The buckets are stretched: the same share of one is over, and the same units weigh the same.
    fn change_quota(&mut self, now: Moment, old: Quota, new: Quota) {
        *self = self.at(now, old.window_ns());
        let elapsed = product(now.ns_since(self.began), new.window_ns()) / u128::from(old.window_ns());
        self.began = now.minus_ns(u64::try_from(elapsed).unwrap_or(u64::MAX));
    }

    fn reset_at(&self, quota: Quota) -> Moment {
        let windows = if self.current > 0 { 2 } else { u64::from(self.previous > 0) };
        self.began.plus_ns(windows * quota.window_ns())
    }
}
