//! How fast frames may come on one connection: the generic cell rate algorithm, which keeps one time and no timer.
//! Pure: the time is an argument.

use engine::limits::{WORLD_FRAMES_BURST, WORLD_FRAMES_PER_S_MAX};

const US_PER_S: i64 = 1_000_000;
/// Time that a frame uses up, in microseconds.
const FRAME_US: i64 = US_PER_S / WORLD_FRAMES_PER_S_MAX as i64;
/// How far a connection may be ahead of its time, in microseconds.
const BURST_US_MAX: i64 = FRAME_US * WORLD_FRAMES_BURST as i64;

/// One connection's pace.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FrameRateLimiter {
    /// When all frames so far have used up their time, in microseconds.
    paid_until_us: i64,
}

impl FrameRateLimiter {
    /// One more frame came now; whether it may.
    pub(crate) fn try_acquire(&mut self, now_us: i64) -> bool {
        self.paid_until_us = self.paid_until_us.max(now_us) + FRAME_US;
        self.paid_until_us - now_us <= BURST_US_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of so many frames, one every so many microseconds, the first that may not come.
    #[track_caller]
    fn check(frames: usize, every_us: i64, want: Option<usize>) {
        let mut pace = FrameRateLimiter::default();
        let refused = (0..frames).find(|at| !pace.try_acquire(1_000_000_000 + *at as i64 * every_us));
        assert_eq!(refused, want, "every {every_us} us");
    }

    #[test]
    fn a_burst_may_come_at_once_and_then_a_frame_at_a_time() {
        let burst = WORLD_FRAMES_BURST as usize;
        check(10 * burst, 0, Some(burst));
        check(10 * burst, FRAME_US, None);
        check(10 * burst, FRAME_US / 2, Some(2 * burst - 1));
    }

    #[test]
    fn a_pause_gives_the_burst_back_and_no_more() {
        let mut pace = FrameRateLimiter::default();
        let burst = |pace: &mut FrameRateLimiter, now_us| (0..).take_while(|_: &u32| pace.try_acquire(now_us)).count();
        assert_eq!(burst(&mut pace, 1), WORLD_FRAMES_BURST as usize);
        assert_eq!(burst(&mut pace, 1_000 * US_PER_S), WORLD_FRAMES_BURST as usize);
    }
}
