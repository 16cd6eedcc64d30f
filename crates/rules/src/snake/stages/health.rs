//! Hunger, hazards, food: everything that moves the health of a snake.

use super::super::{Board, Cause, HEALTH_MAX, RuleError};
use super::StageContext;

/// Every living snake loses one health. None is eliminated here: food may still save a snake at 0.
pub(crate) fn starve_snakes(board: &mut Board, _call: &StageContext<'_>) -> Result<(), RuleError> {
    for snake in board.living_mut() {
        snake.health = snake.health.saturating_sub(1);
    }
    Ok(())
}

/// Every hazard entry under a living head takes its damage; at 0 the snake is eliminated at once and does not eat.
///
/// Odd cases: food on the cell protects; entries stack; negative damage heals up to the maximum; a snake whom hunger brought to 0 in
/// this turn dies of the hazard even if it does no damage; only the head counts. Entries that wait above the board count
/// too, so a snake that leaves at the top may die of one before the wall gets it.
pub(crate) fn damage_on_hazards(board: &mut Board, call: &StageContext<'_>) -> Result<(), RuleError> {
    let turn = board.turn_in_play();
    let Board { food, hazards, snakes, .. } = board;
    for snake in snakes.iter_mut().filter(|snake| snake.is_alive()) {
        let Some(head) = snake.head().filter(|head| !food.contains(head)) else { continue };
        for _ in hazards.iter().filter(|hazard| **hazard == head) {
            snake.health = damaged(snake.health, call.settings.hazard_damage_per_turn);
            if snake.health == 0 {
                snake.eliminate(Cause::Hazard, None, turn);
                break;
            }
        }
    }
    Ok(())
}

/// Food under a living head is eaten: full health, and one point of growth at the tail. All snakes with their head on it eat.
pub(crate) fn feed_snakes(board: &mut Board, _call: &StageContext<'_>) -> Result<(), RuleError> {
    let Board { food, snakes, .. } = board;
    food.retain(|food| {
        let mut eaten = false;
        for snake in snakes.iter_mut().filter(|snake| snake.is_alive() && snake.head() == Some(*food)) {
            snake.health = HEALTH_MAX;
            snake.grow();
            eaten = true;
        }
        !eaten
    });
    Ok(())
}

fn damaged(health: u8, damage: i32) -> u8 {
    let left = i32::from(health).saturating_sub(damage).clamp(0, i32::from(HEALTH_MAX));
    u8::try_from(left).unwrap_or(HEALTH_MAX)
}
