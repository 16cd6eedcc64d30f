//! The rules of the games: given a state, the players' orders and a seed, the next state.
//!
//! Everything here is a pure function. The crate knows no time, users, sockets, disks, JSON, tasks and logs; it has no
//! global state, and chance comes in as a seed ([`chance`]). The same seed and the same orders therefore give the same
//! bytes on every machine, which is what lets a stored match be resumed or replayed.

#![warn(missing_docs)]

pub mod chance;
pub mod snake;
pub mod stories;
mod validation;
pub mod world;

pub use validation::{ValidationError, whole_ms};
