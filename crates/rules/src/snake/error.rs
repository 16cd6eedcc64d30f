//! Why a game cannot be set up, or a turn cannot be played. Where the official rules have a sentence for it, that
//! sentence is kept to the letter, because tools compare it.

use super::{Map, SIDE_MAX, SNAKES_MAX, Seat};

/// What the rules refuse.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// More snakes than start positions.
    #[error("too many snakes for fixed start positions")]
    TooManySnakes,
    /// No free cell for a snake at the start.
    #[error("not enough space to place snake")]
    NoRoomForSnake,
    /// No free cell for the food of the start.
    #[error("not enough space to place food")]
    NoRoomForFood,
    /// A living snake has no order in this turn.
    #[error("move not provided for snake")]
    MoveMissing(Seat),
    /// A living snake has no body.
    #[error("snake is length zero")]
    BodyMissing(Seat),
    /// Royale with a shrink interval of 0 turns.
    #[error("royale game can't shrink more frequently than every turn")]
    ShrinkTooOften,
    /// The map `hz_hazard_pits` with steps of 0 turns.
    #[error("map hz_hazard_pits fills its pits every shrinkEveryNTurns turns: 1 or more, not 0")]
    PitsNeverFill,
    /// The game is over: there is no next turn.
    #[error("the game is over: it has no next turn")]
    GameIsOver,
    /// The map does not take this many snakes.
    #[error("map {} takes {}, not {snakes}", map.name(), snakes_in_words(*map))]
    Players {
        /// Which map.
        map: Map,
        /// Requested snakes.
        snakes: u8,
    },
    /// The map does not take a board of this size.
    #[error("map {} takes {}, not {width}x{height}", map.name(), map.sizes())]
    BoardSize {
        /// Which map.
        map: Map,
        /// Requested columns.
        width: u8,
        /// Requested rows.
        height: u8,
    },
    /// The chance of food is more than 100 percent.
    #[error("the food spawn chance is 0 to 100 percent, not {0}")]
    FoodSpawnChance(u32),
    /// A board or a number of snakes beyond what the rules can hold at all.
    #[error("a board has sides of 1 to {SIDE_MAX} and 1 to {SNAKES_MAX} snakes, not {width}x{height} with {snakes}")]
    BeyondLimits {
        /// Requested columns.
        width: u8,
        /// Requested rows.
        height: u8,
        /// Requested snakes.
        snakes: u8,
    },
}

fn snakes_in_words(map: Map) -> String {
    match map.snakes_max() {
        1 => "one snake".to_owned(),
        most => format!("1 to {most} snakes"),
    }
}
