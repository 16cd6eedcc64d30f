//! One run per side, known second by second: the evidence of a figure from resampled blocks. Does not decide: the
//! family does.

use super::autocorrelation::Autocorrelation;
use super::blocks::{Block, Blocks, UNITS_MIN};
use super::estimators::Estimator;
use super::{ComparisonScale, UndecidedReason};
use crate::statistics::{mean, sum_of_products, sum_of_squares, two_sided_p};

/// The correlation of two runs' counts over time from which they follow the same plan.
const SAME_PLAN_CORRELATION_MIN: f64 = 0.5;

/// The maximum relative difference in length of two runs that follow the same plan.
const LENGTH_DIFFERENCE_MAX: f64 = 0.1;

/// The share of resamples that may have no figure.
const EMPTY_SHARE_MAX: f64 = 0.05;

/// The times of two runs, and how they are resampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PairResampling {
    pub(crate) before: Blocks,
    pub(crate) after: Blocks,
    /// Whether both follow one plan (bursts, a ramp, a ladder): then the same blocks are drawn from both, so that what
    /// the plan does to both alike does not count as noise.
    pub(crate) paired: bool,
}

/// The evidence on a figure of two runs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DistanceEvidence {
    /// The distance of the figures on their scale.
    pub(super) distance: f64,
    pub(super) standard_error: f64,
    /// How well the standard error is known.
    pub(super) degrees_of_freedom: f64,
    /// The probability of such a large distance if there is no difference.
    pub(super) p_value: f64,
    /// The distances of all resamples around their mean, in standard deviations; empty without resamples.
    pub(super) draws: Vec<f64>,
}

impl PairResampling {
    /// From the number of events in each unit of time, and the seeds of the two runs.
    ///
    /// # Errors
    /// A run is too short.
    pub(crate) fn new(before: &[f64], after: &[f64], seeds: [u64; 2]) -> Result<Self, UndecidedReason> {
        let paired = has_same_plan(before, after);
        let all = before.len().max(after.len());
        let units = if paired { [all, all] } else { [before.len(), after.len()] };
        let seeds = if paired { [seeds[0], seeds[0]] } else { seeds };
        let short = before.len().min(after.len()) < UNITS_MIN;
        match (Blocks::new(seeds[0], units[0]), Blocks::new(seeds[1], units[1])) {
            (Some(before), Some(after)) if !short => Ok(Self { before, after, paired }),
            _ => Err(UndecidedReason::TooShort),
        }
    }

    /// The evidence on one figure. `grain` is the resolution of either side's figure, on the scale.
    pub(super) fn evaluate(
        &self,
        scale: ComparisonScale,
        sides: [&dyn Estimator; 2],
        grain: f64,
        resamples: usize,
    ) -> Result<DistanceEvidence, UndecidedReason> {
        let [before, after] = sides.map(|side| side.full_sample().and_then(|figure| scale.value(figure)));
        let (Some(before), Some(after)) = (before, after) else { return Err(UndecidedReason::Missing) };
        let distance = after - before;
        let draws = self.draws(scale, sides, resamples)?;
        let (variance, freedom) =
            if self.paired { self.paired_variance(sides, &draws)? } else { self.separate_variance(sides, &draws)? };
        let error = (variance + 2.0 * grain * grain).sqrt();
        let t = if distance == 0.0 { 0.0 } else { (distance / error).abs() };
        Ok(DistanceEvidence {
            distance,
            standard_error: error,
            degrees_of_freedom: freedom,
            p_value: two_sided_p(t, freedom),
            draws: draws.standardised(),
        })
    }

    /// Both sides' figures in every resample that has both.
    fn draws(
        &self,
        scale: ComparisonScale,
        sides: [&dyn Estimator; 2],
        resamples: usize,
    ) -> Result<ResampledPairs, UndecidedReason> {
        let mut draws = ResampledPairs::default();
        let mut blocks: Vec<Block> = Vec::new();
        for number in 0..resamples {
            self.before.draw(number, &mut blocks);
            let before = sides[0].resampled(&blocks).and_then(|figure| scale.value(figure));
            if !self.paired {
                self.after.draw(number, &mut blocks);
            }
            let after = sides[1].resampled(&blocks).and_then(|figure| scale.value(figure));
            draws.0.push(before.zip(after));
        }
        let empty = draws.0.iter().filter(|draw| draw.is_none()).count();
        if empty as f64 > EMPTY_SHARE_MAX * resamples as f64 { Err(UndecidedReason::TooShort) } else { Ok(draws) }
    }

    /// Two independent runs: their variances add up, and so, by Satterthwaite, do their degrees of freedom.
    fn separate_variance(
        &self,
        sides: [&dyn Estimator; 2],
        draws: &ResampledPairs,
    ) -> Result<(f64, f64), UndecidedReason> {
        let of = |blocks: &Blocks, side: &dyn Estimator, drawn: Vec<f64>| {
            let memory = Autocorrelation::fit(&side.influence());
            if memory.is_too_slow_for(blocks.units()) {
                return Err(UndecidedReason::TooSlow);
            }
            Ok(variance(&drawn) * memory.correction(blocks) / blocks.variance_factor())
        };
        let before = of(&self.before, sides[0], draws.figures(|before, _| before))?;
        let after = of(&self.after, sides[1], draws.figures(|_, after| after))?;
        let parts = before.powi(2) / self.before.degrees_of_freedom() + after.powi(2) / self.after.degrees_of_freedom();
        let sum = before + after;
        let freedom = if parts > 0.0 { sum * sum / parts } else { self.before.degrees_of_freedom() };
        Ok((sum, freedom))
    }

    /// Two runs of one plan: one series of differences.
    fn paired_variance(
        &self,
        sides: [&dyn Estimator; 2],
        draws: &ResampledPairs,
    ) -> Result<(f64, f64), UndecidedReason> {
        let blocks = &self.before;
        // An influence is known up to a factor, which follows from its values over the resamples.
        let scaled = |side: &dyn Estimator, drawn: Vec<f64>| {
            let influence = side.influence();
            let own = blocks.variance_of_sum(&influence);
            let factor = if own > 0.0 { (variance(&drawn) / own).sqrt() } else { 0.0 };
            influence.into_iter().map(move |value| value * factor).collect::<Vec<f64>>()
        };
        let before = scaled(sides[0], draws.figures(|before, _| before));
        let after = scaled(sides[1], draws.figures(|_, after| after));
        let memory = Autocorrelation::fit(
            &after.iter().zip(&before).map(|(after, before)| after - before).collect::<Vec<f64>>(),
        );
        if memory.is_too_slow_for(blocks.units()) {
            return Err(UndecidedReason::TooSlow);
        }
        Ok((
            variance(&draws.figures(|before, after| after - before)) * memory.correction(blocks)
                / blocks.variance_factor(),
            blocks.degrees_of_freedom(),
        ))
    }
}

/// Both sides' figures by resample; none if one of them has no figure.
#[derive(Debug, Default)]
struct ResampledPairs(Vec<Option<(f64, f64)>>);

impl ResampledPairs {
    fn figures(&self, of: impl Fn(f64, f64) -> f64) -> Vec<f64> {
        self.0.iter().flatten().map(|(before, after)| of(*before, *after)).collect()
    }

    /// The distances around their mean, in standard deviations. A resample without a figure keeps its index, so that
    /// the resamples of all figures stay aligned.
    fn standardised(&self) -> Vec<f64> {
        let distances = self.figures(|before, after| after - before);
        let (mean, deviation) = (mean(&distances), variance(&distances).sqrt());
        let one = |draw: &Option<(f64, f64)>| {
            let distance = draw.map_or(mean, |(before, after)| after - before);
            if deviation > 0.0 { (distance - mean) / deviation } else { 0.0 }
        };
        self.0.iter().map(one).collect()
    }
}

/// Whether the counts of both runs rise and fall together. Counts are determined by the plan before the target, so that
/// using them does not favour any outcome.
fn has_same_plan(before: &[f64], after: &[f64]) -> bool {
    let (short, long) = (before.len().min(after.len()), before.len().max(after.len()));
    if (long - short) as f64 > LENGTH_DIFFERENCE_MAX * long as f64 {
        return false;
    }
    let (before, after) = (&before[..short], &after[..short]);
    let squares = sum_of_squares(before) * sum_of_squares(after);
    sum_of_products(before, after) > SAME_PLAN_CORRELATION_MIN * squares.sqrt()
}

fn variance(values: &[f64]) -> f64 {
    sum_of_squares(values) / values.len().saturating_sub(1).max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::super::estimators::Ratio;
    use super::super::tests::synthetic::{TestRng, drift};
    use super::*;

    /// Fewer than in production: they determine the spread of a figure to 5 %.
    const RESAMPLES: usize = 200;

    /// The mean of a made-up figure, unit by unit.
    fn mean_of(resampling: &Blocks, values: &[f64]) -> Ratio {
        Ratio::new(resampling, values, &vec![1.0; values.len()])
    }

    /// Two runs without a difference, with autocorrelated noise: how many out of a thousand have a p below `p`.
    #[track_caller]
    fn check(units: usize, coefficient: f64, paired: bool, p: f64, most: usize) {
        let rng = &mut TestRng::new(units as u64);
        let mut beyond = 0;
        for seed in 0..1000 {
            let (before, after) = (drift(rng, units, coefficient), drift(rng, units, coefficient));
            let resamplings =
                [seed, if paired { seed } else { seed + 5000 }].map(|seed| Blocks::new(seed, units).unwrap());
            let frame = PairResampling { before: resamplings[0], after: resamplings[1], paired };
            let sides = [&mean_of(&resamplings[0], &before) as &dyn Estimator, &mean_of(&resamplings[1], &after)];
            let found = frame.evaluate(ComparisonScale::Difference, sides, 0.0, RESAMPLES);
            beyond += usize::from(found.is_ok_and(|evidence| evidence.p_value < p));
        }
        assert!(beyond <= most, "{beyond} of 1000");
    }

    #[test]
    fn a_probability_is_as_rare_as_it_says_in_white_noise_of_few_blocks() {
        // 10 are expected; three standard deviations more are allowed.
        check(30, 0.0, true, 0.01, 20);
        check(30, 0.0, false, 0.01, 20);
        check(60, 0.0, true, 0.01, 20);
    }

    #[test]
    fn a_probability_is_nearly_as_rare_as_it_says_under_slow_drift() {
        // 50 are expected. Without the correction for what blocks cannot see, 86 and 168 would be found in the first
        // and the last; without the rejection of runs that are too short for their drift, 87 in the second.
        check(60, 0.7, false, 0.05, 75);
        check(60, 0.9, false, 0.05, 50);
        check(120, 0.9, true, 0.05, 110);
    }

    #[test]
    fn counts_that_never_vary_are_no_plan() {
        assert!(!has_same_plan(&[100.0; 60], &[100.0; 60]));
    }

    #[test]
    fn a_shared_plan_is_no_noise_if_the_same_blocks_are_drawn() {
        let rng = &mut TestRng::new(1);
        let side = |rng: &mut TestRng, level: f64| -> Vec<f64> {
            (0..60).map(|unit| level + f64::from(unit % 30) + 0.05 * rng.normal()).collect()
        };
        let (before, after) = (side(rng, 1.0), side(rng, 1.3));
        let p = |paired: bool| {
            let resampling = |seed| Blocks::new(seed, 60).unwrap();
            let frame = PairResampling { before: resampling(1), after: resampling(if paired { 1 } else { 2 }), paired };
            let sides = [&mean_of(&frame.before, &before) as &dyn Estimator, &mean_of(&frame.after, &after)];
            frame.evaluate(ComparisonScale::Difference, sides, 0.0, RESAMPLES).map(|evidence| evidence.p_value)
        };
        assert!(p(true).unwrap() < 0.001 && p(false).map_or(true, |p| p > 0.2), "{:?} {:?}", p(true), p(false));
    }
}
