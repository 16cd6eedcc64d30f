//! Life's rules for the bacteria of a world: a cell is born with three neighbours, survives with two or three, dies
//! otherwise.
//!
//! Bacteria live on free cells only: a cell with a tree or a mover is dead, and so is all outside the grid. A
//! generation is computed for 64 cells at a time: neighbours are counted by adding shifted rows bit by bit, without
//! carrying beyond what the rules need. Rules: Gardner, "Mathematical Games", Scientific American 223 (4), 1970.

use super::cell_set::CellSet;
use super::grid::Cell;
use crate::validation::{ValidationError, whole_ms};
use std::time::Duration;

/// How bacteria live in a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LifeSettings {
    /// From one generation to the next.
    pub generation: Duration,
    /// Cells of a thousand that are alive at first, where no tree stands.
    pub start_permille: u16,
}

impl Default for LifeSettings {
    /// One generation a second, from nothing: life is put into the world.
    fn default() -> Self {
        Self { generation: Duration::from_secs(1), start_permille: 0 }
    }
}

impl LifeSettings {
    /// Everything that is wrong with these settings.
    #[must_use]
    pub fn validation_errors(&self) -> Vec<ValidationError> {
        let spans = ValidationError::check_range("generation_ms", whole_ms(self.generation), 50, 3_600_000);
        let start = ValidationError::check_range("start_permille", self.start_permille, 0, 1_000);
        spans.into_iter().chain(start).collect()
    }
}

/// Neighbours of 64 cells in one row, the cells themselves included: the low and the high bit of a number from 0 to 3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sum {
    low: u64,
    high: u64,
}

/// The bacteria of a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Life {
    alive: CellSet,
    sums: [Vec<Sum>; 3],
    row: Vec<u64>,
}

impl Life {
    /// These cells are alive.
    #[must_use]
    pub fn new(alive: CellSet) -> Self {
        let sums = || vec![Sum::default(); alive.words_per_row()];
        Self { sums: [sums(), sums(), sums()], row: vec![0; alive.words_per_row()], alive }
    }

    /// Where bacteria live.
    #[must_use]
    pub fn alive(&self) -> &CellSet {
        &self.alive
    }

    /// Puts a bacterium there.
    pub fn sow(&mut self, cell: Cell) {
        self.alive.insert(cell);
    }

    /// The bacterium there dies: a mover steps on it.
    pub fn trample(&mut self, cell: Cell) {
        self.alive.remove(cell);
    }

    /// The next generation. `blocked` gives, for the number of a word of a set of the same grid, the cells on which nothing lives.
    pub fn next_generation(&mut self, blocked: impl Fn(usize) -> u64) {
        let rows = usize::from(self.alive.size().height);
        let row_words = self.alive.words_per_row();
        self.sums[0].fill(Sum::default());
        sum_row(row_of(&self.alive, 0), &mut self.sums[1]);
        for y in 0..rows {
            if y + 1 < rows {
                sum_row(row_of(&self.alive, y + 1), &mut self.sums[2]);
            } else {
                self.sums[2].fill(Sum::default());
            }
            self.next_row(y);
            for (word, next) in self.row.iter().enumerate() {
                let at = y * row_words + word;
                let free = self.alive.on_grid(at) & !blocked(at);
                self.alive.words_mut()[at] = next & free;
            }
            self.sums.rotate_left(1);
        }
    }

    /// Works the next state of row `y` out from the sums of the rows above, of it and below.
    fn next_row(&mut self, y: usize) {
        let [above, own, below] = &self.sums;
        let alive = row_of(&self.alive, y);
        for (word, next) in self.row.iter_mut().enumerate() {
            // The own sum counts the cell itself, which is no neighbour: it survives with a total of three or four, and
            // is born with a total of three.
            let (a, b, c) = (above[word], own[word], below[word]);
            let ones = a.low ^ b.low ^ c.low;
            let carry = (a.low & b.low) | (c.low & (a.low ^ b.low));
            let twos = [a.high, b.high, c.high, carry];
            let odd_twos = twos[0] ^ twos[1] ^ twos[2] ^ twos[3];
            let two_twos = (twos[0] & twos[1]) | (twos[2] & twos[3]) | ((twos[0] ^ twos[1]) & (twos[2] ^ twos[3]));
            let four_twos = twos[0] & twos[1] & twos[2] & twos[3];
            let is_three = ones & odd_twos & !two_twos;
            let is_four = !ones & !odd_twos & two_twos & !four_twos;
            *next = is_three | (alive[word] & is_four);
        }
    }
}

fn row_of(bits: &CellSet, y: usize) -> &[u64] {
    let row_words = bits.words_per_row();
    bits.words().get(y * row_words..(y + 1) * row_words).unwrap_or(&[])
}

/// For every cell of a row: how many of it, its left and its right neighbour are alive.
fn sum_row(row: &[u64], sums: &mut [Sum]) {
    for (word, sum) in sums.iter_mut().enumerate() {
        let at = |word: Option<usize>| word.and_then(|word| row.get(word)).copied().unwrap_or(0);
        let cells = at(Some(word));
        let left = cells << 1 | at(word.checked_sub(1)) >> 63;
        let right = cells >> 1 | at(Some(word + 1)) << 63;
        *sum = Sum { low: left ^ cells ^ right, high: (left & cells) | (right & (left ^ cells)) };
    }
}

#[cfg(test)]
mod tests {
    use super::super::grid::Size;
    use super::*;
    use proptest::prelude::*;

    fn drawn(size: Size, picture: &[(u16, u16)]) -> CellSet {
        let mut bits = CellSet::new(size);
        picture.iter().for_each(|(x, y)| bits.insert(Cell { x: *x, y: *y }));
        bits
    }

    /// The rules, cell by cell.
    fn oracle(alive: &CellSet, blocked: &CellSet) -> CellSet {
        let size = alive.size();
        let mut next = CellSet::new(size);
        for cell in (0..size.cells()).map(|index| size.cell(index)) {
            let around = super::super::Step::ALL.into_iter().skip(1);
            let count =
                around.filter_map(|step| size.neighbour(cell, step)).filter(|other| alive.contains(*other)).count();
            if (count == 3 || count == 2 && alive.contains(cell)) && !blocked.contains(cell) {
                next.insert(cell);
            }
        }
        next
    }

    proptest! {
        #[test]
        fn a_generation_follows_the_rules(
            width in 1_u16..150, height in 1_u16..9, share in 0_u32..1_000, seed in any::<u64>(), blocked in 0_u16..300,
        ) {
            use crate::chance::{Chance, Dice, Purpose, Seed};
            let size = Size { width, height };
            let mut dice = Chance::new(Seed(seed), 0, Purpose::WorldLife);
            let blocked = super::super::place_trees(Seed(seed), size, blocked);
            let mut alive = CellSet::new(size);
            (0..size.cells()).filter(|_| dice.below(1_000) < share).for_each(|index| alive.insert(size.cell(index)));
            let mut life = Life::new(alive.clone());
            for _ in 0..3 {
                alive = oracle(&alive, &blocked);
                life.next_generation(|word| blocked.words()[word]);
                prop_assert_eq!(life.alive(), &alive);
            }
        }
    }

    #[test]
    fn a_glider_crosses_a_border_of_words() {
        let size = Size { width: 140, height: 140 };
        let glider = [(1, 0), (2, 1), (0, 2), (1, 2), (2, 2)];
        let mut life = Life::new(drawn(size, &glider));
        for _ in 0..4 * 130 {
            life.next_generation(|_| 0);
        }
        let moved: Vec<_> = glider.iter().map(|(x, y)| (x + 130, y + 130)).collect();
        assert_eq!(life.alive(), &drawn(size, &moved));
    }

    #[test]
    fn nothing_grows_where_it_is_blocked() {
        let size = Size { width: 9, height: 9 };
        let blinker = drawn(size, &[(3, 4), (4, 4), (5, 4)]);
        let tree = drawn(size, &[(4, 3)]);
        let mut life = Life::new(blinker);
        life.next_generation(|word| tree.words()[word]);
        assert_eq!(life.alive(), &drawn(size, &[(4, 4), (4, 5)]));
    }

    #[test]
    fn a_mover_that_steps_on_a_bacterium_kills_it() {
        let mut life = Life::new(CellSet::new(Size { width: 3, height: 3 }));
        let cell = Cell { x: 1, y: 1 };
        life.sow(cell);
        assert!(life.alive().contains(cell));
        life.trample(cell);
        assert_eq!(life.alive().count(), 0);
    }
}
