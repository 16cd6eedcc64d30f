//! The royale map: the standard map, and hazards that close in from the sides, with any rule set.

use super::super::stages::royale::{close_in, shrinks};
use super::super::{Board, RuleError, Settings};
use crate::chance::Seed;

/// The hazards of this turn. Before the first shrink the hazards of the board stay, unlike in the
/// royale rule set, which clears them.
pub(crate) fn post_update(board: &mut Board, settings: &Settings, seed: Seed) -> Result<(), RuleError> {
    let shrinks = shrinks(board, settings.shrink_every_n_turns)?;
    if shrinks > 0 {
        close_in(board, shrinks, seed);
    }
    Ok(())
}
