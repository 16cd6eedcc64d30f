//! `hz_hazard_pits`: pits in a grid, four snakes at the most in the corners. Every `shrinkEveryNTurns` turns the pits get a layer of
//! hazards more; with four they stay for three steps, then they are empty again.

use super::super::{Board, Point, RuleError, Settings, placement};
use crate::chance::{Chance, Dice, Purpose, Seed};
use std::sync::Arc;

const LAYERS_MAX: u32 = 4;
/// Steps after which it begins anew: none, one, two, three layers, and three times four.
const CYCLE_STEPS: u32 = 7;

/// Snakes in the corners in random order, food as on the standard map, no hazards yet.
pub(super) fn setup_board(board: &mut Board, snakes: u8, seed: Seed) -> Result<(), RuleError> {
    let mut corners = corners(board);
    Chance::new(seed, 0, Purpose::StartPositions).shuffle(&mut corners);
    placement::place_snakes_at(board, snakes, corners)?;
    placement::place_start_food(board, &mut Chance::new(seed, 0, Purpose::StartFood))
}

/// What lies in the pits, whenever a step is due.
///
/// # Errors
/// [`RuleError::PitsNeverFill`] for steps of 0 turns.
pub(super) fn post_update(board: &mut Board, settings: &Settings) -> Result<(), RuleError> {
    let every_n_turns = settings.shrink_every_n_turns;
    let step = board.turn.checked_div(every_n_turns).ok_or(RuleError::PitsNeverFill)?;
    if board.turn.is_multiple_of(every_n_turns) {
        let layers = (step % CYCLE_STEPS).min(LAYERS_MAX) as usize;
        let pits = pits(board);
        board.hazards = Arc::new(std::iter::repeat_n(pits, layers).flatten().collect());
    }
    Ok(())
}

/// The cells of odd columns and rows, but for the start positions.
fn pits(board: &Board) -> Vec<Point> {
    let corners = corners(board);
    board.cells().filter(|cell| cell.x % 2 == 1 && cell.y % 2 == 1 && !corners.contains(cell)).collect()
}

/// One cell inside the corners of the board.
fn corners(board: &Board) -> [Point; 4] {
    let (x, y) = (board.width as i8 - 2, board.height as i8 - 2);
    [(1, 1), (x, 1), (1, y), (x, y)].map(|(x, y)| Point::new(x, y))
}
