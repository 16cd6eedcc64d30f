//! The cells around a mover, row by row, one word a row: what a viewer sees, and which of it is new.

use rules::world::{Cell, CellSet, ones};

/// A rectangle around a cell; parts of it may be off the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) centre: Cell,
    /// Columns on each side: at most 31, so that a row fits a word.
    pub(super) columns: u8,
    /// Rows above and below.
    pub(super) rows: u8,
}

impl Area {
    pub(super) fn has(self, cell: Cell) -> bool {
        cell.is_within(self.centre, u16::from(self.columns), u16::from(self.rows))
    }

    /// The area with so many cells more on every side.
    pub(super) fn grown_by(self, cells: u8) -> Self {
        Self { columns: self.columns + cells, rows: self.rows + cells, ..self }
    }

    /// The leftmost column.
    fn left(self) -> i32 {
        i32::from(self.centre.x) - i32::from(self.columns)
    }

    /// The rows from top to bottom.
    pub(super) fn rows(self) -> impl Iterator<Item = i32> {
        let (middle, rows) = (i32::from(self.centre.y), i32::from(self.rows));
        middle - rows..=middle + rows
    }

    /// The bits of a row that belong to the area; bit 0 is the leftmost column.
    fn mask(self) -> u64 {
        u64::MAX >> (u64::BITS - (2 * u32::from(self.columns) + 1))
    }

    /// What is in a set of cells in row `y`.
    pub(super) fn row_of(self, bits: &CellSet, y: i32) -> u64 {
        bits.window(self.left(), y) & self.mask()
    }

    /// The cells of row `y` that this other area has too.
    pub(super) fn shared_with(self, other: Self, y: i32) -> u64 {
        let distance = (y - i32::from(other.centre.y)).unsigned_abs();
        if distance > u32::from(other.rows) { 0 } else { self.shifted_from(other, other.mask()) }
    }

    /// A row of another area as a row of this one.
    pub(super) fn shifted_from(self, other: Self, row: u64) -> u64 {
        let shift = other.left() - self.left();
        let moved = if shift >= 0 {
            row.checked_shl(shift.unsigned_abs()).unwrap_or(0)
        } else {
            row.checked_shr(shift.unsigned_abs()).unwrap_or(0)
        };
        moved & self.mask()
    }

    /// The cells of a row's bits. Only bits of cells on the grid may be set.
    pub(super) fn cells(self, y: i32, row: u64) -> impl Iterator<Item = Cell> {
        ones(row).map(move |bit| Cell { x: (self.left() + bit as i32) as u16, y: y as u16 })
    }
}

/// What a viewer knows of a set of cells: the bits of the area that was last sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct KnownRows {
    area: Option<Area>,
    rows: Vec<u64>,
}

impl KnownRows {
    /// What is known of row `y`, as a row of this area.
    fn row(&self, area: Area, y: i32) -> u64 {
        let Some(known) = self.area else { return 0 };
        let at = usize::try_from(y - i32::from(known.centre.y) + i32::from(known.rows)).ok();
        at.and_then(|at| self.rows.get(at)).map_or(0, |row| area.shifted_from(known, *row))
    }

    /// All that is known in this area is void, and reported as gone.
    pub(super) fn clear_area(&mut self, area: Area, mut off: impl FnMut(Cell)) {
        for y in area.rows() {
            area.cells(y, self.row(area, y)).for_each(&mut off);
        }
        self.area = None;
    }

    /// From what is known to what is: `on` gets the cells of the area that are set and were not known, `off` those in it that
    /// were known and are not set any more.
    pub(super) fn update(&mut self, area: Area, bits: &CellSet, mut on: impl FnMut(Cell), mut off: impl FnMut(Cell)) {
        let mut learned = [0_u64; u64::BITS as usize];
        for (at, y) in area.rows().enumerate() {
            let (now, before) = (area.row_of(bits, y), self.row(area, y));
            area.cells(y, now & !before).for_each(&mut on);
            area.cells(y, before & !now).for_each(&mut off);
            learned[at] = now;
        }
        self.area = Some(area);
        self.rows.clear();
        self.rows.extend_from_slice(&learned[..2 * usize::from(area.rows) + 1]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rules::world::Size;
    use std::collections::BTreeSet;

    const SIZE: Size = Size { width: 90, height: 70 };

    fn area() -> impl Strategy<Value = Area> {
        (0..SIZE.width, 0..SIZE.height, 1_u8..32, 1_u8..32).prop_map(|(x, y, columns, rows)| Area {
            centre: Cell { x, y },
            columns,
            rows,
        })
    }

    fn bits(cells: &[(u16, u16)]) -> CellSet {
        let mut bits = CellSet::new(SIZE);
        cells.iter().for_each(|(x, y)| bits.insert(Cell { x: *x, y: *y }));
        bits
    }

    proptest! {
        #[test]
        fn a_row_has_the_cells_of_the_area(area in area(), cells in proptest::collection::vec((0..SIZE.width, 0..SIZE.height), 0..300)) {
            let bits = bits(&cells);
            let have: BTreeSet<Cell> = area.rows().flat_map(|y| area.cells(y, area.row_of(&bits, y))).collect();
            let want: BTreeSet<Cell> = bits.iter().filter(|cell| area.has(*cell)).collect();
            prop_assert_eq!(have, want);
        }

        #[test]
        fn shared_cells_are_in_both(one in area(), other in area()) {
            let mut all = CellSet::new(SIZE);
            (0..SIZE.cells()).for_each(|index| all.insert(SIZE.cell(index)));
            for y in one.rows().filter(|y| (0..i32::from(SIZE.height)).contains(y)) {
                let shared = one.shared_with(other, y) & one.row_of(&all, y);
                let have: Vec<Cell> = one.cells(y, shared).collect();
                let want: Vec<Cell> = all.iter().filter(|cell| i32::from(cell.y) == y && one.has(*cell) && other.has(*cell)).collect();
                prop_assert_eq!(have, want);
            }
        }

        /// A client that applies every change, and drops what is outside, knows what is there.
        #[test]
        fn who_learns_knows(steps in proptest::collection::vec((area(), proptest::collection::vec((0..SIZE.width, 0..SIZE.height), 0..200)), 1..6)) {
            let mut known = KnownRows::default();
            let mut picture = BTreeSet::new();
            for (area, cells) in steps {
                let bits = bits(&cells);
                picture.retain(|cell| area.has(*cell));
                let (mut on, mut off) = (Vec::new(), Vec::new());
                known.update(area, &bits, |cell| on.push(cell), |cell| off.push(cell));
                for cell in off {
                    prop_assert!(picture.remove(&cell), "{:?} was not known", cell);
                }
                for cell in on {
                    prop_assert!(picture.insert(cell), "{:?} was known", cell);
                }
                prop_assert_eq!(&picture, &bits.iter().filter(|cell| area.has(*cell)).collect::<BTreeSet<_>>());
            }
        }
    }
}
