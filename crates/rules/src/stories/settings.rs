//! The counts of a game, and the limits within which they may be chosen.

use super::card::BASE_CARDS;
use crate::validation::ValidationError;

/// The counts of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GameSettings {
    /// Players of a game, the storyteller included.
    pub players_max: u8,
    /// Cards of a hand.
    pub hand: u8,
    /// Cards of the base deck that are played with: 1..=`deck`.
    pub deck: u8,
    /// Cards that must lie on the table before a vote, the storyteller's included.
    pub picked_min: u8,
    /// Votes that must have been cast before a game can be completed.
    pub voted_min: u8,
}

impl Default for GameSettings {
    /// Six players with six cards each, which is the whole deck of 36; three picks, two votes.
    fn default() -> Self {
        Self { players_max: 6, hand: 6, deck: BASE_CARDS, picked_min: 3, voted_min: 2 }
    }
}

impl GameSettings {
    /// Most players of a game: with more, a hand would have fewer than three cards.
    pub const PLAYERS_MAX: u8 = BASE_CARDS / Self::HAND_MIN;
    /// Fewest players of a game: a storyteller and two who may be right or wrong.
    pub const PLAYERS_MIN: u8 = 3;
    /// Fewest cards of a hand that leave a choice worth telling about.
    pub const HAND_MIN: u8 = 3;

    /// Everything that is wrong with these settings; nothing, when a game can be played with them.
    ///
    /// The deck holds a hand for every player, so that no player who finds a free seat is left without cards.
    #[must_use]
    pub fn validation_errors(&self) -> Vec<ValidationError> {
        let players = self.players_max.clamp(Self::PLAYERS_MIN, Self::PLAYERS_MAX);
        let deck = self.deck.clamp(players * Self::HAND_MIN, BASE_CARDS);
        let check = ValidationError::check_range::<u8>;
        [
            check("players_max", self.players_max, Self::PLAYERS_MIN, Self::PLAYERS_MAX),
            check("deck", self.deck, players * Self::HAND_MIN, BASE_CARDS),
            check("hand", self.hand, Self::HAND_MIN, deck / players),
            check("picked_min", self.picked_min, 2, players),
            check("voted_min", self.voted_min, 1, players - 1),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(settings: GameSettings, want: &[(&str, u64, u64, u64)]) {
        let have: Vec<_> = settings
            .validation_errors()
            .into_iter()
            .map(|wrong| (wrong.field, wrong.actual, wrong.min, wrong.max))
            .collect();
        assert_eq!(have, want, "{settings:?}");
    }

    #[test]
    fn limits_depend_on_each_other() {
        let usual = GameSettings::default();
        check(usual, &[]);
        check(GameSettings { players_max: 12, hand: 3, ..usual }, &[]);
        check(GameSettings { players_max: 3, hand: 12, ..usual }, &[]);
        check(GameSettings { hand: 7, ..usual }, &[("hand", 7, 3, 6)]);
        check(GameSettings { players_max: 7, ..usual }, &[("hand", 6, 3, 5)]);
        check(GameSettings { deck: 35, ..usual }, &[("hand", 6, 3, 5)]);
        check(GameSettings { deck: 37, ..usual }, &[("deck", 37, 18, 36)]);
        check(
            GameSettings { picked_min: 7, voted_min: 6, ..usual },
            &[("picked_min", 7, 2, 6), ("voted_min", 6, 1, 5)],
        );
        check(
            GameSettings { players_max: 0, hand: 0, deck: 0, picked_min: 0, voted_min: 0 },
            &[
                ("players_max", 0, 3, 12),
                ("deck", 0, 9, 36),
                ("hand", 0, 3, 3),
                ("picked_min", 0, 2, 3),
                ("voted_min", 0, 1, 2),
            ],
        );
        check(
            GameSettings { players_max: 255, hand: 255, deck: 255, picked_min: 255, voted_min: 255 },
            &[
                ("players_max", 255, 3, 12),
                ("deck", 255, 36, 36),
                ("hand", 255, 3, 3),
                ("picked_min", 255, 2, 12),
                ("voted_min", 255, 1, 11),
            ],
        );
    }
}
