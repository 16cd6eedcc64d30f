//! A compared figure: its name, its unit, which direction is worse, and its result. Does not know where it comes from.

use serde::Serialize;

use super::stats::{Decision, TestResult};

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ComparedFigure {
    /// The operation, work, or process to which it belongs.
    pub(crate) subject: String,
    pub(crate) name: &'static str,
    /// Its unit; empty for a number.
    pub(crate) unit: &'static str,
    pub(crate) kind: FigureKind,
    pub(crate) worse_direction: WorseDirection,
    /// One for each side after the first.
    pub(crate) outcomes: Vec<TestResult>,
}

/// What kind of figure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FigureKind {
    /// How long something takes.
    Time,
    /// How much is done per time.
    Throughput,
    /// A part of a whole, in percent.
    Share,
    /// How often something happened.
    Count,
    /// What it used of the machine.
    Cost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum WorseDirection {
    Higher,
    Lower,
}

impl ComparedFigure {
    /// Whether a difference was found, for the worse.
    pub(crate) fn is_worse(&self, outcome: &TestResult) -> bool {
        match self.worse_direction {
            WorseDirection::Higher => outcome.decision == Decision::Higher,
            WorseDirection::Lower => outcome.decision == Decision::Lower,
        }
    }

    /// By what share a side's figure is worse, if a difference for the worse was found; infinite from zero to a
    /// positive value.
    pub(crate) fn worsening(&self, side: usize) -> Option<f64> {
        let ratio = self.outcomes.get(side).filter(|outcome| self.is_worse(outcome))?.ratio()?;
        Some(if self.worse_direction == WorseDirection::Higher { ratio - 1.0 } else { 1.0 - ratio })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.outcomes.iter().all(|outcome| outcome.before.or(outcome.after).is_none())
    }
}
