//! The order of the seats: each bot's share of each seat is even, also against the same opponents.

use super::pool::Pool;

/// Brings the bots of a line-up into the order of their seats. They come in the order in which chance has put them, which decides
/// between orders that are as good.
///
/// A bot in a seat costs how often it had that seat already (what a square of that number grows by), and a pair in an order costs how
/// often it had that order more than the other one; the first weighs more. Two bots are swapped for as long as that lowers the
/// cost, which is a whole number, so that it ends.
pub(super) fn order_seats(pool: &Pool<'_>, line_up: &mut [usize]) {
    let seats = line_up.len();
    let mut is_improved = true;
    while is_improved {
        is_improved = false;
        for front in 0..seats {
            for back in front + 1..seats {
                let before = cost(pool, line_up);
                line_up.swap(front, back);
                if cost(pool, line_up) < before {
                    is_improved = true;
                } else {
                    line_up.swap(front, back);
                }
            }
        }
    }
}

fn cost(pool: &Pool<'_>, line_up: &[usize]) -> (u64, i64) {
    let had = line_up.iter().enumerate().map(|(seat, &at)| u64::from(pool.had_seat(at, seat))).sum();
    let pairs =
        line_up.iter().enumerate().flat_map(|(seat, &at)| line_up[seat + 1..].iter().map(move |&other| (at, other)));
    let led = pairs.map(|(at, other)| i64::from(pool.lead(at, other))).sum();
    (had, led)
}
