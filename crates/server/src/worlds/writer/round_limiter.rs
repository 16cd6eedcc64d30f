//! How soon a writer begins its next round. Many who come one after the other are served together, so rounds have a least length
//! in the mean; a few that follow a quiet time are begun at once, because sleeping and waking costs more than a round for one.
//!
//! The generic cell rate algorithm for rounds ([0017](../../../../../docs/decisions/0017-gcra-is-one-number.md)): one moment says how far
//! they have run ahead of their rate. Knows no clock.

use engine::limits::{WORLD_ROUND_BURST, WORLD_ROUND_INTERVAL_MIN};
use std::time::{Duration, Instant};

/// When rounds may begin.
#[derive(Debug)]
pub(super) struct RoundLimiter {
    /// When the next round would begin if all of them had kept their distance.
    next: Instant,
}

impl RoundLimiter {
    /// No round has begun yet.
    pub(super) fn new(now: Instant) -> Self {
        Self { next: now }
    }

    /// How long to wait before the next round.
    pub(super) fn wait_before_next(&self, now: Instant) -> Duration {
        self.next.saturating_duration_since(now + WORLD_ROUND_INTERVAL_MIN * (WORLD_ROUND_BURST - 1))
    }

    /// A round begins.
    pub(super) fn record_round(&mut self, now: Instant) {
        self.next = self.next.max(now) + WORLD_ROUND_INTERVAL_MIN;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds asked for at these moments, in microseconds: when each begins.
    #[track_caller]
    fn check(asked_us: &[u64], want_us: &[u64]) {
        let start = Instant::now();
        let (mut rhythm, mut free) = (RoundLimiter::new(start), start);
        let begun = asked_us.iter().map(|asked| {
            let ready = free.max(start + Duration::from_micros(*asked));
            free = ready + rhythm.wait_before_next(ready);
            rhythm.record_round(free);
            u64::try_from((free - start).as_micros()).unwrap()
        });
        assert_eq!(begun.collect::<Vec<_>>(), want_us, "asked for at {asked_us:?}");
    }

    #[test]
    fn a_few_follow_at_once_and_many_keep_their_distance() {
        check(&[0, 0, 0, 0, 0, 0], &[0, 0, 0, 0, 500, 1_000]);
        check(&[0, 100, 200, 300, 400, 5_000, 5_001], &[0, 100, 200, 300, 500, 5_000, 5_001]);
        // At the rate itself nobody ever waits.
        check(&[0, 500, 1_000, 1_500, 2_000, 2_500], &[0, 500, 1_000, 1_500, 2_000, 2_500]);
    }
}
