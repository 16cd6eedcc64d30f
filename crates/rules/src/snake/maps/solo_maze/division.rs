//! The walls of a maze by recursive division (Jamis Buck, "Mazes for Programmers", chapter 12): a room gets a vertical and a horizontal
//! wall where there is space, with holes, and so do the rooms between them.
//!
//! What belongs to this maze: a room keeps a free cell beside all four of its sides; where both walls are drawn, the vertical one
//! has a hole below and one above the crossing and the horizontal one a hole at its left; and no later wall may meet a hole.

use super::super::super::Point;
use crate::chance::Dice;
use std::collections::BTreeSet;

/// Walls of a square maze whose lower left cell is (0, 0), column by column, each cell once.
pub(super) fn walls(side: u32, dice: &mut impl Dice) -> Vec<Point> {
    let mut division = Division { walls: BTreeSet::new(), dice };
    let last = side as i8 - 1;
    division.divide(Room { left: 0, bottom: 0, right: last, top: last }, Holes::default());
    division.walls.into_iter().collect()
}

/// Cells of a room, all bounds inclusive; its right column and its top row may be walls.
#[derive(Clone, Copy)]
struct Room {
    left: i8,
    bottom: i8,
    right: i8,
    top: i8,
}

/// Where holes of the walls around a room are: no wall may end there.
#[derive(Clone, Default)]
struct Holes {
    columns: Vec<i8>,
    rows: Vec<i8>,
}

struct Division<'a, D> {
    walls: BTreeSet<Point>,
    dice: &'a mut D,
}

impl<D: Dice> Division<'_, D> {
    fn divide(&mut self, room: Room, mut holes: Holes) {
        let Room { left, bottom, right, top } = room;
        if right - left <= 2 && top - bottom <= 2 {
            return;
        }
        let column = self.draw_wall(left, right, &holes.columns);
        let row = self.draw_wall(bottom, top, &holes.rows);
        let vertical_holes = match (column, row) {
            (Some(_), Some(row)) => vec![self.draw(bottom, row), self.draw(row + 1, top)],
            (Some(_), None) => vec![self.draw(bottom, top)],
            (None, _) => vec![],
        };
        let horizontal_hole = row.map(|_| self.draw(left, column.unwrap_or(right)));
        if let Some(x) = column {
            self.walls.extend((bottom..=top).filter(|y| !vertical_holes.contains(y)).map(|y| Point::new(x, y)));
        }
        if let Some(y) = row {
            self.walls.extend((left..=right).filter(|x| horizontal_hole != Some(*x)).map(|x| Point::new(x, y)));
        }
        holes.rows.extend(vertical_holes);
        holes.columns.extend(horizontal_hole);
        let columns = [Some((left, column.unwrap_or(right))), column.map(|x| (x + 1, right))];
        let rows = [Some((bottom, row.unwrap_or(top))), row.map(|y| (y + 1, top))];
        if column.is_some() || row.is_some() {
            for (bottom, top) in rows.into_iter().flatten() {
                for (left, right) in columns.into_iter().flatten() {
                    self.divide(Room { left, bottom, right, top }, holes.clone());
                }
            }
        }
    }

    /// A column or row for a wall: not beside the sides of the room, and not where a hole is.
    fn draw_wall(&mut self, first: i8, last: i8, holes: &[i8]) -> Option<i8> {
        let choices: Vec<i8> = (first + 1..last - 1).filter(|at| !holes.contains(at)).collect();
        choices.get(self.dice.below(choices.len() as u32) as usize).copied()
    }

    /// A number from `first` up to, not including, `end`.
    fn draw(&mut self, first: i8, end: i8) -> i8 {
        first + self.dice.below(u32::from((end - first).unsigned_abs())) as i8
    }
}
