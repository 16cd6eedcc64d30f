//! Cells, the size of a grid, and the steps from one cell to the next. Who stands where is not known here.

/// A place on the grid: `x` grows to the right, `y` grows downwards, both from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    /// The column.
    pub x: u16,
    /// The row.
    pub y: u16,
}

impl Cell {
    /// Steps from here to there: the larger of the two differences (Chebyshev's distance), as a step may be diagonal.
    #[must_use]
    pub fn distance(self, other: Self) -> u16 {
        self.x.abs_diff(other.x).max(self.y.abs_diff(other.y))
    }

    /// Whether the other cell is at most so many columns and rows away.
    #[must_use]
    pub fn is_within(self, other: Self, columns: u16, rows: u16) -> bool {
        self.x.abs_diff(other.x) <= columns && self.y.abs_diff(other.y) <= rows
    }
}

/// One move: to one of the eight neighbours, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Step {
    /// Nowhere.
    Stay = 0,
    /// Up.
    N = 1,
    /// Up and right.
    Ne = 2,
    /// Right.
    E = 3,
    /// Down and right.
    Se = 4,
    /// Down.
    S = 5,
    /// Down and left.
    Sw = 6,
    /// Left.
    W = 7,
    /// Up and left.
    Nw = 8,
}

impl Step {
    /// Every step, in the order of its code. Codes are never changed.
    pub const ALL: [Self; 9] = [Self::Stay, Self::N, Self::Ne, Self::E, Self::Se, Self::S, Self::Sw, Self::W, Self::Nw];

    /// The number on the wire.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The step of this number, if there is one.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// The name in JSON and in scenarios.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stay => "stay",
            Self::N => "n",
            Self::Ne => "ne",
            Self::E => "e",
            Self::Se => "se",
            Self::S => "s",
            Self::Sw => "sw",
            Self::W => "w",
            Self::Nw => "nw",
        }
    }

    /// The step of this name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.name() == name)
    }

    /// Columns and rows that it leads away.
    #[must_use]
    pub fn offset(self) -> (i16, i16) {
        const OFFSETS: [(i16, i16); 9] = [(0, 0), (0, -1), (1, -1), (1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1)];
        OFFSETS[self as usize]
    }
}

/// How large a grid is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Size {
    /// Columns.
    pub width: u16,
    /// Rows.
    pub height: u16,
}

impl Size {
    /// How many cells there are.
    #[must_use]
    pub fn cells(self) -> u32 {
        u32::from(self.width) * u32::from(self.height)
    }

    /// Whether the cell is on the grid.
    #[must_use]
    pub fn contains(self, cell: Cell) -> bool {
        cell.x < self.width && cell.y < self.height
    }

    /// The cell's place when rows are laid end to end.
    #[must_use]
    pub fn index(self, cell: Cell) -> usize {
        usize::from(cell.y) * usize::from(self.width) + usize::from(cell.x)
    }

    /// The cell at this place, see [`Size::index`]. A grid without columns has none; the answer is then the first cell.
    #[must_use]
    pub fn cell(self, index: u32) -> Cell {
        let width = u32::from(self.width).max(1);
        Cell { x: (index % width) as u16, y: (index / width) as u16 }
    }

    /// Where a step leads; `None` when that is off the grid.
    #[must_use]
    pub fn neighbour(self, cell: Cell, step: Step) -> Option<Cell> {
        let (dx, dy) = step.offset();
        let to = Cell { x: cell.x.checked_add_signed(dx)?, y: cell.y.checked_add_signed(dy)? };
        self.contains(to).then_some(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size { width: 4, height: 3 };

    #[track_caller]
    fn check(from: (u16, u16), step: Step, want: Option<(u16, u16)>) {
        let to = SIZE.neighbour(Cell { x: from.0, y: from.1 }, step);
        assert_eq!(to.map(|cell| (cell.x, cell.y)), want, "{step:?} from {from:?}");
    }

    #[test]
    fn bounds_hold_at_every_corner() {
        check((0, 0), Step::Stay, Some((0, 0)));
        check((0, 0), Step::N, None);
        check((0, 0), Step::W, None);
        check((0, 0), Step::Nw, None);
        check((0, 0), Step::Ne, None);
        check((0, 0), Step::Sw, None);
        check((0, 0), Step::Se, Some((1, 1)));
        check((3, 2), Step::S, None);
        check((3, 2), Step::E, None);
        check((3, 2), Step::Se, None);
        check((3, 2), Step::Nw, Some((2, 1)));
        check((1, 1), Step::N, Some((1, 0)));
        check((1, 1), Step::S, Some((1, 2)));
        check((1, 1), Step::Sw, Some((0, 2)));
    }

    #[test]
    fn every_step_leads_somewhere_else_and_has_one_code_and_one_name() {
        let from = Cell { x: 5, y: 5 };
        let size = Size { width: 11, height: 11 };
        for step in Step::ALL {
            assert_eq!(Step::from_code(step.code()), Some(step));
            assert_eq!(Step::from_name(step.name()), Some(step));
            let to = size.neighbour(from, step).unwrap();
            assert_eq!(to.distance(from), u16::from(step != Step::Stay));
            let as_far: Vec<_> =
                Step::ALL.into_iter().filter(|other| size.neighbour(from, *other) == Some(to)).collect();
            assert_eq!(as_far, [step]);
        }
        assert_eq!(Step::from_code(9), None);
        assert_eq!(Step::from_name("N"), None);
    }

    #[test]
    fn cells_and_their_places_are_one_to_one() {
        for index in 0..SIZE.cells() {
            assert_eq!(SIZE.index(SIZE.cell(index)), index as usize);
            assert!(SIZE.contains(SIZE.cell(index)));
        }
        assert!(!SIZE.contains(Cell { x: 4, y: 0 }) && !SIZE.contains(Cell { x: 0, y: 3 }));
    }
}
