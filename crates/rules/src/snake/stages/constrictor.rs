//! Constrictor: no food, no hunger, ever longer snakes.

use super::super::{Board, HEALTH_MAX, RuleError};
use super::StageContext;

/// All food disappears.
///
/// Odd case: a map that spawns food does so after this stage, so bots see food that will be gone, and the next turn feeds before
/// it removes: where edges touch, a snake can reach it. Play constrictor with no food chance and no minimum, or on the empty
/// map.
pub(crate) fn remove_food(board: &mut Board, _call: &StageContext<'_>) -> Result<(), RuleError> {
    board.food.clear();
    Ok(())
}

/// Every snake has full health and grows by one point, unless its tail is stacked already.
///
/// Odd case: eliminated snakes too, once; their tail is stacked after that.
pub(crate) fn grow_snakes(board: &mut Board, _call: &StageContext<'_>) -> Result<(), RuleError> {
    for snake in &mut board.snakes {
        snake.health = HEALTH_MAX;
        if !matches!(*snake.body, [.., last_but_one, last] if last_but_one == last) {
            snake.grow();
        }
    }
    Ok(())
}
