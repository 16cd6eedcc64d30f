//! One bit for each cell of a grid, sixty-four cells a word: trees, bacteria, occupied cells.
//!
//! Rows begin at a word of their own, so that a row can be read, shifted and added word by word. What a bit means is
//! not known here.

use super::grid::{Cell, Size};
use std::ops::Range;

const WORD_BITS: usize = u64::BITS as usize;

/// A set of cells of one grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CellSet {
    size: Size,
    words_per_row: usize,
    words: Vec<u64>,
}

impl CellSet {
    /// Nothing on a grid of this size.
    #[must_use]
    pub fn new(size: Size) -> Self {
        let row_words = usize::from(size.width).div_ceil(WORD_BITS);
        Self { size, words_per_row: row_words, words: vec![0; row_words * usize::from(size.height)] }
    }

    /// The grid.
    #[must_use]
    pub fn size(&self) -> Size {
        self.size
    }

    /// Words of one row.
    #[must_use]
    pub fn words_per_row(&self) -> usize {
        self.words_per_row
    }

    /// All words, row after row; bit 0 of a word is the leftmost of its cells, and bits right of the grid are never set.
    #[must_use]
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// For those who write whole words: they leave the bits right of the grid alone.
    pub(super) fn words_mut(&mut self) -> &mut [u64] {
        &mut self.words
    }

    fn place(&self, cell: Cell) -> (usize, u64) {
        let x = usize::from(cell.x);
        (usize::from(cell.y) * self.words_per_row + x / WORD_BITS, 1 << (x % WORD_BITS))
    }

    /// Whether the cell is in the set. Cells off the grid are not.
    #[must_use]
    pub fn contains(&self, cell: Cell) -> bool {
        let (word, bit) = self.place(cell);
        self.size.contains(cell) && self.words[word] & bit != 0
    }

    /// Takes the cell in; a cell off the grid stays out.
    pub fn insert(&mut self, cell: Cell) {
        if self.size.contains(cell) {
            let (word, bit) = self.place(cell);
            self.words[word] |= bit;
        }
    }

    /// Takes the cell out.
    pub fn remove(&mut self, cell: Cell) {
        if self.size.contains(cell) {
            let (word, bit) = self.place(cell);
            self.words[word] &= !bit;
        }
    }

    /// How many cells are in the set.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    /// Every cell of the set, row by row.
    pub fn iter(&self) -> impl Iterator<Item = Cell> + '_ {
        self.words.iter().enumerate().flat_map(|(at, word)| self.cells(at, *word))
    }

    /// Every cell of the grid that is not in the set, row by row.
    pub fn complement(&self) -> impl Iterator<Item = Cell> + '_ {
        self.words.iter().enumerate().flat_map(|(at, word)| self.cells(at, !word & self.on_grid(at)))
    }

    /// The cells of a part of a row that are in the set, from left to right: whole words without one are passed over. The part must
    /// lie on the grid.
    pub fn in_row(&self, y: u16, columns: Range<u16>) -> impl Iterator<Item = Cell> + '_ {
        let (first, end) = (usize::from(columns.start), usize::from(columns.end));
        let words = first / WORD_BITS..if first < end { end.div_ceil(WORD_BITS) } else { first / WORD_BITS };
        words.flat_map(move |word| {
            let (from, to) = (first.saturating_sub(word * WORD_BITS), (end - word * WORD_BITS).min(WORD_BITS));
            let at = usize::from(y) * self.words_per_row + word;
            self.cells(at, self.words[at] & (u64::MAX << from) & (u64::MAX >> (WORD_BITS - to)))
        })
    }

    /// The cells of these bits of a word.
    fn cells(&self, at: usize, word: u64) -> impl Iterator<Item = Cell> + use<> {
        let (y, x) = (at / self.words_per_row, at % self.words_per_row * WORD_BITS);
        ones(word).map(move |bit| Cell { x: (x + bit) as u16, y: y as u16 })
    }

    /// The bits of 64 cells of row `y` that begin at column `x`: bit 0 is column `x`. What is off the grid is 0.
    #[must_use]
    pub fn window(&self, x: i32, y: i32) -> u64 {
        let Some(row) = usize::try_from(y).ok().filter(|y| *y < usize::from(self.size.height)) else { return 0 };
        let row = &self.words[row * self.words_per_row..(row + 1) * self.words_per_row];
        let word = x.div_euclid(u64::BITS as i32);
        let shift = x.rem_euclid(u64::BITS as i32) as u32;
        let at = |word: i32| usize::try_from(word).ok().and_then(|word| row.get(word)).copied().unwrap_or(0);
        if shift == 0 { at(word) } else { at(word) >> shift | at(word + 1) << (u64::BITS - shift) }
    }

    /// The bits of a word of a row that belong to cells of the grid.
    #[must_use]
    pub fn on_grid(&self, word: usize) -> u64 {
        let cells = usize::from(self.size.width).saturating_sub(word % self.words_per_row.max(1) * WORD_BITS);
        if cells >= WORD_BITS { u64::MAX } else { (1 << cells) - 1 }
    }
}

/// The numbers of the bits of a word that are set, lowest first.
pub fn ones(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = (word != 0).then(|| word.trailing_zeros() as usize)?;
        word &= word - 1;
        Some(bit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_window_is_what_its_cells_are(
            width in 1_u16..200, height in 1_u16..6, cells in proptest::collection::vec((0_u16..200, 0_u16..6), 0..80),
            x in -80_i32..220, y in -2_i32..8,
        ) {
            let mut bits = CellSet::new(Size { width, height });
            for (x, y) in cells {
                bits.insert(Cell { x, y });
            }
            let window = bits.window(x, y);
            for bit in 0..64 {
                let cell = (u16::try_from(x + bit), u16::try_from(y));
                let want = matches!(cell, (Ok(x), Ok(y)) if bits.contains(Cell { x, y }));
                prop_assert_eq!(window >> bit & 1 == 1, want, "column {} of row {}", x + bit, y);
            }
        }

        #[test]
        fn the_set_holds_what_was_put_in(
            width in 1_u16..140, height in 1_u16..6, cells in proptest::collection::vec((0_u16..150, 0_u16..7, any::<bool>()), 0..80),
        ) {
            let size = Size { width, height };
            let mut bits = CellSet::new(size);
            let mut oracle = std::collections::BTreeSet::new();
            for (x, y, is_in) in cells {
                let cell = Cell { x, y };
                if is_in { bits.insert(cell) } else { bits.remove(cell) }
                if is_in && size.contains(cell) { oracle.insert((y, x)); } else { oracle.remove(&(y, x)); }
            }
            let have: Vec<_> = bits.iter().map(|cell| (cell.y, cell.x)).collect();
            prop_assert_eq!(have, oracle.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(bits.count() as usize, oracle.len());
            let others: Vec<_> = bits.complement().collect();
            let left_out = (0..size.cells()).map(|index| size.cell(index)).filter(|cell| !oracle.contains(&(cell.y, cell.x)));
            prop_assert_eq!(others, left_out.collect::<Vec<_>>());
        }
    }

    #[test]
    fn only_the_cells_of_a_row_are_on_the_grid() {
        let bits = CellSet::new(Size { width: 70, height: 2 });
        assert_eq!([0, 1, 2, 3].map(|word| bits.on_grid(word).count_ones()), [64, 6, 64, 6]);
    }
}
