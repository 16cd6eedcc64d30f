//! The durable part of a world, and its binary form (see `pack`): `fact = format:u8=1 kind:u8 fields`, one fact
//! a row of the log.
//!
//! A fact records what was decided, so that applying it needs no random source: what chance placed follows from the
//! world's seed and the round.

use super::input::MoverId;
use crate::ids::PlayerId;
use crate::pack::{DecodeError, decode_versioned, encode_versioned, packed, packed_as, packed_variants};
use crate::time::UnixMs;
use rules::world::{Cell, PowerUp};
use std::sync::Arc;

const FORMAT: u8 = 1;

/// Who did it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunter {
    pub mover: MoverId,
    /// The signed-in player, if it is one: scores are saved under this id.
    pub player: Option<PlayerId>,
    /// The name that others see; may be empty.
    pub name: Arc<str>,
}
packed!(Hunter { mover, player, name });

/// The claim of an item: by whom, by which input, what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    pub hunter: Hunter,
    /// By which input of the hunter.
    pub seq: u32,
    pub round: u32,
    /// Which item of the round, in the order in which the round was laid out.
    pub item: u32,
    /// Where the hunter stood.
    pub cell: Cell,
}
packed!(Claim { hunter, seq, round, item, cell });

/// A hunter's score when a round ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HunterScore {
    pub hunter: Hunter,
    pub points: u32,
}
packed!(HunterScore { hunter, points });

/// Something hard that happened in a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    RoundBegan {
        /// Its number, from 1.
        number: u32,
        at: UnixMs,
        /// When it is to end.
        until: UnixMs,
    },
    /// A chest was dug.
    Dug {
        at: UnixMs,
        claim: Claim,
        /// What it was worth.
        points: u32,
        /// The hunter's score in the round with it.
        score: u32,
    },
    /// A power-up was grabbed.
    Grabbed {
        at: UnixMs,
        claim: Claim,
        kind: PowerUp,
        /// Until when it helps.
        until: UnixMs,
    },
    RoundEnded {
        number: u32,
        at: UnixMs,
        /// The best of those with points, best first: at most [`crate::limits::ROUND_SCORES_MAX`].
        scores: Vec<HunterScore>,
        /// How many had points.
        hunters: u32,
        /// The points of all of them.
        points: u64,
    },
}
packed_variants!(Fact {
    1 => RoundBegan { number, at, until },
    2 => Dug { at, claim, points, score },
    3 => Grabbed { at, claim, kind, until },
    4 => RoundEnded { number, at, scores, hunters, points },
});

/// One entry of a world's claim log as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldLogRow {
    /// Its place in the log, from 0, without gaps.
    pub version: u32,
    /// The entry, see [`Fact::to_bytes`].
    pub bytes: Vec<u8>,
}

impl Fact {
    /// The bytes of a row.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        encode_versioned(FORMAT, self)
    }

    /// The fact of a row: all of its bytes, and nothing but the canonical form.
    ///
    /// # Errors
    /// [`DecodeError`] when they are not that.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DecodeError> {
        decode_versioned(FORMAT, bytes)
    }
}

packed_as!(MoverId: u32, |id| id.0, |number| Ok(Self(number)));
packed!(Cell { x, y });
packed_as!(PowerUp: u8, |kind| kind.code(), |code| {
    Self::from_code(code).ok_or(DecodeError("a power-up that does not exist"))
});
