//! Simulated card tables: the real owner tasks, leases and machine, and the real contract of the store, on a clock that
//! jumps, with players that act and poll, processes that die and a store that fails. Everything follows from one seed.
//!
//! The checks are in `history`: what was acknowledged is in the log exactly once; every viewer saw what the log says
//! that this viewer was to see, in order, without gaps and duplicates, and it was committed by then; and every game
//! comes to its end.

mod history;
mod log;
mod observations;
mod plan;
mod players;
mod run;
mod workload;

pub use plan::TablePlan;
pub use run::{TableReport, run};
