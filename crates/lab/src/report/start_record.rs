//! `start.json`: what is known of a run before its first arrival, written then, so that a run whose lab was killed
//! still has a report. And the reverse: a record built from the contents of a directory. Does not measure.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::{Run, ScenarioRecord};
use crate::aggregate::Results;
use crate::machine::Machine;
use crate::verdict::{GateResult, Verdict};

/// What is known of a run before it starts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StartRecord {
    /// The version of the form of `run.json`.
    pub format: u64,
    pub id: String,
    /// The version and the commit of the program that runs it.
    #[serde(default)]
    pub program: String,
    pub scenario: ScenarioRecord,
    /// When it began, UTC.
    pub started_at: String,
    pub machine: Machine,
}

/// The file of the scenario's text.
const SCENARIO_FILE: &str = "scenario.toml";

/// The file with those that the scenario names, if any.
const REFERENCED_FILES: &str = "scenario-files.json";

const START_FILE: &str = "start.json";

impl StartRecord {
    /// Writes it, and the scenario's text next to it.
    ///
    /// # Errors
    /// The file that could not be written, and why.
    pub(crate) fn write(&self, dir: &Path, text: &str, files: &BTreeMap<&str, &str>) -> Result<(), String> {
        let start = serde_json::to_string_pretty(self).map_err(|error| error.to_string())?;
        let named = serde_json::to_string_pretty(files).map_err(|error| error.to_string())?;
        let named = (!files.is_empty()).then_some((REFERENCED_FILES, named.as_str()));
        for (name, text) in [(START_FILE, start.as_str()), (SCENARIO_FILE, text)].into_iter().chain(named) {
            let path = dir.join(name);
            std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        Ok(())
    }

    /// The files that the scenario names, as they were read with it.
    ///
    /// # Errors
    /// They cannot be read.
    pub(super) fn read_files(dir: &Path) -> Result<BTreeMap<String, String>, String> {
        let path = dir.join(REFERENCED_FILES);
        if path.exists() { super::read_json_file(&path) } else { Ok(BTreeMap::new()) }
    }

    /// The record of a run with this start.
    #[must_use]
    pub(crate) fn into_run(self, results: Results, gates: Vec<GateResult>, verdict: Verdict) -> Run {
        Run {
            format: self.format,
            id: self.id,
            program: self.program,
            verdict,
            scenario: self.scenario,
            started_at: self.started_at,
            duration_s: 0.0,
            gates,
            results,
            load_steps: Vec::new(),
            capacity: BTreeMap::new(),
            findings: Vec::new(),
            faults: Vec::new(),
            errors: Vec::new(),
            notes: Vec::new(),
            machine: self.machine,
        }
    }
}
