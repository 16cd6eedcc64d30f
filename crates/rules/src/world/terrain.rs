//! What the seed lays out before anybody comes: trees, the first bacteria, and where a mover appears.

use super::bits::Bits;
use super::grid::{Cell, Size};
use crate::chance::{Chance, Dice, Purpose, Seed};

/// Draws of a spawn before free cells are looked for one after the other.
const SPAWN_DRAWS: u32 = 64;

/// Where the trees stand: every cell is one with the same chance.
#[must_use]
pub fn trees(seed: Seed, size: Size, tree_permille: u16) -> Bits {
    scattered(&mut Chance::new(seed, 0, Purpose::WorldTrees), size, tree_permille, |_| true)
}

/// Where bacteria live at first: every cell without a tree with the same chance.
#[must_use]
pub fn sown(seed: Seed, trees: &Bits, start_permille: u16) -> Bits {
    let mut chance = Chance::new(seed, 0, Purpose::WorldLife);
    scattered(&mut chance, trees.size(), start_permille, |cell| !trees.has(cell))
}

/// One draw for every cell, so that what is allowed does not move what comes later.
fn scattered(dice: &mut impl Dice, size: Size, permille: u16, is_allowed: impl Fn(Cell) -> bool) -> Bits {
    let mut bits = Bits::new(size);
    for index in 0..size.cells() {
        let cell = size.cell(index);
        if dice.below(1_000) < u32::from(permille) && is_allowed(cell) {
            bits.set(cell);
        }
    }
    bits
}

/// Where somebody appears who has no wish: a free cell, all equally likely; `None` when no cell is free.
pub fn spawn(dice: &mut impl Dice, size: Size, is_free: impl Fn(Cell) -> bool) -> Option<Cell> {
    let cells = size.cells();
    let drawn = (0..SPAWN_DRAWS).map(|_| size.cell(dice.below(cells))).find(|cell| is_free(*cell));
    drawn.or_else(|| {
        let first = dice.below(cells);
        (first..cells).chain(0..first).map(|index| size.cell(index)).find(|cell| is_free(*cell))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::scripted::Greatest;

    const SIZE: Size = Size { width: 100, height: 100 };

    #[test]
    fn trees_are_as_many_as_asked_for_and_the_seed_says_where() {
        assert_eq!(trees(Seed(1), SIZE, 0).count(), 0);
        assert_eq!(trees(Seed(1), SIZE, 1_000).count(), 10_000);
        // Standard deviation: sqrt(10000 * 0.05 * 0.95) = 21.8; five of them.
        assert!(trees(Seed(1), SIZE, 50).count().abs_diff(500) < 109);
        assert_eq!(trees(Seed(1), SIZE, 50), trees(Seed(1), SIZE, 50));
        assert_ne!(trees(Seed(1), SIZE, 50), trees(Seed(2), SIZE, 50));
    }

    #[test]
    fn bacteria_begin_only_where_no_tree_stands() {
        let trees = trees(Seed(3), SIZE, 400);
        let sown = sown(Seed(3), &trees, 500);
        assert!(sown.count() > 2_500);
        assert!(sown.iter().all(|cell| !trees.has(cell)));
    }

    #[test]
    fn a_spawn_is_free_even_when_only_one_cell_is() {
        let only = Cell { x: 3, y: 7 };
        let chance = || Chance::new(Seed(5), 1, Purpose::WorldSpawn);
        assert_eq!(spawn(&mut chance(), SIZE, |cell| cell == only), Some(only));
        assert_eq!(spawn(&mut Greatest, SIZE, |cell| cell == only), Some(only));
        assert_eq!(spawn(&mut chance(), SIZE, |_| false), None);
        assert_eq!(spawn(&mut chance(), SIZE, |_| true), spawn(&mut chance(), SIZE, |_| true));
    }
}
