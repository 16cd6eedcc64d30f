//! `hz_expand_box` and `hz_expand_scatter`: square rings of hazards around a random cell, from the inside outwards. The first draws a
//! whole ring every twentieth turn; the second one cell every second turn, each ring in random order.

use super::super::{Board, Point};
use super::lasting_chance;
use crate::chance::{Dice, Seed};

const RING_EVERY_N_TURNS: u32 = 20;
const CELL_EVERY_N_TURNS: u32 = 2;

/// The centre on turn 1, then a ring on turns 21, 41 and so on.
pub(super) fn post_update_box(board: &mut Board, seed: Seed) {
    let turns_since_start = board.turn_in_play().saturating_sub(1);
    if !turns_since_start.is_multiple_of(RING_EVERY_N_TURNS) || board.hazards.len() == board.area() {
        return;
    }
    let centre = draw_centre(board, 2, &mut lasting_chance(seed));
    let distance = i32::try_from(turns_since_start / RING_EVERY_N_TURNS).unwrap_or(i32::MAX);
    board.add_hazards(ring(board, centre, distance));
}

/// The centre on turn 1, then a cell on turns 3, 5 and so on: all cells of a ring before the first of the next.
pub(super) fn post_update_scatter(board: &mut Board, seed: Seed) {
    let turns_since_start = board.turn_in_play().saturating_sub(1);
    if !turns_since_start.is_multiple_of(CELL_EVERY_N_TURNS) || board.hazards.len() == board.area() {
        return;
    }
    let mut chance = lasting_chance(seed);
    let centre = draw_centre(board, 1, &mut chance);
    let mut left = (turns_since_start / CELL_EVERY_N_TURNS) as usize;
    for distance in 0..i32::from(board.width.max(board.height)) {
        let mut cells: Vec<Point> = ring(board, centre, distance).collect();
        chance.shuffle(&mut cells);
        if let Some(cell) = cells.get(left) {
            board.add_hazard(*cell);
            return;
        }
        left -= cells.len();
    }
}

/// At least `from_edge` cells away from the left and lower edges; from the others one cell less.
fn draw_centre(board: &Board, from_edge: u8, dice: &mut impl Dice) -> Point {
    let mut draw = |side: u8| {
        let choices = u32::from(side.saturating_sub(2 * from_edge)) + 1;
        from_edge as i8 + dice.below(choices.min(side.into())) as i8
    };
    Point { x: draw(board.width), y: draw(board.height) }
}

/// The cells on the board at this distance from the centre, diagonal steps counting one, column by column.
fn ring(board: &Board, centre: Point, distance: i32) -> impl Iterator<Item = Point> + use<> {
    let away = |a: i8, b: i8| i32::from(a).abs_diff(i32::from(b)) as i32;
    board.cells().filter(move |cell| away(cell.x, centre.x).max(away(cell.y, centre.y)) == distance)
}
