//! What comes into a world and what goes out as an answer: small values that travel in batches.

use super::refusal::Refusal;
use crate::time::UnixMs;
use rules::world::{Cell, PowerUp, Step};

/// A mover. Numbers begin at 1 and are given once in the life of a world, until two to the power of 32 have been given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MoverId(pub u32);

/// The address of a mover in the memory of a loaded world: found at once, and checked against the id, so that a stale one finds
/// nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MoverRef {
    /// Where he is kept.
    pub slot: u32,
    /// Who he is.
    pub id: MoverId,
}

/// Something that a mover wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    /// Who.
    pub mover: MoverRef,
    /// The number of the input among his own, without gaps, from what [`super::Registered`] said.
    pub seq: u32,
    /// Comes back with the answer; only the door knows what it means.
    pub tag: u64,
    /// When the door took it: microseconds of the clock that `now_us` is read from.
    pub at_us: i64,
    /// What.
    pub kind: InputKind,
}

/// What a mover may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// Goes to a neighbouring cell, or stays.
    Step(Step),
    /// Digs the chest of his cell; with a magnet the nearest one in reach.
    Dig,
    /// Grabs the power-up of his cell; with a magnet the nearest one in reach.
    Grab,
}

/// What became of an input. It is given once for every input that was applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The input's.
    pub tag: u64,
    /// The input's.
    pub mover: MoverRef,
    /// The input's.
    pub seq: u32,
    /// What became of it.
    pub result: Result<Done, Refusal>,
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// He stands there now.
    Moved(Cell),
    /// The chest was his.
    Dug {
        /// What it was worth.
        points: u16,
        /// What he has in this round with it.
        score: u32,
    },
    /// The power-up is his.
    Grabbed {
        /// Which.
        item: PowerUp,
        /// Until when it helps.
        until: UnixMs,
    },
}
