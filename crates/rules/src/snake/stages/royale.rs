//! Royale: the hazards close in from the sides.

use super::super::{Board, Point, RuleError};
use super::StageContext;
use crate::chance::{Chance, Dice, Purpose, Seed};
use std::sync::Arc;

/// The rule set's stage: hazards are drawn anew every turn, and there are none before the first shrink. They hurt from the next turn.
pub(crate) fn shrink(board: &mut Board, call: &StageContext<'_>) -> Result<(), RuleError> {
    let shrinks = shrinks(board, call.settings.shrink_every_n_turns)?;
    if shrinks > 0 {
        close_in(board, shrinks, call.seed);
    } else if !board.hazards.is_empty() {
        board.hazards = Arc::default();
    }
    Ok(())
}

/// How often the safe area has shrunk once the turn in play is over.
///
/// # Errors
/// [`RuleError::ShrinkTooOften`] for an interval of 0 turns.
pub(crate) fn shrinks(board: &Board, every_n_turns: u32) -> Result<u32, RuleError> {
    board.turn_in_play().checked_div(every_n_turns).ok_or(RuleError::ShrinkTooOften)
}

/// Replaces the hazards by all cells outside the safe area, column by column.
///
/// The sides are drawn from the beginning of one stream every time, so a side once lost stays lost, and rule set and map shrink
/// alike for the same seed.
pub(crate) fn close_in(board: &mut Board, shrinks: u32, seed: Seed) {
    let safe = SafeArea::after(shrinks, board.width, board.height, &mut Chance::new(seed, 0, Purpose::Hazards));
    board.hazards = Arc::new(board.cells().filter(|cell| !safe.contains(*cell)).collect());
}

/// A rectangle, all bounds inclusive; empty when a lower bound has passed its upper one.
struct SafeArea {
    x_min: i16,
    x_max: i16,
    y_min: i16,
    y_max: i16,
}

impl SafeArea {
    fn after(shrinks: u32, width: u8, height: u8, dice: &mut impl Dice) -> Self {
        let mut area = Self { x_min: 0, x_max: i16::from(width) - 1, y_min: 0, y_max: i16::from(height) - 1 };
        for _ in 0..shrinks {
            if area.is_empty() {
                break; // More draws would change nothing.
            }
            match dice.below(4) {
                0 => area.x_min += 1,
                1 => area.x_max -= 1,
                2 => area.y_min += 1,
                _ => area.y_max -= 1,
            }
        }
        area
    }

    fn is_empty(&self) -> bool {
        self.x_min > self.x_max || self.y_min > self.y_max
    }

    fn contains(&self, cell: Point) -> bool {
        (self.x_min..=self.x_max).contains(&i16::from(cell.x)) && (self.y_min..=self.y_max).contains(&i16::from(cell.y))
    }
}
