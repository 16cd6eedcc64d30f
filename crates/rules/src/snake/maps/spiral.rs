//! `hz_spiral`: hazards wind clockwise out of a random cell near the middle, one cell every third turn.

use super::super::{Board, Point};
use super::lasting_chance;
use crate::chance::{Dice, Seed};

const EVERY_N_TURNS: u32 = 3;

/// The next cell of the spiral, if its turn has come and it lies on the board.
pub(super) fn post_update(board: &mut Board, seed: Seed) {
    let turn = board.turn_in_play();
    if turn < EVERY_N_TURNS || !turn.is_multiple_of(EVERY_N_TURNS) {
        return;
    }
    let mut chance = lasting_chance(seed);
    let centre = (start_coordinate(board.width, &mut chance), start_coordinate(board.height, &mut chance));
    let (x, y) = spiral_cell(centre, turn / EVERY_N_TURNS - 1);
    if let (Ok(x), Ok(y)) = (i8::try_from(x), i8::try_from(y)) {
        let cell = Point::new(x, y);
        if board.contains(cell) {
            board.add_hazard(cell);
        }
    }
}

/// Three tenths of a side, rounded down, are left out at both ends.
fn start_coordinate(side: u8, dice: &mut impl Dice) -> i64 {
    let least = u32::from(side) * 3 / 10;
    let choices = u32::from(side).saturating_sub(2 * least);
    i64::from(least + dice.below(choices))
}

/// Cell `nth` of the spiral around `centre`, which is cell 0. Ring `r` has `8 r` cells: it begins beside its upper left corner, goes
/// right, down, left and up, and ends in that corner.
fn spiral_cell((x, y): (i64, i64), nth: u32) -> (i64, i64) {
    if nth == 0 {
        return (x, y);
    }
    let nth = i64::from(nth) - 1;
    // The rings before ring r have 4 r (r - 1) cells.
    let ring = (1..).find(|ring| 4 * ring * (ring + 1) > nth).unwrap_or(1);
    let along = nth - 4 * ring * (ring - 1) + 1;
    let (side, rest) = (along / (2 * ring), along % (2 * ring));
    match side {
        0 => (x - ring + rest, y + ring),
        1 => (x + ring, y + ring - rest),
        2 => (x + ring - rest, y - ring),
        3 => (x - ring, y - ring + rest),
        _ => (x - ring, y + ring),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spiral_turns_clockwise_and_names_every_cell_once() {
        let first: Vec<_> = (0..12).map(|nth| spiral_cell((0, 0), nth)).collect();
        let expect =
            [(0, 0), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1), (-1, 0), (-1, 1), (-1, 2), (0, 2), (1, 2)];
        assert_eq!(first, expect);
        let all: std::collections::BTreeSet<_> = (0..49 * 49).map(|nth| spiral_cell((0, 0), nth)).collect();
        assert_eq!(all.len(), 49 * 49, "as many as the square around the centre has");
        assert!(all.iter().all(|(x, y)| x.abs() <= 24 && y.abs() <= 24));
    }
}
