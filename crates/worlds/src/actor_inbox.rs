//! Where an actor worker gets its answers: one mailbox for all its actors.

use crate::mailbox::Mailbox;
use engine::worlds::{Answer, MoverRef, Refusal};

/// Bits of a tag below the worker's number.
pub(crate) const WORKER_SHIFT: u32 = 48;

/// The tag of an actor's inputs. Tags of connections lie below 2^48: those without a worker.
pub(crate) fn tag(worker: u16, actor: u32) -> u64 {
    u64::from(worker) << WORKER_SHIFT | u64::from(actor)
}

pub(crate) fn actor_of(tag: u64) -> u32 {
    tag as u32
}

/// What a worker is sent besides answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ActorWorkerMessage {
    /// The worker has this number in the world.
    Attached(u16),
    /// An actor is in the world.
    Registered { actor: u32, seat: MoverRef, next_seq: u32 },
    /// The world refused an actor.
    Refused { actor: u32, refusal: Refusal },
}

/// The mailbox of one worker, closed when the world has left memory.
pub(crate) struct ActorInbox {
    pub(crate) mailbox: Mailbox<Answer, ActorWorkerMessage>,
}

impl ActorInbox {
    /// An empty mailbox. Each actor waits for one answer at most, so their number bounds the mailbox.
    pub(crate) fn new() -> Self {
        Self { mailbox: Mailbox::new(usize::MAX) }
    }
}
