//! `hz_castle_wall` and its larger sisters: a wall of hazards with narrow passages, and food in the passages only.

use super::super::{Board, Move, Point, RuleError, placement};
use super::Map;
use super::layout::layout_of;
use crate::chance::{Chance, Dice, Purpose, Seed};

/// The first turns are played without food.
const TURNS_WITHOUT_FOOD: u32 = 10;
/// More snakes than this, and the next group of start positions joins the ones before.
const SNAKES_BY_GROUPS: [u8; 3] = [0, 4, 8];

/// Start positions in random order, the wall, no food.
pub(super) fn setup_board(map: Map, board: &mut Board, snakes: u8, seed: Seed) -> Result<(), RuleError> {
    let layout = layout_of(map);
    let groups = layout.starts.iter().zip(SNAKES_BY_GROUPS).filter(|(_, beyond)| snakes > *beyond);
    let mut starts: Vec<Point> = groups.flat_map(|(group, _)| group.iter().copied()).collect();
    Chance::new(seed, 0, Purpose::StartPositions).shuffle(&mut starts);
    layout.place_hazards(board);
    placement::place_snakes_at(board, snakes, starts)
}

/// One food every turn while there are fewer than the most, on a cell by chance: not on a snake, beside a head or beside other food.
/// Snakes that are out count like the living, and the settings of food are ignored.
pub(super) fn post_update(map: Map, board: &mut Board, seed: Seed) {
    if board.turn < TURNS_WITHOUT_FOOD || board.food.len() == food_max(map) {
        return;
    }
    let free: Vec<Point> = layout_of(map).food.iter().copied().filter(|cell| may_have_food(board, *cell)).collect();
    let drawn = Chance::new(seed, board.turn, Purpose::Food).below(free.len() as u32) as usize;
    board.food.extend(free.get(drawn));
}

const fn food_max(map: Map) -> usize {
    match map {
        Map::CastleWallExtraLarge => 4,
        _ => 2,
    }
}

fn may_have_food(board: &Board, cell: Point) -> bool {
    let is_at_or_beside = |other: Point| other == cell || Move::ALL.iter().any(|step| other.step(*step) == cell);
    let is_in_the_way =
        board.snakes.iter().any(|snake| snake.body.contains(&cell) || snake.head().is_some_and(is_at_or_beside));
    !is_in_the_way && !board.food.iter().any(|food| is_at_or_beside(*food))
}
