//! The state machines: what a match, a table or a world is, which transitions it has, and what must be saved before a
//! client sees it.
//!
//! Everything here is a value or a function of values. The crate has no clock (it is given `now`), no random source (it
//! is given a seed), no sockets, no SQL, no JSON and no async: those are in `server`, `store` and `wire`.

pub mod commands;
pub mod competitions;
pub mod digest;
pub mod duels;
pub mod health;
pub mod hunts;
pub mod ids;
pub mod ladders;
pub mod leadership;
pub mod limits;
pub mod matches;
pub mod matchmaking;
mod pack;
pub mod printable;
pub mod ratings;
pub mod rows;
pub mod tables;
pub mod time;
pub mod tournaments;
pub mod worlds;

pub use pack::DecodeError;
