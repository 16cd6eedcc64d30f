//! The view of a world.

use super::hunt::{Item, Round};
use prost::Message;
use serde::{Deserialize, Serialize};
use std::ops::Not;

/// A place on the grid: 0, 0 is on the top left.
#[derive(Clone, Copy, PartialEq, Eq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct Cell {
    /// Its column.
    #[prost(uint32, tag = "1")]
    pub x: u32,
    /// Its row.
    #[prost(uint32, tag = "2")]
    pub y: u32,
}

/// What changed around a mover. Made to be filled again and again: `prost::Message::clear` keeps the
/// memory of its lists.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct View {
    /// The world's tick that it was cut at.
    #[prost(uint32, tag = "1")]
    pub tick: u32,
    /// Whether it replaces everything that was shown before.
    #[prost(bool, tag = "2")]
    #[serde(skip_serializing_if = "Not::not")]
    pub is_full: bool,
    /// The own column.
    #[prost(uint32, tag = "3")]
    pub x: u32,
    /// The own row.
    #[prost(uint32, tag = "4")]
    pub y: u32,
    /// Movers that came into view.
    #[prost(message, repeated, tag = "5")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entered: Vec<Mover>,
    /// Movers that stand elsewhere now.
    #[prost(message, repeated, tag = "6")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub moved: Vec<MoverPosition>,
    /// Movers that went out of view.
    #[prost(uint32, repeated, tag = "7")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<u32>,
    /// Movers in view beyond those that are shown.
    #[prost(uint32, tag = "8")]
    pub crowd: u32,
    /// Cells with trees that came into view: x and y in turn.
    #[prost(uint32, repeated, tag = "9")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trees: Vec<u32>,
    /// Items that came into view.
    #[prost(message, repeated, tag = "10")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<Item>,
    /// Cells without an item now: x and y in turn.
    #[prost(uint32, repeated, tag = "11")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items_gone: Vec<u32>,
    /// Cells of other life: x and y in turn.
    #[prost(uint32, repeated, tag = "12")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub life: Vec<u32>,
    /// Cells where it died: x and y in turn.
    #[prost(uint32, repeated, tag = "13")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub life_gone: Vec<u32>,
    /// When the oldest change came about, in microseconds since 1970-01-01T00:00:00Z; 0 without one.
    #[prost(int64, tag = "14")]
    pub oldest_change_us: i64,
    /// Updates that were passed over since the last one.
    #[prost(uint32, tag = "15")]
    pub skipped: u32,
    /// Columns that are shown to either side, of a full view.
    #[prost(uint32, tag = "16")]
    #[serde(skip_serializing_if = "is_zero")]
    pub radius_x: u32,
    /// Rows that are shown above and below, of a full view.
    #[prost(uint32, tag = "17")]
    #[serde(skip_serializing_if = "is_zero")]
    pub radius_y: u32,
    /// How far the hunt is, if that changed.
    #[prost(message, optional, tag = "18")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<Round>,
    /// The mover's own, if it changed.
    #[prost(uint32, optional, tag = "19")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<u32>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A mover that came into view.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct Mover {
    #[prost(uint32, tag = "1")]
    pub id: u32,
    /// Its column.
    #[prost(uint32, tag = "2")]
    pub x: u32,
    /// Its row.
    #[prost(uint32, tag = "3")]
    pub y: u32,
    /// What it looks like: a place in the list of indicators.
    #[prost(uint32, tag = "4")]
    pub indicator: u32,
    /// Empty of movers without one.
    #[prost(string, tag = "5")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
}

/// Where a mover stands now.
#[derive(Clone, Copy, PartialEq, Eq, Message, Serialize, Deserialize)]
#[serde(default)]
pub struct MoverPosition {
    #[prost(uint32, tag = "1")]
    pub id: u32,
    /// Its column.
    #[prost(uint32, tag = "2")]
    pub x: u32,
    /// Its row.
    #[prost(uint32, tag = "3")]
    pub y: u32,
}
