//! How often a mover may move: a steady rate with room for what a network delivers in one burst (GCRA, as ITU-T I.371 has it).

use crate::limits::MOVE_BURST;
use std::time::Duration;

/// When the mover's next move would be due at a steady rate: milliseconds, of which the lowest 32 bits are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MoveLimiter(u32);

impl MoveLimiter {
    /// Of a mover who comes in now.
    pub(super) fn new(now_us: i64) -> Self {
        Self((now_us / 1_000) as u32)
    }

    /// Whether the mover may move now; if so, the move is counted.
    pub(super) fn try_acquire(&mut self, at_us: i64, move_min: Duration) -> bool {
        let min_ms = u32::try_from(move_min.as_millis()).unwrap_or(u32::MAX / 8);
        let burst_ms = min_ms.saturating_mul(MOVE_BURST - 1);
        let now_ms = (at_us / 1_000) as u32;
        let ahead_ms = self.0.wrapping_sub(now_ms);
        // What lies further ahead than a burst can bring it is long ago: the 32 bits have come around.
        let ahead_ms = if ahead_ms > burst_ms.saturating_add(min_ms) { 0 } else { ahead_ms };
        let may = ahead_ms <= burst_ms;
        if may {
            self.0 = now_ms.wrapping_add(ahead_ms).wrapping_add(min_ms);
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIN: Duration = Duration::from_millis(50);
    const BEGIN_MS: i64 = (1 << 32) * 9 - 100;

    #[track_caller]
    fn check(at_ms: &[i64], want: &[bool]) {
        let mut pace = MoveLimiter::new(BEGIN_MS * 1_000);
        let have: Vec<bool> = at_ms.iter().map(|at| pace.try_acquire((BEGIN_MS + at) * 1_000, MIN)).collect();
        assert_eq!(have, want, "{at_ms:?}");
    }

    #[test]
    fn a_burst_passes_and_no_more() {
        check(&[0, 50, 100, 150, 200, 250], &[true; 6]);
        check(&[0, 0, 0, 0, 0, 49, 50, 50, 100], &[true, true, true, true, false, false, true, false, true]);
        check(
            &[0, 0, 0, 0, 1_000, 1_000, 1_000, 1_000, 1_000],
            &[true, true, true, true, true, true, true, true, false],
        );
        check(&[0, 1 << 31, 1 << 33], &[true; 3]);
    }

    #[test]
    fn without_a_least_time_everything_passes() {
        let mut pace = MoveLimiter::new(0);
        assert!((0..100).all(|_| pace.try_acquire(5_000_000, Duration::ZERO)));
    }
}
