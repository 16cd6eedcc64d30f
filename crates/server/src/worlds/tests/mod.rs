//! The worlds of whole processes, with real writers and tellers, on a store in memory that can be held back, and on a clock that a test
//! moves on.

mod claims;
mod ear;
mod ends;
mod house;
mod lending;
mod lives;
mod news;
mod pictures;
mod stalls;
mod telling;
mod turns;
mod views;
