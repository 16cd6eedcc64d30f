//! The stages of a turn, one file per idea. Each function is one paragraph of the rule book, with its odd cases; the order in which
//! they run is in [`super::pipeline`].

pub(crate) mod constrictor;
pub(crate) mod elimination;
pub(crate) mod game_over;
pub(crate) mod health;
pub(crate) mod movement;
pub(crate) mod royale;

use super::{MoveOrder, Settings};
use crate::chance::Seed;

/// What a stage may look at besides the board.
pub(crate) struct StageContext<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) orders: &'a [MoveOrder],
    pub(crate) seed: Seed,
}
