//! Tails of the distributions that decisions use. The mathematics is the library's; this file only selects the tail.

use std::f64::consts::SQRT_2;

use statrs::function::beta::{beta_reg, inv_beta_reg};
use statrs::function::erf::erfc;

/// The probability that Student's t with `freedom` degrees of freedom is at least `t` from zero, on either side.
pub(super) fn two_sided_p(t: f64, freedom: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    beta_reg(freedom / 2.0, 0.5, freedom / (freedom + t * t))
}

/// The distance from zero that Student's t exceeds with probability `p`, both sides together.
pub(super) fn critical_value(p: f64, freedom: f64) -> f64 {
    let x = inv_beta_reg(freedom / 2.0, 0.5, p);
    (freedom * (1.0 - x) / x).sqrt()
}

/// The same probability for the normal distribution.
pub(super) fn normal_two_sided_p(z: f64) -> f64 {
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
