//! Several runs per side: the run is the unit, and the difference from one run to the next is the noise. Student's t
//! with one common variance, because the runs of both sides have the same spread if there is no difference; so five
//! runs of one side can also be compared with a single one of the other. Does not look inside a run.

use super::resampling::DistanceEvidence;
use super::{ComparisonScale, UndecidedReason};
use crate::statistics::{mean, sum_of_squares, two_sided_p};

/// Fewer degrees of freedom than this are not conclusive: three runs in total have one.
const DEGREES_OF_FREEDOM_MIN: usize = 2;

/// The evidence of the runs' figures. `grain` is the resolution of a figure, on the scale; `floor` is the minimum
/// variance of the figure of one run.
pub(super) fn evaluate_runs(
    scale: ComparisonScale,
    sides: [&[f64]; 2],
    grain: f64,
    floor: f64,
) -> Result<DistanceEvidence, UndecidedReason> {
    let [before, after] = sides.map(|side| side.iter().map(|figure| scale.value(*figure)).collect::<Option<Vec<_>>>());
    let (Some(before), Some(after)) = (before, after) else { return Err(UndecidedReason::Missing) };
    if before.is_empty() || after.is_empty() {
        return Err(UndecidedReason::Missing);
    }
    let freedom = before.len() + after.len() - 2;
    match freedom {
        0 => return Err(UndecidedReason::OneRun),
        few if few < DEGREES_OF_FREEDOM_MIN => return Err(UndecidedReason::TooFewRuns),
        _ => {}
    }
    let squares = sum_of_squares(&before) + sum_of_squares(&after);
    let variance = (squares / freedom as f64).max(floor);
    let runs = 1.0 / before.len() as f64 + 1.0 / after.len() as f64;
    let error = ((variance + grain * grain) * runs).sqrt();
    let distance = mean(&after) - mean(&before);
    let t = if distance == 0.0 { 0.0 } else { (distance / error).abs() };
    let freedom = freedom as f64;
    Ok(DistanceEvidence {
        distance,
        standard_error: error,
        degrees_of_freedom: freedom,
        p_value: two_sided_p(t, freedom),
        draws: Vec::new(),
    })
}

/// The figure of a side: the mean on the scale on which its noise adds up.
pub(super) fn side_mean(scale: ComparisonScale, side: &[f64]) -> Option<f64> {
    // A single run has nothing to average and nothing to round.
    if let [figure] = side {
        return Some(*figure);
    }
    let values = side.iter().map(|figure| scale.value(*figure)).collect::<Option<Vec<f64>>>();
    let mean = values.filter(|values| !values.is_empty()).map(|values| mean(&values));
    mean.map(|mean| if scale == ComparisonScale::Ratio { mean.exp() } else { mean })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: &[f64], after: &[f64], expected: Result<f64, UndecidedReason>) {
        let found =
            evaluate_runs(ComparisonScale::Difference, [before, after], 0.0, 0.0).map(|evidence| evidence.p_value);
        match (found, expected) {
            (Ok(found), Ok(expected)) => assert!((found - expected).abs() < 1e-3, "{found}"),
            (found, expected) => assert_eq!(found, expected),
        }
    }

    #[test]
    fn runs_are_the_unit() {
        // Student's sleep data (1908), as two groups: p = 0.0792.
        let (first, second) = (
            [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0],
            [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4],
        );
        check(&first, &second, Ok(0.0792));
        check(&first, &first, Ok(1.0));
        // Several against a single one: t = 3 / sqrt(1 * (1 + 1/3)) with two degrees of freedom.
        check(&[9.0, 10.0, 11.0], &[13.0], Ok(0.1217));
        check(&[1.0], &[2.0], Err(UndecidedReason::OneRun));
        check(&[1.0, 2.0], &[2.0], Err(UndecidedReason::TooFewRuns));
        check(&[], &[2.0], Err(UndecidedReason::Missing));
        check(&[5.0, 5.0], &[7.0, 7.0], Ok(0.0));
    }

    #[test]
    fn a_floor_keeps_a_chance_agreement_from_being_certainty() {
        let found = evaluate_runs(ComparisonScale::Difference, [&[0.0, 0.0], &[1.0, 1.0]], 0.0, 0.5).unwrap();
        assert!(found.p_value > 0.2, "{}", found.p_value);
    }

    #[test]
    fn times_are_compared_by_their_ratio() {
        let found = evaluate_runs(ComparisonScale::Ratio, [&[10.0, 10.1], &[20.0, 20.2]], 0.0, 0.0).unwrap();
        assert!((found.distance - 2f64.ln()).abs() < 1e-9);
        assert_eq!(
            evaluate_runs(ComparisonScale::Ratio, [&[10.0, 0.0], &[20.0, 20.2]], 0.0, 0.0),
            Err(UndecidedReason::Missing)
        );
        assert_eq!(side_mean(ComparisonScale::Ratio, &[1.0, 100.0]), Some(10.000_000_000_000_002));
        assert_eq!(side_mean(ComparisonScale::Difference, &[1.0, 100.0]), Some(50.5));
    }
}
