//! The score of a game that has passed its deadline: its board decides, as in over-the-board games that are adjudicated. A bot that takes all
//! the time that it has can bring a game to its deadline, and must gain nothing by it: neither a replay nor the better seed.

use crate::matches::machine::MatchMachine;
use crate::tournaments::event::GameScore;
use rules::snake::Snake;
use std::cmp::Reverse;

/// The places of a game as far as it was played: the living before those that are out, of the living the longer before the shorter, then the
/// healthier; of those that are out, who lasted longer. Equals share a place. `None` before the first turn: no board decides that.
#[must_use]
pub fn adjudicate(machine: &MatchMachine, silent: Vec<bool>) -> Option<GameScore> {
    if machine.turns() == 0 {
        return None;
    }
    let result = machine.result();
    Some(GameScore { places: places(&machine.board().snakes), food: result.food_eaten, silent, turns: machine.turns() })
}

fn places(snakes: &[Snake]) -> Vec<u8> {
    let keys: Vec<_> = snakes
        .iter()
        .map(|snake| match snake.elimination {
            None => (Reverse(u64::MAX), Reverse(snake.body.len()), Reverse(snake.health)),
            Some(out) => (Reverse(u64::from(out.turn)), Reverse(0), Reverse(0)),
        })
        .collect();
    let place = |key| 1 + keys.iter().filter(|other| *other < key).count() as u8;
    keys.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rules::snake::{Cause, Elimination, Point};

    /// Length, health, and the turn in which it left, of each snake.
    #[track_caller]
    fn check(snakes: &[(usize, u8, Option<u32>)], want: &[u8]) {
        let snake = |&(length, health, out): &(usize, u8, Option<u32>)| Snake {
            health,
            body: vec![Point { x: 1, y: 1 }; length],
            elimination: out.map(|turn| Elimination { turn, cause: Cause::OutOfHealth, by: None }),
        };
        let snakes: Vec<Snake> = snakes.iter().map(snake).collect();
        assert_eq!(places(&snakes), want, "{snakes:?}");
    }

    #[test]
    fn the_board_decides() {
        check(&[(5, 10, None), (4, 90, None)], &[1, 2]);
        check(&[(4, 10, None), (4, 90, None)], &[2, 1]);
        check(&[(4, 90, None), (4, 90, None)], &[1, 1]);
        // Who is out comes after all who are not, however long.
        check(&[(20, 90, Some(70)), (3, 1, None)], &[2, 1]);
        check(&[(9, 9, Some(7)), (3, 1, None), (3, 1, None), (3, 9, Some(8))], &[4, 1, 1, 3]);
        check(&[(9, 9, Some(7)), (3, 1, Some(7)), (4, 0, None)], &[2, 2, 1]);
    }
}
