//! The board of the start: positions, food and hazards have to be among those that our rule book draws.

use super::food::sorted;
use super::maze;
use super::referee::Frame;
use rules::chance::Seed;
use rules::snake::{Map, Point, Rules, setup};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Boards that we set up to see what is possible: with so many, a position that one of eight games has is missed once in 10^46.
const SEEDS: u64 = 800;

/// What was seen at our starts.
#[derive(Default)]
struct Possible {
    heads: BTreeSet<Point>,
    food: BTreeSet<Point>,
    food_counts: BTreeSet<usize>,
    hazards: BTreeSet<Vec<Point>>,
}

type Key = (Map, u8, u8, usize, u32);

thread_local! {
    static SEEN: RefCell<BTreeMap<Key, Rc<Possible>>> = RefCell::default();
}

pub(crate) fn check(rules: &Rules, first: &Frame) -> Result<(), String> {
    if rules.map == Map::SoloMaze {
        return maze::check_start(first);
    }
    let possible = possible(rules, first)?;
    let Possible { heads, food, food_counts, hazards } = &*possible;
    let mut taken = BTreeSet::new();
    for (health, body) in first.snakes.iter().flatten() {
        if *health != 100 || body[..] != [body[0]; 3] || !heads.contains(&body[0]) || !taken.insert(body[0]) {
            return Err(format!("turn 0: a snake starts as {health} {body:?}"));
        }
    }
    let cells: BTreeSet<Point> = first.food.iter().copied().collect();
    if !cells.is_subset(food) || cells.len() != first.food.len() || !food_counts.contains(&cells.len()) {
        return Err(format!("turn 0: food on {cells:?}, possible are {food_counts:?} of {food:?}"));
    }
    if !hazards.contains(&sorted(first.hazards.iter().copied())) {
        return Err(format!("turn 0: hazards {:?}", first.hazards));
    }
    Ok(())
}

fn possible(rules: &Rules, first: &Frame) -> Result<Rc<Possible>, String> {
    let key = (rules.map, first.width, first.height, first.snakes.len(), rules.settings.minimum_food);
    if let Some(known) = SEEN.with_borrow(|seen| seen.get(&key).cloned()) {
        return Ok(known);
    }
    let mut possible = Possible::default();
    for seed in 0..SEEDS {
        let board = setup(rules, first.width, first.height, first.snakes.len() as u8, Seed(seed))
            .map_err(|error| error.to_string())?;
        possible.heads.extend(board.snakes.iter().map(|snake| snake.body[0]));
        possible.food.extend(&board.food);
        possible.food_counts.insert(board.food.len());
        possible.hazards.insert(sorted(board.hazards.iter().copied()));
    }
    let possible = Rc::new(possible);
    SEEN.with_borrow_mut(|seen| seen.insert(key, Rc::clone(&possible)));
    Ok(possible)
}
