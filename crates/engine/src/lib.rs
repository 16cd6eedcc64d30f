//! The lives of things: what a match is, what may happen to it, and what must be saved before anybody is told.
//!
//! Everything here is a value or a function of values. The crate has no clock (it is given `now`), no dice (it is given a
//! seed), no sockets, no SQL, no JSON and no async: those live in `server`, `store` and `wire`.

pub mod commands;
pub mod hunts;
pub mod ids;
pub mod limits;
pub mod matches;
pub mod matchmaking;
pub mod rows;
pub mod tables;
pub mod time;
pub mod worlds;
