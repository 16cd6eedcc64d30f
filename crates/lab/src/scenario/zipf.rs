//! Zipf's law in constant memory: number k of n with a weight of 1 / k^s, for any s above 0, by rejection-inversion (W.
//! Hörmann, G. Derflinger: Rejection-inversion to generate variates from monotone discrete distributions, ACM TOMACS
//! 6(3), 1996). Keeps no table: a draw costs the same for ten keys and for a billion.
//!
//! The weights are covered by the area below h(x) = x^-s. H is the antiderivative of h that is 0 at 1, written so that
//! it stays exact around s = 1, where it is the logarithm. A point below h, drawn by inverting H, is rounded to a whole
//! number; it is rejected where h covers more than the weight.

use super::rng::{mix, to_unit_interval};

/// Points that a draw may reject. At least two in three are accepted, so the last is practically never reached.
const POINTS_MAX: u64 = 64;

/// The law for one n and one s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Zipf {
    count: f64,
    exponent: f64,
    /// H at the left end: 3/2, less the whole weight of 1, so that 1 is never rejected.
    area_first: f64,
    /// H at the right end: n + 1/2.
    area_last: f64,
    /// A point that is rounded up by at most this much is below every weight: taken without a look at H.
    always_accepted: f64,
}

impl Zipf {
    pub(crate) fn new(count: u64, exponent: f64) -> Self {
        let count = count.max(1) as f64;
        let area_first = area(1.5, exponent) - 1.0;
        let always_accepted = 2.0 - area_inverse(area(2.5, exponent) - weight(2.0, exponent), exponent);
        Self { count, exponent, area_first, area_last: area(count + 0.5, exponent), always_accepted }
    }

    /// A number from 0 to below n; the smaller, the likelier.
    pub(crate) fn rank(&self, draw: u64) -> u64 {
        let mut rank = 1.0;
        for point in 0..POINTS_MAX {
            let area_here = self.area_last + to_unit_interval(mix(draw, point)) * (self.area_first - self.area_last);
            let x = area_inverse(area_here, self.exponent);
            rank = libm::floor(x + 0.5).clamp(1.0, self.count);
            let is_below = || area_here >= area(rank + 0.5, self.exponent) - weight(rank, self.exponent);
            if rank - x <= self.always_accepted || is_below() {
                break;
            }
        }
        rank as u64 - 1
    }
}

/// h(x) = x^-s
fn weight(x: f64, exponent: f64) -> f64 {
    libm::exp(-exponent * libm::log(x))
}

/// H(x) = (x^(1-s) - 1) / (1 - s), and ln x where s is 1.
fn area(x: f64, exponent: f64) -> f64 {
    let log = libm::log(x);
    let t = (1.0 - exponent) * log;
    if t == 0.0 { log } else { libm::expm1(t) / t * log }
}

/// The x at which H has this value.
fn area_inverse(value: f64, exponent: f64) -> f64 {
    let t = ((1.0 - exponent) * value).max(-1.0);
    let slope = if t == 0.0 { 1.0 } else { libm::log1p(t) / t };
    libm::exp(slope * value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DRAWS: u64 = 100_000;

    /// Expected shares of bins that hold ranks up to (and with) each of `ends`.
    fn shares(count: u64, exponent: f64, ends: &[u64]) -> Vec<f64> {
        let weight = |rank: u64| (rank as f64).powf(-exponent);
        let total: f64 = (1..=count).map(weight).sum();
        let starts = std::iter::once(0).chain(ends.iter().copied());
        starts.zip(ends).map(|(start, end)| (start + 1..=*end).map(weight).sum::<f64>() / total).collect()
    }

    /// How far the draws are from the law, as Pearson's statistic over the value that it exceeds once in a thousand
    /// (by the approximation of Wilson and Hilferty).
    fn misfit(count: u64, drawn: f64, expected: f64, ends: &[u64], seed: u64) -> f64 {
        let zipf = Zipf::new(count, drawn);
        let mut found = vec![0_u64; ends.len()];
        for number in 0..DRAWS {
            let rank = zipf.rank(mix(seed, number)) + 1;
            found[ends.partition_point(|end| *end < rank)] += 1;
        }
        let wanted = shares(count, expected, ends).into_iter().map(|share| share * DRAWS as f64);
        let terms: Vec<f64> = found
            .into_iter()
            .zip(wanted)
            .filter(|(_, wanted)| *wanted >= 5.0)
            .map(|(found, wanted)| (found as f64 - wanted).powi(2) / wanted)
            .collect();
        let freedom = (terms.len() - 1) as f64;
        let spread = 2.0 / (9.0 * freedom);
        terms.iter().sum::<f64>() / (freedom * (1.0 - spread + 3.09 * spread.sqrt()).powi(3))
    }

    const EXPONENTS: [f64; 9] = [0.1, 0.5, 0.99, 1.0, 1.000_000_1, 1.1, 1.5, 2.0, 4.0];

    #[test]
    fn frequencies_fit_the_law() {
        let each: Vec<u64> = (1..=50).collect();
        let doubling: Vec<u64> = (0..20).map(|bit| (1 << bit) - 1).skip(1).chain([1_000_000]).collect();
        for (seed, exponent) in (1..).zip(EXPONENTS) {
            let few = misfit(50, exponent, exponent, &each, seed);
            let many = misfit(1_000_000, exponent, exponent, &doubling, seed);
            assert!(few < 1.0 && many < 1.0, "s = {exponent}: {few:.2} and {many:.2} of what chance allows");
        }
    }

    #[test]
    fn another_law_does_not_fit() {
        let each: Vec<u64> = (1..=50).collect();
        assert!(misfit(50, 1.0, 1.05, &each, 1) > 1.0);
        assert!(misfit(50, 0.5, 0.45, &each, 1) > 1.0);
    }

    proptest! {
        #[test]
        fn every_draw_is_one_of_the_keys(count in 1_u64..2_000_000_000_000, exponent in 0.01_f64..10.0, draw: u64) {
            prop_assert!(Zipf::new(count, exponent).rank(draw) < count);
        }

        #[test]
        fn the_area_and_its_inverse_agree(x in 0.6_f64..1e12, exponent in 0.01_f64..3.0) {
            // Beyond this the area below the tail is smaller than the steps of a double.
            prop_assume!(exponent <= 1.0 || x.powf(1.0 - exponent) > 1e-7);
            let again = area_inverse(area(x, exponent), exponent);
            prop_assert!((again / x - 1.0).abs() < 1e-6, "{} for {}", again, x);
        }
    }
}
