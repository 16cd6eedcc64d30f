//! Hazards that lie on the board from the start and never change, on boards of any size: a wall, rings, columns.

use super::super::{Board, Point};
use std::sync::Arc;

/// `hz_inner_wall`: the ring one cell inside the edge.
pub(super) fn draw_inner_wall(board: &mut Board) {
    draw(board, |board, cell| depth(board, cell) == 1);
}

/// `hz_rings`: every second ring, from one cell inside the edge; the innermost ones are left out, so that the middle stays open.
pub(super) fn draw_rings(board: &mut Board) {
    let depths = 1..i16::from(board.width / 2) - 1;
    draw(board, |board, cell| depth(board, cell) % 2 == 1 && depths.contains(&depth(board, cell)));
}

/// `hz_columns`: the cells of odd columns and odd rows.
pub(super) fn draw_columns(board: &mut Board) {
    draw(board, |_, cell| cell.x % 2 == 1 && cell.y % 2 == 1);
}

fn draw(board: &mut Board, is_hazard: impl Fn(&Board, Point) -> bool) {
    board.hazards = Arc::new(board.cells().filter(|cell| is_hazard(board, *cell)).collect());
}

/// How many cells lie between a cell and the nearest edge.
fn depth(board: &Board, cell: Point) -> i16 {
    let (x, y) = (i16::from(cell.x), i16::from(cell.y));
    x.min(y).min(i16::from(board.width) - 1 - x).min(i16::from(board.height) - 1 - y)
}
