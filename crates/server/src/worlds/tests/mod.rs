//! The worlds of whole processes, with real writers and tellers, on a store in memory that can be held back, and on a clock that a test
//! moves on.

mod broadcasts;
mod claims;
mod hunt_ends;
mod inline_rounds;
mod lifecycle;
mod pictures;
mod recording_sink;
mod sending;
mod stalls;
mod support;
mod view_schedule;
mod views;
