//! Spectators over real sockets: the real router behind a real listener, matches played by the real runner against real bots, or written
//! entry by entry directly to the store.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where by panicking")]

mod bots;
mod ends;
mod evidence;
mod files;
mod live;
mod replays;
mod scribe;
mod test_server;
mod turns;
mod viewer;
