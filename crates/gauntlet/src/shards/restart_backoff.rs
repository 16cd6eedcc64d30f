//! When a shard that ended is started again: at once the first time, then later and later, and after a good while of
//! health at once again. Pure: the caller supplies the time.

use std::time::Duration;

const BACKOFF_MIN: Duration = Duration::from_millis(250);
const BACKOFF_MAX: Duration = Duration::from_secs(15);
/// A shard that served for so long did not die of how it was started.
const HEALTHY_AFTER: Duration = Duration::from_secs(60);

/// Deaths without a good while between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RestartBackoff {
    failures: u32,
}

impl RestartBackoff {
    /// It died, having served for so long; when to start it again.
    pub(super) fn next_delay(&mut self, served: Duration) -> Duration {
        self.failures = if served >= HEALTHY_AFTER { 1 } else { self.failures.saturating_add(1) };
        match self.failures {
            1 => Duration::ZERO,
            deaths => BACKOFF_MIN.saturating_mul(1 << (deaths - 2).min(16)).min(BACKOFF_MAX),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(served_s: &[u64], want_ms: &[u64]) {
        let mut life = RestartBackoff::default();
        let waits: Vec<u64> =
            served_s.iter().map(|served| life.next_delay(Duration::from_secs(*served)).as_millis() as u64).collect();
        assert_eq!(waits, want_ms, "{served_s:?}");
    }

    #[test]
    fn waits_grow_to_an_end_and_health_forgives() {
        check(&[0], &[0]);
        check(&[0, 0, 0, 0], &[0, 250, 500, 1_000]);
        check(&[1; 10], &[0, 250, 500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000]);
        check(&[0, 0, 59, 60, 0], &[0, 250, 500, 0, 250]);
    }
}
