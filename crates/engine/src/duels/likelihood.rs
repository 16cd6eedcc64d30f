//! The log-likelihood ratio of two expected scores, given counts of pairs. No model of draws, boards or seats is assumed: the
//! probabilities of the five categories are unknown, and replaced under each hypothesis by their maximum likelihood estimate.
//!
//! Source: M. Van den Bergh, "A practical introduction to the GSPRT" (the generalised sequential probability ratio test as
//! Fishtest uses it), whose estimate under a given mean is that of empirical likelihood (A. Owen, *Empirical Likelihood*, 2001,
//! chapter 2): p_i = q_i / (1 + λ (a_i - s)) for observed frequencies q_i of scores a_i, where λ makes the mean s.

use super::pair_counts::{PAIR_SCORES, PairCounts, game_score};

/// What a category without a pair counts as, so that no category is impossible (as Fishtest does).
const EMPTY_CATEGORY: f64 = 1e-3;
/// Halvings of the interval of λ: beyond the precision of a double.
const HALVINGS: u32 = 80;

/// ln(L(s1) / L(s0)): how much better these pairs fit an expected score of `s1` than one of `s0`, both between 0 and 1,
/// exclusive. 0 without pairs.
#[must_use]
pub fn log_likelihood_ratio(counts: &PairCounts, s0: f64, s1: f64) -> f64 {
    if counts.pairs() == 0 {
        return 0.0;
    }
    let weights = counts.0.map(|count| f64::from(count).max(EMPTY_CATEGORY));
    log_likelihood_loss(&weights, s0) - log_likelihood_loss(&weights, s1)
}

/// By how much the likelihood falls, as a logarithm, when the expected score must be `s`. All weights are positive.
pub(super) fn log_likelihood_loss(weights: &[f64; PAIR_SCORES], s: f64) -> f64 {
    let lambda = multiplier(weights, s);
    weights.iter().enumerate().map(|(index, weight)| weight * libm::log1p(lambda * (game_score(index) - s))).sum()
}

/// The λ that makes the mean of the estimate `s`: the only zero of a function that falls from plus to minus infinity.
fn multiplier(weights: &[f64; PAIR_SCORES], s: f64) -> f64 {
    let (mut low, mut high) = (-1.0 / (1.0 - s), 1.0 / s);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        let excess = |(index, weight): (usize, &f64)| {
            let distance = game_score(index) - s;
            weight * distance / (1.0 + middle * distance)
        };
        if weights.iter().enumerate().map(excess).sum::<f64>() > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(counts: [u32; PAIR_SCORES], s0: f64, s1: f64, want: f64) {
        let got = log_likelihood_ratio(&PairCounts(counts), s0, s1);
        assert!((got - want).abs() < 2e-3 * want.abs().max(1.0), "{got}, not {want}");
    }

    #[test]
    fn known_ratios() {
        check([0; 5], 0.5, 0.6, 0.0);
        // Pairs of two wins or two losses alone are a coin: n ln(s1/s0) + m ln((1-s1)/(1-s0)).
        check([40, 0, 0, 0, 60], 0.5, 0.6, 60.0 * 1.2_f64.ln() + 40.0 * 0.8_f64.ln());
        check([10, 0, 0, 0, 0], 0.5, 0.6, 10.0 * 0.8_f64.ln());
        // Symmetric counts cannot tell s from 1 - s.
        check([3, 5, 9, 5, 3], 0.4, 0.6, 0.0);
    }

    fn any_counts() -> impl Strategy<Value = PairCounts> {
        proptest::array::uniform5(0u32..400).prop_map(PairCounts)
    }

    proptest! {
        #[test]
        fn swapping_the_bots_changes_the_sign(counts in any_counts(), s0 in 0.05..0.95, s1 in 0.05..0.95) {
            let (ratio, mirrored) =
                (log_likelihood_ratio(&counts, s0, s1), log_likelihood_ratio(&counts.swapped(), 1.0 - s1, 1.0 - s0));
            prop_assert!((ratio + mirrored).abs() < 1e-7 * ratio.abs().max(1.0), "{ratio} {mirrored}");
        }

        /// h(a) = (a - s) / (1 + λ (a - s)) rises with a: a better pair in a worse one's place raises λ under every s, and the ratio
        /// is the integral of λ over s from s0 to s1.
        #[test]
        fn a_better_pair_never_lowers_the_ratio(
            counts in proptest::array::uniform5(1u32..400), s0 in 0.1..0.9, gap in 0.001..0.09, better in 1usize..5,
        ) {
            let mut raised = counts;
            raised[better - 1] -= 1;
            raised[better] += 1;
            let ratio = |counts| log_likelihood_ratio(&PairCounts(counts), s0, s0 + gap);
            prop_assert!(ratio(raised) > ratio(counts) - 1e-9, "{} {}", ratio(raised), ratio(counts));
        }

        #[test]
        fn a_won_pair_more_raises_the_ratio(counts in any_counts(), s0 in 0.1..0.9, gap in 0.001..0.09) {
            let mut won = counts;
            won.add(4);
            let ratio = |counts: &PairCounts| log_likelihood_ratio(counts, s0, s0 + gap);
            prop_assert!(ratio(&won) > ratio(&counts), "{} {}", ratio(&won), ratio(&counts));
        }
    }
}
