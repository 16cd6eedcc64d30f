//! The rules of Battlesnake, tested through the public API only.
//!
//! Boards are written in one line each, see [`notation`]; every rule and every oddity is a named row in [`turns`] or
//! [`setups`].

#![expect(clippy::unwrap_used, reason = "a helper of a test fails its test")]

mod fingerprint;
mod laws;
mod notation;
mod outcomes;
mod perft;
mod replay;
mod setups;
mod turns;
