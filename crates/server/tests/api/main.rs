//! The API from outside: the real router over the memory store, request by request.
//!
//! Every test is a row through [`server::Call::check`]: a request line and what must come back, `status` or `status code`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where by panicking")]

mod account_deletion;
mod accounts;
mod admin;
mod admission;
mod audit;
mod bans;
mod batch;
mod bodies;
mod competition_views;
mod creation;
mod defects;
mod duels;
mod evidence;
mod faults;
mod idempotency;
mod leaderboards;
mod lives;
mod malformed;
mod openapi;
mod ops;
mod pages;
mod programs;
mod public_games;
mod request_log;
mod roles;
mod shedding;
mod sites;
mod snake_health;
mod snakes;
mod summary;
mod surface;
mod test_server;
mod tokens;
mod tournaments;
mod traces;
mod trials;
