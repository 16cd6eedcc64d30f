//! `healing_pools`: a few cells of hazards, of which one disappears every `shrinkEveryNTurns` turns, for ever if that is 0. They heal
//! when the hazard damage is negative; otherwise they hurt like any other hazard.

use super::super::{Board, Point, Settings};
use crate::chance::{Chance, Dice, Purpose, Seed};
use std::sync::Arc;

type Pools = &'static [(i8, i8)];

/// Where the pools may be, by the side of the board; each choice is equally likely. Recorded from the official module.
const POOLS_SMALL: [Pools; 1] = [&[(3, 3)]];
const POOLS_MEDIUM: [Pools; 4] = [&[(3, 3), (7, 7)], &[(3, 7), (7, 3)], &[(3, 5), (7, 5)], &[(5, 3), (5, 7)]];
const POOLS_LARGE: [Pools; 2] = [&[(5, 5), (5, 13), (13, 5), (13, 13)], &[(5, 10), (10, 5), (10, 13), (13, 10)]];

/// The pools of the match.
pub(super) fn setup_board(board: &mut Board, seed: Seed) {
    let choices: &[Pools] = match board.width {
        7 => &POOLS_SMALL,
        11 => &POOLS_MEDIUM,
        _ => &POOLS_LARGE,
    };
    let choice = Chance::new(seed, 0, Purpose::MapHazards).below(choices.len() as u32) as usize;
    board.add_hazards(choices[choice].iter().map(|(x, y)| Point::new(*x, *y)));
}

/// Removes one pool, by chance, when it is time.
pub(super) fn post_update(board: &mut Board, settings: &Settings, seed: Seed) {
    let every_n_turns = settings.shrink_every_n_turns;
    if board.turn == 0 || every_n_turns == 0 || !board.turn.is_multiple_of(every_n_turns) || board.hazards.is_empty() {
        return;
    }
    let drawn = Chance::new(seed, board.turn, Purpose::MapHazards).below(board.hazards.len() as u32) as usize;
    Arc::make_mut(&mut board.hazards).remove(drawn);
}
