//! Where a crew of actors gets its answers: one tray for all of them.

use super::plan::PlanShare;
use crate::worlds::client_sink::CloseReason;
use crate::worlds::mailbox::Mailbox;
use engine::worlds::{Answer, MoverRef, Refusal};

/// What a crew is told beside answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::worlds) enum ActorWorkerMessage {
    /// The crew has this number in the world.
    Attached(u16),
    /// An actor has come in.
    Registered { actor: u32, seat: MoverRef, next_seq: u32 },
    /// The world did not let an actor in.
    Refused { actor: u32, refusal: Refusal },
    /// This is wanted from now on.
    PlanChanged(PlanShare),
    /// The world has left memory.
    Ended(CloseReason),
}

/// The desk of one crew.
pub(in crate::worlds) struct ActorInbox {
    pub(in crate::worlds) mailbox: Mailbox<Answer, ActorWorkerMessage>,
}

impl ActorInbox {
    /// An empty desk. Each actor waits for one answer at most, so that the tray is bounded by their number.
    pub(in crate::worlds) fn new() -> Self {
        Self { mailbox: Mailbox::new(usize::MAX) }
    }
}
