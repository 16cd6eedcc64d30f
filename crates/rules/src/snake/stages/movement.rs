//! Movement: snakes follow their orders.

use super::super::{Board, Move, MoveOrder, Point, RuleError, Seat};
use super::StageContext;

/// Every living snake gets a new head in front and loses its last point.
///
/// Odd cases: without any order no snake moves; orders for other seats are ignored; two orders for one seat are both
/// carried out; an order without a step goes straight on, see [`straight_on`].
pub(crate) fn move_snakes(board: &mut Board, call: &StageContext<'_>) -> Result<(), RuleError> {
    if call.orders.is_empty() {
        return Ok(());
    }
    demand_bodies_and_orders(board, call.orders)?;
    for order in call.orders {
        if let Some(snake) = board.snakes.get_mut(order.seat.index()).filter(|snake| snake.is_alive()) {
            advance(&mut snake.body, order.direction);
        }
    }
    Ok(())
}

/// As [`move_snakes`]; a head that left the board comes in again on the opposite side.
pub(crate) fn move_snakes_and_wrap(board: &mut Board, call: &StageContext<'_>) -> Result<(), RuleError> {
    move_snakes(board, call)?;
    let (width, height) = (board.width, board.height);
    for snake in board.living_mut() {
        if let Some(head) = snake.body.first_mut() {
            *head = Point::new(wrap(head.x, width), wrap(head.y, height));
        }
    }
    Ok(())
}

fn demand_bodies_and_orders(board: &Board, orders: &[MoveOrder]) -> Result<(), RuleError> {
    for (seat, snake) in board.living() {
        if snake.body.is_empty() {
            return Err(RuleError::BodyMissing(seat));
        }
        if !has_order(seat, orders) {
            return Err(RuleError::MoveMissing(seat));
        }
    }
    Ok(())
}

fn has_order(seat: Seat, orders: &[MoveOrder]) -> bool {
    orders.iter().any(|order| order.seat == seat)
}

fn advance(body: &mut [Point], step: Option<Move>) {
    let head = match *body {
        [] => return,
        [head, ..] => head.step(step.unwrap_or_else(|| straight_on(body))),
    };
    body.rotate_right(1);
    body[0] = head;
}

/// The direction from neck to head: the move of a snake without an order.
///
/// Columns are checked before rows. A neck on the far side of a wrapped board is recognised by a head or neck on the
/// zero edge. A stacked neck, or none at all, means up.
fn straight_on(body: &[Point]) -> Move {
    let [head, neck, ..] = *body else { return Move::Up };
    let (dx, dy) = (i16::from(head.x) - i16::from(neck.x), i16::from(head.y) - i16::from(neck.y));
    match (dx, dy) {
        (1, _) => Move::Right,
        (-1, _) => Move::Left,
        (_, 1) => Move::Up,
        (_, -1) => Move::Down,
        _ => straight_on_across_an_edge(head, neck),
    }
}

fn straight_on_across_an_edge(head: Point, neck: Point) -> Move {
    match (head, neck) {
        (Point { x: 0, .. }, Point { x: 1.., .. }) => Move::Right,
        (Point { x: 1.., .. }, Point { x: 0, .. }) => Move::Left,
        (Point { y: 1.., .. }, Point { y: 0, .. }) => Move::Down,
        _ => Move::Up,
    }
}

fn wrap(coordinate: i8, side: u8) -> i8 {
    let last = i16::from(side) - 1;
    match i16::from(coordinate) {
        below if below < 0 => i8::try_from(last).unwrap_or(i8::MAX),
        above if above > last => 0,
        _ => coordinate,
    }
}
