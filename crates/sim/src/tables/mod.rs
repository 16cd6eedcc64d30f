//! The whole life of card tables in a made-up world: the real keepers, leases and machine, and the real contract of the store, on
//! a clock that jumps, with players that act and poll, processes that die and a store that fails. Everything follows from one seed.
//!
//! What must be true stands in `verdict`: what was acknowledged is in the log exactly once; what anybody saw is what the log says
//! he was to see, in order, without gaps and doubles, and was committed by then; and every game comes to its end.

mod history;
mod log;
mod observations;
mod plan;
mod players;
mod run;
mod workload;

pub use plan::TablePlan;
pub use run::{TableReport, run};
