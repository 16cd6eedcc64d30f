//! The files of a run's directory that reports are made of, and those that they are: `run.json`, `start.json` and the
//! scenario, the timeline and the histograms. Does not measure.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::chart::{HeatmapBuilder, HeatmapByName};
use super::rebuild::{RecordedRun, load_or_rebuild};
use super::{OverTime, Run, ScenarioRecord, document, html, markdown};
use crate::aggregate::{Results, Series};
use crate::limits::RECORD_BYTES_MAX;
use crate::machine::Machine;
use crate::measurement::timeline::TimelineRow;
use crate::record::for_each_row;
use crate::record::hlog::{self, Entry, HistogramKind};
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
        if path.exists() { read_json_file(&path) } else { Ok(BTreeMap::new()) }
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

/// The part that every version of a record has.
#[derive(Deserialize)]
struct FormatVersion {
    format: u64,
}

impl Run {
    /// Reads a `run.json`.
    ///
    /// # Errors
    /// A sentence that says what is wrong with which file: it is missing, too long, no record, or of another version.
    pub fn read(file: &Path) -> Result<Self, String> {
        read_record(file, Self::FORMAT, "run")
    }
}

/// Reads a record of this format; `what` names what it is the record of.
///
/// # Errors
/// A sentence that says what is wrong with which file: it is missing, too long, no record, or of another version.
pub(crate) fn read_record<T: for<'a> Deserialize<'a>>(file: &Path, format: u64, what: &str) -> Result<T, String> {
    let wrong = |error: &dyn Display| format!("{}: {error}", file.display());
    let bytes = std::fs::metadata(file).map_err(|error| wrong(&error))?.len();
    if bytes > RECORD_BYTES_MAX {
        return Err(wrong(&format!("{bytes} bytes are too many for a {what}; at most {RECORD_BYTES_MAX} are read")));
    }
    let text = std::fs::read_to_string(file).map_err(|error| wrong(&error))?;
    let no_record = |error: serde_json::Error| wrong(&format!("this is no record of a {what}: {error}"));
    let FormatVersion { format: found } = serde_json::from_str(&text).map_err(no_record)?;
    if found != format {
        return Err(wrong(&format!("written in format {found}, and this program reads {format}: run the trial again")));
    }
    serde_json::from_str(&text).map_err(no_record)
}

/// Writes `run.json` and every view of it.
///
/// # Errors
/// The file that could not be written, and why.
pub(crate) fn write_reports(run: &Run, series: &BTreeMap<String, Series>, dir: &Path) -> Result<(), String> {
    let write = |name: &str, text: String| {
        let path = dir.join(name);
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    };
    write("run.json", run.to_json_text())?;
    write("report.md", markdown(run))?;
    let heatmaps = read_heatmaps(run, dir)?;
    write("report.html", html(run, &OverTime { series: series.clone(), heatmaps }))
}

/// The document of the run in this directory. Of one that goes on it says what was recorded until now.
///
/// # Errors
/// It is no run directory, or a file in it cannot be read; the sentence says which.
pub fn read_document(dir: &Path, is_running: bool) -> Result<Value, String> {
    let RecordedRun { run, timeline } = load_or_rebuild(dir)?;
    let heatmaps = read_heatmaps(&run, dir)?;
    Ok(document(&run, &OverTime { series: timeline.series, heatmaps }, is_running))
}

/// The latency of every journey, second by second; of a run without such a file there is none.
pub(super) fn read_heatmaps(run: &Run, dir: &Path) -> Result<HeatmapByName, String> {
    let mut builder = HeatmapBuilder::default();
    for_each_histogram(dir, |entry| {
        if entry.figure == HistogramKind::Latency && run.results.journeys.contains_key(&entry.op) {
            builder.add(&entry.op, entry.second, &entry.histogram);
        }
    })?;
    Ok(builder.build())
}

pub(crate) fn read_json_file<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<T, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{} is not what this lab writes: {error}", path.display()))
}

/// Passes every row of a run's timeline to `see`; there are none if the run has no timeline. Returns the number of lines
/// that could not be read.
///
/// # Errors
/// A sentence that says what is wrong with which file.
pub(crate) fn for_each_timeline_row(dir: &Path, see: impl FnMut(&TimelineRow)) -> Result<u64, String> {
    let path = dir.join("timeline.jsonl");
    let wrong = |error: io::Error| format!("{}: {error}", path.display());
    if !path.exists() {
        return Ok(0);
    }
    for_each_row(BufReader::new(File::open(&path).map_err(wrong)?), see).map_err(wrong)
}

/// Passes the histogram of every second to `see`; there are none if the run has no such file.
///
/// # Errors
/// A sentence that says what is wrong with which file.
pub(crate) fn for_each_histogram(dir: &Path, mut see: impl FnMut(Entry)) -> Result<(), String> {
    let path = dir.join("intervals.hlog");
    let wrong = |error: io::Error| format!("{}: {error}", path.display());
    if path.exists() {
        for entry in hlog::read(&path).map_err(wrong)? {
            see(entry.map_err(wrong)?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `gauntlet report` and `gauntlet compare` answer to a directory with this `run.json`.
    #[track_caller]
    fn check(name: &str, text: &str, want: &str) {
        let dir = std::env::temp_dir().join(format!("lab-read-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("run.json"), text).unwrap();
        let refused = [load_or_rebuild(&dir).map(|_| ()), Run::read(&dir.join("run.json")).map(|_| ())];
        std::fs::remove_dir_all(&dir).unwrap();
        for result in refused {
            let error = result.unwrap_err();
            assert!(error.contains("run.json: ") && error.contains(want), "{error}");
        }
    }

    #[test]
    fn records_of_other_versions_are_refused() {
        check("older", r#"{"format": 2}"#, "written in format 2, and this program reads 3");
        check("newer", r#"{"format": 4, "x": []}"#, "written in format 4");
        check("none", "{}", "no record of a run");
        check("text", "no JSON", "no record of a run");
    }
}
