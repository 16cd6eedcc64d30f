//! Eliminations at the end of a turn.

use super::super::{Board, Cause, RuleError, Seat, Snake};
use super::StageContext;

/// Snakes without health and snakes outside the board leave first; then all collisions are decided on one and the same
/// board.
///
/// A snake that leaves in the first round is not there any more for the others. A snake that leaves in the second round
/// still takes others with it: two equal snakes that meet head to head both die.
pub(crate) fn eliminate_snakes(board: &mut Board, _call: &StageContext<'_>) -> Result<(), RuleError> {
    if let Some((seat, _)) = board.living().find(|(_, snake)| snake.body.is_empty()) {
        return Err(RuleError::BodyMissing(seat));
    }
    eliminate_starved_and_strayed(board);
    eliminate_collided(board);
    Ok(())
}

/// Hunger is looked at before walls. Any point outside counts, not only the head.
fn eliminate_starved_and_strayed(board: &mut Board) {
    let (turn, width, height) = (board.turn_in_play(), board.width, board.height);
    for snake in board.living_mut() {
        if snake.health == 0 {
            snake.eliminate(Cause::OutOfHealth, None, turn);
        } else if !snake.body.iter().all(|point| point.is_inside(width, height)) {
            snake.eliminate(Cause::WallCollision, None, turn);
        }
    }
}

fn eliminate_collided(board: &mut Board) {
    let turn = board.turn_in_play();
    let collided: Vec<(Seat, Cause, Seat)> = board
        .living()
        .filter_map(|(seat, snake)| collision(board, seat, snake).map(|(cause, by)| (seat, cause, by)))
        .collect();
    for (seat, cause, by) in collided {
        board.snakes[seat.index()].eliminate(cause, Some(by), turn);
    }
}

/// The one collision that is written down: with itself before with a body before with a head, with the longest of several.
fn collision(board: &Board, seat: Seat, snake: &Snake) -> Option<(Cause, Seat)> {
    if head_meets_body(snake, snake) {
        return Some((Cause::SelfCollision, seat));
    }
    let longest_that = |meets: fn(&Snake, &Snake) -> bool| {
        let others = board.living().filter(|(other, _)| *other != seat);
        // Of equally long ones the first: `min_by_key` keeps the first of its ties.
        others.filter(|(_, other)| meets(snake, other)).min_by_key(|(_, other)| std::cmp::Reverse(other.length()))
    };
    let body = longest_that(head_meets_body).map(|(other, _)| (Cause::SnakeCollision, other));
    body.or_else(|| longest_that(loses_head_to_head).map(|(other, _)| (Cause::HeadCollision, other)))
}

/// Tails count where they are after the move: a cell that a tail has just left is free.
fn head_meets_body(snake: &Snake, other: &Snake) -> bool {
    snake.head().is_some_and(|head| other.body.iter().skip(1).any(|point| *point == head))
}

fn loses_head_to_head(snake: &Snake, other: &Snake) -> bool {
    snake.head() == other.head() && snake.length() <= other.length()
}
