//! Why a game cannot be set up, or a turn cannot be played. Where the official rules have a sentence for it, that
//! sentence is kept to the letter, because tools compare it.

use std::error::Error;
use std::fmt;

use super::{Map, SIDE_MAX, SNAKES_MAX, Seat};

/// What the rules refuse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleError {
    /// More snakes than start positions.
    TooManySnakes,
    /// No free cell for a snake at the start.
    NoRoomForSnake,
    /// No free cell for the food of the start.
    NoRoomForFood,
    /// A living snake has no order in this turn.
    MoveMissing(Seat),
    /// A living snake has no body.
    BodyMissing(Seat),
    /// Royale with a shrink interval of 0 turns.
    ShrinkTooOften,
    /// No map has this name.
    MapNotFound,
    /// The game is over: there is no next turn.
    GameIsOver,
    /// The map does not take this many snakes.
    Players {
        /// Which map.
        map: Map,
        /// Requested snakes.
        snakes: u8,
    },
    /// The map does not take a board of this size.
    BoardSize {
        /// Which map.
        map: Map,
        /// Requested columns.
        width: u8,
        /// Requested rows.
        height: u8,
    },
    /// The chance of food is more than 100 percent.
    FoodSpawnChance(u32),
    /// A board or a number of snakes beyond what the rules can hold at all.
    BeyondLimits {
        /// Requested columns.
        width: u8,
        /// Requested rows.
        height: u8,
        /// Requested snakes.
        snakes: u8,
    },
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManySnakes => f.write_str("too many snakes for fixed start positions"),
            Self::NoRoomForSnake => f.write_str("not enough space to place snake"),
            Self::NoRoomForFood => f.write_str("not enough space to place food"),
            Self::MoveMissing(_) => f.write_str("move not provided for snake"),
            Self::BodyMissing(_) => f.write_str("snake is length zero"),
            Self::ShrinkTooOften => f.write_str("royale game can't shrink more frequently than every turn"),
            Self::MapNotFound => f.write_str("map not found"),
            Self::GameIsOver => f.write_str("the game is over: it has no next turn"),
            Self::Players { map, snakes } => {
                let players = map.players();
                let (least, most) = (players.start(), players.end());
                write!(f, "map {} takes {least} to {most} snakes, not {snakes}", map.name())
            }
            Self::BoardSize { map, width, height } => {
                write!(f, "map {} takes {}, not {width}x{height}", map.name(), Map::SIZES_IN_WORDS)
            }
            Self::FoodSpawnChance(have) => write!(f, "the food spawn chance is 0 to 100 percent, not {have}"),
            Self::BeyondLimits { width, height, snakes } => write!(
                f,
                "a board has sides of 1 to {SIDE_MAX} and 1 to {SNAKES_MAX} snakes, not {width}x{height} with {snakes}"
            ),
        }
    }
}

impl Error for RuleError {}
