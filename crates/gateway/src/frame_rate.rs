//! A rate limit for frames of one connection: the generic cell rate algorithm, which keeps one time and no timer.
//! Pure: the time is an argument.

use engine::limits::{WORLD_FRAMES_BURST, WORLD_FRAMES_PER_S_MAX};

const US_PER_S: i64 = 1_000_000;
/// Time that a frame costs, in microseconds.
const FRAME_US: i64 = US_PER_S / WORLD_FRAMES_PER_S_MAX as i64;
/// How far a connection may be ahead of its time, in microseconds.
const BURST_US_MAX: i64 = FRAME_US * WORLD_FRAMES_BURST as i64;

/// The limiter of one connection.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FrameRateLimiter {
    /// When all frames so far are paid for, in microseconds.
    paid_until_us: i64,
}

impl FrameRateLimiter {
    /// Counts a frame that came now; returns whether it is allowed.
    pub(crate) fn try_acquire(&mut self, now_us: i64) -> bool {
        self.paid_until_us = self.paid_until_us.max(now_us) + FRAME_US;
        self.paid_until_us - now_us <= BURST_US_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of so many frames, one every so many microseconds, the first that is refused.
    #[track_caller]
    fn check(frames: usize, every_us: i64, want: Option<usize>) {
        let mut limiter = FrameRateLimiter::default();
        let refused = (0..frames).find(|at| !limiter.try_acquire(1_000_000_000 + *at as i64 * every_us));
        assert_eq!(refused, want, "every {every_us} us");
    }

    #[test]
    fn allows_a_burst_and_then_the_rate() {
        let burst = WORLD_FRAMES_BURST as usize;
        check(10 * burst, 0, Some(burst));
        check(10 * burst, FRAME_US, None);
        check(10 * burst, FRAME_US / 2, Some(2 * burst - 1));
    }

    #[test]
    fn a_pause_restores_the_burst_and_no_more() {
        let mut limiter = FrameRateLimiter::default();
        let burst =
            |limiter: &mut FrameRateLimiter, now_us| (0..).take_while(|_: &u32| limiter.try_acquire(now_us)).count();
        assert_eq!(burst(&mut limiter, 1), WORLD_FRAMES_BURST as usize);
        assert_eq!(burst(&mut limiter, 1_000 * US_PER_S), WORLD_FRAMES_BURST as usize);
    }
}
