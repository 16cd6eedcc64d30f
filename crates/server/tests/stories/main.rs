//! Stories from outside: real requests to the real router, tables and keepers over the memory store; and what of it nobody may
//! see who must not.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where by panicking")]

#[allow(dead_code, reason = "shared with the tests of the whole API, which use more of it")]
#[path = "../api/test_server.rs"]
mod test_server;

mod crowds;
mod documented;
mod enter;
mod hidden;
mod input;
mod lines;
mod lists;
mod oracle;
mod play;
mod races;
mod refusals;
mod revoked;
mod rights;
mod secrets;
mod statements;
mod watch;
