//! A table's settings: parsing and views.

use crate::problem::{ApiError, ApiResult};
use engine::tables::TableSettings;
use rules::ValidationError;
use settings::Config;
use std::time::Duration;
use wire::api::StorySettings;

/// The settings of a table whose request has none.
pub(super) fn defaults(config: &Config) -> TableSettings {
    TableSettings {
        countdown: config.stories_countdown,
        game_timeout: config.stories_game_timeout,
        next_storyteller_timeout: config.stories_next_storyteller_timeout,
        ..TableSettings::default()
    }
}

/// The defaults, overridden by the request.
///
/// # Errors
/// All errors at once.
pub(super) fn parse_settings(mut settings: TableSettings, requested: &StorySettings) -> ApiResult<TableSettings> {
    let counts = [
        (&mut settings.rules.players_max, requested.players_max),
        (&mut settings.rules.hand, requested.hand),
        (&mut settings.rules.deck, requested.deck),
        (&mut settings.rules.picked_min, requested.picked_min),
        (&mut settings.rules.voted_min, requested.voted_min),
    ];
    // A number that does not fit is as wrong as the nearest one that does.
    for (count, requested) in counts {
        *count = requested.map_or(*count, |requested| u8::try_from(requested.max(0)).unwrap_or(u8::MAX));
    }
    let durations = [
        (&mut settings.countdown, requested.countdown_ms),
        (&mut settings.game_timeout, requested.game_timeout_ms),
        (&mut settings.next_storyteller_timeout, requested.next_storyteller_timeout_ms),
    ];
    for (duration, requested) in durations {
        *duration = requested.map_or(*duration, |ms| Duration::from_millis(u64::try_from(ms).unwrap_or(0)));
    }
    let errors = settings.validation_errors();
    let Some(first) = errors.first() else { return Ok(settings) };
    let reasons = errors.iter().map(|error| match implicit_hand_cause(error, requested) {
        Some(cause) => format!(
            "{cause} leaves room for a hand of {} to {} cards, and the default has {}: send hand as well",
            error.min, error.max, error.actual
        ),
        None => format!("{} must be from {} to {}", error.field, error.min, error.max),
    });
    let reason = reasons.collect::<Vec<_>>().join("; ");
    Err(ApiError::bad_value(
        format!("/settings/{}", implicit_hand_cause(first, requested).unwrap_or(first.field)),
        reason,
    ))
}

/// The requested setting that makes the default size of the hand invalid.
fn implicit_hand_cause(error: &ValidationError, requested: &StorySettings) -> Option<&'static str> {
    let is_implicit = error.field == "hand" && requested.hand.is_none();
    is_implicit.then_some(if requested.players_max.is_some() { "players_max" } else { "deck" })
}
