//! The rate limiter as others use it: a real server at a real socket over the memory store, on a clock that the test moves.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where by panicking")]

mod alone;
mod check;
mod durable;
mod exact;
mod frames;
mod input;
mod policies;
mod reference;
mod test_server;
