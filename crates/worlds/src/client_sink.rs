//! The messages from a world to a client in it, and the interface of the far end of a connection, whatever its protocol.
//!
//! Knows no message format and no socket: a sink encodes for itself, on a sender thread, so that the writer only hands values over.

use engine::worlds::{Answer, HuntEvent, ViewDelta, ViewOptions};

/// One message to a client.
#[derive(Clone, Copy, Debug)]
pub enum OutboundMessage<'a> {
    /// The result of an input of its own.
    Answer(&'a Answer),
    /// What became visible or changed since the last view.
    View(&'a ViewDelta),
    /// To all clients: a round began, or is over.
    Event(&'a HuntEvent),
    /// The view options from now on: the next view is the first with these.
    ViewChanged(Option<ViewOptions>),
}

/// Why a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CloseReason {
    /// The world left this process's memory, or another node has it: connect again.
    WorldMoved,
    /// The server needed the room for another world: connect again later.
    Unloaded,
    /// The process is draining: connect again, to another node if there is one.
    Draining,
    /// The world is over: it accepts no one any more, on any node.
    Over,
    /// The same mover registered again through another connection.
    Replaced,
    /// The player left the hunt.
    Left,
    /// The mover is not in the world any more.
    Gone,
    /// The world broke an invariant of this program.
    Broken,
}

/// The far end of one connection. Used by one thread at a time, in order.
pub trait ClientSink: Send + Sync {
    /// Appends one whole frame.
    fn encode(&self, message: &OutboundMessage<'_>, out: &mut Vec<u8>);
    /// Sends one or several whole frames. Never blocks: what the connection does not take now is buffered. Nothing may be dropped, since
    /// each view builds on the one before it; a client too slow for its answers is disconnected instead.
    fn send(&self, frames: &[u8]);
    /// Whether buffered bytes wait for the connection: no view is made for it then. Called often, by the writer.
    fn is_behind(&self) -> bool;
    /// Ends the connection; no message follows.
    fn close(&self, reason: CloseReason);
}
