//! One byte form of a board, and its fingerprint: how "the same state" is said in a log.
//!
//! Layout of version 1, integers little endian, a point is x then y as one signed byte each:
//!
//! ```text
//! version u8 · turn u32 · width u8 · height u8
//! food    count u32, points
//! hazards count u32, points
//! snakes  count u8, each: health u8 · cause u8 (0 alive) · by u8 (255 nobody) · eliminated on turn u32 · length u32, points
//! ```
//!
//! Lists keep their order, which is part of the state: bots see it. Compression is not this file's concern.

use std::error::Error;
use std::fmt;

use super::{Board, Cause, Elimination, HEALTH_MAX, Point, SIDE_MAX, Seat, Snake};

/// The first byte of every encoded board.
pub const ENCODING_VERSION: u8 = 1;

const ALIVE: u8 = 0;
const NOBODY: u8 = u8::MAX;

impl Board {
    /// Appends the canonical bytes of the board. Two boards have the same bytes exactly when they are equal.
    pub fn encode(&self, into: &mut Vec<u8>) {
        write_board(self, into);
    }

    /// Reads back what [`Board::encode`] wrote.
    ///
    /// # Errors
    /// The first thing that no encoded board contains; the bytes must end with the board.
    pub fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader { left: bytes };
        let board = reader.board()?;
        if reader.left.is_empty() { Ok(board) } else { Err(DecodeError::TooLong { extra_bytes: reader.left.len() }) }
    }
}

/// The FNV-1a hash (64 bits) of the canonical bytes of a board. Detects errors, not forgeries.
#[must_use]
pub fn state_hash(board: &Board) -> u64 {
    let mut hash = Fnv1a::START;
    write_board(board, &mut hash);
    hash.0
}

/// Why bytes are not a board.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// Written by another version of this encoding.
    Version {
        /// The version found.
        have: u8,
    },
    /// The bytes end before the board does.
    TooShort,
    /// The bytes go on after the board.
    TooLong {
        /// How many.
        extra_bytes: usize,
    },
    /// A side of 0, or beyond [`SIDE_MAX`].
    Side(u8),
    /// Health beyond [`HEALTH_MAX`].
    Health(u8),
    /// No cause of elimination has this number, or a living snake carries an elimination.
    Cause(u8),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version { have } => {
                write!(f, "a board in encoding {have}; this program reads encoding {ENCODING_VERSION}")
            }
            Self::TooShort => f.write_str("an encoded board is cut off"),
            Self::TooLong { extra_bytes } => write!(f, "{extra_bytes} bytes follow an encoded board"),
            Self::Side(side) => write!(f, "an encoded board has a side of {side}, not 1 to {SIDE_MAX}"),
            Self::Health(health) => write!(f, "an encoded snake has health {health}, not 0 to {HEALTH_MAX}"),
            Self::Cause(number) => write!(f, "an encoded snake has elimination number {number}, which does not fit"),
        }
    }
}

impl Error for DecodeError {}

/// Where encoded bytes go: into a buffer, or into a hash without one.
trait Sink {
    fn put(&mut self, bytes: &[u8]);
}

impl Sink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}

struct Fnv1a(u64);

impl Fnv1a {
    const START: Self = Self(0xcbf2_9ce4_8422_2325);
    const PRIME: u64 = 0x0000_0100_0000_01b3;
}

impl Sink for Fnv1a {
    fn put(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(Self::PRIME);
        }
    }
}

fn write_board(board: &Board, sink: &mut impl Sink) {
    sink.put(&[ENCODING_VERSION]);
    sink.put(&board.turn.to_le_bytes());
    sink.put(&[board.width, board.height]);
    write_points(&board.food, sink);
    write_points(&board.hazards, sink);
    sink.put(&[Seat::of_index(board.snakes.len()).0]);
    for snake in &board.snakes {
        write_snake(snake, sink);
    }
}

fn write_snake(snake: &Snake, sink: &mut impl Sink) {
    let (cause, by, turn) = match snake.elimination {
        None => (ALIVE, NOBODY, 0),
        Some(Elimination { cause, by, turn }) => (cause_number(cause), by.map_or(NOBODY, |seat| seat.0), turn),
    };
    sink.put(&[snake.health, cause, by]);
    sink.put(&turn.to_le_bytes());
    write_points(&snake.body, sink);
}

fn write_points(points: &[Point], sink: &mut impl Sink) {
    sink.put(&(points.len() as u32).to_le_bytes());
    for point in points {
        sink.put(&[point.x.to_le_bytes()[0], point.y.to_le_bytes()[0]]);
    }
}

/// Stored: never renumbered.
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

struct Reader<'a> {
    left: &'a [u8],
}

impl Reader<'_> {
    fn board(&mut self) -> Result<Board, DecodeError> {
        let [have] = self.take()?;
        if have != ENCODING_VERSION {
            return Err(DecodeError::Version { have });
        }
        let turn = u32::from_le_bytes(self.take()?);
        let (width, height) = (self.side()?, self.side()?);
        let (food, hazards) = (self.points()?, self.points()?);
        let [count] = self.take()?;
        let snakes = (0..count).map(|_| self.snake()).collect::<Result<_, _>>()?;
        Ok(Board { turn, width, height, food, hazards, snakes })
    }

    fn snake(&mut self) -> Result<Snake, DecodeError> {
        let [health, cause, by] = self.take()?;
        if health > HEALTH_MAX {
            return Err(DecodeError::Health(health));
        }
        let turn = u32::from_le_bytes(self.take()?);
        let elimination = match Cause::ALL.into_iter().find(|known| cause_number(*known) == cause) {
            Some(cause) => Some(Elimination { cause, by: (by != NOBODY).then_some(Seat(by)), turn }),
            None if (cause, by, turn) == (ALIVE, NOBODY, 0) => None,
            None => return Err(DecodeError::Cause(cause)),
        };
        Ok(Snake { health, body: self.points()?, elimination })
    }

    fn side(&mut self) -> Result<u8, DecodeError> {
        let [side] = self.take()?;
        if (1..=SIDE_MAX).contains(&side) { Ok(side) } else { Err(DecodeError::Side(side)) }
    }

    /// Grows with the bytes that are there, not with the count that they claim.
    fn points(&mut self) -> Result<Vec<Point>, DecodeError> {
        let count = u32::from_le_bytes(self.take()?) as usize;
        let bytes = count.checked_mul(2).and_then(|size| self.left.split_at_checked(size));
        let (points, left) = bytes.ok_or(DecodeError::TooShort)?;
        self.left = left;
        Ok(points.chunks_exact(2).map(|xy| Point::new(xy[0].cast_signed(), xy[1].cast_signed())).collect())
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (bytes, left) = self.left.split_first_chunk().ok_or(DecodeError::TooShort)?;
        self.left = left;
        Ok(*bytes)
    }
}
