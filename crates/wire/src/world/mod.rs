//! The frames of worlds and hunts: `proto/world.proto` and `proto/hunt.proto` in this crate, message by message, and the same
//! shapes as JSON. Written by hand, so that no build needs a compiler of protocol buffers; a test reads the files and holds
//! them against each other. Refuses to know what a world is.

mod client;
mod decode;
mod encode;
mod hunt;
mod names;
mod refusal;
mod server;
#[cfg(test)]
mod tests;
mod view;

pub use client::{Asked, ClientFrame, Hello, Leave, Move, Register, Resume, Step, ViewOptions, Watch};
pub use decode::{Malformed, read_json, read_protobuf};
pub use encode::{Format, Framing, Told, encode};
pub use hunt::{Dig, Dug, Grab, Grabbed, Item, ItemKind, Round, RoundPhase, Score};
pub use refusal::Refusal;
pub use server::{Error, Moved, Refused, Registered, Said, ServerFrame, Watched, Welcome};
pub use view::{Cell, Mover, Place, View};

/// The version that this file speaks.
pub const VERSION: u32 = 1;
/// The capability of clients to whom refusals say in words what was wrong.
pub const REASONS: &str = "reasons";
