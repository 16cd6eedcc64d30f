//! An interval for the expected score that holds whenever one looks: while the duel runs, when the test stops it, when it is
//! cancelled. An interval for a fixed number of games would be too narrow then, because the test stops when results are extreme.
//!
//! It is a confidence sequence by betting (I. Waudby-Smith, A. Ramdas, "Estimating means of bounded random variables by betting",
//! JRSS B 86, 2024, section 4). A bookmaker who holds that the expected score is m must offer fair bets on every pair: staking the share c
//! of his capital on high scores, a gambler multiplies it by 1 + c (x/m - 1) for a pair of score x. If m is right, his capital is a
//! non-negative martingale, and reaches 2/α at any time with probability α/2 at most (J. Ville, 1939). So each m under which it
//! did is ruled out, from below and, by bets on low scores, from above. Nothing is assumed of draws, boards or the variance.

use super::pair_counts::{PAIR_SCORES, PairCounts, game_score};

/// How much may be wrong: the share of duels whose interval, at whatever time, misses the truth.
pub const INTERVAL_ERROR_RATE: f64 = 0.05;
/// The gambler's capital is divided evenly among these shares: small ones win over thousands of pairs, large ones over a few.
const STAKES: [f64; 12] = [1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.125, 0.09, 0.0625, 0.044, 0.031, 0.022];
/// Halvings of the interval from 0 to 1: a billionth.
const HALVINGS: u32 = 30;

/// The expected scores of a game that these pairs do not rule out: 0 to 1 without pairs.
#[must_use]
pub fn score_interval(counts: &PairCounts) -> (f64, f64) {
    (lower_end(counts), 1.0 - lower_end(&counts.swapped()))
}

/// Capital falls as m rises, so that what is ruled out from below is an interval that begins at 0.
fn lower_end(counts: &PairCounts) -> f64 {
    let goal = libm::log(2.0 / INTERVAL_ERROR_RATE);
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if log_capital(counts, middle) >= goal {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// The logarithm of what 1 has become by bets on high scores, at odds fair for an expected score of `m`.
fn log_capital(counts: &PairCounts, m: f64) -> f64 {
    let capitals = STAKES.map(|stake| {
        let gain = |(index, count): (usize, &u32)| match count {
            0 => 0.0,
            count => f64::from(*count) * libm::log1p(stake * (game_score(index) / m - 1.0)),
        };
        counts.0.iter().enumerate().map(gain).sum::<f64>()
    });
    let most = capitals.into_iter().fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY {
        return most;
    }
    let sum: f64 = capitals.into_iter().map(|capital| libm::exp(capital - most)).sum();
    most + libm::log(sum / STAKES.len() as f64)
}

const _: () = assert!(PAIR_SCORES == 5);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(counts: [u32; PAIR_SCORES], low: f64, high: f64) {
        let (got_low, got_high) = score_interval(&PairCounts(counts));
        assert!((got_low - low).abs() < 1e-6 && (got_high - high).abs() < 1e-6, "{got_low} {got_high}");
    }

    /// The ends were computed by another program, without logarithms.
    #[test]
    fn intervals() {
        check([0; 5], 0.0, 1.0);
        check([0, 0, 0, 0, 1], 0.007_117, 1.0);
        check([0, 0, 0, 0, 40], 0.862_864, 1.0);
        check([30, 0, 60, 0, 40], 0.433_741, 0.640_420);
        check([1, 1, 1, 1, 1], 0.080_241, 0.919_759);
    }

    proptest! {
        #[test]
        fn it_holds_the_mean_and_mirrors(counts in proptest::array::uniform5(0u32..2_000)) {
            let counts = PairCounts(counts);
            let (low, high) = score_interval(&counts);
            prop_assert!(low <= counts.score() && counts.score() <= high, "{low} {high}");
            let (mirrored_low, mirrored_high) = score_interval(&counts.swapped());
            prop_assert!((low + mirrored_high - 1.0).abs() < 1e-8 && (high + mirrored_low - 1.0).abs() < 1e-8);
        }

        #[test]
        fn four_times_the_pairs_narrow_it(counts in proptest::array::uniform5(5u32..300)) {
            let width = |counts| { let (low, high) = score_interval(&PairCounts(counts)); high - low };
            prop_assert!(width(counts.map(|count| 4 * count)) < 0.7 * width(counts));
        }
    }
}
