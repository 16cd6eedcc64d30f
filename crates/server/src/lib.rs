//! One serving process: assembles the gateway and the owners of matches, tables, worlds and hunts, runs them, and drains them.
//!
//! Knows every subsystem by its handle. Does not know how one works.

pub mod assembly;
pub mod background_jobs;
pub mod logs;
pub mod owners;
mod periodic;
pub mod process;
mod retirement;
pub mod subsystem_configs;
mod telemetry_tasks;
