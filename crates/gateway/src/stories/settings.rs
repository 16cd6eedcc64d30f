//! A table's settings: parsing and views.

use crate::problem::{ApiError, ApiResult};
use engine::tables::{Difficulty, TableSettings};
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

/// The defaults, overridden by the request; and how hard the bots' stories are.
///
/// # Errors
/// All errors at once.
pub(super) fn parse_settings(
    mut settings: TableSettings,
    requested: &StorySettings,
) -> ApiResult<(TableSettings, Difficulty)> {
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
    let difficulty = parse_difficulty(requested.bots_difficulty.as_deref());
    let errors = settings.validation_errors().into_iter().map(|error| match implicit_hand_cause(&error, requested) {
        Some(cause) => {
            let (min, max, actual) = (error.min, error.max, error.actual);
            let room = format!("{cause} leaves room for a hand of {min} to {max} cards");
            (cause, format!("{room}, and the default has {actual}: send hand as well"))
        }
        None => (error.field, format!("{} must be from {} to {}", error.field, error.min, error.max)),
    });
    let errors: Vec<(&str, String)> = errors.chain(difficulty.is_none().then(unknown_difficulty)).collect();
    let Some((first, _)) = errors.first() else { return Ok((settings, difficulty.unwrap_or_default())) };
    let reasons: Vec<&str> = errors.iter().map(|(_, reason)| &**reason).collect();
    Err(ApiError::bad_value(format!("/settings/{first}"), reasons.join("; ")))
}

/// How hard the bots' stories are: the default where nothing is requested, `None` where there is no such difficulty.
fn parse_difficulty(requested: Option<&str>) -> Option<Difficulty> {
    requested.map_or(Some(Difficulty::default()), Difficulty::from_name)
}

fn unknown_difficulty() -> (&'static str, String) {
    let known = Difficulty::ALL.map(Difficulty::name).join(", ");
    ("bots_difficulty", format!("bots_difficulty must be one of {known}"))
}

/// The requested setting that makes the default size of the hand invalid.
fn implicit_hand_cause(error: &ValidationError, requested: &StorySettings) -> Option<&'static str> {
    let is_implicit = error.field == "hand" && requested.hand.is_none();
    is_implicit.then_some(if requested.players_max.is_some() { "players_max" } else { "deck" })
}
