//! The verdict of a comparison in one sentence. Pure. For a difference it says how large it is, and otherwise how large
//! an undetected one could be.

use std::collections::BTreeMap;

use super::super::Comparison;
use super::super::figures::{ComparedFigure, FigureKind};
use super::super::stats::{Decision, TestResult, UndecidedReason};
use super::format::{describe_outcome, reason_sentence};
use crate::format::first_few;

/// The figure that is named first if nothing differs, if it is decided: what users notice.
const HEADLINE_FIGURE: &str = "latency p99";

/// The verdict over one side against the first, without a full stop.
pub(crate) fn verdict_sentence(comparison: &Comparison, side: usize) -> String {
    let (first, second) = (&comparison.sides[0].label, &comparison.sides[side + 1].label);
    let found = OutcomeGroups::from_comparison(comparison, side);
    let broken = comparison.broken(side);
    // What is broken is no matter of noise, and nobody is better for it.
    let also_broken: String = broken.iter().map(|what| format!("; but {what}")).collect();
    match (found.worse.as_slice(), found.better.as_slice()) {
        ([], []) if found.noise.is_empty() && !found.undecided.is_empty() => {
            if !broken.is_empty() {
                return broken.join("; ");
            }
            let why = found.most_common_reason().map_or_else(String::new, |why| {
                let unit_s = comparison.sides[0].records.first().map_or(1, |record| record.series.unit_s);
                format!(": {}", reason_sentence(why, unit_s))
            });
            format!("Nothing can be concluded about {first} and {second}{why}")
        }
        ([], []) => {
            let undetectable = found.undetectable_sentence();
            format!("No difference beyond the noise between {first} and {second}{undetectable}{also_broken}")
        }
        (worse, []) => {
            format!("{second} is {} than {first}: {}", adjective(worse, "slower", "worse"), list_figures(worse))
        }
        ([], better) => {
            let adjective = adjective(better, "faster", "better");
            format!("{second} is {adjective} than {first}: {}{also_broken}", list_figures(better))
        }
        (worse, better) => {
            format!("{second} is worse than {first} in {}; and better in {}", list_figures(worse), list_figures(better))
        }
    }
}

type NamedOutcome<'a> = (&'a ComparedFigure, &'a TestResult);

/// The figures by outcome.
struct OutcomeGroups<'a> {
    worse: Vec<NamedOutcome<'a>>,
    better: Vec<NamedOutcome<'a>>,
    noise: Vec<NamedOutcome<'a>>,
    undecided: BTreeMap<UndecidedReason, usize>,
}

impl<'a> OutcomeGroups<'a> {
    fn from_comparison(comparison: &'a Comparison, side: usize) -> Self {
        let mut found = Self { worse: vec![], better: vec![], noise: vec![], undecided: BTreeMap::new() };
        for figure in &comparison.figures {
            let outcome = &figure.outcomes[side];
            match outcome.decision {
                Decision::Higher | Decision::Lower if figure.is_worse(outcome) => found.worse.push((figure, outcome)),
                Decision::Higher | Decision::Lower => found.better.push((figure, outcome)),
                Decision::NotSignificant => found.noise.push((figure, outcome)),
                Decision::Unknown(reason) => *found.undecided.entry(reason).or_default() += 1,
                Decision::Equal => {}
            }
        }
        found.worse.sort_by(|a, b| distance(b).total_cmp(&distance(a)));
        found.better.sort_by(|a, b| distance(b).total_cmp(&distance(a)));
        found
    }

    fn most_common_reason(&self) -> Option<UndecidedReason> {
        self.undecided.iter().max_by_key(|(_, count)| **count).map(|(reason, _)| *reason)
    }

    /// How large an undetected difference could be, and how many figures are undecided.
    fn undetectable_sentence(&self) -> String {
        let felt = self.noise.iter().find(|(figure, _)| figure.name == HEADLINE_FIGURE).or(self.noise.first());
        let could = felt.map(|(figure, outcome)| {
            let interval = super::format::format_interval(figure, outcome);
            format!("; {} {} could be {interval}", figure.subject, figure.name)
        });
        let undecided: usize = self.undecided.values().sum();
        let silent = match undecided {
            0 => String::new(),
            1 => "; 1 figure could not be decided".to_owned(),
            many => format!("; {many} figures could not be decided"),
        };
        could.unwrap_or_default() + &silent
    }
}

/// How far a figure went, in either direction.
fn distance((_, outcome): &NamedOutcome<'_>) -> f64 {
    outcome.ratio().map_or(0.0, |ratio| ratio.ln().abs())
}

fn adjective(figures: &[NamedOutcome<'_>], of_time: &'static str, of_all: &'static str) -> &'static str {
    let is_time = |(figure, _): &NamedOutcome<'_>| matches!(figure.kind, FigureKind::Time | FigureKind::Throughput);
    if figures.iter().all(is_time) { of_time } else { of_all }
}

fn list_figures(figures: &[NamedOutcome<'_>]) -> String {
    first_few(figures.iter().map(|(figure, outcome)| describe_outcome(figure, outcome)), ", ")
}
