//! The sequential test of a duel: after every pair, is it known yet which hypothesis holds?
//!
//! H0: the candidate is `elo0` points stronger than the baseline; H1: it is `elo1` points stronger. Wald's bounds on the
//! log-likelihood ratio keep the probability of accepting H1 under H0 near `alpha`, and of accepting H0 under H1 near `beta`
//! (A. Wald, *Sequential Analysis*, 1947, section 3.2; they are approximations from the safe side, but for the overshoot).

use super::elo::score_of;
use super::likelihood::{log_likelihood_loss, log_likelihood_ratio};
use super::pair_counts::{PAIR_SCORES, PairCounts};
use crate::limits::{DUEL_ELO_GAP_MIN, DUEL_ELO_MAX, DUEL_ERROR_RATE_MAX, DUEL_ERROR_RATE_MIN};
use crate::pack::packed;

/// Bounds and error rates of a test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sprt {
    /// H0 in Elo.
    pub elo0: f64,
    /// H1 in Elo, above `elo0`.
    pub elo1: f64,
    /// The rate of accepting H1 where H0 holds.
    pub alpha: f64,
    /// The rate of accepting H0 where H1 holds.
    pub beta: f64,
}
packed!(Sprt { elo0, elo1, alpha, beta });

/// Which hypothesis was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accepted {
    H0,
    H1,
}

/// Why a test cannot be run as it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SprtError {
    #[error("a bound is a number from -{DUEL_ELO_MAX} to {DUEL_ELO_MAX} Elo")]
    Bound,
    #[error(
        "elo1 must be at least {DUEL_ELO_GAP_MIN} Elo above elo0: a closer question takes more games than a duel may have"
    )]
    Gap,
    #[error("alpha and beta are from {DUEL_ERROR_RATE_MIN} to {DUEL_ERROR_RATE_MAX}")]
    ErrorRate,
}

impl Default for Sprt {
    /// Is the candidate better at all, rather than 50 Elo better (57 % of the points)? In duels of snakes draws are rare, so a
    /// pair tells little (its mean score has a variance of about 1/8): 0 to 10 Elo, usual among chess engines that draw more often
    /// than not, would take some 6,000 games, 0 to 50 takes about 260.
    fn default() -> Self {
        Self { elo0: 0.0, elo1: 50.0, alpha: 0.05, beta: 0.05 }
    }
}

impl Sprt {
    /// # Errors
    /// The first [`SprtError`] that applies.
    pub fn validate(&self) -> Result<(), SprtError> {
        if ![self.elo0, self.elo1].into_iter().all(|elo| (-DUEL_ELO_MAX..=DUEL_ELO_MAX).contains(&elo)) {
            return Err(SprtError::Bound);
        }
        if self.elo1 - self.elo0 < DUEL_ELO_GAP_MIN {
            return Err(SprtError::Gap);
        }
        let is_rate = |rate| (DUEL_ERROR_RATE_MIN..=DUEL_ERROR_RATE_MAX).contains(&rate);
        if is_rate(self.alpha) && is_rate(self.beta) { Ok(()) } else { Err(SprtError::ErrorRate) }
    }

    /// The log-likelihood ratio at which H0 is accepted; negative.
    #[must_use]
    pub fn lower(&self) -> f64 {
        libm::log(self.beta / (1.0 - self.alpha))
    }

    /// The log-likelihood ratio at which H1 is accepted; positive.
    #[must_use]
    pub fn upper(&self) -> f64 {
        libm::log((1.0 - self.beta) / self.alpha)
    }

    /// The log-likelihood ratio of H1 to H0.
    #[must_use]
    pub fn llr(&self, counts: &PairCounts) -> f64 {
        log_likelihood_ratio(counts, score_of(self.elo0), score_of(self.elo1))
    }

    /// What is known after these pairs. The counts must be those of an unbroken sequence of pairs in the order in which they were
    /// started, and the question must have been put after each of them.
    #[must_use]
    pub fn decide(&self, counts: &PairCounts) -> Option<Accepted> {
        let llr = self.llr(counts);
        if llr >= self.upper() {
            Some(Accepted::H1)
        } else if llr <= self.lower() {
            Some(Accepted::H0)
        } else {
            None
        }
    }

    /// Wald's expected number of pairs when a pair has these probabilities: the expected ratio at the end, divided by what a
    /// pair adds to it on average. Under H1 that is ((1-β) ln((1-β)/α) + β ln(β/(1-α))) / D, where D = Σ p ln(p1/p0) is the
    /// Kullback-Leibler distance from H0 (1947, section 3.5); under H0, with the roles exchanged. The overshoot is left out.
    #[must_use]
    pub fn expected_pairs(&self, probabilities: &[f64; PAIR_SCORES], truth: Accepted) -> f64 {
        let weights = probabilities.map(|probability| probability.max(1e-12));
        let (s0, s1) = (score_of(self.elo0), score_of(self.elo1));
        let step = log_likelihood_loss(&weights, s0) - log_likelihood_loss(&weights, s1);
        let h1_accepted = match truth {
            Accepted::H0 => self.alpha,
            Accepted::H1 => 1.0 - self.beta,
        };
        (h1_accepted * self.upper() + (1.0 - h1_accepted) * self.lower()) / step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(counts: [u32; PAIR_SCORES], want: Option<Accepted>) {
        let test = Sprt::default();
        assert_eq!(test.decide(&PairCounts(counts)), want, "{}", test.llr(&PairCounts(counts)));
    }

    #[test]
    fn decides_at_walds_bounds() {
        check([0, 0, 0, 0, 0], None);
        check([0, 0, 0, 0, 20], None);
        check([0, 0, 0, 0, 25], Some(Accepted::H1));
        check([25, 0, 0, 0, 0], Some(Accepted::H0));
        check([10, 1, 20, 1, 10], None);
        check([60, 3, 150, 3, 60], Some(Accepted::H0));
        check([20, 3, 150, 3, 60], Some(Accepted::H1));
    }

    #[test]
    fn the_bounds_are_walds() {
        let test = Sprt { elo0: 0.0, elo1: 50.0, alpha: 0.05, beta: 0.1 };
        assert!((test.upper() - 18.0_f64.ln()).abs() < 1e-12 && (test.lower() + 9.5_f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn a_coin_takes_as_long_as_wald_says() {
        // Two coins, always alike: pairs of 0 or 2 points, p = 0.5 against p1 = score_of(50).
        let (test, p1) = (Sprt::default(), score_of(50.0));
        let distance = p1 * (p1 / 0.5).ln() + (1.0 - p1) * ((1.0 - p1) / 0.5).ln();
        let want = 0.9 * 19.0_f64.ln() / distance;
        let got = test.expected_pairs(&[1.0 - p1, 0.0, 0.0, 0.0, p1], Accepted::H1);
        assert!((got - want).abs() < 1e-3, "{got}, not {want}");
    }

    #[track_caller]
    fn check_refused(test: Sprt, want: Result<(), SprtError>) {
        assert_eq!(test.validate(), want, "{test:?}");
    }

    #[test]
    fn nonsense_is_refused() {
        let good = Sprt::default();
        check_refused(good, Ok(()));
        check_refused(Sprt { elo0: -10.0, elo1: 0.0, ..good }, Ok(()));
        check_refused(Sprt { elo0: f64::NAN, ..good }, Err(SprtError::Bound));
        check_refused(Sprt { elo1: f64::INFINITY, ..good }, Err(SprtError::Bound));
        check_refused(Sprt { elo0: 10.0, elo1: 10.0, ..good }, Err(SprtError::Gap));
        check_refused(Sprt { elo0: 10.0, elo1: 0.0, ..good }, Err(SprtError::Gap));
        check_refused(Sprt { alpha: 0.0, ..good }, Err(SprtError::ErrorRate));
        check_refused(Sprt { beta: 0.5, ..good }, Err(SprtError::ErrorRate));
        check_refused(Sprt { beta: f64::NAN, ..good }, Err(SprtError::ErrorRate));
    }
}
