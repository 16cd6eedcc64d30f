//! The built program as real processes: what a user types, servers that are killed, drained, cut off from their database, and several
//! of them on one database.

#![expect(clippy::unwrap_used, reason = "a test tells what is wrong by failing")]

#[path = "../support/mod.rs"]
mod support;

mod account_deletion;
mod actors;
mod advertise;
mod backup;
mod bot_health;
mod connections;
mod crash;
mod damage;
mod disk;
mod documents;
mod drain;
mod duels;
mod feeds;
mod guard;
mod health;
mod hunters;
mod ladder_nodes;
mod ladders;
mod limiter_rules;
mod migrate;
mod nodes;
mod program;
mod ratings;
mod replay;
mod retention;
mod shards;
mod sign_in;
mod ticket_nodes;
mod tournament_feeds;
mod tournaments;
mod walk;
mod world_faults;
mod world_nodes;
