//! Stories over the API: real requests to the real router, tables and owner tasks on the memory store; and what players must not see of
//! each other.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where by panicking")]

#[allow(dead_code, reason = "shared with the tests of the whole API, which use more of it")]
#[path = "../api/test_server.rs"]
mod test_server;

mod connections;
mod crowds;
mod documented;
mod enter;
mod hidden;
mod input;
mod lists;
mod oracle;
mod play;
mod races;
mod refusals;
mod revoked;
mod rights;
mod secrets;
mod statements;
mod summary;
mod watch;
