//! A table's rules, as they are asked for and as they are shown.

use super::view::ms;
use crate::config::Config;
use crate::gateway::problem::{ApiError, ApiResult};
use engine::tables::TableSettings;
use rules::ValidationError;
use std::time::Duration;
use wire::api::StorySettings;

/// What this server gives a table that asks for nothing.
pub(super) fn defaults(config: &Config) -> TableSettings {
    TableSettings {
        countdown: config.stories_countdown,
        game_timeout: config.stories_game_timeout,
        next_storyteller_timeout: config.stories_next_storyteller_timeout,
        ..TableSettings::default()
    }
}

/// The defaults, with what was asked for in their place.
///
/// # Errors
/// All that cannot be, at once.
pub(super) fn parse_settings(mut settings: TableSettings, wanted: &StorySettings) -> ApiResult<TableSettings> {
    let counts = [
        (&mut settings.rules.players_max, wanted.players_max),
        (&mut settings.rules.hand, wanted.hand),
        (&mut settings.rules.deck, wanted.deck),
        (&mut settings.rules.picked_min, wanted.picked_min),
        (&mut settings.rules.voted_min, wanted.voted_min),
    ];
    // A number that has no room is as wrong as the nearest one that has.
    for (count, wanted) in counts {
        *count = wanted.map_or(*count, |wanted| u8::try_from(wanted.max(0)).unwrap_or(u8::MAX));
    }
    let durations = [
        (&mut settings.countdown, wanted.countdown_ms),
        (&mut settings.game_timeout, wanted.game_timeout_ms),
        (&mut settings.next_storyteller_timeout, wanted.next_storyteller_timeout_ms),
    ];
    for (duration, wanted) in durations {
        *duration = wanted.map_or(*duration, |ms| Duration::from_millis(u64::try_from(ms).unwrap_or(0)));
    }
    let mistakes = settings.validation_errors();
    let Some(first) = mistakes.first() else { return Ok(settings) };
    let reasons = mistakes.iter().map(|wrong| match unasked(wrong, wanted) {
        Some(cause) => format!(
            "{cause} leaves room for a hand of {} to {} cards, and the usual one has {}: send hand as well",
            wrong.min, wrong.max, wrong.actual
        ),
        None => format!("{} must be from {} to {}", wrong.field, wrong.min, wrong.max),
    });
    let reason = reasons.collect::<Vec<_>>().join("; ");
    Err(ApiError::bad_value(format!("/settings/{}", unasked(first, wanted).unwrap_or(first.field)), reason))
}

/// What was asked for that makes a hand wrong for which nobody asked.
fn unasked(wrong: &ValidationError, wanted: &StorySettings) -> Option<&'static str> {
    let is_unasked = wrong.field == "hand" && wanted.hand.is_none();
    is_unasked.then_some(if wanted.players_max.is_some() { "players_max" } else { "deck" })
}

/// The rules of a table.
pub(super) fn view(settings: &TableSettings) -> StorySettings {
    let ms = |span| Some(ms(span));
    StorySettings {
        players_max: Some(settings.rules.players_max.into()),
        hand: Some(settings.rules.hand.into()),
        deck: Some(settings.rules.deck.into()),
        picked_min: Some(settings.rules.picked_min.into()),
        voted_min: Some(settings.rules.voted_min.into()),
        countdown_ms: ms(settings.countdown),
        game_timeout_ms: ms(settings.game_timeout),
        next_storyteller_timeout_ms: ms(settings.next_storyteller_timeout),
    }
}
