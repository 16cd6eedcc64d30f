//! The messages of servers, but for the view.

use super::client::ViewOptions;
use super::hunt::{Dug, Grabbed, Round};
use super::json_numbers::text_u64;
use super::view::View;
use prost::{Message, Oneof};
use serde::{Deserialize, Serialize};

/// One frame from a server, as clients read it. Servers write what is in it by [`encode`](super::encode), which copies nothing.
#[derive(Clone, PartialEq, Message)]
pub struct ServerFrame {
    /// The message; `None` is one that this version does not know.
    #[prost(oneof = "ServerMessage", tags = "1, 2, 3, 4, 5, 6, 7, 8, 9, 10")]
    pub what: Option<ServerMessage>,
}

/// A message of the server.
#[derive(Clone, PartialEq, Oneof, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerMessage {
    /// Answers the first frame.
    #[prost(message, tag = "1")]
    Welcome(Welcome),
    /// A mover was made or taken up again.
    #[prost(message, tag = "2")]
    Registered(Registered),
    /// The mover stands here now.
    #[prost(message, tag = "3")]
    Moved(Moved),
    /// A chest was dug out.
    #[prost(message, tag = "4")]
    Dug(Dug),
    /// A power-up was grabbed.
    #[prost(message, tag = "5")]
    Grabbed(Grabbed),
    /// What changed around the mover.
    #[prost(message, boxed, tag = "6")]
    View(Box<View>),
    /// An input was not done.
    #[prost(message, tag = "7")]
    Refused(Refused),
    /// A round began or ended.
    #[prost(message, tag = "8")]
    Round(Round),
    /// The connection ends.
    #[prost(message, tag = "9")]
    Error(Error),
    /// What is shown has changed.
    #[prost(message, tag = "10")]
    Watched(Watched),
}

/// Answers the first frame.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct Welcome {
    /// [`VERSION`](super::VERSION).
    #[prost(uint32, tag = "1")]
    pub version: u32,
    /// Those of the client's that are in force.
    #[prost(string, repeated, tag = "2")]
    pub capabilities: Vec<String>,
    /// What movers look like.
    #[prost(string, repeated, tag = "3")]
    pub indicators: Vec<String>,
}

/// A mover was made or taken up again.
#[derive(Clone, Copy, PartialEq, Eq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct Registered {
    /// The mover's own.
    #[prost(uint32, tag = "1")]
    pub id: u32,
    /// Takes the mover up again on another connection.
    #[prost(fixed64, tag = "2")]
    #[serde(with = "text_u64")]
    pub key: u64,
    /// Its column.
    #[prost(uint32, tag = "3")]
    pub x: u32,
    /// Its row.
    #[prost(uint32, tag = "4")]
    pub y: u32,
    /// Of the first input.
    #[prost(uint32, tag = "5")]
    pub next_seq: u32,
    /// Columns of the world.
    #[prost(uint32, tag = "6")]
    pub width: u32,
    /// Rows of the world.
    #[prost(uint32, tag = "7")]
    pub height: u32,
    /// What is shown.
    #[prost(message, optional, tag = "8")]
    pub view: Option<ViewOptions>,
    /// Shortest time between two steps, in milliseconds.
    #[prost(uint32, tag = "9")]
    pub move_min_ms: u32,
    /// What the mover has in this round.
    #[prost(uint32, tag = "10")]
    pub score: u32,
    /// Whether it is the mover that was to be taken up.
    #[prost(bool, tag = "11")]
    pub is_resumed: bool,
}

/// What is shown has changed.
#[derive(Clone, Copy, PartialEq, Eq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct Watched {
    /// Nothing is shown without it.
    #[prost(message, optional, tag = "1")]
    pub view: Option<ViewOptions>,
}

/// The mover stands here now.
#[derive(Clone, Copy, PartialEq, Eq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct Moved {
    /// Of the input.
    #[prost(uint32, tag = "1")]
    pub seq: u32,
    /// Its column.
    #[prost(uint32, tag = "2")]
    pub x: u32,
    /// Its row.
    #[prost(uint32, tag = "3")]
    pub y: u32,
}

/// An input was refused. The connection stays open.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct Refused {
    /// Of the input; 0 of a registration.
    #[prost(uint32, tag = "1")]
    pub seq: u32,
    /// Stable, for programs.
    #[prost(string, tag = "2")]
    pub code: String,
    /// For people; empty unless the client wants reasons.
    #[prost(string, tag = "3")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Of an input out of order: the number that was expected; 0 of others.
    #[prost(uint32, tag = "4")]
    pub expected_seq: u32,
}

/// The connection ends.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct Error {
    /// Stable, for programs.
    #[prost(string, tag = "1")]
    pub code: String,
    /// For people.
    #[prost(string, tag = "2")]
    pub reason: String,
    /// The status of the close (RFC 6455, section 7.4).
    #[prost(uint32, tag = "3")]
    pub close: u32,
    /// The address of a server to use instead; empty if there is none.
    #[prost(string, tag = "4")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub address: String,
}
