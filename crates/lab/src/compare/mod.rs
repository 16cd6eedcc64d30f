//! Comparison of runs of one trial, figure by figure. Only what is beyond the noise is called a difference; what cannot
//! be compared is rejected with reasons; the size of an undetected difference is stated. Pure, except for `load` and
//! `cli`. Runs nothing.
//!
//! ```text
//! load                 a run's directory -> its record
//! run_series           the record over time, in units that can be resampled
//! comparable           whether these sides may be compared, or every reason why not
//! figure_collector     what is compared, and decided all together; uses `stats`
//! figures              a compared figure, and which direction is worse
//! setting_differences  the settings in which the sides differ
//! view                 Markdown, JUnit XML, JSON, a document for pages, and the verdict in a sentence
//! ```

mod broken;
pub mod cli;
mod comparable;
mod figure_collector;
mod figures;
mod load;
mod op_comparison;
mod run_series;
mod setting_differences;
pub(crate) mod stats;
mod view;

#[cfg(test)]
pub(crate) mod tests;

use comparable::check_comparable;
use figures::ComparedFigure;
use load::{RunRecord, load};
use setting_differences::{SettingDifference, setting_differences};
use stats::{Decision, TestResult};
use view::{document, json, junit, markdown};

use std::path::Path;

use serde_json::Value;

use crate::report::Run;
use crate::verdict::GateResult;

/// One side of a comparison: one run, or several of one configuration.
#[derive(Clone, Debug)]
pub(crate) struct Side {
    /// Its label: `A`, `B`.
    pub(crate) label: String,
    pub(crate) records: Vec<RunRecord>,
}

/// Sides compared with the first of them.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    /// The sides; the first is the one that the others are compared with.
    pub(crate) sides: Vec<Side>,
    /// Why it should not have been made, if the user requested it anyway.
    pub(crate) warnings: Vec<String>,
    pub(crate) setting_differences: Vec<SettingDifference>,
    /// Every figure, with one outcome for each side after the first.
    pub(crate) figures: Vec<ComparedFigure>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CompareOptions {
    /// Compares runs of different scenarios anyway.
    pub(crate) across_scenarios: bool,
}

/// Compares every side with the first.
///
/// # Errors
/// Every reason why these sides cannot be compared, each a sentence that says what to do.
pub(crate) fn compare(sides: Vec<Side>, options: CompareOptions) -> Result<Comparison, Vec<String>> {
    let warnings = check_comparable(&sides, options)?;
    let figures = figure_collector::evaluate_figures(&sides, stats::Family::default());
    if figures.is_empty() {
        return Err(vec!["These runs have no figure in common: there is nothing to compare.".to_owned()]);
    }
    Ok(Comparison { warnings, setting_differences: setting_differences(&sides), figures, sides })
}

/// The comparison of two runs in these directories, as a document that the console's pages draw.
///
/// # Errors
/// A record cannot be read, or every reason why the runs cannot be compared.
pub fn compare_documents(first: &Path, second: &Path) -> Result<Value, CompareError> {
    let records = load(&[vec![first.to_owned()], vec![second.to_owned()]]).map_err(CompareError::Unreadable)?;
    let sides = ["A", "B"].into_iter().zip(records).map(|(label, records)| Side { label: label.to_owned(), records });
    let comparison = compare(sides.collect(), CompareOptions::default()).map_err(CompareError::Incomparable)?;
    Ok(document(&comparison))
}

/// Why two runs have no comparison.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompareError {
    #[error("{0}")]
    Unreadable(String),
    /// Every reason.
    #[error("{}", .0.join(" "))]
    Incomparable(Vec<String>),
}

impl Comparison {
    /// Figures that are worse beyond the noise, by more than this share; with the index of the side.
    ///
    /// A figure counts if three conditions hold: a difference was found, it is for the worse, and its point estimate is
    /// beyond the threshold. A figure that was zero is beyond any.
    pub(crate) fn regressions(&self, threshold: f64) -> impl Iterator<Item = (usize, &ComparedFigure)> {
        let sides = 0..self.sides.len() - 1;
        sides.flat_map(move |side| {
            let beyond = move |figure: &&ComparedFigure| figure.worsening(side).is_some_and(|by| by > threshold);
            self.figures.iter().filter(beyond).map(move |figure| (side, figure))
        })
    }

    /// Whether no figure of a side after the first could be decided.
    pub(crate) fn is_inconclusive(&self) -> bool {
        let is_undecided = |outcome: &TestResult| matches!(outcome.decision, Decision::Unknown(_));
        let is_tested = |outcome: &TestResult| !is_undecided(outcome) && outcome.decision != Decision::Equal;
        (0..self.sides.len() - 1).any(|side| {
            let outcomes = || self.figures.iter().map(|figure| &figure.outcomes[side]);
            outcomes().any(is_undecided) && !outcomes().any(is_tested) && self.broken(side).is_empty()
        })
    }

    /// The sides after the first.
    pub(crate) fn candidates(&self) -> &[Side] {
        &self.sides[1..]
    }
}

impl Side {
    /// Its runs' figures.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &Run> {
        self.records.iter().map(|record| &record.run)
    }

    /// In how many of its runs this gate holds, and how many have it.
    pub(crate) fn gate_pass_count(&self, gate: &GateResult) -> (usize, usize) {
        let own = || self.matching_gates(gate);
        (own().filter(|own| own.ok).count(), own().count())
    }

    /// This gate in each of its runs: one figure may have several limits.
    pub(crate) fn matching_gates<'a>(&'a self, gate: &'a GateResult) -> impl Iterator<Item = &'a GateResult> {
        let same = |own: &&GateResult| (&own.name, &own.limit) == (&gate.name, &gate.limit);
        self.runs().flat_map(|run| &run.gates).filter(same)
    }
}

/// Every gate of these runs, each once, in order.
pub(crate) fn unique_gates<'a>(runs: impl Iterator<Item = &'a Run>) -> Vec<&'a GateResult> {
    let mut gates: Vec<&GateResult> = Vec::new();
    for gate in runs.flat_map(|run| &run.gates) {
        if !gates.iter().any(|known| (&known.name, &known.limit) == (&gate.name, &gate.limit)) {
            gates.push(gate);
        }
    }
    gates
}
