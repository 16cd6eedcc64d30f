//! Battlesnake: the official rules as a pure function from board, orders and seed to the next board.
//!
//! Quirks of the official rules are kept, because bots have learned them; each is named where it is implemented and has
//! a row in the tests. The quirks of the official command line program (one request after the end, another language's
//! random numbers) are not rules and not here.
//!
//! A game: [`Rules::validate`] the request, [`setup`] the board, then one [`turn`] after the other until [`is_over`],
//! then [`outcome()`].

mod board;
mod error;
mod maps;
mod outcome;
mod pipeline;
mod placement;
mod ruleset;
mod stages;
mod state_hash;

pub use board::{
    Board, Cause, Elimination, HEALTH_MAX, Move, MoveOrder, Point, SIDE_MAX, SNAKES_MAX, START_LENGTH, Seat, Snake,
};
pub use error::RuleError;
pub use maps::{BoardSizes, Map};
pub use outcome::{Outcome, outcome};
pub use ruleset::{Rules, Ruleset, Settings};
pub use state_hash::state_hash;

use crate::chance::Seed;
use pipeline::pipeline_for;
use stages::StageContext;

/// The version of the rules in this crate. It rises whenever the same seed and orders would give another board, so that a stored
/// match is replayed only by the rules that played it.
pub const RULES_VERSION: u16 = 1;

/// The board before the first turn.
///
/// Where the map has no fixed layout, it plays any board within [`SIDE_MAX`] and [`SNAKES_MAX`], as the official program does;
/// [`Rules::validate`] checks whether the map takes such a board.
///
/// # Errors
/// [`RuleError::BeyondLimits`], there is no room for the snakes or for the food of the start, or the map has a fixed layout for boards
/// of another size.
pub fn setup(rules: &Rules, width: u8, height: u8, snakes: u8, seed: Seed) -> Result<Board, RuleError> {
    let side = 1..=SIDE_MAX;
    if !side.contains(&width) || !side.contains(&height) || !(1..=SNAKES_MAX).contains(&snakes) {
        return Err(RuleError::BeyondLimits { width, height, snakes });
    }
    let mut board = Board::new(width, height);
    maps::setup_board(rules, &mut board, snakes, seed)?;
    let (pipeline, call) = (pipeline_for(rules), StageContext { settings: &rules.settings, orders: &[], seed });
    if !pipeline.is_over(&board) {
        pipeline.run(&mut board, &call)?;
    }
    Ok(board)
}

/// The board after one more turn. Give one order for every living snake.
///
/// Orders for seats that are empty or eliminated are ignored. Two orders for one seat are both carried out, one after the other,
/// as the official rules do. Orders of different seats may come in any order.
///
/// Without any order nothing moves; on turn 0 that is taken for the setup of the board and nothing else happens either.
///
/// # Errors
/// [`RuleError::GameIsOver`]; [`RuleError::MoveMissing`] and [`RuleError::BodyMissing`] for living snakes;
/// [`RuleError::ShrinkTooOften`]; [`RuleError::PitsNeverFill`]. The given board is untouched in any case.
pub fn turn(rules: &Rules, board: &Board, orders: &[MoveOrder], seed: Seed) -> Result<Board, RuleError> {
    let pipeline = pipeline_for(rules);
    if pipeline.is_over(board) {
        return Err(RuleError::GameIsOver);
    }
    let mut next = board.clone();
    pipeline.run(&mut next, &StageContext { settings: &rules.settings, orders, seed })?;
    maps::post_update(rules, &mut next, seed)?;
    next.turn = next.turn_in_play();
    Ok(next)
}

/// Whether the game has ended: no snake is left whose move could matter.
#[must_use]
pub fn is_over(rules: &Rules, board: &Board) -> bool {
    pipeline_for(rules).is_over(board)
}
