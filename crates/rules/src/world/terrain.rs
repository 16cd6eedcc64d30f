//! What the seed lays out in an empty world: trees, the first bacteria, and where a mover appears.

use super::cell_set::CellSet;
use super::grid::{Cell, Size};
use crate::chance::{Chance, Dice, Purpose, Seed};

const WORD_BITS: usize = u64::BITS as usize;
/// Draws of a spawn before free cells are looked for one after the other.
const SPAWN_DRAWS: u32 = 64;

/// Where the trees stand: every cell is one with the same chance.
#[must_use]
pub fn place_trees(seed: Seed, size: Size, tree_permille: u16) -> CellSet {
    scattered(&mut Chance::new(seed, 0, Purpose::WorldTrees), size, tree_permille, |_| true)
}

/// Where bacteria live at first: every cell without a tree with the same chance.
#[must_use]
pub fn initial_bacteria(seed: Seed, trees: &CellSet, start_permille: u16) -> CellSet {
    let mut chance = Chance::new(seed, 0, Purpose::WorldLife);
    scattered(&mut chance, trees.size(), start_permille, |cell| !trees.contains(cell))
}

/// One draw for every cell, so that what is allowed does not move what comes later.
fn scattered(dice: &mut impl Dice, size: Size, permille: u16, is_allowed: impl Fn(Cell) -> bool) -> CellSet {
    let mut bits = CellSet::new(size);
    for index in 0..size.cells() {
        let cell = size.cell(index);
        if dice.below(1_000) < u32::from(permille) && is_allowed(cell) {
            bits.insert(cell);
        }
    }
    bits
}

/// The spawn cell of a mover without a preference: a free cell, all equally likely; `None` when no cell is free.
pub fn spawn_cell(dice: &mut impl Dice, size: Size, is_free: impl Fn(Cell) -> bool) -> Option<Cell> {
    let cells = size.cells();
    let drawn = (0..SPAWN_DRAWS).map(|_| size.cell(dice.below(cells))).find(|cell| is_free(*cell));
    drawn.or_else(|| {
        let first = dice.below(cells);
        (first..cells).chain(0..first).map(|index| size.cell(index)).find(|cell| is_free(*cell))
    })
}

/// The free cell that is fewest steps away from one of the grid, if any is free. `free` gives, for the number of a word
/// of a set of the same grid, the free cells among its own: rows are searched word by word, so that a crowd around the
/// wanted cell costs little.
#[must_use]
pub fn nearest_free(size: Size, to: Cell, free: impl Fn(usize) -> u64) -> Option<Cell> {
    let row_words = usize::from(size.width).div_ceil(WORD_BITS);
    let (middle, bit) = (usize::from(to.x) / WORD_BITS, usize::from(to.x) % WORD_BITS);
    let mut best: Option<Cell> = None;
    // Cells of a row so far away that none in it is nearer are not looked at.
    for away in 0..size.height {
        let reach = best.map_or(u16::MAX, |cell| cell.distance(to));
        if away >= reach {
            break;
        }
        let rows = [to.y.checked_sub(away), to.y.checked_add(away).filter(|y| *y < size.height)];
        for y in rows.into_iter().flatten() {
            let row = |word: usize| free(usize::from(y) * row_words + word);
            let at = |word: usize, bit: u32| Cell { x: (word * WORD_BITS) as u16 + bit as u16, y };
            let left = (0..=middle).rev().find_map(|word| {
                let bits = if word == middle {
                    row(word) << (WORD_BITS - 1 - bit) >> (WORD_BITS - 1 - bit)
                } else {
                    row(word)
                };
                (bits != 0).then(|| at(word, u64::BITS - 1 - bits.leading_zeros()))
            });
            let right = (middle..row_words).find_map(|word| {
                let bits = if word == middle { row(word) >> bit << bit } else { row(word) };
                (bits != 0).then(|| at(word, bits.trailing_zeros()))
            });
            best = [best, left, right].into_iter().flatten().min_by_key(|cell| cell.distance(to));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::scripted::Greatest;
    use proptest::prelude::*;

    const SIZE: Size = Size { width: 100, height: 100 };

    #[test]
    fn trees_follow_the_seed_and_their_number_the_settings() {
        assert_eq!(place_trees(Seed(1), SIZE, 0).count(), 0);
        assert_eq!(place_trees(Seed(1), SIZE, 1_000).count(), 10_000);
        // Standard deviation: sqrt(10000 * 0.05 * 0.95) = 21.8; five of them.
        assert!(place_trees(Seed(1), SIZE, 50).count().abs_diff(500) < 109);
        assert_eq!(place_trees(Seed(1), SIZE, 50), place_trees(Seed(1), SIZE, 50));
        assert_ne!(place_trees(Seed(1), SIZE, 50), place_trees(Seed(2), SIZE, 50));
    }

    #[test]
    fn bacteria_begin_only_where_no_tree_stands() {
        let trees = place_trees(Seed(3), SIZE, 400);
        let sown = initial_bacteria(Seed(3), &trees, 500);
        assert!(sown.count() > 2_500);
        assert!(sown.iter().all(|cell| !trees.contains(cell)));
    }

    #[test]
    fn a_spawn_is_free_even_when_only_one_cell_is() {
        let only = Cell { x: 3, y: 7 };
        let chance = || Chance::new(Seed(5), 1, Purpose::WorldSpawn);
        assert_eq!(spawn_cell(&mut chance(), SIZE, |cell| cell == only), Some(only));
        assert_eq!(spawn_cell(&mut Greatest, SIZE, |cell| cell == only), Some(only));
        assert_eq!(spawn_cell(&mut chance(), SIZE, |_| false), None);
        assert_eq!(spawn_cell(&mut chance(), SIZE, |_| true), spawn_cell(&mut chance(), SIZE, |_| true));
    }

    proptest! {
        #[test]
        fn nothing_free_is_nearer_than_the_nearest(
            width in 1_u16..200, height in 1_u16..12, x in 0_u16..200, y in 0_u16..12,
            taken_permille in 0_u16..=1_000, seed in any::<u64>(),
        ) {
            let (size, to) = (Size { width, height }, Cell { x: x % width, y: y % height });
            let taken = place_trees(Seed(seed), size, taken_permille);
            let found = nearest_free(size, to, |word| !taken.words()[word] & taken.on_grid(word));
            prop_assert!(found.is_none_or(|cell| size.contains(cell) && !taken.contains(cell)));
            let least = taken.complement().map(|cell| cell.distance(to)).min();
            prop_assert_eq!(found.map(|cell| cell.distance(to)), least);
        }
    }
}
