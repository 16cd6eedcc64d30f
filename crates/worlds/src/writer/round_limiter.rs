//! How soon a writer begins its next round. Rounds have a minimum mean length, so that many inputs in a row are served together; a few
//! rounds after a quiet time begin at once, because sleeping and waking costs more than a round for one.
//!
//! The generic cell rate algorithm for rounds ([0017](../../../../../docs/decisions/0017-gcra-is-one-number.md)): one moment says how far
//! they are ahead of their rate. Knows no clock.

use engine::limits::{WORLD_ROUND_BURST, WORLD_ROUND_INTERVAL_MIN};
use std::time::{Duration, Instant};

#[derive(Debug)]
pub(super) struct RoundLimiter {
    /// When the next round would begin if all of them had kept the interval.
    next: Instant,
}

impl RoundLimiter {
    pub(super) fn new(now: Instant) -> Self {
        Self { next: now }
    }

    pub(super) fn wait_before_next(&self, now: Instant) -> Duration {
        self.next.saturating_duration_since(now + WORLD_ROUND_INTERVAL_MIN * (WORLD_ROUND_BURST - 1))
    }

    pub(super) fn record_round(&mut self, now: Instant) {
        self.next = self.next.max(now) + WORLD_ROUND_INTERVAL_MIN;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks when rounds begin that are requested at these moments, in microseconds.
    #[track_caller]
    fn check(requested_us: &[u64], want_us: &[u64]) {
        let start = Instant::now();
        let (mut limiter, mut free) = (RoundLimiter::new(start), start);
        let begun = requested_us.iter().map(|requested| {
            let ready = free.max(start + Duration::from_micros(*requested));
            free = ready + limiter.wait_before_next(ready);
            limiter.record_round(free);
            u64::try_from((free - start).as_micros()).unwrap()
        });
        assert_eq!(begun.collect::<Vec<_>>(), want_us, "requested at {requested_us:?}");
    }

    #[test]
    fn a_few_follow_at_once_and_many_keep_the_interval() {
        check(&[0, 0, 0, 0, 0, 0], &[0, 0, 0, 0, 500, 1_000]);
        check(&[0, 100, 200, 300, 400, 5_000, 5_001], &[0, 100, 200, 300, 500, 5_000, 5_001]);
        // At the rate itself no round ever waits.
        check(&[0, 500, 1_000, 1_500, 2_000, 2_500], &[0, 500, 1_000, 1_500, 2_000, 2_500]);
    }
}
