//! Where snakes and food go: start positions, the food of the start, and food by chance.
//!
//! Written against [`Dice`], so that the extremes of chance can be tested. This file does not know when food is due;
//! maps do.

use super::{Board, Move, Point, RuleError, Snake};
use crate::chance::Dice;

/// Sides from which on a square board has fixed start positions and food next to them.
const SIDE_SMALL: u8 = 7;
/// Sides from which on a square board has room for more than eight snakes by quadrants.
const SIDE_MEDIUM: u8 = 11;
/// Snakes for whom there are fixed start positions.
const SNAKES_FIXED_MAX: u8 = 8;
/// Snakes that can have their own food at the start of a board below 11x11.
const SNAKES_FED_ON_SMALL_MAX: usize = 4;

/// Puts snakes on their start positions, in the order of their seats.
pub(crate) fn place_snakes(board: &mut Board, count: u8, dice: &mut impl Dice) -> Result<(), RuleError> {
    let side = if is_square(board) { board.width } else { 0 };
    if count > SNAKES_FIXED_MAX && (1..SIDE_SMALL).contains(&side) {
        return Err(RuleError::TooManySnakes);
    }
    if count <= SNAKES_FIXED_MAX && side >= SIDE_SMALL {
        place_snakes_fixed(board, count, dice);
        return Ok(());
    }
    if side >= SIDE_MEDIUM {
        return place_snakes_by_quadrants(board, count, dice);
    }
    place_snakes_randomly(board, count, dice)
}

/// Corners and middles of the sides, one cell inside; each group in random order, and by chance one group before the other.
fn place_snakes_fixed(board: &mut Board, count: u8, dice: &mut impl Dice) {
    let (low, middle, high) = (1, half_of(board.width), coordinate(board.width) - 2);
    let mut corners = [(low, low), (low, high), (high, low), (high, high)].map(|(x, y)| Point::new(x, y));
    let mut middles = [(low, middle), (middle, low), (middle, high), (high, middle)].map(|(x, y)| Point::new(x, y));
    dice.shuffle(&mut corners);
    dice.shuffle(&mut middles);
    let [first, second] = if dice.below(2) == 0 { [corners, middles] } else { [middles, corners] };
    board.snakes.extend(first.into_iter().chain(second).take(usize::from(count)).map(Snake::at));
}

/// Puts snakes on given positions, in their order.
///
/// # Errors
/// [`RuleError::TooManySnakes`]: more snakes than positions.
pub(crate) fn place_snakes_at(
    board: &mut Board,
    count: u8,
    starts: impl IntoIterator<Item = Point>,
) -> Result<(), RuleError> {
    board.snakes.extend(starts.into_iter().take(usize::from(count)).map(Snake::at));
    if board.snakes.len() < usize::from(count) { Err(RuleError::TooManySnakes) } else { Ok(()) }
}

/// Four positions in each quadrant, and the quadrants take turns.
fn place_snakes_by_quadrants(board: &mut Board, count: u8, dice: &mut impl Dice) -> Result<(), RuleError> {
    place_snakes_by_turns(board, quadrants(board), count, dice)
}

/// Four groups of positions take turns, from a random one on, and each gives one of its positions by chance.
///
/// # Errors
/// [`RuleError::NoRoomForSnake`]: a group has no position left when its turn comes.
pub(crate) fn place_snakes_by_turns(
    board: &mut Board,
    mut groups: [Vec<Point>; 4],
    count: u8,
    dice: &mut impl Dice,
) -> Result<(), RuleError> {
    let start = dice.below(4) as usize;
    for turn in 0..usize::from(count) {
        let left = &mut groups[(start + turn) % 4];
        if left.is_empty() {
            return Err(RuleError::NoRoomForSnake);
        }
        let taken = left.swap_remove(dice.below(left.len() as u32) as usize);
        board.snakes.push(Snake::at(taken));
    }
    Ok(())
}

/// Bottom left, bottom right, top left, top right: each the mirror image of the first, whose positions lie a third of it from its edges.
fn quadrants(board: &Board) -> [Vec<Point>; 4] {
    let (half_x, half_y) = (coordinate(board.width / 2), coordinate(board.height / 2));
    let (near_x, near_y) = (half_x / 3, half_y / 3);
    let (far_x, far_y) = (half_x - near_x, half_y - near_y);
    let (x_max, y_max) = (coordinate(board.width) - 1, coordinate(board.height) - 1);
    let first = [(near_x, near_y), (far_x, near_y), (near_x, far_y), (far_x, far_y)];
    [(false, false), (true, false), (false, true), (true, true)].map(|(right, top)| {
        let mirrored = |(x, y)| Point::new(if right { x_max - x } else { x }, if top { y_max - y } else { y });
        first.into_iter().map(mirrored).collect()
    })
}

/// Any free cell of the colour of (0, 0) on a chessboard, except the centre.
fn place_snakes_randomly(board: &mut Board, count: u8, dice: &mut impl Dice) -> Result<(), RuleError> {
    for _ in 0..count {
        let mut free = free_cells(board, Reach::Bodies);
        free.retain(|cell| (cell.x + cell.y) % 2 == 0 && *cell != centre(board));
        let start = pick_random(&free, dice).ok_or(RuleError::NoRoomForSnake)?;
        board.snakes.push(Snake::at(start));
    }
    Ok(())
}

/// The food of the start: on squares from 7x7 next to the snakes and in the centre, elsewhere one per snake anywhere.
pub(crate) fn place_start_food(board: &mut Board, dice: &mut impl Dice) -> Result<(), RuleError> {
    if !is_square(board) || board.width < SIDE_SMALL {
        place_start_food_randomly(board, dice);
        return Ok(());
    }
    if board.snakes.len() <= SNAKES_FED_ON_SMALL_MAX || board.width >= SIDE_MEDIUM {
        place_food_beside_snakes(board, dice)?;
    }
    let centre = centre(board);
    if !free_cells(board, Reach::BodiesAndNextSteps).contains(&centre) {
        return Err(RuleError::NoRoomForFood);
    }
    board.food.push(centre);
    Ok(())
}

/// One food per snake, drawn one after the other; where there are fewer free cells, less food.
fn place_start_food_randomly(board: &mut Board, dice: &mut impl Dice) {
    let mut free = free_cells(board, Reach::BodiesAndNextSteps);
    for _ in 0..board.snakes.len().min(free.len()) {
        board.food.push(free.remove(dice.below(free.len() as u32) as usize));
    }
}

/// One food two steps from each head, diagonally, never towards the centre.
fn place_food_beside_snakes(board: &mut Board, dice: &mut impl Dice) -> Result<(), RuleError> {
    for seat in 0..board.snakes.len() {
        let Some(head) = board.snakes[seat].head() else { continue };
        let food = pick_random(&start_food_near(board, head), dice).ok_or(RuleError::NoRoomForFood)?;
        board.food.push(food);
    }
    Ok(())
}

/// The cells for the food of a snake's start, see [`is_good_start_food`].
pub(crate) fn start_food_near(board: &Board, head: Point) -> Vec<Point> {
    let diagonals = [(-1, -1), (-1, 1), (1, -1), (1, 1)].map(|(dx, dy)| Point::new(head.x + dx, head.y + dy));
    diagonals.into_iter().filter(|cell| is_good_start_food(board, head, *cell)).collect()
}

/// Not the centre, not on other food, farther from the centre than the head on one axis at least, not in a corner.
fn is_good_start_food(board: &Board, head: Point, cell: Point) -> bool {
    let centre = centre(board);
    let farther = |cell: i8, head: i8, centre: i8| (cell < head && head < centre) || (centre < head && head < cell);
    let at_edge = |coordinate: i8, side: u8| coordinate == 0 || i16::from(coordinate) == i16::from(side) - 1;
    cell != centre
        && !board.food.contains(&cell)
        && (farther(cell.x, head.x, centre.x) || farther(cell.y, head.y, centre.y))
        && !(at_edge(cell.x, board.width) && at_edge(cell.y, board.height))
}

/// Food on random free cells; where there are fewer cells than food, less food.
pub(crate) fn place_food_randomly(board: &mut Board, count: usize, hazards: Hazards, dice: &mut impl Dice) {
    let mut free = free_cells(board, Reach::BodiesAndNextSteps);
    if hazards == Hazards::HaveNoFood {
        free.retain(|cell| !board.hazards.contains(cell));
    }
    dice.shuffle_front(&mut free, count);
    board.food.extend(free.into_iter().take(count));
}

/// Whether food may appear on hazards.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hazards {
    MayHaveFood,
    HaveNoFood,
}

/// Which cells a living snake keeps from being free.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    Bodies,
    BodiesAndNextSteps,
}

/// The cells without food and out of reach of living snakes, column by column. Hazards do not matter, and steps do not wrap.
fn free_cells(board: &Board, reach: Reach) -> Vec<Point> {
    let rows = usize::from(board.height);
    let mut taken = vec![false; usize::from(board.width) * rows];
    let mut take = |point: Point| {
        if let (true, Ok(x), Ok(y)) = (board.contains(point), usize::try_from(point.x), usize::try_from(point.y)) {
            taken[x * rows + y] = true;
        }
    };
    board.food.iter().copied().for_each(&mut take);
    for (_, snake) in board.living() {
        snake.body.iter().copied().for_each(&mut take);
        if let Some(head) = snake.head().filter(|_| reach == Reach::BodiesAndNextSteps) {
            Move::ALL.into_iter().map(|step| head.step(step)).for_each(&mut take);
        }
    }
    board.cells().zip(taken).filter(|(_, taken)| !taken).map(|(cell, _)| cell).collect()
}

/// One of the cells, each equally likely.
pub(crate) fn pick_random(cells: &[Point], dice: &mut impl Dice) -> Option<Point> {
    if cells.is_empty() {
        return None;
    }
    cells.get(dice.below(cells.len() as u32) as usize).copied()
}

fn is_square(board: &Board) -> bool {
    board.width == board.height
}

/// The middle cell; of the middle ones the lower left one.
pub(crate) fn centre(board: &Board) -> Point {
    Point::new(half_of(board.width), half_of(board.height))
}

/// The middle of a side; the lower one of an even side.
fn half_of(side: u8) -> i8 {
    coordinate(side.saturating_sub(1) / 2)
}

/// Sides are at most [`super::SIDE_MAX`] where snakes and food are placed.
fn coordinate(side: u8) -> i8 {
    i8::try_from(side).unwrap_or(i8::MAX)
}

#[cfg(test)]
mod tests;
