//! Numbers in a request that describe a world, made into its rules: numbers that do not fit their type are refused like others beyond
//! their limits, with the allowed range. The limits themselves are defined by the rules.

use super::problem::{ApiError, ApiResult};
use engine::limits::{HUNT_OPEN_MAX, HUNT_OPEN_MIN};
use rules::world::WorldSettings;
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
    let span = u64::try_from(requested_ms).ok().map(Duration::from_millis);
    span.filter(|span| (HUNT_OPEN_MIN..=HUNT_OPEN_MAX).contains(span)).ok_or_else(|| {
        let (least, most) = (HUNT_OPEN_MIN.as_millis(), HUNT_OPEN_MAX.as_millis());
        ApiError::bad_value("/open_ms", format!("open_ms must be from {least} to {most}"))
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
