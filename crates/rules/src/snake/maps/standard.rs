//! The standard map: more food by and by.

use super::super::placement::{self, Hazards};
use super::super::{Board, Settings};
use crate::chance::{Chance, Dice, Purpose, Seed};

/// Spawns food, after the eliminations of the turn: an eliminated snake leaves its cells free at once.
pub(crate) fn post_update(board: &mut Board, settings: &Settings, seed: Seed) {
    spawn_food(board, settings, seed, Hazards::MayHaveFood);
}

/// The same, but not on hazards.
pub(crate) fn post_update_off_hazards(board: &mut Board, settings: &Settings, seed: Seed) {
    spawn_food(board, settings, seed, Hazards::HaveNoFood);
}

fn spawn_food(board: &mut Board, settings: &Settings, seed: Seed, hazards: Hazards) {
    // Most turns of most games need no draw, and a stream is not free.
    if board.food.len() < settings.minimum_food as usize || settings.food_spawn_chance > 0 {
        let mut chance = Chance::new(seed, board.turn, Purpose::Food);
        let count = food_needed(board, settings, &mut chance);
        if count > 0 {
            placement::place_food_randomly(board, count, hazards, &mut chance);
        }
    }
}

/// What is missing to the minimum; else one, by chance.
///
/// Odd case: of the hundred numbers drawn only `chance - 1` give food. A chance of 15 is really 14 percent, 100 is 99, and 1 is never.
fn food_needed(board: &Board, settings: &Settings, dice: &mut impl Dice) -> usize {
    let missing = (settings.minimum_food as usize).saturating_sub(board.food.len());
    if missing > 0 {
        return missing;
    }
    usize::from(settings.food_spawn_chance > 0 && 100 - dice.below(100) < settings.food_spawn_chance)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::scripted::{Greatest, Least};
    use crate::snake::Point;

    /// Dice that show one number, to walk through all hundred.
    struct Shows(u32);

    impl Dice for Shows {
        fn below(&mut self, _n: u32) -> u32 {
            self.0
        }
    }

    #[track_caller]
    fn check_chance(food_spawn_chance: u32, expect_of_hundred: usize) {
        let settings = Settings { food_spawn_chance, minimum_food: 0, ..Settings::default() };
        let food = (0..100).map(|number| food_needed(&Board::new(7, 7), &settings, &mut Shows(number))).sum::<usize>();
        assert_eq!(food, expect_of_hundred, "a chance of {food_spawn_chance}");
    }

    #[test]
    fn the_real_chance_is_one_percent_less() {
        check_chance(0, 0);
        check_chance(1, 0);
        check_chance(2, 1);
        check_chance(15, 14);
        check_chance(100, 99);
        check_chance(101, 100);
    }

    #[track_caller]
    fn check_minimum(on_board: usize, minimum_food: u32, food_spawn_chance: u32, dice: &mut impl Dice, expect: usize) {
        let settings = Settings { food_spawn_chance, minimum_food, ..Settings::default() };
        let mut board = Board::new(7, 7);
        board.food = vec![Point::new(0, 0); on_board];
        assert_eq!(food_needed(&board, &settings, dice), expect);
    }

    #[test]
    fn the_minimum_comes_before_chance() {
        check_minimum(0, 3, 100, &mut Greatest, 3);
        check_minimum(2, 3, 100, &mut Greatest, 1);
        check_minimum(3, 3, 100, &mut Greatest, 1);
        check_minimum(3, 3, 100, &mut Least, 0);
        check_minimum(4, 3, 0, &mut Greatest, 0);
    }
}
