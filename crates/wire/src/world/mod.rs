//! The frames of worlds and hunts: generated from `proto/world.proto` and `proto/hunt.proto`, and the same shapes as JSON. Does not
//! know what a world is.

mod borrowed_refusal;
mod decode;
mod encode;
pub(crate) mod json_numbers;
#[cfg(test)]
mod tests;

pub use crate::proto::gauntlet::hunt::v1::{Dig, Dug, Grab, Grabbed, Item, ItemKind, Round, RoundPhase, Score};
pub use crate::proto::gauntlet::world::v1::client_frame::What as ClientMessage;
pub use crate::proto::gauntlet::world::v1::server_frame::What as ServerMessage;
pub use crate::proto::gauntlet::world::v1::{
    Cell, ClientFrame, Error, Hello, Leave, Move, Moved, Mover, Place as MoverPosition, Refused, Register, Registered,
    Resume, ServerFrame, Step, View, ViewOptions, Watch, Watched, Welcome,
};
pub use borrowed_refusal::Refusal;
pub use decode::{Malformed, read_json, read_protobuf};
pub use encode::{EncodeMessage, FrameFormat, Framing, encode};

/// The protocol version of this module.
pub const VERSION: u32 = 1;
/// The capability of clients that want a text in refusals.
pub const REASONS: &str = "reasons";
