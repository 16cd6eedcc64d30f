//! The report: one record of a run, and every view of it. All views are pure functions of the record, so they
//! can be made again any day. Refuses to measure and to judge.

mod headline;
mod markdown;
mod screen;
pub(crate) mod words;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use headline::{Headline, headline};
pub use markdown::markdown;
pub use screen::{Progress, Screen, summary};

use crate::findings::Finding;
use crate::fold::{ErrorGroup, PartFigures, Results};
use crate::machine::Machine;
use crate::record::timeline::FaultRow;
use crate::verdict::{Judged, Verdict};

/// A run as it stands in `run.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// The version of this form.
    pub format: u64,
    /// The run's id: its directory is called so.
    pub id: String,
    /// What it showed.
    pub verdict: Verdict,
    /// What was run.
    pub scenario: ScenarioRecord,
    /// When it began, UTC.
    pub started_at: String,
    /// From the beginning to the verdict, in seconds.
    pub duration_s: f64,
    /// The gates, judged.
    pub gates: Vec<Judged>,
    /// Everything that was measured.
    #[serde(flatten)]
    pub results: Results,
    /// The parts of the trial: bursts, levels, or whole phases.
    #[serde(default)]
    pub parts: Vec<PartFigures>,
    /// What the levels say about the target's capacity, by phase that had levels.
    #[serde(default)]
    pub capacity: BTreeMap<String, Value>,
    /// What the timeline says about the bottleneck.
    #[serde(default)]
    pub findings: Vec<Finding>,
    /// Faults that were carried out.
    #[serde(default)]
    pub faults: Vec<FaultRow>,
    /// Errors by kind, each with a sample.
    pub errors: Vec<ErrorGroup>,
    /// What a reader must know about the record itself.
    pub notes: Vec<String>,
    /// Where it ran.
    pub machine: Machine,
}

/// Which trial it was.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ScenarioRecord {
    /// The scenario's name.
    pub name: String,
    /// The scenario's sentence.
    pub summary: String,
    /// SHA-256 of its text and settings.
    pub hash: String,
    /// The seed of the plan.
    pub seed: u64,
    /// What the command line changed.
    pub settings: Vec<String>,
    /// The service under test.
    pub target: String,
}

impl Run {
    /// The version of the form of `run.json`.
    pub const FORMAT: u64 = 1;

    /// The text of `run.json`.
    #[must_use]
    pub fn to_json_text(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.expect("a record is texts, finite numbers and maps with text keys") + "\n"
    }

    /// The same run with `strike` applied to every text that came from outside the lab.
    #[must_use]
    pub fn struck(mut self, strike: &dyn Fn(&str) -> String) -> Self {
        self.notes.iter_mut().for_each(|note| *note = strike(note));
        self.errors.iter_mut().for_each(|group| group.sample = strike(&group.sample));
        self.gates.iter_mut().for_each(|gate| strike_json(&mut gate.value, strike));
        self.results.server.config.iter_mut().for_each(|config| strike_json(config, strike));
        self
    }
}

fn strike_json(value: &mut Value, strike: &dyn Fn(&str) -> String) {
    match value {
        Value::String(text) => *text = strike(text),
        Value::Array(items) => items.iter_mut().for_each(|item| strike_json(item, strike)),
        Value::Object(fields) => fields.values_mut().for_each(|field| strike_json(field, strike)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
