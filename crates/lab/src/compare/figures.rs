//! A compared figure: its name, its unit, which direction is worse, and its result. Does not know where it comes from.

use serde::Serialize;

use super::stats::{ComparisonScale, Decision, EffectSize, TestResult, UndecidedReason};

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
    pub(crate) outcomes: Vec<FigureOutcome>,
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

/// One side's figure, compared with the first side's.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FigureOutcome {
    pub(crate) test_result: TestResult,
    pub(crate) kind: OutcomeKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutcomeKind {
    /// A difference beyond the noise, for the worse.
    Worse,
    /// A difference beyond the noise, for the better.
    Better,
    /// No difference beyond the noise.
    Noise,
    /// The same, without noise.
    Equal,
    /// It cannot be decided.
    Unknown(UndecidedReason),
}

impl ComparedFigure {
    /// By what share a side's figure is worse, if a difference for the worse was found; infinite from zero to a
    /// positive value.
    pub(crate) fn worsening(&self, side: usize) -> Option<f64> {
        let outcome = self.outcomes.get(side).filter(|outcome| outcome.kind == OutcomeKind::Worse)?;
        let ratio = outcome.ratio()?;
        Some(if self.worse_direction == WorseDirection::Higher { ratio - 1.0 } else { 1.0 - ratio })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.outcomes.iter().all(|outcome| outcome.test_result.before.or(outcome.test_result.after).is_none())
    }
}

impl FigureOutcome {
    pub(super) fn new(answer: TestResult, worse: WorseDirection) -> Self {
        let kind = match answer.decision {
            Decision::Higher if worse == WorseDirection::Higher => OutcomeKind::Worse,
            Decision::Lower if worse == WorseDirection::Lower => OutcomeKind::Worse,
            Decision::Higher | Decision::Lower => OutcomeKind::Better,
            Decision::NotSignificant => OutcomeKind::Noise,
            Decision::Equal => OutcomeKind::Equal,
            Decision::Unknown(reason) => OutcomeKind::Unknown(reason),
        };
        Self { test_result: answer, kind }
    }

    /// This side's figure over the first side's; infinite from zero to a positive value.
    pub(crate) fn ratio(&self) -> Option<f64> {
        match (self.test_result.effect, self.test_result.before.zip(self.test_result.after)) {
            (Some(EffectSize { scale: ComparisonScale::Ratio, point, .. }), _) => Some(point),
            (_, Some((before, after))) if before > 0.0 => Some(after / before),
            (_, Some((_, after))) => Some(if after > 0.0 { f64::INFINITY } else { 1.0 }),
            (_, None) => None,
        }
    }
}
