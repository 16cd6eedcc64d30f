//! The server of the games: a gateway for requests, runners that play matches, and notifiers that wake waiting clients.
//!
//! Knows the engine, the store and the wire. Does not know how a match is decided (`rules`) nor what a match may do next (`engine`): it
//! executes what the engine asks for, saves the result, and only then sends it.

pub mod address_key;
pub mod background_jobs;
pub mod clock;
pub mod config;
pub mod digest;
pub mod drain;
mod escape;
mod fair_semaphore;
pub mod gateway;
pub mod grants;
pub mod hunts;
mod keyed_permits;
pub mod lease;
pub mod logs;
pub mod metrics;
pub mod node;
pub mod notifier;
pub mod process;
pub mod quotas;
pub mod rate_limit;
pub mod rls;
pub mod runner;
pub mod socket_budget;
pub mod spectate;
pub mod tables;
pub mod worlds;

pub use gateway::app;
