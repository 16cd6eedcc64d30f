//! The messages of clients.

use super::hunt::{Dig, Grab};
use super::json_numbers::{enum_name, text_u64};
use super::view::Cell;
use prost::{Enumeration, Message, Oneof};
use serde::{Deserialize, Serialize};

/// One frame from a client.
#[derive(Clone, PartialEq, Message)]
pub struct ClientFrame {
    /// The message; `None` is one that this version does not know.
    #[prost(oneof = "ClientMessage", tags = "1, 2, 3, 4, 5, 6, 7")]
    pub what: Option<ClientMessage>,
}

/// A message of a client.
#[derive(Clone, PartialEq, Oneof, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClientMessage {
    /// First, always.
    #[prost(message, tag = "1")]
    Hello(Hello),
    /// Makes a mover, or takes one up again.
    #[prost(message, tag = "2")]
    Register(Register),
    /// Changes what is shown.
    #[prost(message, tag = "3")]
    Watch(Watch),
    /// A step.
    #[prost(message, tag = "4")]
    Move(Move),
    /// Digs for a chest.
    #[prost(message, tag = "5")]
    Dig(Dig),
    /// Grabs a power-up.
    #[prost(message, tag = "6")]
    Grab(Grab),
    /// Goes for good.
    #[prost(message, tag = "7")]
    Leave(Leave),
}

/// The first frame.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct Hello {
    /// [`VERSION`](super::VERSION).
    #[prost(uint32, tag = "1")]
    pub version: u32,
    /// What the client understands beyond it.
    #[prost(string, repeated, tag = "2")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub capabilities: Vec<String>,
}

/// Makes a mover, or takes one up again.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct Register {
    /// The world's name; empty where the address has it.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub world: String,
    /// An account's or a guest's token; empty for an anonymous client.
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub token: String,
    /// A place in the list of indicators.
    #[prost(uint32, tag = "3")]
    pub indicator: u32,
    /// Where to begin.
    #[prost(message, optional, tag = "4")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Cell>,
    /// What to show.
    #[prost(message, optional, tag = "5")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub view: Option<ViewOptions>,
    /// A mover whose connection was lost.
    #[prost(message, optional, tag = "6")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<Resume>,
}

/// Changes what is shown.
#[derive(Clone, Copy, PartialEq, Eq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct Watch {
    /// Nothing is shown without it.
    #[prost(message, optional, tag = "1")]
    pub view: Option<ViewOptions>,
}

/// What is shown of the surroundings.
#[derive(Clone, Copy, PartialEq, Eq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct ViewOptions {
    /// Cells to the left and to the right.
    #[prost(uint32, tag = "1")]
    pub radius_x: u32,
    /// Cells above and below.
    #[prost(uint32, tag = "2")]
    pub radius_y: u32,
    /// Updates a second at most; 0 for as many as there are.
    #[prost(uint32, tag = "3")]
    pub per_s: u32,
}

/// A mover whose connection was lost.
#[derive(Clone, Copy, PartialEq, Eq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct Resume {
    #[prost(uint32, tag = "1")]
    pub id: u32,
    /// What it was given for this.
    #[prost(fixed64, tag = "2")]
    #[serde(with = "text_u64")]
    pub key: u64,
}

/// A step.
#[derive(Clone, Copy, PartialEq, Eq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct Move {
    /// Counts the mover's inputs.
    #[prost(uint32, tag = "1")]
    pub seq: u32,
    #[prost(enumeration = "Step", tag = "2")]
    #[serde(with = "enum_name::<Step>")]
    pub step: i32,
}

/// Goes for good.
#[derive(Clone, Copy, PartialEq, Eq, Message, Serialize, Deserialize)]
pub struct Leave {}

/// Where a step goes. y grows downwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(i32)]
pub enum Step {
    /// Nowhere.
    Stay = 0,
    /// Up.
    N = 1,
    /// Up and to the right.
    Ne = 2,
    /// To the right.
    E = 3,
    /// Down and to the right.
    Se = 4,
    /// Down.
    S = 5,
    /// Down and to the left.
    Sw = 6,
    /// To the left.
    W = 7,
    /// Up and to the left.
    Nw = 8,
}
