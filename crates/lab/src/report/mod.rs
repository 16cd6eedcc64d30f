//! The report: one record of a run, and every view of it. All views are pure functions of the record, so they can be
//! made again at any time. Does not measure or evaluate.
//!
//! ```text
//! headline   the two numbers and the verdict
//! content    the sections of a report         levels     what a ladder shows about the capacity
//!            and its charts                   chart      charts as data
//! document   content and charts as JSON, which pages of the console draw
//! markdown   report.md: content in 80 columns
//! html       report.html: the document in a page, and its tables without a script
//! summary    the terminal output at the end
//! progress   a trial at one moment            dashboard  the same on a block of a terminal
//! screen     output to the terminal
//! ```

mod chart;
pub mod cli;
mod content;
mod dashboard;
mod document;
mod headline;
mod html;
mod levels;
mod markdown;
mod progress;
mod rebuild;
mod run_files;
mod screen;
mod summary;

#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use content::OverTime;
pub(crate) use content::{ContentBlock, Section, Table, TableCell, Tone};
pub(crate) use content::{flatten_config, setting_text};
pub use document::document;
pub(crate) use document::{FORMAT as DOCUMENT_FORMAT, sanitized};
pub use headline::{Headline, HeadlineRow, headline};
pub use html::html;
pub use markdown::markdown;
pub use progress::Progress;
pub use rebuild::{RecordedRun, load_or_rebuild};
pub use run_files::{StartRecord, read_document};
pub(crate) use run_files::{for_each_histogram, for_each_timeline_row, read_record, write_reports};
pub use screen::Screen;
pub use summary::summary;

use crate::aggregate::{ErrorGroup, LoadStepFigures, Results};
use crate::findings::Finding;
use crate::machine::Machine;
use crate::measurement::timeline::FaultRow;
use crate::scenario::HeadlineFigure;
use crate::verdict::{GateResult, Verdict};

/// A run, as in `run.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// The version of this form.
    pub format: u64,
    /// The run's id, which names its directory.
    pub id: String,
    /// The version and the commit of the program that wrote it: `0.1.0 (62af9a4c1d2e)`.
    #[serde(default)]
    pub program: String,
    pub verdict: Verdict,
    pub scenario: ScenarioRecord,
    /// When it began, UTC.
    pub started_at: String,
    /// From the beginning to the verdict, in seconds.
    pub duration_s: f64,
    pub gates: Vec<GateResult>,
    /// Everything that was measured.
    #[serde(flatten)]
    pub results: Results,
    /// The load steps of the trial: bursts, levels, or whole phases.
    #[serde(default)]
    pub load_steps: Vec<LoadStepFigures>,
    /// What the levels show about the target's capacity, by phase that had levels.
    #[serde(default)]
    pub capacity: BTreeMap<String, Value>,
    /// What the timeline shows about the bottleneck.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// Faults that were carried out.
    #[serde(default)]
    pub faults: Vec<FaultRow>,
    /// Errors by kind, each with a sample.
    pub errors: Vec<ErrorGroup>,
    /// What a reader must know about the record itself.
    pub notes: Vec<String>,
    pub machine: Machine,
}

/// Which trial it was.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ScenarioRecord {
    pub name: String,
    /// The scenario's summary.
    pub summary: String,
    /// SHA-256 of its text and settings.
    pub hash: String,
    /// SHA-256 of its text alone.
    #[serde(default)]
    pub text_hash: String,
    /// The seed of the plan.
    pub seed: u64,
    /// What the command line changed.
    pub settings: Vec<String>,
    /// The service under test.
    pub target: String,
    /// The formulas of derived figures, by the path of the figure: `game.pace`.
    #[serde(default)]
    pub formulas: BTreeMap<String, String>,
    /// What a report shows first, if the scenario defines it: how much, and with which timing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headline: Option<[HeadlineFigure; 2]>,
}

impl Run {
    /// The version of the form of `run.json`.
    pub const FORMAT: u64 = 3;

    /// The text of `run.json`.
    #[must_use]
    pub fn to_json_text(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.expect("a record is texts, finite numbers and maps with text keys") + "\n"
    }

    /// The same run with `strike` applied to every text that came from outside the lab.
    #[must_use]
    pub fn redacted(mut self, strike: &dyn Fn(&str) -> String) -> Self {
        let samples =
            self.errors.iter_mut().flat_map(|group| [&mut group.sample].into_iter().chain(&mut group.more_samples));
        let whys = self.faults.iter_mut().filter_map(|fault| fault.failed.as_mut());
        let texts = self.notes.iter_mut().chain(samples).chain(whys);
        let levels =
            self.load_steps.iter_mut().flat_map(|it| it.void.iter_mut().chain(it.overload.iter_mut().flatten()));
        let findings = self.findings.iter_mut().flat_map(|finding| {
            let Finding { code: _, sentence, evidence, refuted_by, advice } = finding;
            [sentence, refuted_by, advice].into_iter().chain(evidence.iter_mut().map(|evidence| &mut evidence.text))
        });
        texts.chain(levels).chain(findings).for_each(|text| *text = strike(text));
        self.gates.iter_mut().for_each(|gate| redact_json(&mut gate.value, strike));
        self.results.server.config.iter_mut().for_each(|config| redact_json(config, strike));
        self.capacity.values_mut().for_each(|capacity| redact_json(capacity, strike));
        self
    }
}

/// A name as it may be used in a link: letters, digits, `_` and `-`.
fn slug(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect()
}

fn redact_json(value: &mut Value, strike: &dyn Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = strike(text),
        Value::Array(items) => items.iter_mut().for_each(|item| redact_json(item, strike)),
        Value::Object(fields) => fields.values_mut().for_each(|field| redact_json(field, strike)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
