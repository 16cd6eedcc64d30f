//! `solo_maze`: one snake looks for the food in a maze. When it has eaten, it stands at the start of a new maze, one cell wider and higher
//! until the board is full, and one point longer. A few mazes after that the food begins to run away, so that the game ends.
//!
//! The level (how many mazes came before) is kept where bots see it, as in the official program: as a binary number in the bottom row,
//! the highest bit at the left, a hazard for each one. So the board is the whole state.

mod division;

use super::super::{Board, HEALTH_MAX, Point, RuleError, placement};
use crate::chance::{Chance, Dice, Purpose, Seed};
use std::sync::Arc;

/// The side of the first maze, where the board is large enough.
const SIDE_FIRST: u32 = 7;
/// Mazes of the full size before the food runs away.
const MAZES_OF_FULL_SIZE: u32 = 5;
/// The food keeps this far away from the head, in steps, where the maze is large enough.
const STEPS_TO_FOOD: u32 = 5;
/// Cells that are tried for the food. If none is good, there is none, and the next maze comes after the next turn.
const FOOD_TRIES: u32 = 100;

/// The first maze.
pub(super) fn setup_board(board: &mut Board, snakes: u8, seed: Seed) -> Result<(), RuleError> {
    placement::place_snakes_at(board, snakes, [Point::new(0, 0)])?;
    build_maze(board, 0, seed);
    Ok(())
}

/// A new maze when the food is gone; other food when the game has to end soon and the snake comes near.
pub(super) fn post_update(board: &mut Board, seed: Seed) {
    let level = read_level(board);
    let Some(food) = board.food.first().copied() else {
        build_maze(board, level.saturating_add(1), seed);
        return;
    };
    let Some(head) = board.snakes.first().and_then(super::super::Snake::head) else { return };
    let room_to_grow = i64::from(side_max(board)) - i64::from(SIDE_FIRST);
    if i64::from(level) - i64::from(MAZES_OF_FULL_SIZE) > room_to_grow && steps_between(head, food) < STEPS_TO_FOOD {
        board.food.remove(0);
        place_food(board, &Maze::of(board, level), seed);
    }
}

/// Replaces hazards and snake, and adds the food. Food avoids the walls of the maze before, too: an oddity of the official program.
fn build_maze(board: &mut Board, level: u32, seed: Seed) {
    let maze = Maze::of(board, level);
    let before = std::mem::take(&mut board.hazards);
    let chance = &mut Chance::new(seed, board.turn, Purpose::Maze);
    let walls: Vec<Point> = division::walls(maze.side, chance).into_iter().map(|cell| maze.on_board(cell)).collect();
    board.add_hazards(level_cells(board.width, level));
    board.add_hazards(walls);
    let outside: Vec<Point> = board.cells().filter(|cell| cell.y > 0 && !maze.contains(*cell)).collect();

    let (head, tail) = (maze.on_board(Point::new(0, 0)), maze.on_board(Point::new(0, -1)));
    if let Some(snake) = board.snakes.first_mut() {
        snake.health = HEALTH_MAX;
        snake.body.clear();
        snake.body.push(head);
        snake.body.extend(std::iter::repeat_n(tail, level as usize + 2));
    }
    let shown = Arc::clone(&board.hazards);
    board.add_hazards(before.iter().copied());
    place_food(board, &maze, seed);
    board.hazards = shown;
    board.add_hazards(outside);
}

/// A cell of the maze by chance: no hazard, not on the snake, far enough from its head.
fn place_food(board: &mut Board, maze: &Maze, seed: Seed) {
    let Some(snake) = board.snakes.first() else { return };
    let Some(head) = snake.head() else { return };
    let steps_min = STEPS_TO_FOOD.min(maze.side / 2);
    let mut chance = Chance::new(seed, board.turn, Purpose::Food);
    let mut draw = || maze.on_board(Point::new(chance.below(maze.side) as i8, chance.below(maze.side) as i8));
    let is_good = |cell: &Point| {
        steps_between(head, *cell) >= steps_min && !board.hazards.contains(cell) && !snake.body.contains(cell)
    };
    let food = (0..FOOD_TRIES).map(|_| draw()).find(is_good);
    board.food.extend(food);
}

/// Where a maze lies on the board: in the middle, above the row that keeps the level.
struct Maze {
    side: u32,
    low: Point,
}

impl Maze {
    fn of(board: &Board, level: u32) -> Self {
        let side = SIDE_FIRST.saturating_add(level).min(side_max(board));
        let margin = |of: u8| (u32::from(of).saturating_sub(side) / 2) as i8;
        Self { side, low: Point::new(margin(board.width), margin(board.height)) }
    }

    fn on_board(&self, cell: Point) -> Point {
        Point::new(cell.x.saturating_add(self.low.x), cell.y.saturating_add(self.low.y))
    }

    fn contains(&self, cell: Point) -> bool {
        let within = |at: i8, low: i8| (0..self.side as i32).contains(&(i32::from(at) - i32::from(low)));
        within(cell.x, self.low.x) && within(cell.y, self.low.y)
    }
}

/// The side of the largest maze: the bottom row is the level's, and one stays free opposite to it.
fn side_max(board: &Board) -> u32 {
    u32::from(board.width.min(board.height.saturating_sub(2)))
}

fn steps_between(a: Point, b: Point) -> u32 {
    u32::from(a.x.abs_diff(b.x)) + u32::from(a.y.abs_diff(b.y))
}

fn read_level(board: &Board) -> u32 {
    let bit = |x: u8| u32::from(board.hazards.contains(&Point::new(x as i8, 0)));
    (0..board.width).fold(0, |level: u32, x| (level << 1) | bit(x))
}

/// The cells of the bottom row for the bits that are set. A level with more bits than the board has columns goes on beside the board, and
/// is read as its highest bits: an oddity of the official program.
fn level_cells(width: u8, level: u32) -> Vec<Point> {
    let bits = format!("{level:0width$b}", width = usize::from(width));
    bits.bytes().enumerate().filter(|(_, bit)| *bit == b'1').map(|(x, _)| Point::new(x as i8, 0)).collect()
}

#[cfg(test)]
mod tests;
