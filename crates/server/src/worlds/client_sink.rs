//! What a world tells whoever is in it, and through what: the outlet is the far end of a connection, whatever it speaks.
//!
//! Knows no wire and no socket: an outlet encodes for itself, on a teller's thread, so that the writer only hands values over.

use engine::worlds::{Answer, HuntEvent, ViewDelta, ViewOptions};

/// One thing that somebody is told.
#[derive(Clone, Copy, Debug)]
pub enum OutboundMessage<'a> {
    /// What became of an input of his own.
    Answer(&'a Answer),
    /// What he sees now and did not see before.
    View(&'a ViewDelta),
    /// What everybody is told: a round began, or is over.
    Event(&'a HuntEvent),
    /// What he is shown from now on: the next view is the first one cut so.
    ViewChanged(Option<ViewOptions>),
}

/// Why somebody is told nothing more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CloseReason {
    /// The world left this process's memory, or another node has it: connect again.
    WorldMoved,
    /// The server needed the room for another world: connect again later.
    Unloaded,
    /// The process is leaving: connect again, to another node if there is one.
    Draining,
    /// The world is over: nobody comes in any more, anywhere.
    Over,
    /// The same mover came back through another connection.
    Replaced,
    /// The mover is not in the world any more.
    Gone,
    /// The world broke an invariant of ours.
    Broken,
}

/// The far end of one connection. Told by one thread at a time, in order.
pub trait ClientSink: Send + Sync {
    /// Appends one whole frame.
    fn encode(&self, tiding: &OutboundMessage<'_>, out: &mut Vec<u8>);
    /// Sends one or several whole frames. Never blocks: what the connection does not take now is kept. Nothing may be dropped,
    /// since each view builds on the one before it; a client too slow for its answers is cut off instead.
    fn send(&self, frames: &[u8]);
    /// Whether anything is kept that the connection has not taken: no view is cut for it then. Asked often, by the writer.
    fn is_behind(&self) -> bool;
    /// Nothing follows.
    fn close(&self, why: CloseReason);
}
