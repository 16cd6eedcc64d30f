//! The whole life of matches in a made-up world: the real runner, rooms and leases, and the real contract of the store, on a
//! clock that jumps, with bots that are functions, processes that die and a store that fails. Everything follows from one
//! seed, which is printed when something goes wrong. The lives of card tables are told in [`tables`], in the same world; those of
//! hunts in [`hunts`], without the runner.
//!
//! A run has two phases. First *safety*, with faults: nothing acknowledged is lost, nothing stale is written, nothing is told
//! before it is saved, nobody is told twice. Then *liveness*, healed: everything finishes, and every match is, turn by turn,
//! the match that would have been played had nothing ever gone wrong.

mod bots;
mod dice;
mod faults;
pub mod hunts;
mod match_workload;
mod oracle;
mod plan;
mod processes;
mod run;
pub mod tables;
mod world;

pub use faults::Faults;
pub use plan::MatchPlan;
pub use run::{MatchReport, run};
