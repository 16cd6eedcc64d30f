//! A sweep: runs one scenario under every combination of some settings, round by round, and reports which of them did
//! best at what cost. Pure, except for `cli`. Does not know how a run is made: its caller passes a function that makes
//! one.
//!
//! ```text
//! plan    PURE  variations -> combinations, and the order of their runs
//! runner        one run after another, until all are done or the user interrupts
//! table   PURE  runs -> one row per combination, the best, and what is as good
//! view    PURE  the table for people
//! ```

pub mod cli;
mod objective;
mod plan;
mod runner;
mod table;
mod view;

#[cfg(test)]
mod tests;

use objective::Objective;
use plan::{PlannedRun, SweepPlan, Variation, plan};
use runner::{SweepOutcome, SweepRun, run_all};
use table::{SweepTable, table};
use view::markdown;
