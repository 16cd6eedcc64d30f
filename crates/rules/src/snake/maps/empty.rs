//! The empty map: snakes on their start positions, and never any food.

use super::super::{Board, RuleError, placement};
use crate::chance::{Chance, Purpose, Seed};

/// Places the snakes.
pub(crate) fn setup_board(board: &mut Board, snakes: u8, seed: Seed) -> Result<(), RuleError> {
    placement::place_snakes(board, snakes, &mut Chance::new(seed, 0, Purpose::StartPositions))
}
