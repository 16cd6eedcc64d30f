//! The messages of a hunt, both ways.

use super::json_numbers::enum_name;
use prost::{Enumeration, Message};
use serde::{Deserialize, Serialize};

/// Digs on the own cell.
#[derive(Clone, Copy, PartialEq, Eq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct Dig {
    /// Counts the mover's inputs.
    #[prost(uint32, tag = "1")]
    pub seq: u32,
}

/// Grabs the power-up on the own cell, or with a magnet near it.
#[derive(Clone, Copy, PartialEq, Eq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct Grab {
    /// Counts the mover's inputs.
    #[prost(uint32, tag = "1")]
    pub seq: u32,
}

/// What can be claimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(i32)]
pub enum ItemKind {
    /// To be dug out.
    Chest = 0,
    /// Two steps at once.
    DoubleStep = 1,
    /// Shows more.
    Farsight = 2,
    /// Grabs from afar.
    Magnet = 3,
}

/// Something that can be claimed.
#[derive(Clone, Copy, PartialEq, Eq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct Item {
    /// Its column.
    #[prost(uint32, tag = "1")]
    pub x: u32,
    /// Its row.
    #[prost(uint32, tag = "2")]
    pub y: u32,
    #[prost(enumeration = "ItemKind", tag = "3")]
    #[serde(with = "enum_name::<ItemKind>")]
    pub kind: i32,
}

/// A chest was dug out.
#[derive(Clone, Copy, PartialEq, Eq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct Dug {
    /// Of the input.
    #[prost(uint32, tag = "1")]
    pub seq: u32,
    /// Of this chest.
    #[prost(uint32, tag = "2")]
    pub points: u32,
    /// Of the mover in this round.
    #[prost(uint32, tag = "3")]
    pub score: u32,
}

/// A power-up was grabbed.
#[derive(Clone, Copy, PartialEq, Eq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct Grabbed {
    /// Of the input.
    #[prost(uint32, tag = "1")]
    pub seq: u32,
    #[prost(enumeration = "ItemKind", tag = "2")]
    #[serde(with = "enum_name::<ItemKind>")]
    pub item: i32,
    /// When it wears off, in milliseconds since 1970-01-01T00:00:00Z.
    #[prost(int64, tag = "3")]
    pub until_ms: i64,
}

/// How far a round is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(i32)]
pub enum RoundPhase {
    /// It begins when a mover is there and the pause is over.
    Waiting = 0,
    /// It runs.
    Running = 1,
    /// It was the last one.
    Over = 2,
}

/// How far the hunt is.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct Round {
    /// From 1: the one that runs, or the one to come.
    #[prost(uint32, tag = "1")]
    pub number: u32,
    /// How far it is.
    #[prost(enumeration = "RoundPhase", tag = "2")]
    #[serde(with = "enum_name::<RoundPhase>")]
    pub phase: i32,
    /// When it ends, or begins at the earliest, in milliseconds since 1970-01-01T00:00:00Z.
    #[prost(int64, tag = "3")]
    pub until_ms: i64,
    /// Chests that are not dug yet.
    #[prost(uint32, tag = "4")]
    pub chests_left: u32,
    /// The round that ended just now; 0 when none did.
    #[prost(uint32, tag = "5")]
    pub ended: u32,
    /// Those with the most points in it, the first first.
    #[prost(message, repeated, tag = "6")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scores: Vec<Score>,
}

/// A mover's score.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct Score {
    #[prost(uint32, tag = "1")]
    pub id: u32,
    /// Empty of movers without one.
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Points.
    #[prost(uint32, tag = "3")]
    pub score: u32,
}
