//! The frames of worlds and hunts: `proto/world.proto` and `proto/hunt.proto` in this crate, message by message, and
//! the same shapes as JSON. Written by hand, so that no build needs a compiler of protocol buffers; a test compares
//! them with the files. Does not know what a world is.

mod borrowed_refusal;
mod client;
mod decode;
mod encode;
mod hunt;
mod json_numbers;
mod server;
#[cfg(test)]
mod tests;
mod view;

pub use borrowed_refusal::Refusal;
pub use client::{ClientFrame, ClientMessage, Hello, Leave, Move, Register, Resume, Step, ViewOptions, Watch};
pub use decode::{Malformed, read_json, read_protobuf};
pub use encode::{EncodeMessage, FrameFormat, Framing, encode};
pub use hunt::{Dig, Dug, Grab, Grabbed, Item, ItemKind, Round, RoundPhase, Score};
pub use server::{Error, Moved, Refused, Registered, ServerFrame, ServerMessage, Watched, Welcome};
pub use view::{Cell, Mover, MoverPosition, View};

/// The protocol version of this module.
pub const VERSION: u32 = 1;
/// The capability of clients that want a text in refusals.
pub const REASONS: &str = "reasons";
