//! Any safe move. It looks one step ahead and no further, so it walks into its own traps.

use super::Direction;
use super::board_view::{BoardView, MoveOptions};
use super::chance::Chance;

pub(super) fn choose(_sight: &BoardView<'_>, ways: &MoveOptions, chance: &mut Chance) -> Direction {
    ways.choose(chance, |_| ())
}
