//! When a game ends.

use super::super::Board;

/// Standard: at most one snake is alive. A lone snake's game is over before it starts.
pub(crate) fn one_or_none_left(board: &Board) -> bool {
    board.living().nth(1).is_none()
}

/// Solo: no snake is alive.
pub(crate) fn none_left(board: &Board) -> bool {
    board.living().next().is_none()
}
