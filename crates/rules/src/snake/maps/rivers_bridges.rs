//! `hz_rivers_bridges`, `hz_islands_bridges` and their larger sisters: fixed water of hazards, four groups of start positions, and
//! food that keeps off the water. Food between turns is [`super::standard`]'s.

use super::super::{Board, Point, RuleError, placement};
use super::Map;
use super::layout::layout_of;
use crate::chance::{Chance, Dice, Purpose, Seed};

/// Snakes in the four groups by turns, water, and food beside the snakes and, where there is no water, in the centre.
pub(super) fn setup_board(map: Map, board: &mut Board, snakes: u8, seed: Seed) -> Result<(), RuleError> {
    let layout = layout_of(map);
    let mut chance = Chance::new(seed, 0, Purpose::StartPositions);
    placement::place_snakes_by_turns(board, layout.starts.clone(), snakes, &mut chance)?;
    layout.place_hazards(board);
    place_start_food(board, &mut Chance::new(seed, 0, Purpose::StartFood))
}

/// The snakes get their food in random order, since two of them can have a cell in common.
fn place_start_food(board: &mut Board, dice: &mut impl Dice) -> Result<(), RuleError> {
    let mut heads: Vec<Point> = board.snakes.iter().filter_map(super::super::Snake::head).collect();
    dice.shuffle(&mut heads);
    for head in &heads {
        let mut good = placement::start_food_near(board, *head);
        good.retain(|cell| !heads.contains(cell) && !board.hazards.contains(cell));
        let food = placement::pick_random(&good, dice).ok_or(RuleError::NoRoomForFood)?;
        board.food.push(food);
    }
    let centre = placement::centre(board);
    if ![&heads, &*board.hazards, &board.food].into_iter().any(|taken| taken.contains(&centre)) {
        board.food.push(centre);
    }
    Ok(())
}
