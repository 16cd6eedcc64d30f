//! The settings of a table: the counts of its games, and its timeouts.

use crate::limits::{
    STORY_COUNTDOWN_DEFAULT, STORY_COUNTDOWN_MAX, STORY_GAME_TIMEOUT_DEFAULT, STORY_GAME_TIMEOUT_MAX,
    STORY_NEXT_STORYTELLER_TIMEOUT_DEFAULT, STORY_NEXT_STORYTELLER_TIMEOUT_MAX, STORY_TIMEOUT_MIN,
};
use crate::pack::packed;
use rules::stories::{self, ValidationError};
use rules::whole_ms;
use std::time::Duration;

/// The settings of a table: the same for all of its games.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableSettings {
    /// The counts of a game.
    pub rules: stories::GameSettings,
    /// From the moment at which a game could proceed until it does so by itself.
    pub countdown: Duration,
    /// After this time without an action a game proceeds, or is canceled.
    pub game_timeout: Duration,
    /// How long a next storyteller may take for each step: to begin, to choose a card, to tell.
    pub next_storyteller_timeout: Duration,
}
packed!(TableSettings { rules, countdown, game_timeout, next_storyteller_timeout });

impl Default for TableSettings {
    fn default() -> Self {
        Self {
            rules: stories::GameSettings::default(),
            countdown: STORY_COUNTDOWN_DEFAULT,
            game_timeout: STORY_GAME_TIMEOUT_DEFAULT,
            next_storyteller_timeout: STORY_NEXT_STORYTELLER_TIMEOUT_DEFAULT,
        }
    }
}

impl TableSettings {
    /// Everything that is wrong with these settings; nothing, when a table can be opened with them.
    #[must_use]
    pub fn validation_errors(&self) -> Vec<ValidationError> {
        let span = |field, have: Duration, max: Duration| {
            ValidationError::check_range(field, whole_ms(have), whole_ms(STORY_TIMEOUT_MIN), whole_ms(max))
        };
        let spans = [
            span("countdown_ms", self.countdown, STORY_COUNTDOWN_MAX),
            span("game_timeout_ms", self.game_timeout, STORY_GAME_TIMEOUT_MAX),
            span("next_storyteller_timeout_ms", self.next_storyteller_timeout, STORY_NEXT_STORYTELLER_TIMEOUT_MAX),
        ];
        self.rules.validation_errors().into_iter().chain(spans.into_iter().flatten()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(settings: TableSettings, want: &[&str]) {
        let have: Vec<_> = settings.validation_errors().into_iter().map(|wrong| wrong.field).collect();
        assert_eq!(have, want, "{settings:?}");
    }

    #[test]
    fn every_mistake_is_named() {
        let usual = TableSettings::default();
        check(usual, &[]);
        check(TableSettings { countdown: Duration::ZERO, ..usual }, &["countdown_ms"]);
        check(TableSettings { countdown: STORY_COUNTDOWN_MAX + Duration::from_millis(1), ..usual }, &["countdown_ms"]);
        check(
            TableSettings {
                rules: stories::GameSettings { players_max: 0, hand: 3, ..usual.rules },
                countdown: Duration::MAX,
                game_timeout: Duration::MAX,
                next_storyteller_timeout: Duration::MAX,
            },
            &["players_max", "countdown_ms", "game_timeout_ms", "next_storyteller_timeout_ms"],
        );
    }
}
