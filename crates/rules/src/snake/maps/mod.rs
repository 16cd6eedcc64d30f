//! Maps: what lies on the board before the first turn, and what the board does between turns. This file is the list of them and the
//! table of which file does what; [`limits`] has the boards and the numbers of snakes that each of them takes.
//!
//! A map has two hooks: it sets the board up ([`super::setup`]), and it acts after the rules of a turn ([`super::turn`]). It never
//! moves or eliminates a snake; only [`solo_maze`] puts its one snake at the start of a new maze.
//!
//! All that a map remembers is the board and the number of the turn: what it drew once, such as the centre of a spiral, it draws again
//! from the beginning of the same stream. So a match can go on from any board, and a rule set that clears the hazards does not confuse it.

mod arcade_maze;
mod castle_wall;
mod expanding;
mod grow_box;
mod hazard_pits;
mod healing_pools;
mod layout;
mod limits;
mod patterns;
mod rivers_bridges;
mod royale;
mod scatter;
mod sinkholes;
mod snail_mode;
mod solo_maze;
mod spiral;
mod standard;

use super::{Board, RuleError, Rules, placement};
use crate::chance::{Chance, Purpose, Seed};
pub use limits::BoardSizes;

/// An official map. What each of them looks like is drawn in `docs/maps.md`.
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
    /// Standard, and a ring of hazards one cell inside the edge.
    InnerWall,
    /// Standard, and concentric rings of hazards.
    Rings,
    /// Standard, and a hazard on every cell whose column and row are odd.
    Columns,
    /// Standard, and a spiral of hazards that grows by one cell every third turn.
    Spiral,
    /// Standard, and one hazard more on a random cell every second turn.
    Scatter,
    /// Standard, and a box of hazards of which one random side grows every twelfth turn.
    GrowBox,
    /// Standard, and a square of hazards that grows by a ring every twentieth turn.
    ExpandBox,
    /// Standard, and rings of hazards which fill up cell by cell, one every second turn.
    ExpandScatter,
    /// Standard food among pits that fill up with up to four layers of hazards and drain again.
    HazardPits,
    /// Standard, and a hole in the middle that becomes wider and deeper.
    Sinkholes,
    /// Standard, and pools of hazards that disappear one by one; they heal when the hazard damage is negative.
    HealingPools,
    /// A wall with passages in which food appears.
    CastleWall,
    /// The same for boards of 19x19.
    CastleWallLarge,
    /// The same for boards of 25x25.
    CastleWallExtraLarge,
    /// A lake with four rivers, and bridges over them.
    RiversBridges,
    /// The same for boards of 19x19.
    RiversBridgesLarge,
    /// The same for boards of 25x25.
    RiversBridgesExtraLarge,
    /// Four islands behind rivers, and bridges between them.
    IslandsBridges,
    /// The same for boards of 19x19.
    IslandsBridgesLarge,
    /// A maze with fixed walls and fixed places of food.
    ArcadeMaze,
    /// A maze for one snake, which becomes bigger whenever the snake has found the food.
    SoloMaze,
}

impl Map {
    /// Every map.
    pub const ALL: [Self; 25] = [
        Self::Standard,
        Self::Empty,
        Self::Royale,
        Self::SnailMode,
        Self::InnerWall,
        Self::Rings,
        Self::Columns,
        Self::Spiral,
        Self::Scatter,
        Self::GrowBox,
        Self::ExpandBox,
        Self::ExpandScatter,
        Self::HazardPits,
        Self::Sinkholes,
        Self::HealingPools,
        Self::CastleWall,
        Self::CastleWallLarge,
        Self::CastleWallExtraLarge,
        Self::RiversBridges,
        Self::RiversBridgesLarge,
        Self::RiversBridgesExtraLarge,
        Self::IslandsBridges,
        Self::IslandsBridgesLarge,
        Self::ArcadeMaze,
        Self::SoloMaze,
    ];

    /// The official name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Standard => "standard",
            Self::Empty => "empty",
            Self::Royale => "royale",
            Self::SnailMode => "snail_mode",
            Self::InnerWall => "hz_inner_wall",
            Self::Rings => "hz_rings",
            Self::Columns => "hz_columns",
            Self::Spiral => "hz_spiral",
            Self::Scatter => "hz_scatter",
            Self::GrowBox => "hz_grow_box",
            Self::ExpandBox => "hz_expand_box",
            Self::ExpandScatter => "hz_expand_scatter",
            Self::HazardPits => "hz_hazard_pits",
            Self::Sinkholes => "sinkholes",
            Self::HealingPools => "healing_pools",
            Self::CastleWall => "hz_castle_wall",
            Self::CastleWallLarge => "hz_castle_wall_lg",
            Self::CastleWallExtraLarge => "hz_castle_wall_xl",
            Self::RiversBridges => "hz_rivers_bridges",
            Self::RiversBridgesLarge => "hz_rivers_bridges_lg",
            Self::RiversBridgesExtraLarge => "hz_rivers_bridges_xl",
            Self::IslandsBridges => "hz_islands_bridges",
            Self::IslandsBridgesLarge => "hz_islands_bridges_lg",
            Self::ArcadeMaze => "arcade_maze",
            Self::SoloMaze => "solo_maze",
        }
    }

    /// The map of this exact name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|map| map.name() == name)
    }
}

/// Puts the snakes, and what the map adds, on an empty board.
///
/// # Errors
/// There is no room; or the map's layout has another size or not so many start positions, which [`Rules::validate`] refuses earlier.
pub(crate) fn setup_board(rules: &Rules, board: &mut Board, snakes: u8, seed: Seed) -> Result<(), RuleError> {
    let map = rules.map;
    if map.has_layout() && !map.sizes().contain(board.width, board.height) {
        return Err(RuleError::BoardSize { map, width: board.width, height: board.height });
    }
    match map {
        Map::Empty => place_snakes(board, snakes, seed)?,
        Map::CastleWall | Map::CastleWallLarge | Map::CastleWallExtraLarge => {
            castle_wall::setup_board(map, board, snakes, seed)?;
        }
        Map::RiversBridges
        | Map::RiversBridgesLarge
        | Map::RiversBridgesExtraLarge
        | Map::IslandsBridges
        | Map::IslandsBridgesLarge => rivers_bridges::setup_board(map, board, snakes, seed)?,
        Map::HazardPits => hazard_pits::setup_board(board, snakes, seed)?,
        Map::ArcadeMaze => arcade_maze::setup_board(board, &rules.settings, snakes, seed)?,
        Map::SoloMaze => solo_maze::setup_board(board, snakes, seed)?,
        _ => {
            place_snakes(board, snakes, seed)?;
            placement::place_start_food(board, &mut Chance::new(seed, 0, Purpose::StartFood))?;
        }
    }
    match map {
        Map::InnerWall => patterns::draw_inner_wall(board),
        Map::Rings => patterns::draw_rings(board),
        Map::Columns => patterns::draw_columns(board),
        Map::HealingPools => healing_pools::setup_board(board, seed),
        _ => {}
    }
    Ok(())
}

fn place_snakes(board: &mut Board, snakes: u8, seed: Seed) -> Result<(), RuleError> {
    placement::place_snakes(board, snakes, &mut Chance::new(seed, 0, Purpose::StartPositions))
}

/// What a map does after the rules of the turn, while the board still has the number of the turn before: first food, then hazards.
pub(crate) fn post_update(rules: &Rules, board: &mut Board, seed: Seed) -> Result<(), RuleError> {
    let (map, settings) = (rules.map, &rules.settings);
    match map {
        Map::Empty => return Ok(()),
        Map::CastleWall | Map::CastleWallLarge | Map::CastleWallExtraLarge => {
            castle_wall::post_update(map, board, seed);
            return Ok(());
        }
        Map::RiversBridges
        | Map::RiversBridgesLarge
        | Map::RiversBridgesExtraLarge
        | Map::IslandsBridges
        | Map::IslandsBridgesLarge => standard::post_update_off_hazards(board, settings, seed),
        Map::ArcadeMaze => arcade_maze::post_update(board, settings, seed),
        Map::SoloMaze => solo_maze::post_update(board, seed),
        _ => standard::post_update(board, settings, seed),
    }
    match map {
        Map::Royale => royale::post_update(board, settings, seed)?,
        Map::SnailMode => snail_mode::post_update(board),
        Map::Spiral => spiral::post_update(board, seed),
        Map::Scatter => scatter::post_update(board, seed),
        Map::GrowBox => grow_box::post_update(board, seed),
        Map::ExpandBox => expanding::post_update_box(board, seed),
        Map::ExpandScatter => expanding::post_update_scatter(board, seed),
        Map::HazardPits => hazard_pits::post_update(board, settings)?,
        Map::Sinkholes => sinkholes::post_update(board, settings),
        Map::HealingPools => healing_pools::post_update(board, settings, seed),
        _ => {}
    }
    Ok(())
}

/// The stream from which hazards are drawn that stay where they are: it begins anew every turn, and so gives the same every turn.
fn lasting_chance(seed: Seed) -> Chance {
    Chance::new(seed, 0, Purpose::MapHazards)
}
