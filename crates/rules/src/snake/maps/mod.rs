//! Maps: what lies on the board before the first turn, and what the board does between turns. The empty map does nothing then; each
//! of the others has a file.
//!
//! A map has two hooks: it sets the board up ([`super::setup`]), and it acts after the rules of a turn ([`super::turn`]). It never
//! moves or eliminates a snake.

mod royale;
mod snail_mode;
mod standard;

use std::ops::RangeInclusive;

use super::{Board, RuleError, Rules, placement};
use crate::chance::{Chance, Purpose, Seed};

/// An official map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Map {
    /// Food at the start and between turns.
    #[default]
    Standard,
    /// No food at all.
    Empty,
    /// Standard, and hazards that close in from the sides.
    Royale,
    /// Standard, and every snake leaves a trail of fading hazards.
    SnailMode,
}

impl Map {
    /// Every map.
    pub const ALL: [Self; 4] = [Self::Standard, Self::Empty, Self::Royale, Self::SnailMode];

    /// How many snakes may play on any of them.
    pub const PLAYERS: RangeInclusive<u8> = 1..=16;

    /// What [`Map::takes_size`] accepts, as a part of a sentence.
    pub(crate) const SIZES_IN_WORDS: &'static str = "squares with an odd side of 7 to 25";

    /// The official name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Empty => "empty",
            Self::Royale => "royale",
            Self::SnailMode => "snail_mode",
        }
    }

    /// The map of this exact name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|map| map.name() == name)
    }

    /// Whether maps can be played on a board of this size.
    pub(crate) fn takes_size(width: u8, height: u8) -> bool {
        width == height && width % 2 == 1 && (7..=25).contains(&width)
    }
}

/// Puts the snakes, and what the map adds, on an empty board.
pub(crate) fn setup_board(rules: &Rules, board: &mut Board, snakes: u8, seed: Seed) -> Result<(), RuleError> {
    placement::place_snakes(board, snakes, &mut Chance::new(seed, 0, Purpose::StartPositions))?;
    match rules.map {
        Map::Empty => Ok(()),
        Map::Standard | Map::Royale | Map::SnailMode => {
            placement::place_start_food(board, &mut Chance::new(seed, 0, Purpose::StartFood))
        }
    }
}

/// What a map does after the rules of the turn, while the board still has the number of the turn before.
pub(crate) fn post_update(rules: &Rules, board: &mut Board, seed: Seed) -> Result<(), RuleError> {
    match rules.map {
        Map::Standard => standard::post_update(board, &rules.settings, seed),
        Map::Empty => {}
        Map::Royale => royale::post_update(board, &rules.settings, seed)?,
        Map::SnailMode => snail_mode::post_update(board, &rules.settings, seed),
    }
    Ok(())
}
