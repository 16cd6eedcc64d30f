//! Sets of cells as one word of bits per row, and the plane they lie on. A flood fill of a board is then a few dozen
//! shifts per step instead of a queue. Knows no snakes.

use wire::webhook::Coord;

use super::Direction;
use crate::limits::BOARD_SIDE_MAX;

/// A cell of the plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cell {
    x: u8,
    y: u8,
}

/// A set of cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Cells {
    rows: [u32; BOARD_SIDE_MAX],
}

impl Cells {
    pub(super) fn insert(&mut self, cell: Cell) {
        self.rows[usize::from(cell.y)] |= 1 << cell.x;
    }

    pub(super) fn contains(&self, cell: Cell) -> bool {
        self.rows[usize::from(cell.y)] & (1 << cell.x) != 0
    }

    pub(super) fn meets(&self, other: &Cells) -> bool {
        self.rows.iter().zip(&other.rows).any(|(a, b)| a & b != 0)
    }

    pub(super) fn without(mut self, other: &Cells) -> Cells {
        self.rows.iter_mut().zip(&other.rows).for_each(|(a, b)| *a &= !b);
        self
    }

    pub(super) fn count(&self) -> u32 {
        self.rows.iter().map(|row| row.count_ones()).sum()
    }
}

/// A board of at most [`BOARD_SIDE_MAX`] cells a side, whose edges are walls or lead to the opposite side.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plane {
    width: u8,
    height: u8,
    wrapped: bool,
}

impl Plane {
    /// A plane of that size; nothing when it is empty or too large.
    pub(super) fn new(width: u32, height: u32, wrapped: bool) -> Option<Plane> {
        let side = |cells: u32| u8::try_from(cells).ok().filter(|&c| c > 0 && usize::from(c) <= BOARD_SIDE_MAX);
        Some(Plane { width: side(width)?, height: side(height)?, wrapped })
    }

    /// The cell at `coord`; nothing outside.
    pub(super) fn cell(&self, coord: Coord) -> Option<Cell> {
        let x = u8::try_from(coord.x).ok().filter(|&x| x < self.width)?;
        let y = u8::try_from(coord.y).ok().filter(|&y| y < self.height)?;
        Some(Cell { x, y })
    }

    pub(super) fn all(&self) -> Cells {
        let mut all = Cells::default();
        all.rows[..usize::from(self.height)].fill(self.row_mask());
        all
    }

    fn row_mask(&self) -> u32 {
        (1 << self.width) - 1
    }

    /// The neighbour of `cell`; nothing beyond a wall.
    pub(super) fn step(&self, cell: Cell, direction: Direction) -> Option<Cell> {
        let Cell { x, y } = cell;
        match direction {
            Direction::Up => self.up(y, self.height).map(|y| Cell { x, y }),
            Direction::Down => self.down(y, self.height).map(|y| Cell { x, y }),
            Direction::Left => self.down(x, self.width).map(|x| Cell { x, y }),
            Direction::Right => self.up(x, self.width).map(|x| Cell { x, y }),
        }
    }

    fn up(&self, at: u8, size: u8) -> Option<u8> {
        if at + 1 < size { Some(at + 1) } else { self.wrapped.then_some(0) }
    }

    fn down(&self, at: u8, size: u8) -> Option<u8> {
        at.checked_sub(1).or_else(|| self.wrapped.then_some(size - 1))
    }

    /// `cells` and their neighbours, as far as they lie in `open`.
    fn grown(&self, cells: &Cells, open: &Cells) -> Cells {
        let height = usize::from(self.height);
        let (below_first, above_last) = if self.wrapped { (cells.rows[height - 1], cells.rows[0]) } else { (0, 0) };
        let mut grown = *cells;
        for y in 0..height {
            let below = if y > 0 { cells.rows[y - 1] } else { below_first };
            let above = if y + 1 < height { cells.rows[y + 1] } else { above_last };
            grown.rows[y] |= (self.sideways(cells.rows[y]) | below | above) & open.rows[y];
        }
        grown
    }

    /// The left and right neighbours of a row's cells.
    fn sideways(&self, row: u32) -> u32 {
        let beside = (row << 1) | (row >> 1);
        let around = if self.wrapped { (row >> (self.width - 1)) | (row << (self.width - 1)) } else { 0 };
        (beside | around) & self.row_mask()
    }

    /// Cells that can be reached from `start` through `open`, `start` included.
    pub(super) fn area(&self, start: Cell, open: &Cells) -> u32 {
        let mut reached = Cells::default();
        reached.insert(start);
        loop {
            let grown = self.grown(&reached, open);
            if grown == reached {
                return reached.count();
            }
            reached = grown;
        }
    }

    /// Steps from `start` through `open` to the nearest of `goals`; nothing when none can be reached.
    pub(super) fn distance(&self, start: Cell, open: &Cells, goals: &Cells) -> Option<u32> {
        let mut reached = Cells::default();
        reached.insert(start);
        let mut steps = 0;
        while !reached.meets(goals) {
            let grown = self.grown(&reached, open);
            if grown == reached {
                return None;
            }
            reached = grown;
            steps += 1;
        }
        Some(steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows from top to bottom: `#` closed, `o` the start, `*` a goal, `.` open.
    #[track_caller]
    fn check(picture: &[&str], wrapped: bool, area: u32, distance: Option<u32>) {
        let (width, height) = (picture[0].len() as u32, picture.len() as u32);
        let plane = Plane::new(width, height, wrapped).expect("small");
        let (mut closed, mut goals, mut start) = (Cells::default(), Cells::default(), None);
        for (row, y) in picture.iter().rev().zip(0..) {
            for (mark, x) in row.chars().zip(0..) {
                let cell = plane.cell(Coord { x, y }).expect("inside");
                match mark {
                    '#' => closed.insert(cell),
                    '*' => goals.insert(cell),
                    'o' => start = Some(cell),
                    _ => {}
                }
            }
        }
        let (open, start) = (plane.all().without(&closed), start.expect("a start"));
        assert_eq!((plane.area(start, &open), plane.distance(start, &open, &goals)), (area, distance));
    }

    #[test]
    fn walls_bound_the_flood() {
        check(&["o.*", "...", "..."], false, 9, Some(2));
        check(&["o#*", ".##", "..."], false, 5, None);
        check(&["o#*", ".#.", "..."], false, 7, Some(6));
        check(&["o"], false, 1, None);
        check(&["###", "#o#", "###"], false, 1, None);
    }

    #[test]
    fn edges_of_a_wrapped_board_lead_around() {
        check(&["o#*", ".##", "..."], true, 6, Some(1));
        check(&["..*..", "#####", "o####"], true, 6, Some(3));
        check(&["o"], true, 1, None);
        check(&["o..#*"], true, 4, Some(1));
    }

    #[test]
    fn planes_have_a_size() {
        assert!(Plane::new(25, 25, true).is_some());
        for (width, height) in [(0, 5), (5, 0), (26, 5), (5, 26), (u32::MAX, 1), (256, 1)] {
            assert!(Plane::new(width, height, false).is_none(), "{width}x{height}");
        }
        assert_eq!(Plane::new(25, 25, false).map(|plane| plane.all().count()), Some(625));
    }

    #[test]
    fn steps_agree_with_the_flood() {
        for wrapped in [false, true] {
            let plane = Plane::new(4, 3, wrapped).expect("small");
            for (x, y) in (0..4).flat_map(|x| (0..3).map(move |y| (x, y))) {
                let from = plane.cell(Coord { x, y }).expect("inside");
                let mut stepped = Cells::default();
                stepped.insert(from);
                let mut flooded = stepped;
                Direction::ALL.into_iter().filter_map(|d| plane.step(from, d)).for_each(|cell| stepped.insert(cell));
                flooded = plane.grown(&flooded, &plane.all());
                assert_eq!(stepped, flooded, "({x}, {y}) wrapped: {wrapped}");
            }
        }
    }
}
