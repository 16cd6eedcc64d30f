//! What is wrong with a chosen number: one shape for the settings of every game.

use std::time::Duration;

/// A number outside the limits that the other settings leave to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValidationError {
    /// The setting; a duration's name ends with its unit.
    pub field: &'static str,
    /// The requested value.
    pub actual: u64,
    /// The least that it may be.
    pub min: u64,
    /// The most that it may be.
    pub max: u64,
}

impl ValidationError {
    /// The error, if `have` is not in `min..=max`.
    #[must_use]
    pub fn check_range<N: Into<u64>>(field: &'static str, have: N, min: N, max: N) -> Option<Self> {
        let (actual, min, max) = (have.into(), min.into(), max.into());
        (actual < min || actual > max).then_some(Self { field, actual, min, max })
    }
}

/// A duration in whole milliseconds, as errors show it; the longest ones as the highest number.
#[must_use]
pub fn whole_ms(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
