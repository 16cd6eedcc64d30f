//! The worlds of whole processes, with real writers and sender threads, on a store in memory that can hold commits back, and on a clock
//! that the test advances.

mod broadcasts;
mod claims;
mod hunt_ends;
mod inline_rounds;
mod lifecycle;
mod pictures;
mod recording_sink;
mod sending;
mod stalls;
pub(crate) mod support;
mod view_schedule;
mod views;
