//! Numbers that somebody chooses of a world, made into its rules: those that have no room anywhere are refused like others beyond
//! their limits, with what would be allowed. What the limits are is known to the rules.

use super::problem::{ApiError, ApiResult};
use engine::limits::{HUNT_OPEN_MAX, HUNT_OPEN_MIN};
use rules::world::WorldSettings;
use std::time::Duration;

/// The settings, if a world can be laid out by them.
///
/// # Errors
/// All that is wrong with them at once.
pub(super) fn validate(settings: WorldSettings) -> ApiResult<WorldSettings> {
    let mistakes = settings.validation_errors();
    let Some(first) = mistakes.first() else { return Ok(settings) };
    let reasons = mistakes.iter().map(|wrong| format!("{} must be from {} to {}", wrong.field, wrong.min, wrong.max));
    Err(ApiError::bad_value(format!("/{}", first.field), reasons.collect::<Vec<_>>().join("; ")))
}

/// How long a world is open.
///
/// # Errors
/// What cannot be.
pub(super) fn parse_open_duration(asked_ms: i64) -> ApiResult<Duration> {
    let span = u64::try_from(asked_ms).ok().map(Duration::from_millis);
    span.filter(|span| (HUNT_OPEN_MIN..=HUNT_OPEN_MAX).contains(span)).ok_or_else(|| {
        let (least, most) = (HUNT_OPEN_MIN.as_millis(), HUNT_OPEN_MAX.as_millis());
        ApiError::bad_value("/open_ms", format!("open_ms must be from {least} to {most}"))
    })
}

/// A time that has no room, as one that is beyond every limit.
pub(super) fn duration_or_default(asked_ms: Option<i64>, usual: Duration) -> Duration {
    asked_ms.map_or(usual, |ms| u64::try_from(ms).map_or(Duration::MAX, Duration::from_millis))
}

/// A number that has no room, as one that is beyond every limit: it is refused as that.
pub(super) fn number_or_default<T: TryFrom<i64> + Bounded>(asked: Option<i64>, usual: T) -> T {
    asked.map_or(usual, |asked| T::try_from(asked).unwrap_or(T::MAX_VALUE))
}

/// A kind of number that has a largest one.
pub(super) trait Bounded {
    /// It.
    const MAX_VALUE: Self;
}

impl Bounded for u16 {
    const MAX_VALUE: Self = Self::MAX;
}

impl Bounded for u32 {
    const MAX_VALUE: Self = Self::MAX;
}
