//! Where an actor worker gets its answers: one mailbox for all its actors.

use super::plan::PlanShare;
use crate::client_sink::CloseReason;
use crate::mailbox::Mailbox;
use engine::worlds::{Answer, MoverRef, Refusal};

/// What a worker is sent besides answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ActorWorkerMessage {
    /// The worker has this number in the world.
    Attached(u16),
    /// An actor is in the world.
    Registered { actor: u32, seat: MoverRef, next_seq: u32 },
    /// The world refused an actor.
    Refused { actor: u32, refusal: Refusal },
    /// The plan from now on.
    PlanChanged(PlanShare),
    /// The world has left memory.
    Ended(CloseReason),
}

/// The mailbox of one worker.
pub(crate) struct ActorInbox {
    pub(crate) mailbox: Mailbox<Answer, ActorWorkerMessage>,
}

impl ActorInbox {
    /// An empty mailbox. Each actor waits for one answer at most, so their number bounds the mailbox.
    pub(crate) fn new() -> Self {
        Self { mailbox: Mailbox::new(usize::MAX) }
    }
}
