//! Who won: the result of a board, without its reasons.

use super::{Board, Seat, Snake};

/// The result of a game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The only snake left alive, if there is one.
    pub winner: Option<Seat>,
    /// There is no winner, and several snakes share the first place. A lone snake's game is never a draw.
    pub is_draw: bool,
    /// By seat: 1 is the best. Snakes that share a place are followed by a gap, as in sports: 1, 1, 3.
    pub placements: Vec<u8>,
}

/// The result of a board whose game is over, or is cut off at its last allowed turn.
///
/// The living come first, then later eliminations before earlier ones; the same turn is the same place. Several living snakes (a
/// game that was cut off) share the first place and draw.
#[must_use]
pub fn outcome(board: &Board) -> Outcome {
    let placements: Vec<u8> = board.snakes.iter().map(|snake| place(board, snake)).collect();
    let mut living = board.living();
    let winner = match (living.next(), living.next()) {
        (Some((seat, _)), None) => Some(seat),
        _ => None,
    };
    let first_places = placements.iter().filter(|place| **place == 1).count();
    Outcome { winner, is_draw: winner.is_none() && first_places > 1, placements }
}

fn place(board: &Board, snake: &Snake) -> u8 {
    let better = board.snakes.iter().filter(|other| lasted(other) > lasted(snake)).count();
    u8::try_from(better).unwrap_or(u8::MAX).saturating_add(1)
}

/// The turn in which a snake left; later than any turn while it is alive.
fn lasted(snake: &Snake) -> u64 {
    snake.elimination.map_or(u64::MAX, |elimination| u64::from(elimination.turn))
}
