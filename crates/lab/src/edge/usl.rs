//! The universal scalability law: how throughput grows with concurrency, and where it turns. Does not know what
//! was measured, and names nothing that the points do not support.
//!
//! `X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1))` with its peak at `N* = sqrt((1 - sigma) / kappa)`
//! (Gunther 2007, "Guerrilla Capacity Planning", chapter 4): lambda is the throughput of one, sigma what they wait
//! for each other, kappa what they exchange with each other.
//!
//! The distance of a point is the logarithm of measured over predicted: ladders span decades, and a deviation of a
//! tenth weighs the same at ten clients as at ten thousand. Intervals come from resampled residuals (Davison and
//! Hinkley 1997, "Bootstrap Methods and their Application", 6.2), stretched by `sqrt(n / (n - 3))` for the
//! parameters that were fitted and by Student's t over the normal deviate for how few points are left.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::format::{number, percent};
use crate::scenario::mix;
use crate::statistics::{critical_value, sum_of_squares};

/// Three levels are spent on the parameters. Of one left over the t factor is 12.7 and of two it is 4.3: below five
/// an interval says nothing.
const LEVELS_MIN: usize = 5;

/// The largest concurrency over the smallest. In less than two doublings contention and coherency bend alike.
const RANGE_MIN: f64 = 4.0;

/// The share of the variation of the logarithms that the curve must explain.
const R_SQUARED_MIN: f64 = 0.8;

/// How far the points may lie off the curve, typically, as a share of the throughput.
const RESIDUAL_SHARE_MAX: f64 = 0.2;

/// Resampled fits: an odd thousand, so that the quantiles of 95 % are members.
const RESAMPLES: usize = 999;

/// A peak whose interval reaches beyond so many times the largest concurrency was not seen.
const PEAK_REACH: f64 = 10.0;

/// Steps towards the nearest curve before the nearest so far is taken.
const STEPS_MAX: usize = 200;

/// A step that lowers the sum by a smaller share than this is the last.
const SHARE_MIN: f64 = 1e-12;

/// Damping beyond which no step is left to try.
const DAMPING_MAX: f64 = 1e12;

/// Half of what 95 % leaves out, and its normal deviate.
const TAIL: f64 = 0.025;
const Z: f64 = 1.959_964;

/// A figure and its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

/// A fitted law.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Usl {
    /// Throughput of one, per second.
    pub lambda_per_s: Estimate,
    /// Contention, from 0 (none waits) to 1 (one at a time).
    pub sigma: Estimate,
    /// Coherency, 0 or more: the cost of each pair.
    pub kappa: Estimate,
    /// The share of the variation of the logarithm of throughput that the curve explains.
    pub r_squared: f64,
    /// How far the points lie off the curve, typically, as a share of the throughput.
    pub residual_share: f64,
    /// Points that were fitted.
    pub points: usize,
    /// Where throughput is largest, when the points show that.
    pub peak: Option<UslPeak>,
    /// Why there is no peak, in a sentence.
    pub peak_refused: Option<String>,
}

/// Where the law has its largest throughput.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct UslPeak {
    /// At this concurrency.
    pub concurrency: Estimate,
    /// The throughput there.
    pub throughput_per_s: Estimate,
    /// It lies beyond the largest concurrency that was measured.
    pub extrapolated: bool,
}

/// Why no law was fitted.
#[derive(Clone, Debug, PartialEq, Error, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "refusal")]
pub enum FitError {
    #[error(
        "a concurrency of {concurrency} with a throughput of {throughput_per_s}/s is no point of a curve: leave it out"
    )]
    NotAPoint { concurrency: String, throughput_per_s: String },
    #[error(
        "{have} levels of concurrency are too few: three are spent on the parameters, and below two more no interval \
         says anything; measure at least {LEVELS_MIN}"
    )]
    TooFewLevels { have: usize },
    #[error(
        "from {from} to {to} is too little: within less than a factor of {RANGE_MIN}, waiting for each other and \
         telling each other bend the curve alike"
    )]
    RangeTooSmall { from: f64, to: f64 },
    #[error(
        "the points do not follow the law: the curve explains {} of their variation (at least {} are expected) and \
         they lie {} off it (at most {})",
        percent(*r_squared), percent(R_SQUARED_MIN), percent(*residual_share), percent(RESIDUAL_SHARE_MAX)
    )]
    Scattered { r_squared: f64, residual_share: f64 },
}

/// The parameters of one curve.
#[derive(Clone, Copy, Debug, PartialEq)]
struct UslCurve {
    ln_lambda: f64,
    sigma: f64,
    kappa: f64,
}

impl UslCurve {
    fn ln_throughput(&self, n: f64) -> f64 {
        self.ln_lambda + n.ln() - self.slowdown(n).ln()
    }

    fn slowdown(&self, n: f64) -> f64 {
        1.0 + self.sigma * (n - 1.0) + self.kappa * n * (n - 1.0)
    }

    /// The concurrency of the largest throughput; infinite when throughput never falls.
    fn peak(&self) -> f64 {
        if self.kappa > 0.0 { ((1.0 - self.sigma) / self.kappa).sqrt().max(1.0) } else { f64::INFINITY }
    }
}

impl Usl {
    /// What the law predicts at a concurrency of `n`, per second.
    #[must_use]
    pub fn throughput_per_s(&self, n: f64) -> f64 {
        let n = n.max(1.0);
        let Self { lambda_per_s, sigma, kappa, .. } = self;
        lambda_per_s.value * n / (1.0 + sigma.value * (n - 1.0) + kappa.value * n * (n - 1.0))
    }
}

/// Fits the law to points of (concurrency, throughput per second). The same points and seed give the same intervals.
///
/// # Errors
/// Why the points do not support a fit.
pub fn fit(points: &[(f64, f64)], seed: u64) -> Result<Usl, FitError> {
    fit_with(points, seed, RESAMPLES)
}

pub(super) fn fit_with(points: &[(f64, f64)], seed: u64, resamples: usize) -> Result<Usl, FitError> {
    let n_max = validate_points(points)?;
    let logs: Vec<(f64, f64)> = points.iter().map(|(n, x)| (*n, x.ln())).collect();
    let scattered = FitError::Scattered { r_squared: 0.0, residual_share: 1.0 };
    let (curve, sum) = best_fit(&logs, &guesses(n_max)).ok_or(scattered)?;
    let (r_squared, residual_share) = goodness(&logs, sum);
    if r_squared < R_SQUARED_MIN || residual_share > RESIDUAL_SHARE_MAX {
        return Err(FitError::Scattered { r_squared, residual_share });
    }
    let curves = bootstrap_fits(&logs, curve, seed, resamples);
    let (peak, peak_refused) = match peak(curve, &curves, n_max) {
        Ok(peak) => (Some(peak), None),
        Err(why) => (None, Some(why)),
    };
    Ok(Usl {
        lambda_per_s: estimate(curve.ln_lambda.exp(), curves.iter().map(|curve| curve.ln_lambda.exp())),
        sigma: estimate(curve.sigma, curves.iter().map(|curve| curve.sigma)),
        kappa: estimate(curve.kappa, curves.iter().map(|curve| curve.kappa)),
        r_squared,
        residual_share,
        points: points.len(),
        peak,
        peak_refused,
    })
}

/// The largest concurrency, of points that can be fitted.
fn validate_points(points: &[(f64, f64)]) -> Result<f64, FitError> {
    let is_point = |n: f64, x: f64| n.is_finite() && n >= 1.0 && x.is_finite() && x > 0.0;
    if let Some((n, x)) = points.iter().find(|(n, x)| !is_point(*n, *x)) {
        return Err(FitError::NotAPoint { concurrency: n.to_string(), throughput_per_s: x.to_string() });
    }
    let mut levels: Vec<f64> = points.iter().map(|point| point.0).collect();
    levels.sort_unstable_by(f64::total_cmp);
    levels.dedup();
    let (Some(from), Some(to)) = (levels.first().copied(), levels.last().copied()) else {
        return Err(FitError::TooFewLevels { have: 0 });
    };
    if levels.len() < LEVELS_MIN {
        return Err(FitError::TooFewLevels { have: levels.len() });
    }
    if to / from < RANGE_MIN {
        return Err(FitError::RangeTooSmall { from, to });
    }
    Ok(to)
}

/// Where to start to look: little and much contention, with a peak at the largest concurrency or none.
fn guesses(n_max: f64) -> [(f64, f64); 4] {
    let peaked = 1.0 / (n_max * n_max);
    [(0.05, peaked), (0.05, 0.0), (0.5, peaked), (0.5, 0.0)]
}

/// The curve that lies nearest to the points, reached from several guesses, and the sum of the squared distances.
fn best_fit(logs: &[(f64, f64)], starts: &[(f64, f64)]) -> Option<(UslCurve, f64)> {
    let nearest = starts.iter().map(|(sigma, kappa)| minimise(LocalFit::at(logs, *sigma, *kappa), logs));
    let nearest = nearest.filter(|fit| fit.sum.is_finite()).min_by(|a, b| a.sum.total_cmp(&b.sum))?;
    Some((nearest.curve, nearest.sum))
}

/// Walks to the nearest minimum by the damped Gauss-Newton steps of Levenberg (1944), with Marquardt's scaling by the
/// diagonal (1963), so that parameters of very different size need no units.
fn minimise(mut fit: LocalFit, logs: &[(f64, f64)]) -> LocalFit {
    let mut damping = 1e-3;
    for _ in 0..STEPS_MAX {
        let (sigma, kappa) = fit.step(damping);
        let next = LocalFit::at(logs, sigma, kappa);
        if next.sum <= fit.sum {
            let gained = fit.sum - next.sum;
            let has_arrived = gained <= SHARE_MIN * fit.sum;
            damping = f64::max(damping / 10.0, 1e-12);
            fit = next;
            if has_arrived {
                break;
            }
        } else {
            damping *= 10.0;
            if damping > DAMPING_MAX {
                break;
            }
        }
    }
    fit
}

/// A curve and its distances from the points, to second order in sigma and kappa.
struct LocalFit {
    curve: UslCurve,
    /// The sum of the squared distances.
    sum: f64,
    gradient: [f64; 2],
    /// Of sigma, of both together, of kappa.
    curvature: [f64; 3],
}

impl LocalFit {
    /// The best curve with this sigma and kappa: lambda only moves it up and down, to where the distances cancel.
    fn at(logs: &[(f64, f64)], sigma: f64, kappa: f64) -> Self {
        let shape = UslCurve { ln_lambda: 0.0, sigma, kappa };
        let term = |(n, ln_x): &(f64, f64)| {
            let by_sigma = -(n - 1.0) / shape.slowdown(*n);
            [shape.ln_throughput(*n) - ln_x, by_sigma, by_sigma * n]
        };
        let terms: Vec<[f64; 3]> = logs.iter().map(term).collect();
        let means = [0, 1, 2].map(|i| terms.iter().map(|term| term[i]).sum::<f64>() / terms.len() as f64);
        let sum_of =
            |i: usize, k: usize| terms.iter().map(|term| (term[i] - means[i]) * (term[k] - means[k])).sum::<f64>();
        Self {
            curve: UslCurve { ln_lambda: -means[0], ..shape },
            sum: sum_of(0, 0),
            gradient: [sum_of(0, 1), sum_of(0, 2)],
            curvature: [sum_of(1, 1), sum_of(1, 2), sum_of(2, 2)],
        }
    }

    /// Where the damped step leads. A parameter at a bound that its gradient pushes against stays, and no step leaves
    /// the bounds (Bertsekas 1982, "Projected Newton methods").
    fn step(&self, damping: f64) -> (f64, f64) {
        let ([sigma, both, kappa], [by_sigma, by_kappa]) = (self.curvature, self.gradient);
        let sigma_stays = self.curve.sigma <= 0.0 && by_sigma > 0.0 || self.curve.sigma >= 1.0 && by_sigma < 0.0;
        let kappa_stays = self.curve.kappa <= 0.0 && by_kappa > 0.0;
        let (sigma, kappa) = (sigma * (1.0 + damping), kappa * (1.0 + damping));
        // Damping keeps the determinant above zero, because of two curves none bends more together than apart.
        let (to_sigma, to_kappa) = match (sigma_stays || sigma <= 0.0, kappa_stays || kappa <= 0.0) {
            (true, true) => (0.0, 0.0),
            (true, false) => (0.0, -by_kappa / kappa),
            (false, true) => (-by_sigma / sigma, 0.0),
            (false, false) => {
                let determinant = sigma * kappa - both * both;
                ((both * by_kappa - kappa * by_sigma) / determinant, (both * by_sigma - sigma * by_kappa) / determinant)
            }
        };
        ((self.curve.sigma + to_sigma).clamp(0.0, 1.0), (self.curve.kappa + to_kappa).max(0.0))
    }
}

/// R squared and the typical residual, both of the logarithms.
fn goodness(logs: &[(f64, f64)], sum: f64) -> (f64, f64) {
    let count = logs.len() as f64;
    let total = sum_of_squares(&logs.iter().map(|point| point.1).collect::<Vec<f64>>());
    let explained = if total > 0.0 { (1.0 - sum / total).max(0.0) } else { 0.0 };
    (explained, (sum / (count - 3.0)).sqrt())
}

/// Curves fitted to the first one with its residuals dealt anew.
fn bootstrap_fits(logs: &[(f64, f64)], curve: UslCurve, seed: u64, resamples: usize) -> Vec<UslCurve> {
    let free = logs.len() as f64 - 3.0;
    let stretch = (logs.len() as f64 / free).sqrt() * critical_value(2.0 * TAIL, free) / Z;
    let residual = |(n, ln_x): &(f64, f64)| stretch * (ln_x - curve.ln_throughput(*n));
    let residuals: Vec<f64> = logs.iter().map(residual).collect();
    let deal = |resample: usize| {
        let dealt = |(i, (n, _)): (usize, &(f64, f64))| {
            let draw = mix(mix(seed, resample as u64 + 1), i as u64 + 1);
            (*n, curve.ln_throughput(*n) + residuals[(draw % residuals.len() as u64) as usize])
        };
        logs.iter().enumerate().map(dealt).collect::<Vec<_>>()
    };
    (0..resamples)
        .filter_map(|resample| best_fit(&deal(resample), &[(curve.sigma, curve.kappa)]))
        .map(|(curve, _)| curve)
        .collect()
}

fn estimate(value: f64, resampled: impl Iterator<Item = f64>) -> Estimate {
    let mut values: Vec<f64> = resampled.collect();
    values.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| {
        let place = (share * (values.len() as f64 + 1.0)).round() as usize;
        values.get(place.saturating_sub(1).min(values.len().saturating_sub(1))).copied().unwrap_or(value)
    };
    Estimate { value, low: at(TAIL).min(value), high: at(1.0 - TAIL).max(value) }
}

fn peak(curve: UslCurve, curves: &[UslCurve], n_max: f64) -> Result<UslPeak, String> {
    let concurrency = estimate(curve.peak(), curves.iter().map(UslCurve::peak));
    let reach = PEAK_REACH * n_max;
    if !(concurrency.value <= reach && concurrency.high <= reach) {
        let from = Some(concurrency.low).filter(|low| low.is_finite());
        let from = from.map_or("nowhere".to_owned(), |low| format!("anywhere from {} on", number(low)));
        return Err(format!(
            "No peak is named: it may lie {from}, and the points end at {}. Measure further, until throughput falls.",
            number(n_max)
        ));
    }
    let top = |curve: &UslCurve| curve.ln_throughput(curve.peak().min(reach)).exp();
    let throughput_per_s = estimate(top(&curve), curves.iter().map(top));
    Ok(UslPeak { concurrency, throughput_per_s, extrapolated: concurrency.value > n_max })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LADDER: [f64; 9] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0];

    /// Nearly normal: the sum of twelve uniform deviates.
    fn deviate(seed: u64) -> f64 {
        (0..12).map(|i| mix(seed, i) as f64 / u64::MAX as f64).sum::<f64>() - 6.0
    }

    fn curve(lambda: f64, sigma: f64, kappa: f64, ladder: &[f64], noise: f64, seed: u64) -> Vec<(f64, f64)> {
        let truth = UslCurve { ln_lambda: lambda.ln(), sigma, kappa };
        let point =
            |(i, n): (usize, &f64)| (*n, (truth.ln_throughput(*n) + noise * deviate(mix(seed, i as u64))).exp());
        ladder.iter().enumerate().map(point).collect()
    }

    /// Of 200 seeded curves, how many hold each parameter and the peak within their intervals.
    #[track_caller]
    fn covers([lambda, sigma, kappa]: [f64; 3], ladder: &[f64], noise: f64) {
        let truth = UslCurve { ln_lambda: lambda.ln(), sigma, kappa };
        let holds = |estimate: &Estimate, truth: f64| {
            usize::from(estimate.low <= truth * (1.0 + 1e-9) && truth <= estimate.high * (1.0 + 1e-9))
        };
        let mut within = [0; 4];
        for seed in 0..200 {
            let usl = fit_with(&curve(lambda, sigma, kappa, ladder, noise, seed), seed, 199).unwrap();
            let peak = usl.peak.map_or(1, |peak| holds(&peak.concurrency, truth.peak()));
            let held = [holds(&usl.lambda_per_s, lambda), holds(&usl.sigma, sigma), holds(&usl.kappa, kappa), peak];
            (0..4).for_each(|i| within[i] += held[i]);
        }
        assert!(within.iter().all(|held| *held >= 180), "held {within:?} of 200 each");
        assert!(within[0] < 200 || noise == 0.0, "an interval that is never left is too wide to mean anything");
    }

    #[test]
    fn intervals_cover_the_truth() {
        covers([1000.0, 0.05, 1e-4], &LADDER, 0.03);
        covers([660.0, 0.02, 2e-5], &LADDER, 0.05);
        covers([5.0, 0.3, 1e-3], &LADDER[..7], 0.02);
        covers([50.0, 0.1, 5e-4], &[1.0, 4.0, 16.0, 64.0, 256.0], 0.02);
        // On the bound: no contention, and no coherency.
        covers([100.0, 0.0, 1e-4], &LADDER, 0.03);
        covers([100.0, 0.08, 0.0], &LADDER, 0.03);
    }

    #[test]
    fn without_noise_the_parameters_come_back() {
        let usl = fit(&curve(995.0, 0.026, 7.7e-4, &LADDER, 0.0, 1), 1).unwrap();
        assert!((usl.lambda_per_s.value - 995.0).abs() < 1e-3, "{usl:?}");
        assert!((usl.sigma.value - 0.026).abs() < 1e-7, "{usl:?}");
        assert!((usl.kappa.value - 7.7e-4).abs() < 1e-9, "{usl:?}");
        let peak = usl.peak.unwrap();
        assert!((peak.concurrency.value - 35.566).abs() < 1e-2 && !peak.extrapolated, "{peak:?}");
        assert!((peak.throughput_per_s.value - usl.throughput_per_s(35.566)).abs() < 0.1, "{peak:?}");
    }

    #[track_caller]
    fn refused(points: &[(f64, f64)], sentence: &str) {
        let refusal = fit(points, 1).unwrap_err().to_string();
        assert!(refusal.contains(sentence), "{refusal}");
    }

    #[test]
    fn refusals() {
        refused(&[], "0 levels of concurrency are too few");
        refused(&curve(100.0, 0.1, 1e-4, &LADDER[..4], 0.0, 1), "4 levels of concurrency are too few");
        let repeated = [1.0, 1.0, 1.0, 10.0, 10.0, 100.0];
        refused(&curve(100.0, 0.1, 1e-4, &repeated, 0.01, 1), "3 levels of concurrency are too few");
        refused(&curve(100.0, 0.1, 1e-4, &[10.0, 12.0, 15.0, 20.0, 30.0], 0.0, 1), "from 10 to 30 is too little");
        let mut points = curve(100.0, 0.1, 1e-4, &LADDER, 0.0, 1);
        points[3].1 = f64::NAN;
        refused(&points, "no point of a curve");
        points[3] = (0.0, 10.0);
        refused(&points, "no point of a curve");
        points[3] = (10.0, 0.0);
        refused(&points, "no point of a curve");
        points[3] = (f64::INFINITY, 1.0);
        refused(&points, "no point of a curve");
        refused(&curve(100.0, 0.1, 1e-4, &LADDER, 0.8, 3), "do not follow the law");
        // A throughput that only ever falls, steeper than any waiting for each other explains, and one that jumps.
        let jumps = LADDER.map(|n| (n, if n < 30.0 { 10.0 } else { 1000.0 }));
        refused(&jumps, "do not follow the law");
        let flat = LADDER.map(|n| (n, 500.0 * (1.0 + 0.1 * deviate(n as u64))));
        refused(&flat, "do not follow the law");
    }

    /// Parameters are given, but no peak.
    #[track_caller]
    fn without_peak(points: &[(f64, f64)]) {
        let usl = fit(points, 1).unwrap();
        assert_eq!(usl.peak, None, "{usl:?}");
        assert!(usl.peak_refused.unwrap().contains("No peak is named"));
        assert!(usl.lambda_per_s.low > 0.0 && usl.kappa.low < 1e-9, "{:?}", usl.kappa);
    }

    #[test]
    fn peaks_that_were_not_seen() {
        // The best curve turns at 158, but a straight one is as likely.
        without_peak(&curve(100.0, 0.1, 1e-5, &LADDER[..8], 0.04, 1));
        without_peak(&curve(100.0, 0.0, 0.0, &LADDER, 0.02, 1));
        without_peak(&curve(100.0, 0.1, 0.0, &LADDER, 0.02, 1));
        without_peak(&curve(100.0, 0.1, 0.0, &LADDER, 0.0, 1));
        without_peak(&curve(100.0, 0.2, 1e-5, &LADDER[..5], 0.05, 1));
    }

    proptest! {
        #[test]
        fn whatever_comes_every_figure_is_finite(
            points in prop::collection::vec((1.0f64..1e6, 1e-3f64..1e9), 0..12),
            seed: u64,
        ) {
            if let Ok(usl) = fit_with(&points, seed, 19) {
                let peak = usl.peak.map(|peak| [peak.concurrency, peak.throughput_per_s]);
                let estimates = [usl.lambda_per_s, usl.sigma, usl.kappa].into_iter().chain(peak.into_iter().flatten());
                for Estimate { value, low, high } in estimates {
                    prop_assert!([value, low, high].iter().all(|figure| figure.is_finite() && *figure >= 0.0));
                    prop_assert!(low <= high);
                }
                prop_assert_eq!(usl.peak.is_none(), usl.peak_refused.is_some());
            }
        }

        #[test]
        fn the_same_seed_gives_the_same_intervals(seed: u64) {
            let points = curve(100.0, 0.1, 1e-4, &LADDER, 0.03, 7);
            prop_assert_eq!(fit_with(&points, seed, 19), fit_with(&points, seed, 19));
        }
    }
}
