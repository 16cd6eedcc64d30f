//! The behaviour of a bot: thinking time, seed, faults, and how durations are typed. The same values as flags for all bots
//! and as path segments for one. Knows neither where they came from nor how they are carried out.

use std::time::Duration;

use crate::limits::THINK_MAX;

/// Behaviour of a bot. As a whole: the default, unless the URL overrides it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Config {
    /// Time between a complete request and its answer; at most [`limits::THINK_MAX`](crate::limits::THINK_MAX).
    pub think: Duration,
    /// Decides every choice that is left to chance; two bots with one seed still differ by match and snake.
    pub seed: u64,
    /// Share of moves made without looking, from 0 to 1: a handicap of known size. Unlike a fault, such a move is a proper answer.
    pub careless: f64,
    /// What goes wrong, and how often.
    pub faults: Faults,
}

/// How often a move goes wrong; a move has at most one fault, so the three are shares of one whole.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Faults {
    /// Probability of an answer after the timeout.
    pub(crate) late: f64,
    /// Probability of an answer that is no move.
    pub(crate) garbage: f64,
    /// Probability of no answer, or of status 500.
    pub(crate) refuse: f64,
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
            check_share(name, share)?;
        }
        let sum = late + garbage + refuse;
        // Shares like 0.1 have no exact form; their sum may pass 1 by a rounding.
        if sum > 1.0 + f64::EPSILON {
            return Err(format!("late, garbage and refuse are {sum} together: a move has one fault at most, so 1"));
        }
        Ok(Faults { late, garbage, refuse })
    }
}

/// Whether this is a probability.
///
/// # Errors
/// A sentence with the name and the number.
pub(crate) fn check_share(name: &str, share: f64) -> Result<(), String> {
    let is_share = (0.0..=1.0).contains(&share);
    if is_share { Ok(()) } else { Err(format!("{name} is {share}: a probability lies between 0 and 1")) }
}

/// Parses a thinking time.
///
/// # Errors
/// A sentence with the expected form, or with the limit.
pub(crate) fn parse_think(text: &str) -> Result<Duration, String> {
    let think = parse_duration(text)?;
    if think > THINK_MAX { Err(format!("at most {THINK_MAX:?}")) } else { Ok(think) }
}

/// Parses a whole number with the unit `ms` or `s`; a bare `0` needs none.
///
/// # Errors
/// A sentence with the text and the expected form.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let digits_len = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, unit) = text.split_at(digits_len);
    let refuse = || format!("`{text}` is not a duration: write a whole number with a unit, such as 200ms, 1s or 0");
    let number: u64 = digits.parse().map_err(|_| refuse())?;
    match unit {
        "ms" => Ok(Duration::from_millis(number)),
        "s" => Ok(Duration::from_secs(number)),
        "" if number == 0 => Ok(Duration::ZERO),
        _ => Err(refuse()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(late: f64, garbage: f64, refuse: f64, expected: Result<(), &str>) {
        match (Faults::new(late, garbage, refuse), expected) {
            (Ok(faults), Ok(())) => {
                assert_eq!((faults.late, faults.garbage, faults.refuse), (late, garbage, refuse));
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

    #[track_caller]
    fn check_duration(text: &str, expected_ms: Option<u64>) {
        assert_eq!(parse_duration(text).ok(), expected_ms.map(Duration::from_millis), "{text}");
    }

    #[test]
    fn durations_are_numbers_with_a_unit() {
        check_duration("200ms", Some(200));
        check_duration("1s", Some(1_000));
        check_duration("0", Some(0));
        check_duration("0s", Some(0));
        check_duration("007ms", Some(7));
        check_duration("200", None);
        check_duration("ms", None);
        check_duration("", None);
        check_duration("-1s", None);
        check_duration("1.5s", None);
        check_duration("1 s", None);
        check_duration("1S", None);
        check_duration("1sec", None);
        check_duration("99999999999999999999s", None);
        check_duration("é", None);
    }
}
