//! Simulated matches: the real runner, rooms and leases, and the real contract of the store, on a clock that jumps,
//! with bots that are functions, processes that die and a store that fails. Everything follows from one seed, which is
//! printed when something goes wrong. Card tables are simulated in [`tables`], tournaments and duels in [`competitions`], ladders in
//! [`ladders`], in the same world; hunts in [`hunts`], without the runner.
//!
//! A run has two phases. First *safety*, with faults: nothing acknowledged is lost, nothing stale is written, no bot is
//! notified before it is saved, or notified twice. Then *liveness*, without faults: everything finishes, and every
//! match is, turn by turn, the match that would have been played without any fault.

mod arena;
mod bots;
mod cluster;
pub mod competitions;
mod dice;
mod fault_counts;
pub mod hunts;
pub mod ladders;
mod match_workload;
mod oracle;
mod plan;
mod processes;
mod referee;
mod run;
pub mod simulators;
pub mod tables;
mod world;

pub use cluster::{ClusterPlan, Faults};
pub use fault_counts::{FaultCounts, FaultKind};
pub use plan::MatchPlan;
pub use referee::GameOdds;
pub use run::{MatchReport, run};
