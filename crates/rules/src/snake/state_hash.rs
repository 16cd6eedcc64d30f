//! The fingerprint of a board: how a log says which state it was written with. Detects errors, not forgeries.
//!
//! The FNV-1a hash (64 bits) of the board's bytes. Their layout, integers little endian, a point is x then y as one signed
//! byte each:
//!
//! ```text
//! version u8 = 1 · turn u32 · width u8 · height u8
//! food    count u32, points
//! hazards count u32, points
//! snakes  count u8, each: health u8 · cause u8 (0 alive) · by u8 (255 none) · eliminated on turn u32 · length u32, points
//! ```
//!
//! Lists keep their order, which is part of the state: bots see it.

use super::{Board, Cause, Elimination, Point, Seat, Snake};

const LAYOUT_VERSION: u8 = 1;
const ALIVE: u8 = 0;
const NO_SEAT: u8 = u8::MAX;

/// The fingerprint. Two boards have the same bytes exactly when they are equal.
#[must_use]
pub fn state_hash(board: &Board) -> u64 {
    let mut hash = Fnv1a::START;
    hash.put(&[LAYOUT_VERSION]);
    hash.put(&board.turn.to_le_bytes());
    hash.put(&[board.width, board.height]);
    hash.put_points(&board.food);
    hash.put_points(&board.hazards);
    hash.put(&[Seat::of_index(board.snakes.len()).0]);
    board.snakes.iter().for_each(|snake| hash.put_snake(snake));
    hash.0
}

struct Fnv1a(u64);

impl Fnv1a {
    const START: Self = Self(0xcbf2_9ce4_8422_2325);
    const PRIME: u64 = 0x0000_0100_0000_01b3;

    fn put(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(Self::PRIME);
        }
    }

    fn put_snake(&mut self, snake: &Snake) {
        let (cause, by, turn) = match snake.elimination {
            None => (ALIVE, NO_SEAT, 0),
            Some(Elimination { cause, by, turn }) => (cause_number(cause), by.map_or(NO_SEAT, |seat| seat.0), turn),
        };
        self.put(&[snake.health, cause, by]);
        self.put(&turn.to_le_bytes());
        self.put_points(&snake.body);
    }

    fn put_points(&mut self, points: &[Point]) {
        self.put(&(points.len() as u32).to_le_bytes());
        for point in points {
            self.put(&[point.x.to_le_bytes()[0], point.y.to_le_bytes()[0]]);
        }
    }
}

/// Stored with every turn: never renumbered.
const fn cause_number(cause: Cause) -> u8 {
    match cause {
        Cause::SnakeCollision => 1,
        Cause::SelfCollision => 2,
        Cause::OutOfHealth => 3,
        Cause::HeadCollision => 4,
        Cause::WallCollision => 5,
        Cause::Hazard => 6,
    }
}
