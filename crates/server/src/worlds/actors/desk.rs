//! Where a crew of actors gets its answers: one tray for all of them.

use super::plan::Share;
use crate::worlds::outlet::Ending;
use crate::worlds::tray::Tray;
use engine::worlds::{Answer, MoverRef, Refusal};

/// What a crew is told beside answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::worlds) enum Word {
    /// The crew has this number in the world.
    Seated(u16),
    /// An actor has come in.
    Registered { actor: u32, seat: MoverRef, next_seq: u32 },
    /// The world did not let an actor in.
    Refused { actor: u32, refusal: Refusal },
    /// This is wanted from now on.
    Wanted(Share),
    /// The world has left memory.
    Ended(Ending),
}

/// The desk of one crew.
pub(in crate::worlds) struct Desk {
    pub(in crate::worlds) tray: Tray<Answer, Word>,
}

impl Desk {
    /// An empty desk. Each actor waits for one answer at most, so that the tray is bounded by their number.
    pub(in crate::worlds) fn new() -> Self {
        Self { tray: Tray::new(usize::MAX) }
    }
}
