//! Statistics that several decisions use: means and medians, and the tails of distributions, whose mathematics is the
//! library's. Does not know what the numbers are.

use std::f64::consts::SQRT_2;

use statrs::function::beta::{beta_reg, inv_beta_reg};
use statrs::function::erf::erfc;

/// The mean; 0 of no values.
pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The sum of the squares of all distances from the mean.
pub(crate) fn sum_of_squares(values: &[f64]) -> f64 {
    sum_of_products(values, values)
}

/// The sum of the products of the distances of two series from their means.
pub(crate) fn sum_of_products(one: &[f64], other: &[f64]) -> f64 {
    let (mean_one, mean_other) = (mean(one), mean(other));
    one.iter().zip(other).map(|(one, other)| (one - mean_one) * (other - mean_other)).sum()
}

/// The median; none of no values.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    Some(values[(values.len() - 1) / 2].midpoint(upper))
}

/// The probability that Student's t with `freedom` degrees of freedom is at least `t` from zero, on either side.
pub(crate) fn two_sided_p(t: f64, freedom: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    beta_reg(freedom / 2.0, 0.5, freedom / (freedom + t * t))
}

/// The distance from zero that Student's t exceeds with probability `p`, both sides together.
pub(crate) fn critical_value(p: f64, freedom: f64) -> f64 {
    let x = inv_beta_reg(freedom / 2.0, 0.5, p);
    (freedom * (1.0 - x) / x).sqrt()
}

/// The same probability for the normal distribution.
pub(crate) fn normal_two_sided_p(z: f64) -> f64 {
    erfc(z.abs() / SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against textbook tables.
    #[track_caller]
    fn check(p: f64, freedom: f64, t: f64) {
        assert!((critical_value(p, freedom) - t).abs() < 5e-4, "{}", critical_value(p, freedom));
        assert!((two_sided_p(t, freedom) - p).abs() < 1e-4 * p.max(0.01) / 0.01, "{}", two_sided_p(t, freedom));
    }

    #[test]
    fn student() {
        check(0.05, 1.0, 12.7062);
        check(0.05, 4.0, 2.7764);
        check(0.01, 10.0, 3.1693);
        check(0.002, 20.0, 3.5518);
        check(0.05, 7.5, 2.3328);
        assert_eq!(two_sided_p(f64::INFINITY, 5.0), 0.0);
        assert_eq!(two_sided_p(0.0, 5.0), 1.0);
    }

    #[test]
    fn normal() {
        assert!((normal_two_sided_p(1.959_964) - 0.05).abs() < 1e-7);
        assert!((normal_two_sided_p(-3.290_527) - 0.001).abs() < 1e-8);
    }
}
