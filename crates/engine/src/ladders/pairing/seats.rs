//! The order of the seats: each bot's share of each seat is even, also against the same opponents.

use super::pool::Pool;

/// What an order of a line-up costs, out of the past of its bots, looked up once.
struct OrderCosts {
    /// By bot and seat: games in it.
    had: Vec<Vec<u64>>,
    /// By two bots: how often the one sat in front of the other, less how often it sat behind.
    led: Vec<Vec<i64>>,
}

/// Brings the bots of a line-up into the order of their seats. They come in the order in which chance has put them, which decides
/// between orders that are as good.
///
/// A bot in a seat costs how often it had that seat already (what a square of that number grows by); between orders that are equal in
/// this, a pair costs how often it had that order more than the other one. Two bots are swapped for as long as that lowers the cost, which
/// is a whole number, so that it ends.
pub(super) fn order_seats(pool: &Pool<'_>, line_up: &mut [usize]) {
    let seats = line_up.len();
    let costs = OrderCosts::new(pool, line_up);
    let mut order: Vec<usize> = (0..seats).collect();
    let mut lowest = costs.cost(&order);
    let mut is_improved = true;
    while is_improved {
        is_improved = false;
        for front in 0..seats {
            for back in front + 1..seats {
                order.swap(front, back);
                let cost = costs.cost(&order);
                if cost < lowest {
                    (lowest, is_improved) = (cost, true);
                } else {
                    order.swap(front, back);
                }
            }
        }
    }
    let ordered: Vec<usize> = order.into_iter().map(|at| line_up[at]).collect();
    line_up.copy_from_slice(&ordered);
}

impl OrderCosts {
    fn new(pool: &Pool<'_>, line_up: &[usize]) -> Self {
        let had = |&at: &usize| (0..line_up.len()).map(|seat| u64::from(pool.had_seat(at, seat))).collect();
        let led = |&at: &usize| line_up.iter().map(|&other| i64::from(pool.lead(at, other))).collect();
        Self { had: line_up.iter().map(had).collect(), led: line_up.iter().map(led).collect() }
    }

    fn cost(&self, order: &[usize]) -> (u64, i64) {
        let had = order.iter().enumerate().map(|(seat, &bot)| self.had[bot][seat]).sum();
        let pairs =
            order.iter().enumerate().flat_map(|(seat, &bot)| order[seat + 1..].iter().map(move |&other| (bot, other)));
        (had, pairs.map(|(bot, other)| self.led[bot][other]).sum())
    }
}
