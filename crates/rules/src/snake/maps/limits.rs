//! Which boards and how many snakes a map takes: the table of the official module, and boards of odd sides that are not square as our
//! extension for the two maps that place nothing by a fixed plan.

use super::Map;
use std::fmt;

/// The sizes of boards that a map takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoardSizes {
    /// Columns and rows from 7 to 25, both odd, so that a board has one centre; squares and others.
    OddSides,
    /// The squares among them.
    OddSquares,
    /// These only: (columns, rows).
    Only(&'static [(u8, u8)]),
}

impl BoardSizes {
    /// Whether a board of this size is one of them.
    #[must_use]
    pub fn contain(self, width: u8, height: u8) -> bool {
        let is_odd_side = |side: u8| (7..=25).contains(&side) && side % 2 == 1;
        match self {
            Self::OddSides => is_odd_side(width) && is_odd_side(height),
            Self::OddSquares => width == height && is_odd_side(width),
            Self::Only(sizes) => sizes.contains(&(width, height)),
        }
    }
}

/// As a part of a sentence: "takes …".
impl fmt::Display for BoardSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OddSides => f.write_str("boards with odd sides of 7 to 25"),
            Self::OddSquares => f.write_str("squares with an odd side of 7 to 25"),
            Self::Only(sizes) => {
                for (at, (width, height)) in sizes.iter().enumerate() {
                    let before = if at == 0 { "" } else { [", ", " or "][usize::from(at + 1 == sizes.len())] };
                    write!(f, "{before}{width}x{height}")?;
                }
                Ok(())
            }
        }
    }
}

impl Map {
    /// The boards on which it is played.
    #[must_use]
    pub const fn sizes(self) -> BoardSizes {
        match self {
            Self::Standard | Self::Empty => BoardSizes::OddSides,
            Self::Royale
            | Self::SnailMode
            | Self::InnerWall
            | Self::Rings
            | Self::Columns
            | Self::Spiral
            | Self::Scatter
            | Self::GrowBox
            | Self::ExpandBox
            | Self::ExpandScatter => BoardSizes::OddSquares,
            Self::HazardPits | Self::CastleWall | Self::RiversBridges | Self::IslandsBridges => {
                BoardSizes::Only(&[(11, 11)])
            }
            Self::CastleWallLarge | Self::RiversBridgesLarge | Self::IslandsBridgesLarge => {
                BoardSizes::Only(&[(19, 19)])
            }
            Self::CastleWallExtraLarge | Self::RiversBridgesExtraLarge => BoardSizes::Only(&[(25, 25)]),
            Self::Sinkholes | Self::HealingPools => BoardSizes::Only(&[(7, 7), (11, 11), (19, 19)]),
            Self::ArcadeMaze => BoardSizes::Only(&[(19, 21)]),
            Self::SoloMaze => BoardSizes::Only(&[(7, 7), (11, 11), (19, 19), (19, 21), (25, 25)]),
        }
    }

    /// The most snakes that may play on it; the least is one on every map.
    #[must_use]
    pub const fn snakes_max(self) -> u8 {
        match self {
            Self::HazardPits | Self::IslandsBridges => 4,
            Self::ArcadeMaze => 6,
            Self::Sinkholes | Self::HealingPools | Self::CastleWall | Self::CastleWallLarge | Self::RiversBridges => 8,
            Self::CastleWallExtraLarge | Self::RiversBridgesLarge | Self::RiversBridgesExtraLarge => 12,
            Self::SoloMaze => 1,
            Self::Standard
            | Self::Empty
            | Self::Royale
            | Self::SnailMode
            | Self::InnerWall
            | Self::Rings
            | Self::Columns
            | Self::Spiral
            | Self::Scatter
            | Self::GrowBox
            | Self::ExpandBox
            | Self::ExpandScatter
            | Self::IslandsBridgesLarge => 16,
        }
    }

    /// Whether its start positions or hazards stand in a fixed plan, which fits the boards of [`Map::sizes`] and no others.
    pub(crate) const fn has_layout(self) -> bool {
        matches!(self.sizes(), BoardSizes::Only(_)) && !matches!(self, Self::Sinkholes)
    }
}
