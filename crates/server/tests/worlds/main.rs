//! Worlds over real connections to a real listener, with their writers, on the memory store.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where by panicking")]

#[allow(dead_code, reason = "shared with the tests of the whole API, which use more of it")]
#[path = "../api/test_server.rs"]
mod test_server;

mod client;
mod conversation;
mod ends;
mod example;
mod life;
mod making;
mod reads;
mod segments;
