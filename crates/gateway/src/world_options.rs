//! Numbers in a request that describe a world, made into its rules: numbers that do not fit their type are refused like others beyond
//! their limits, with the allowed range. The limits themselves are defined by the rules.

use super::problem::{ApiError, ApiResult};
use engine::limits::{HUNT_OPEN_MAX, HUNT_OPEN_MIN};
use rules::world::WorldSettings;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::time::Duration;

/// The settings, if a world can be created with them.
///
/// # Errors
/// All errors of the settings at once.
pub(super) fn validate(settings: WorldSettings) -> ApiResult<WorldSettings> {
    let errors = settings.validation_errors();
    let Some(first) = errors.first() else { return Ok(settings) };
    let reasons = errors.iter().map(|error| format!("{} must be from {} to {}", error.field, error.min, error.max));
    Err(ApiError::bad_value(format!("/{}", first.field), reasons.collect::<Vec<_>>().join("; ")))
}

/// How long a world is open.
///
/// # Errors
/// A duration outside the limits.
pub(super) fn parse_open_duration(requested_ms: i64) -> ApiResult<Duration> {
    duration_within("open_ms", requested_ms, HUNT_OPEN_MIN..=HUNT_OPEN_MAX)
}

/// A duration of a member of the request, within its limits.
pub(super) fn duration_within(
    member: &str,
    requested_ms: i64,
    limits: RangeInclusive<Duration>,
) -> ApiResult<Duration> {
    let limits = limits.start().as_millis() as u64..=limits.end().as_millis() as u64;
    number_within(member, requested_ms, limits).map(Duration::from_millis)
}

/// A number of a member of the request, within its limits.
pub(super) fn number_within<T>(member: &str, requested: i64, limits: RangeInclusive<T>) -> ApiResult<T>
where
    T: TryFrom<i64> + PartialOrd + Display,
{
    let number = T::try_from(requested).ok().filter(|number| limits.contains(number));
    number.ok_or_else(|| {
        let reason = format!("{member} must be from {} to {}", limits.start(), limits.end());
        ApiError::bad_value(format!("/{member}"), reason)
    })
}

/// A duration that does not fit becomes one beyond every limit.
pub(super) fn duration_or_default(requested_ms: Option<i64>, default: Duration) -> Duration {
    requested_ms.map_or(default, |ms| u64::try_from(ms).map_or(Duration::MAX, Duration::from_millis))
}

/// A number that does not fit becomes one beyond every limit, and is refused as such.
pub(super) fn number_or_default<T: TryFrom<i64> + Bounded>(requested: Option<i64>, default: T) -> T {
    requested.map_or(default, |requested| T::try_from(requested).unwrap_or(T::MAX_VALUE))
}

/// A number type with a largest value.
pub(super) trait Bounded {
    const MAX_VALUE: Self;
}

impl Bounded for u16 {
    const MAX_VALUE: Self = Self::MAX;
}

impl Bounded for u32 {
    const MAX_VALUE: Self = Self::MAX;
}
