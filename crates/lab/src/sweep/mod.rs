//! A sweep: runs one scenario under every combination of some settings, round by round, and reports which of them did
//! best at what cost. Pure, except for `cli` and the file of `record`. Does not know how a run is made: its caller passes
//! a function that makes one.
//!
//! ```text
//! plan    PURE  variations -> combinations, and the order of their runs
//! runner        one run after another, until all are done or the user interrupts
//! table   PURE  runs -> one row per combination, the best, and what is as good
//! record        the table and the names of the runs as sweep.json
//! view    PURE  the table for people: Markdown, and a document for pages
//! ```

pub mod cli;
mod objective;
mod plan;
mod record;
mod runner;
mod table;
mod view;

#[cfg(test)]
mod tests;

use std::path::Path;

use serde_json::Value;

use objective::Objective;
use plan::{PlannedRun, SweepPlan, Variation, plan};
use record::{SweepDirectory, SweepHead, SweepRecord, SweepRunRecord, SweepScenario};
use runner::{SweepOutcome, SweepRun, run_all};
use table::{SweepTable, table};
use view::markdown;

/// The document of the sweep in this directory, which the console's pages draw. Of one that goes on it says what is made
/// until now.
///
/// # Errors
/// Its `sweep.json` cannot be read; the sentence says why.
pub fn read_document(dir: &Path, is_running: bool) -> Result<Value, String> {
    let record = SweepRecord::read(dir)?;
    Ok(view::document(&if is_running { record } else { record.cut_off() }))
}
