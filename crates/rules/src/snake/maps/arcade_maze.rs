//! `arcade_maze`: a maze with walls of hazards, and food on twelve fixed cells.

use super::super::{Board, Point, RuleError, Settings, placement};
use super::Map;
use super::layout::layout_of;
use crate::chance::{Chance, Dice, Purpose, Seed};

/// Snakes on four positions in random order, the fifth and the sixth in the middle; one food in the centre if there is a minimum at all.
pub(super) fn setup_board(board: &mut Board, settings: &Settings, snakes: u8, seed: Seed) -> Result<(), RuleError> {
    let layout = layout_of(Map::ArcadeMaze);
    let [corners, below_centre, above_centre, _] = &layout.starts;
    let mut starts = corners.clone();
    Chance::new(seed, 0, Purpose::StartPositions).shuffle(&mut starts);
    placement::place_snakes_at(board, snakes, starts.iter().chain(below_centre).chain(above_centre).copied())?;
    layout.place_hazards(board);
    if settings.minimum_food > 0 {
        board.food.push(Point::new(9, 11));
    }
    Ok(())
}

/// One food by chance, on one of its cells without food or snake. Snakes that are out count like the living.
///
/// Odd case: the real chance is one percent more than the setting, unless that is 0: 15 is 16 in a hundred.
pub(super) fn post_update(board: &mut Board, settings: &Settings, seed: Seed) {
    let mut chance = Chance::new(seed, board.turn, Purpose::Food);
    if settings.food_spawn_chance == 0 || chance.below(100) > settings.food_spawn_chance {
        return;
    }
    let is_free =
        |cell: &Point| !board.food.contains(cell) && !board.snakes.iter().any(|snake| snake.body.contains(cell));
    let free: Vec<Point> = layout_of(Map::ArcadeMaze).food.iter().copied().filter(is_free).collect();
    board.food.extend(placement::pick_random(&free, &mut chance));
}
