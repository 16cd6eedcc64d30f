//! A sweep: one scenario under every combination of some settings, round by round, and which of them did best at what
//! cost. Pure, but for `cli`. Refuses to know how a run is made: it is handed a function that makes one.
//!
//! ```text
//! plan    PURE  variations -> combinations, and the order of their runs
//! carry         one run after another, until all are done or somebody ends it
//! table   PURE  runs -> one row a combination, the best, and what is as good
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

pub use objective::Objective;
pub use plan::{PlannedRun, SweepPlan, Variation, plan};
pub use runner::{RunFailure, RunResult, SweepOutcome, SweepRun, run_all};
pub use table::{FigureSummary, Ranking, SweepRow, SweepTable, table};
pub use view::markdown;
