//! `sweep.json`: the table of a sweep and the names of its runs, in a directory beside theirs. It is written before the
//! first run, after each one and at the end, so that a sweep that goes on or was cut off can be read. Does not make runs.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::objective::Objective;
use super::plan::{PlannedRun, SweepPlan};
use super::runner::{SweepOutcome, SweepRun};
use super::table::SweepTable;
use crate::format::round;
use crate::output::EXIT_INTERRUPTED;
use crate::report::read_record;
use crate::verdict::Verdict;

const FILE: &str = "sweep.json";

/// Where it is written before it takes the place of the previous one.
const UNFINISHED: &str = "sweep.json.new";

/// A sweep, as in `sweep.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SweepRecord {
    /// The version of this form.
    pub(crate) format: u64,
    /// The sweep's id, which names its directory.
    pub(crate) id: String,
    /// The version and the commit of the program that wrote it.
    pub(crate) program: String,
    pub(crate) scenario: SweepScenario,
    /// When it began, UTC.
    pub(crate) started_at: String,
    /// From its beginning until this was written, in seconds.
    pub(crate) duration_s: f64,
    /// Runs of all rounds.
    pub(crate) runs_planned: usize,
    /// Rounds of which no run is left to be made.
    pub(crate) rounds_made: usize,
    /// The runs that are over, in order.
    pub(crate) runs: Vec<SweepRunRecord>,
    /// The run that goes on.
    pub(crate) running: Option<SweepRunRecord>,
    #[serde(flatten)]
    pub(crate) table: SweepTable,
}

/// What all runs of a sweep have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SweepScenario {
    pub(crate) name: String,
    pub(crate) summary: String,
    /// What the command line changed besides the settings that vary.
    pub(crate) settings: Vec<String>,
    /// The service under test, unless every run starts its own.
    pub(crate) target: Option<String>,
    /// The seed of the order of the runs, from which those of the rounds follow.
    pub(crate) seed: u64,
}

/// A run of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct SweepRunRecord {
    /// Its id, which names its directory; none if it could not run.
    pub(crate) id: Option<String>,
    /// The round, counted from 0.
    pub(crate) round: usize,
    /// The index of its combination's row.
    pub(crate) combination: usize,
    /// None while it goes on, if it could not run, and if it was ended at once.
    pub(crate) verdict: Option<Verdict>,
    /// Its objective.
    pub(crate) objective: Option<f64>,
    /// Why it could not run, or was not recorded to its end.
    pub(crate) failure: Option<String>,
}

impl SweepRecord {
    /// The version of the form of `sweep.json`.
    pub(crate) const FORMAT: u64 = 1;

    /// Reads the `sweep.json` of this directory.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the file.
    pub(super) fn read(dir: &Path) -> Result<Self, String> {
        let file = dir.join(FILE);
        let record: Self = read_record(&file, Self::FORMAT, "sweep")?;
        let SweepTable { keys, rows, best, .. } = &record.table;
        let is_whole = best.is_none_or(|best| best < rows.len()) && rows.iter().all(|it| it.values.len() == keys.len());
        if is_whole { Ok(record) } else { Err(format!("{}: its rows and keys do not fit together", file.display())) }
    }

    /// The same sweep if no program continues it: it was cut off.
    pub(super) fn cut_off(mut self) -> Self {
        self.table.verdict.get_or_insert(Verdict::Interrupted);
        self
    }
}

/// What does not change while a sweep goes on.
#[derive(Clone, Debug)]
pub(crate) struct SweepHead {
    pub(crate) id: String,
    pub(crate) program: String,
    pub(crate) scenario: SweepScenario,
    pub(crate) started_at: String,
}

impl SweepHead {
    /// The record of what is made until now.
    #[must_use]
    pub(crate) fn record(
        &self,
        plan: &SweepPlan,
        outcome: &SweepOutcome,
        table: SweepTable,
        objective: &Objective,
        running: Option<SweepRunRecord>,
        duration_s: f64,
    ) -> SweepRecord {
        let is_made = |round: &usize| {
            let mut own = plan.runs.iter().filter(|planned| planned.round == *round);
            own.all(|planned| outcome.is_settled(planned))
        };
        SweepRecord {
            format: SweepRecord::FORMAT,
            id: self.id.clone(),
            program: self.program.clone(),
            scenario: self.scenario.clone(),
            started_at: self.started_at.clone(),
            duration_s: round(duration_s),
            runs_planned: plan.runs.len(),
            rounds_made: (0..table.rounds).filter(is_made).count(),
            runs: outcome.runs.iter().map(|made| SweepRunRecord::new(made, objective)).collect(),
            running,
            table,
        }
    }
}

impl SweepRunRecord {
    /// A run that goes on.
    pub(crate) fn running(id: &str, planned: PlannedRun) -> Self {
        Self {
            id: Some(id.to_owned()),
            round: planned.round,
            combination: planned.combination_index,
            verdict: None,
            objective: None,
            failure: None,
        }
    }

    fn new(made: &SweepRun, objective: &Objective) -> Self {
        let finished = made.result.as_ref().ok();
        let has_directory = match &made.result {
            Ok(_) => true,
            // One that was ended at once has recorded something.
            Err(error) => error.code == EXIT_INTERRUPTED,
        };
        Self {
            id: has_directory.then(|| made.id.clone()),
            round: made.planned.round,
            combination: made.planned.combination_index,
            verdict: finished.map(|finished| finished.run.verdict),
            objective: finished.and_then(|finished| objective.value(&finished.run)),
            failure: made.result.as_ref().err().map(|error| error.message.clone()),
        }
    }
}

/// The directory of a sweep.
#[derive(Debug)]
pub(crate) struct SweepDirectory(PathBuf);

impl SweepDirectory {
    /// # Errors
    /// It cannot be made; the sentence says why.
    pub(crate) fn create(out: &Path, id: &str) -> Result<Self, String> {
        let dir = out.join(id);
        std::fs::create_dir_all(&dir).map_err(|error| format!("{}: {error}", dir.display()))?;
        Ok(Self(dir))
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.0.join(FILE)
    }

    /// Writes the record in place of the previous one, so that a reader sees one of them and never a half.
    ///
    /// # Errors
    /// The file that could not be written, and why.
    pub(crate) fn write(&self, record: &SweepRecord) -> Result<(), String> {
        let text = serde_json::to_string_pretty(record).map_err(|error| error.to_string())?;
        let (file, unfinished) = (self.file(), self.0.join(UNFINISHED));
        let written = std::fs::write(&unfinished, text + "\n").and_then(|()| std::fs::rename(&unfinished, &file));
        written.map_err(|error| format!("{}: {error}", file.display()))
    }
}
