//! Maps: what lies on the board before the first turn, and what the board does between turns. One file a map.
//!
//! A map has three hooks, all called by [`super::setup`] and [`super::turn`]: it sets the board up, it acts before the moves, and it
//! acts after the rules of the turn. It never moves or eliminates a snake.

mod empty;
mod royale;
mod snail_mode;
mod standard;

use std::ops::RangeInclusive;
use std::str::FromStr;

use super::{Board, RuleError, Rules};
use crate::chance::Seed;

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

    /// How many snakes may play on it.
    #[must_use]
    pub const fn players(self) -> RangeInclusive<u8> {
        match self {
            Self::Standard | Self::Empty | Self::Royale | Self::SnailMode => 1..=16,
        }
    }

    /// Whether it can be played on a board of this size.
    #[must_use]
    pub fn takes_size(self, width: u8, height: u8) -> bool {
        match self {
            Self::Standard | Self::Empty | Self::Royale | Self::SnailMode => {
                width == height && width % 2 == 1 && (7..=25).contains(&width)
            }
        }
    }
}

impl FromStr for Map {
    type Err = RuleError;

    fn from_str(name: &str) -> Result<Self, RuleError> {
        Self::from_name(name).ok_or(RuleError::MapNotFound)
    }
}

/// Puts the snakes, and what the map adds, on an empty board.
pub(crate) fn setup_board(rules: &Rules, board: &mut Board, snakes: u8, seed: Seed) -> Result<(), RuleError> {
    match rules.map {
        Map::Standard => standard::setup_board(board, snakes, seed),
        Map::Empty => empty::setup_board(board, snakes, seed),
        Map::Royale => royale::setup_board(board, snakes, seed),
        Map::SnailMode => snail_mode::setup_board(board, snakes, seed),
    }
}

/// What a map does before the snakes move. None of these does anything; a new map has to be added here.
pub(crate) fn pre_update(rules: &Rules, _board: &mut Board) {
    match rules.map {
        Map::Standard | Map::Empty | Map::Royale | Map::SnailMode => {}
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
