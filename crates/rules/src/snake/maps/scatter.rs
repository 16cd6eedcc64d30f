//! `hz_scatter`: every second turn one more cell becomes a hazard, in random order, until all are.

use super::super::{Board, Point};
use super::lasting_chance;
use crate::chance::{Dice, Seed};

const EVERY_N_TURNS: u32 = 2;

/// The next cell of an order that is drawn once for the match.
///
/// Odd case: once the board is full the official program crashes; here nothing more happens.
pub(super) fn post_update(board: &mut Board, seed: Seed) {
    let turn = board.turn_in_play();
    let due = (turn / EVERY_N_TURNS) as usize;
    if !turn.is_multiple_of(EVERY_N_TURNS) || due == 0 || due > board.area() {
        return;
    }
    let mut cells: Vec<Point> = board.cells().collect();
    lasting_chance(seed).shuffle_front(&mut cells, due);
    board.add_hazard(cells[due - 1]);
}
