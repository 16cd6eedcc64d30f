//! `hz_grow_box`: a box of hazards that begins as one cell; every twelfth turn one of its sides moves outwards, drawn among those that do
//! not touch the edge yet.

use super::super::{Board, Point};
use super::lasting_chance;
use crate::chance::{Dice, Seed};

const EVERY_N_TURNS: u32 = 12;

/// The cell of the beginning on turn 1, then a row or column more on turns 13, 25 and so on.
pub(super) fn post_update(board: &mut Board, seed: Seed) {
    let turns_since_start = board.turn_in_play().saturating_sub(1);
    if !turns_since_start.is_multiple_of(EVERY_N_TURNS) || board.hazards.len() == board.area() {
        return;
    }
    let mut chance = lasting_chance(seed);
    let mut hazards = Area::start(board, &mut chance);
    let mut grown = Some(hazards);
    for _ in 0..turns_since_start / EVERY_N_TURNS {
        grown = hazards.grow(board, &mut chance);
        if grown.is_none() {
            return;
        }
    }
    if let Some(strip) = grown {
        board.add_hazards(board.cells().filter(|cell| strip.contains(*cell)));
    }
}

/// A rectangle of cells, all bounds inclusive.
#[derive(Clone, Copy)]
struct Area {
    low: Point,
    high: Point,
}

impl Area {
    /// One cell, two or more away from the left and lower edges, one or more from the others.
    fn start(board: &Board, dice: &mut impl Dice) -> Self {
        let mut draw = |side: u8| 2 + dice.below(u32::from(side).saturating_sub(3)) as i8;
        let cell = Point { x: draw(board.width), y: draw(board.height) };
        Self { low: cell, high: cell }
    }

    /// Moves one side outwards and returns the row or column that this adds; `None` when the whole board is covered.
    fn grow(&mut self, board: &Board, dice: &mut impl Dice) -> Option<Self> {
        let (x_max, y_max) = (board.width as i8 - 1, board.height as i8 - 1);
        let sides = [self.low.x > 0, self.high.y < y_max, self.high.x < x_max, self.low.y > 0];
        let open: Vec<usize> = (0..sides.len()).filter(|side| sides[*side]).collect();
        let side = *open.get(dice.below(open.len() as u32) as usize)?;
        let mut strip = *self;
        match side {
            0 => {
                self.low.x -= 1;
                (strip.low.x, strip.high.x) = (self.low.x, self.low.x);
            }
            1 => {
                self.high.y += 1;
                (strip.low.y, strip.high.y) = (self.high.y, self.high.y);
            }
            2 => {
                self.high.x += 1;
                (strip.low.x, strip.high.x) = (self.high.x, self.high.x);
            }
            _ => {
                self.low.y -= 1;
                (strip.low.y, strip.high.y) = (self.low.y, self.low.y);
            }
        }
        Some(strip)
    }

    fn contains(&self, cell: Point) -> bool {
        (self.low.x..=self.high.x).contains(&cell.x) && (self.low.y..=self.high.y).contains(&cell.y)
    }
}
