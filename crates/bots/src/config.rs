//! The behaviour of a bot: thinking time, seed, faults. The same values as flags for all bots and as path segments for
//! one. Knows neither where they came from nor how they are carried out.

use std::time::Duration;

/// Behaviour of a bot. As a whole: the default, unless the URL overrides it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Config {
    /// Time between a complete request and its answer; at most [`limits::THINK_MAX`](crate::limits::THINK_MAX).
    pub think: Duration,
    /// Decides every choice that is left to chance; two bots with one seed still differ by match and snake.
    pub seed: u64,
    /// What goes wrong, and how often.
    pub faults: Faults,
}

/// How often a move goes wrong; a move has at most one fault, so the three are shares of one whole.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Faults {
    late: f64,
    garbage: f64,
    refuse: f64,
}

impl Faults {
    /// Nothing goes wrong.
    pub const NONE: Faults = Faults { late: 0.0, garbage: 0.0, refuse: 0.0 };

    /// Probabilities from 0 to 1 which together do not exceed 1.
    ///
    /// # Errors
    /// A sentence that names the number which is out of range.
    pub fn new(late: f64, garbage: f64, refuse: f64) -> Result<Faults, String> {
        for (name, share) in [("late", late), ("garbage", garbage), ("refuse", refuse)] {
            if !(0.0..=1.0).contains(&share) {
                return Err(format!("{name} is {share}: a probability lies between 0 and 1"));
            }
        }
        let sum = late + garbage + refuse;
        // Shares like 0.1 have no exact form; their sum may pass 1 by a rounding.
        if sum > 1.0 + f64::EPSILON {
            return Err(format!("late, garbage and refuse are {sum} together: a move has one fault at most, so 1"));
        }
        Ok(Faults { late, garbage, refuse })
    }

    /// Probability of an answer after the timeout.
    #[must_use]
    pub fn late(&self) -> f64 {
        self.late
    }

    /// Probability of an answer that is no move.
    #[must_use]
    pub fn garbage(&self) -> f64 {
        self.garbage
    }

    /// Probability of no answer, or of status 500.
    #[must_use]
    pub fn refuse(&self) -> f64 {
        self.refuse
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(late: f64, garbage: f64, refuse: f64, expected: Result<(), &str>) {
        match (Faults::new(late, garbage, refuse), expected) {
            (Ok(faults), Ok(())) => {
                assert_eq!((faults.late(), faults.garbage(), faults.refuse()), (late, garbage, refuse));
            }
            (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
            (made, _) => panic!("{late} {garbage} {refuse}: {made:?}"),
        }
    }

    #[test]
    fn faults_are_shares_of_one_whole() {
        check(0.0, 0.0, 0.0, Ok(()));
        check(1.0, 0.0, 0.0, Ok(()));
        check(0.5, 0.25, 0.25, Ok(()));
        check(-0.1, 0.0, 0.0, Err("late is -0.1"));
        check(0.0, 1.5, 0.0, Err("garbage is 1.5"));
        check(0.0, 0.0, f64::NAN, Err("refuse is NaN"));
        check(0.5, 0.5, 0.1, Err("1.1 together"));
    }
}
