//! The autocorrelation of noise. Blocks cover the variance of a mean only up to their own length; what slower drift
//! adds is restored from a first-order autoregression plus white noise, fitted to the first two autocorrelations, in
//! the spirit of the recolouring of Andrews & Monahan (1992). Does not know what drifts.

use super::blocks::Blocks;

/// Above this, a coefficient only shows that the run is too short for it.
const COEFFICIENT_MAX: f64 = 0.97;

/// The minimum share of the variance that blocks are assumed to cover.
const VARIANCE_SHARE_MIN: f64 = 0.02;

/// Fewer independent sections than this in a run are too few to know its noise.
const INDEPENDENT_MIN: f64 = 5.0;

/// Noise whose autocorrelation at lag k is `share * coefficient^k`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Autocorrelation {
    /// The autocorrelated part of the variance.
    share: f64,
    /// How much of it is left after one unit of time.
    coefficient: f64,
}

impl Autocorrelation {
    /// Fitted to a series of mean zero.
    pub(super) fn fit(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let power: f64 = values.iter().map(|value| value * value).sum();
        let at = |lag: usize| {
            let products: f64 = values.iter().zip(values.iter().skip(lag)).map(|(a, b)| a * b).sum();
            let found = if power > 0.0 { products / power } else { 0.0 };
            // Estimates are too low by about (1 + 4r)/n (Marriott & Pope 1954; Kendall 1954).
            found + (1.0 + 4.0 * found.max(0.0)) / n
        };
        let (first, second) = (at(1), at(2));
        if first <= 0.0 {
            return Self { share: 0.0, coefficient: 0.0 };
        }
        let first = first.min(COEFFICIENT_MAX);
        // Only a significant first autocorrelation can show, with the second, how fast it fades.
        let fades = if first > 2.0 / n.sqrt() { second / first } else { first };
        let coefficient = fades.clamp(first, COEFFICIENT_MAX);
        Self { share: first / coefficient, coefficient }
    }

    /// The factor for the variance that blocks cover.
    pub(super) fn correction(&self, blocks: &Blocks) -> f64 {
        let (n, b) = (blocks.units(), blocks.length());
        let all = self.variance(n);
        let share = b as f64 / n as f64;
        let seen = (self.variance(b) - all * share) / (1.0 - share);
        (all / seen.max(VARIANCE_SHARE_MIN * all)).max(1.0)
    }

    /// Whether a run of this many units holds too few independent sections.
    pub(super) fn is_too_slow_for(&self, units: usize) -> bool {
        (units as f64) < INDEPENDENT_MIN * self.variance(units)
    }

    /// The variance of a mean of `n` times `n`, where white noise has 1.
    fn variance(&self, n: usize) -> f64 {
        let far = |lag: usize| (1.0 - lag as f64 / n as f64) * self.share * self.coefficient.powf(lag as f64);
        1.0 + 2.0 * (1..n).map(far).sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::synthetic::{TestRng, drift};
    use super::*;

    fn mean_zero(values: &[f64]) -> Vec<f64> {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter().map(|value| value - mean).collect()
    }

    /// The fitted coefficient of a long drift plus this much white noise.
    #[track_caller]
    fn check(coefficient: f64, white: f64) {
        let mut rng = TestRng::new(11);
        let noisy: Vec<f64> = drift(&mut rng, 40_000, coefficient).iter().map(|v| v + white * rng.normal()).collect();
        let memory = Autocorrelation::fit(&mean_zero(&noisy));
        let share = 1.0 / (1.0 + white * white);
        assert!((memory.coefficient - coefficient).abs() < 0.03, "{memory:?}");
        assert!((memory.share - share).abs() < 0.05, "{memory:?}");
    }

    #[test]
    fn drift_is_recognised_under_white_noise() {
        check(0.5, 0.0);
        check(0.8, 0.0);
        check(0.8, 1.0);
        check(0.95, 0.5);
    }

    #[test]
    fn white_noise_needs_no_correction() {
        let mut rng = TestRng::new(3);
        let white: Vec<f64> = (0..10_000).map(|_| rng.normal()).collect();
        let correction = Autocorrelation::fit(&mean_zero(&white)).correction(&Blocks::new(1, 300).unwrap());
        assert!((1.0..1.02).contains(&correction), "{correction}");
    }

    #[test]
    fn a_run_that_only_drifts_is_too_short() {
        let slope: Vec<f64> = (0..60).map(f64::from).collect();
        assert!(Autocorrelation::fit(&mean_zero(&slope)).is_too_slow_for(60));
        let wave: Vec<f64> = (0..60).map(|i| f64::from(i % 2)).collect();
        assert!(!Autocorrelation::fit(&mean_zero(&wave)).is_too_slow_for(60));
        assert!(Autocorrelation::fit(&[0.0; 60]).correction(&Blocks::new(1, 60).unwrap()) < 1.01);
    }
}
