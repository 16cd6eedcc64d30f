//! Decides all figures of one comparison together, so that many figures do not produce many false differences.

use super::counts::{self, EventCount};
use super::estimators::Estimator;
use super::repeats;
use super::resampling::{DistanceEvidence, PairResampling};
use super::{ComparisonScale, Decision, FAMILY_LEVEL, RESAMPLES, TestResult, UndecidedReason};
use crate::statistics::{critical_value, normal_two_sided_p};

/// The figures to test, in order.
#[derive(Debug)]
pub(crate) struct Family {
    resamples: usize,
    tests: Vec<FigureTest>,
}

#[derive(Debug)]
struct FigureTest {
    before: Option<f64>,
    after: Option<f64>,
    scale: ComparisonScale,
    evidence: TestEvidence,
}

#[derive(Debug)]
enum TestEvidence {
    /// A distance with a standard error.
    Distance(DistanceEvidence),
    /// Two counts, and the probability of their split.
    Counts(EventCount, EventCount, f64),
    /// Decided without a test.
    Decided(Decision),
}

impl Default for Family {
    fn default() -> Self {
        Self::with_resamples(RESAMPLES)
    }
}

impl Family {
    /// A family with this many resamples; a test may want fewer than [`RESAMPLES`].
    pub(crate) fn with_resamples(resamples: usize) -> Self {
        Self { resamples, tests: Vec::new() }
    }

    /// Adds a figure of one run per side. `grain` is the resolution of either figure, on the scale.
    pub(crate) fn add_series(
        &mut self,
        frame: &PairResampling,
        scale: ComparisonScale,
        sides: [&dyn Estimator; 2],
        grain: f64,
    ) {
        let [before, after] = sides.map(Estimator::full_sample);
        // A rate that fell to zero has no ratio; it has a difference.
        let scale =
            if before.zip(after).is_some_and(|(b, a)| b.min(a) <= 0.0) { ComparisonScale::Difference } else { scale };
        let shows = TestEvidence::from_distance(frame.evaluate(scale, sides, grain, self.resamples));
        self.tests.push(FigureTest { before, after, scale, evidence: shows });
    }

    /// Adds a figure of several runs. `floor` is the minimum variance of one run's figure.
    pub(crate) fn add_runs(&mut self, scale: ComparisonScale, sides: [&[f64]; 2], grain: f64, floor: f64) {
        let nothing = sides.concat().iter().any(|figure| *figure <= 0.0);
        let scale = if nothing { ComparisonScale::Difference } else { scale };
        let [before, after] = sides.map(|side| repeats::side_mean(scale, side));
        let shows = TestEvidence::from_distance(repeats::evaluate_runs(scale, sides, grain, floor));
        self.tests.push(FigureTest { before, after, scale, evidence: shows });
    }

    /// Adds events of one run per side. Readers see them per `of`.
    pub(crate) fn add_counts(&mut self, before: EventCount, after: EventCount) {
        let shows = match (counts::p_value(before, after), counts::min_p_value(before, after)) {
            _ if before.events + after.events == 0 => TestEvidence::Decided(Decision::Equal),
            (Ok(_), Ok(least)) if least > FAMILY_LEVEL => {
                TestEvidence::Decided(Decision::Unknown(UndecidedReason::TooFewEvents))
            }
            (Ok(p), Ok(_)) => TestEvidence::Counts(before, after, p),
            (Err(reason), _) | (_, Err(reason)) => TestEvidence::Decided(Decision::Unknown(reason)),
        };
        let [before, after] = [before, after].map(|count| Some(count.events as f64));
        self.tests.push(FigureTest { before, after, scale: ComparisonScale::Difference, evidence: shows });
    }

    /// Adds a figure that cannot be decided.
    pub(crate) fn add_undecided(&mut self, before: Option<f64>, after: Option<f64>, reason: UndecidedReason) {
        // A missing figure does not appear with a longer run.
        let is_on_one_side = before.is_some() != after.is_some();
        let reason =
            if reason == UndecidedReason::TooShort && is_on_one_side { UndecidedReason::Missing } else { reason };
        let shows = TestEvidence::Decided(Decision::Unknown(reason));
        self.tests.push(FigureTest { before, after, scale: ComparisonScale::Difference, evidence: shows });
    }

    /// Decides all of them together, in the order in which they were added.
    ///
    /// Step by step: everything beyond the level of all open figures is reported, and the level of the others is
    /// computed again, until nothing more is reported.
    pub(crate) fn decide(self) -> Vec<TestResult> {
        let mut levels = vec![None; self.tests.len()];
        let mut open: Vec<usize> =
            (0..self.tests.len()).filter(|index| self.tests[*index].p_value().is_some()).collect();
        while !open.is_empty() {
            let level = self.level(&open);
            open.iter().for_each(|index| levels[*index] = Some(level));
            let before = open.len();
            open.retain(|index| self.tests[*index].p_value().is_some_and(|p| p >= level));
            if open.len() == before {
                break;
            }
        }
        self.tests.into_iter().zip(levels).map(|(asked, level)| asked.into_result(level)).collect()
    }

    /// The largest level for each of these figures such that, if none differs, one of them is beyond it with
    /// probability [`FAMILY_LEVEL`] at most. Figures with resamples are as dependent as their resamples; of the others
    /// nothing is assumed.
    fn level(&self, open: &[usize]) -> f64 {
        let draws: Vec<&[f64]> = open.iter().filter_map(|index| self.tests[*index].draws()).collect();
        let others = (open.len() - draws.len()) as f64;
        let resamples = draws.iter().map(|draws| draws.len()).min().unwrap_or(0);
        let farthest = |number: usize| draws.iter().map(|draws| draws[number].abs()).fold(0.0, f64::max);
        let mut least: Vec<f64> = (0..resamples).map(|number| normal_two_sided_p(farthest(number))).collect();
        least.sort_by(f64::total_cmp);
        let share = |index: usize| index as f64 / resamples.max(1) as f64;
        let left = |index: usize| if others > 0.0 { (FAMILY_LEVEL - share(index)) / others } else { 1.0 };
        // Below the next of the sorted values, as many resamples are beyond the level as come before it.
        let reachable = (0..=resamples).take_while(|index| share(*index) <= FAMILY_LEVEL);
        let best = reachable.map(|index| least.get(index).copied().unwrap_or(FAMILY_LEVEL).min(left(index)));
        best.fold(0.0, f64::max).min(FAMILY_LEVEL)
    }
}

impl TestEvidence {
    fn from_distance(evidence: Result<DistanceEvidence, UndecidedReason>) -> Self {
        match evidence {
            Ok(evidence) if evidence.standard_error == 0.0 && evidence.distance == 0.0 => {
                Self::Decided(Decision::Equal)
            }
            Ok(evidence) => Self::Distance(evidence),
            Err(reason) => Self::Decided(Decision::Unknown(reason)),
        }
    }
}

impl FigureTest {
    fn p_value(&self) -> Option<f64> {
        match &self.evidence {
            TestEvidence::Distance(evidence) => Some(evidence.p_value),
            TestEvidence::Counts(_, _, p) => Some(*p),
            TestEvidence::Decided(_) => None,
        }
    }

    fn draws(&self) -> Option<&[f64]> {
        match &self.evidence {
            TestEvidence::Distance(evidence) if !evidence.draws.is_empty() => Some(&evidence.draws),
            _ => None,
        }
    }

    fn into_result(self, level: Option<f64>) -> TestResult {
        let p = self.p_value();
        let (call, change) = match (self.evidence, level.zip(p)) {
            (TestEvidence::Decided(call), _) => (call, None),
            (_, None) => (Decision::Unknown(UndecidedReason::Missing), None),
            (TestEvidence::Distance(evidence), Some((level, p))) => {
                let reach = critical_value(level, evidence.degrees_of_freedom) * evidence.standard_error;
                (decision_for(p < level, evidence.distance > 0.0), Some(self.scale.effect(evidence.distance, reach)))
            }
            (TestEvidence::Counts(before, after, p), Some((level, _))) => {
                let higher = after.events as f64 / after.exposure > before.events as f64 / before.exposure;
                (decision_for(p < level, higher), counts::rate_change(before, after, level))
            }
        };
        TestResult { before: self.before, after: self.after, decision: call, effect: change, p, level }
    }
}

fn decision_for(beyond: bool, higher: bool) -> Decision {
    match (beyond, higher) {
        (false, _) => Decision::NotSignificant,
        (true, true) => Decision::Higher,
        (true, false) => Decision::Lower,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(pairs: &[(&[f64], &[f64])]) -> Vec<TestResult> {
        let mut family = Family::default();
        pairs
            .iter()
            .for_each(|(before, after)| family.add_runs(ComparisonScale::Difference, [before, after], 0.0, 0.0));
        family.decide()
    }

    const NOISE: (&[f64], &[f64]) = (&[1.0, 2.0, 3.0, 4.0], &[1.5, 2.5, 3.5, 4.5]);
    /// p = 0.0032: beyond a level of 0.025 / 7, not beyond one of 0.025 / 8.
    const CLEAR: (&[f64], &[f64]) = (&[1.0, 2.0, 3.0, 4.0], &[5.3, 6.3, 7.3, 8.3]);

    #[track_caller]
    fn check(clear: usize, noise: usize, called: usize) {
        let pairs: Vec<_> = std::iter::repeat_n(CLEAR, clear).chain(std::iter::repeat_n(NOISE, noise)).collect();
        let answers = runs(&pairs);
        let found = answers.iter().filter(|answer| answer.decision.is_different()).count();
        assert_eq!(found, called, "{answers:?}");
    }

    #[test]
    fn many_figures_are_tested_more_strictly() {
        check(1, 0, 1);
        check(1, 6, 1);
        check(1, 7, 0);
        // Figures that were reported make room for the others, as in Holm's procedure.
        check(8, 0, 0);
        check(2, 5, 2);
    }

    #[test]
    fn intervals_leave_equality_out_exactly_where_a_difference_is_called() {
        for answer in [runs(&[CLEAR, NOISE]), runs(&[CLEAR; 8])].concat() {
            let change = answer.effect.unwrap();
            assert_eq!(change.low > 0.0 || change.high < 0.0, answer.decision.is_different(), "{answer:?}");
        }
    }

    #[test]
    fn events_that_never_happened_are_equal_and_cost_the_others_nothing() {
        let mut family = Family::default();
        let none = EventCount { events: 0, exposure: 100.0 };
        (0..20).for_each(|_| family.add_counts(none, none));
        family.add_counts(none, EventCount { events: 2, exposure: 100.0 });
        family.add_counts(none, EventCount { events: 8, exposure: 100.0 });
        let calls: Vec<Decision> = family.decide().into_iter().map(|answer| answer.decision).collect();
        assert!(calls[..20].iter().all(|call| *call == Decision::Equal));
        assert_eq!(calls[20..], [Decision::Unknown(UndecidedReason::TooFewEvents), Decision::Higher]);
    }

    #[test]
    fn an_empty_family_has_no_results() {
        assert!(Family::default().decide().is_empty());
    }
}
