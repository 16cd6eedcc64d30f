//! Which traces are recorded.

/// Draws requests and matches by a ratio; the flag of a caller counts only where the caller is trusted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampler {
    /// Of 2^64 equally likely numbers, those below it.
    threshold: u128,
    follows_callers: bool,
}

impl Sampler {
    /// `ratio` is the share that is recorded, from 0 to 1. `follows_callers`: the flag of a trusted caller decides instead.
    #[must_use]
    pub fn new(ratio: f64, follows_callers: bool) -> Self {
        Self { threshold: (ratio.clamp(0.0, 1.0) * (u64::MAX as f64 + 1.0)) as u128, follows_callers }
    }

    /// Whether nothing can ever be recorded.
    pub(crate) fn is_off(self) -> bool {
        self.threshold == 0 && !self.follows_callers
    }

    pub(crate) fn follows_callers(self) -> bool {
        self.follows_callers
    }

    /// Whether what drew this number is recorded.
    pub(crate) fn takes(self, random: u64) -> bool {
        u128::from(random) < self.threshold
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(ratio: f64, random: u64, want: bool) {
        assert_eq!(Sampler::new(ratio, false).takes(random), want, "{ratio} {random:x}");
    }

    #[test]
    fn a_ratio_is_a_share_of_all_numbers() {
        check(0.0, 0, false);
        check(1.0, u64::MAX, true);
        check(0.5, u64::MAX / 2, true);
        check(0.5, u64::MAX / 2 + 1, false);
        check(7.0, u64::MAX, true);
        check(f64::NAN, 0, false);
    }
}
