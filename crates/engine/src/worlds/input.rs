//! Inputs and their answers: small values that travel in batches.

use super::refusal::Refusal;
use crate::time::UnixMs;
use rules::world::{Cell, PowerUp, Step};

/// A mover. Numbers begin at 1 and are given once in the life of a world, until two to the power of 32 have been given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MoverId(pub u32);

/// The address of a mover in the memory of a loaded world: found at once, and checked against the id, so that a stale
/// one finds no mover.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MoverRef {
    /// Its slot in the crowd.
    pub slot: u32,
    pub id: MoverId,
}

/// Something that a mover wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    pub mover: MoverRef,
    /// The number of the input among the mover's own, without gaps, from [`super::Registered::next_seq`] on.
    pub seq: u32,
    /// Comes back with the answer; only the sender knows what it means.
    pub tag: u64,
    /// When it was received: microseconds of the clock that `now_us` is read from.
    pub at_us: i64,
    pub kind: InputKind,
}

/// What a mover may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputKind {
    /// Goes to a neighbouring cell, or stays.
    Step(Step),
    /// Digs the chest on the mover's cell; with a magnet the nearest one in reach.
    Dig,
    /// Grabs the power-up on the mover's cell; with a magnet the nearest one in reach.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// The mover is at this cell now.
    Moved(Cell),
    /// The mover won the chest.
    Dug {
        /// What it was worth.
        points: u16,
        /// The score in this round with it.
        score: u32,
    },
    /// The mover won the power-up.
    Grabbed {
        item: PowerUp,
        /// Until when it helps.
        until: UnixMs,
    },
}
