//! The snail map: every snake leaves a trail of hazards which is as high as the snake is long and fades by one each turn.
//!
//! A tail cell becomes a hazard one turn after the tail has left it. Until then its stack waits in the list of hazards, one
//! board height above its place, so that the board alone is the whole state. [`Board::hazards_on_board`] hides what waits.
//! The list is kept column by column: the official program has no fixed order here.

use super::super::{Board, Point, Snake};
use std::sync::Arc;

/// The trails move on by one turn.
pub(crate) fn post_update(board: &mut Board) {
    let (mut lying, waiting) = lying_and_waiting(board);
    fade(&mut lying);
    lying.extend(waiting.into_iter().filter(|cell| !is_living_head(board, *cell)));
    lying.extend(board.living().flat_map(|(_, snake)| trail_left_by(snake, board.height)));
    lying.sort_unstable();
    board.hazards = Arc::new(lying);
}

/// The hazards on the board, and those that waited, moved to their place. Both keep the order of the list.
fn lying_and_waiting(board: &Board) -> (Vec<Point>, Vec<Point>) {
    let (lying, mut waiting): (Vec<Point>, Vec<Point>) =
        board.hazards.iter().partition(|hazard| board.contains(**hazard));
    for hazard in &mut waiting {
        *hazard = shifted(*hazard, -i16::from(board.height));
    }
    (lying, waiting)
}

/// Every stack loses one.
fn fade(hazards: &mut Vec<Point>) {
    hazards.sort_unstable();
    let mut previous = None;
    hazards.retain(|hazard| previous.replace(*hazard) == Some(*hazard));
}

/// A stack under a living head would be drawn over it without hurting it: it is dropped.
fn is_living_head(board: &Board, cell: Point) -> bool {
    board.living().any(|(_, snake)| snake.head() == Some(cell))
}

/// A stack as high as the snake is long, waiting above the tail; none while the tail is stacked, because it will not leave the cell.
fn trail_left_by(snake: &Snake, height: u8) -> impl Iterator<Item = Point> + use<> {
    let (tail, count) = match *snake.body {
        [.., last_but_one, tail] if last_but_one != tail => (tail, snake.length()),
        _ => (Point::new(0, 0), 0),
    };
    std::iter::repeat_n(shifted(tail, i16::from(height)), count)
}

fn shifted(point: Point, rows: i16) -> Point {
    let y = (i16::from(point.y) + rows).clamp(i16::from(i8::MIN), i16::from(i8::MAX));
    Point::new(point.x, i8::try_from(y).unwrap_or(i8::MAX))
}
