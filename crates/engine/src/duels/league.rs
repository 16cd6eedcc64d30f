//! The table of a league: one Elo number for each bot, from all games between all of them.
//!
//! Model: R. A. Bradley, M. E. Terry, "Rank analysis of incomplete block designs", Biometrika 39, 1952; a draw is half a win. The
//! variance of the estimates does not come from that model, in which games are independent, but from the scores of pairs as they were
//! observed (the sandwich estimator: P. J. Huber, 1967). The number of games is fixed beforehand, so ordinary normal
//! intervals hold.

use super::elo::ELO_PER_LOGIT;
use super::pair_counts::{PAIR_SCORES, PairCounts, mean, variance};
use std::f64::consts::SQRT_2;

/// Pairs that each pairing is credited with, spread evenly over the five scores: keeps numbers finite, and variances above zero,
/// where one bot won every game.
const PRIOR_PAIRS: f64 = 1.0;
/// Newton's method: far more steps than it takes.
const STEPS: u32 = 100;
/// The 97.5 % quantile of the normal distribution.
const NORMAL_975: f64 = 1.959_963_984_540_054;

/// A bot in a league.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// Above the mean of the league.
    pub elo: f64,
    /// Half the width of the 95 % interval around it.
    pub elo_margin: f64,
}

/// What a league says about its bots.
#[derive(Clone, Debug, PartialEq)]
pub struct LeagueTable {
    /// In the order of the bots.
    pub standings: Vec<Standing>,
    /// `superiority[i][j]`: the likelihood that bot i is stronger than bot j; a half for itself.
    pub superiority: Vec<Vec<f64>>,
}

/// The table of so many bots (two at least). `pairings` names two bots and the scores of the second.
#[must_use]
pub fn league_table(bots: usize, pairings: &[((usize, usize), PairCounts)]) -> LeagueTable {
    let weights = |counts: &PairCounts| counts.0.map(|count| f64::from(count) + PRIOR_PAIRS / PAIR_SCORES as f64);
    let pairings: Vec<_> = pairings.iter().map(|(bots, counts)| (*bots, weights(counts))).collect();
    let logits = fit(bots, &pairings);
    let covariance = covariance(bots, &pairings, &logits);
    let standing = |bot: usize| Standing {
        elo: ELO_PER_LOGIT * logits[bot],
        elo_margin: ELO_PER_LOGIT * NORMAL_975 * covariance[bot][bot].max(0.0).sqrt(),
    };
    let superiority = |one: usize, other: usize| {
        let variance = covariance[one][one] + covariance[other][other] - 2.0 * covariance[one][other];
        let difference = logits[one] - logits[other];
        if one == other { 0.5 } else { 0.5 * libm::erfc(-difference / (SQRT_2 * variance.sqrt())) }
    };
    LeagueTable {
        standings: (0..bots).map(standing).collect(),
        superiority: (0..bots).map(|one| (0..bots).map(|other| superiority(one, other)).collect()).collect(),
    }
}

type Matrix = Vec<Vec<f64>>;
type WeightedPairing = ((usize, usize), [f64; PAIR_SCORES]);

/// The expected score of the second bot.
fn expected(logits: &[f64], (first, second): (usize, usize)) -> f64 {
    1.0 / (1.0 + libm::exp(logits[first] - logits[second]))
}

/// Maximum likelihood, with mean 0. The likelihood is concave, and the prior keeps its maximum finite.
fn fit(bots: usize, pairings: &[WeightedPairing]) -> Vec<f64> {
    let mut logits = vec![0.0; bots];
    for _ in 0..STEPS {
        let mut gradient = vec![0.0; bots];
        for ((first, second), weights) in pairings {
            let games = 2.0 * weights.iter().sum::<f64>();
            let excess = games * (mean(weights) - expected(&logits, (*first, *second)));
            gradient[*second] += excess;
            gradient[*first] -= excess;
        }
        let inverse = inverse(information(bots, pairings, &logits));
        for (logit, row) in logits.iter_mut().zip(&inverse) {
            // Short steps where the likelihood is far from a parabola.
            *logit += row.iter().zip(&gradient).map(|(entry, slope)| entry * slope).sum::<f64>().clamp(-1.0, 1.0);
        }
    }
    let mean = logits.iter().sum::<f64>() / bots as f64;
    logits.into_iter().map(|logit| logit - mean).collect()
}

/// The information matrix, made regular by what fixes the mean.
fn information(bots: usize, pairings: &[WeightedPairing], logits: &[f64]) -> Matrix {
    let mut matrix = vec![vec![1.0 / bots as f64; bots]; bots];
    for (pairing, weights) in pairings {
        let p = expected(logits, *pairing);
        add_difference(&mut matrix, *pairing, 2.0 * weights.iter().sum::<f64>() * p * (1.0 - p));
    }
    matrix
}

/// Adds `amount` times the square of the difference of two bots.
fn add_difference(matrix: &mut Matrix, (first, second): (usize, usize), amount: f64) {
    matrix[first][first] += amount;
    matrix[second][second] += amount;
    matrix[first][second] -= amount;
    matrix[second][first] -= amount;
}

fn covariance(bots: usize, pairings: &[WeightedPairing], logits: &[f64]) -> Matrix {
    let mut observed = vec![vec![0.0; bots]; bots];
    for (pairing, weights) in pairings {
        // The sum of scores over n pairs of two games each has the variance 4 n v.
        add_difference(&mut observed, *pairing, 4.0 * weights.iter().sum::<f64>() * variance(weights));
    }
    let bread = inverse(information(bots, pairings, logits));
    product(&product(&bread, &observed), &bread)
}

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let entry = |row: &Vec<f64>, column: usize| row.iter().zip(b).map(|(x, other)| x * other[column]).sum();
    a.iter().map(|row| (0..b.len()).map(|column| entry(row, column)).collect()).collect()
}

/// Gauss-Jordan with pivots. The matrix is positive definite.
fn inverse(mut matrix: Matrix) -> Matrix {
    let size = matrix.len();
    let mut inverse: Matrix =
        (0..size).map(|row| (0..size).map(|column| f64::from(u8::from(row == column))).collect()).collect();
    for column in 0..size {
        let pivot = (column..size)
            .max_by(|a, b| matrix[*a][column].abs().total_cmp(&matrix[*b][column].abs()))
            .unwrap_or(column);
        matrix.swap(column, pivot);
        inverse.swap(column, pivot);
        let scale = matrix[column][column];
        matrix[column].iter_mut().chain(&mut inverse[column]).for_each(|entry| *entry /= scale);
        for row in (0..size).filter(|row| *row != column) {
            let factor = matrix[row][column];
            for at in 0..size {
                matrix[row][at] -= factor * matrix[column][at];
                inverse[row][at] -= factor * inverse[column][at];
            }
        }
    }
    inverse
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::duels::{elo_of, score_of};

    /// Counts of independent games with this score.
    fn counts(score: f64, pairs: f64) -> PairCounts {
        let round = |share: f64| (pairs * share).round() as u32;
        let lost = 1.0 - score;
        PairCounts([round(lost * lost), 0, round(2.0 * score * lost), 0, round(score * score)])
    }

    #[track_caller]
    fn check(truth: &[f64], pairs: f64, tolerance: f64) {
        let bots = truth.len();
        let pairing =
            |first: usize, second: usize| ((first, second), counts(score_of(truth[second] - truth[first]), pairs));
        let pairings: Vec<_> = (0..bots).flat_map(|a| (a + 1..bots).map(move |b| pairing(a, b))).collect();
        let table = league_table(bots, &pairings);
        let mean = truth.iter().sum::<f64>() / bots as f64;
        for (standing, elo) in table.standings.iter().zip(truth) {
            assert!((standing.elo - (elo - mean)).abs() < tolerance, "{table:?}");
        }
        for (one, other) in (0..bots).flat_map(|a| (0..bots).map(move |b| (a, b))) {
            let sum = table.superiority[one][other] + table.superiority[other][one];
            assert!((sum - 1.0).abs() < 1e-9, "{table:?}");
            assert!(truth[one] <= truth[other] || table.superiority[one][other] > 0.5, "{table:?}");
        }
    }

    #[test]
    fn known_strengths_are_found() {
        check(&[0.0, 100.0], 10_000.0, 1.0);
        check(&[0.0, 50.0, -30.0], 10_000.0, 1.0);
        check(&[0.0, 400.0, 200.0, -200.0, 0.0, 10.0, 20.0, 30.0], 10_000.0, 2.0);
        check(&[0.0, 0.0], 0.0, 1e-9);
    }

    #[test]
    fn the_margin_of_two_is_that_of_their_score() {
        // 1,000 independent games at 50 %: the score has the deviation 0.5/sqrt(1000), each bot has half of the difference.
        let table = league_table(2, &[((0, 1), counts(0.5, 500.0))]);
        let margin = 0.5 * elo_of(0.5 + NORMAL_975 * 0.5 / 1_000.0_f64.sqrt());
        assert!((table.standings[0].elo_margin - margin).abs() < 0.5, "{table:?} {margin}");
    }

    #[test]
    fn a_bot_that_won_everything_has_a_finite_number() {
        let table = league_table(2, &[((0, 1), PairCounts([0, 0, 0, 0, 100]))]);
        let Standing { elo, elo_margin } = table.standings[1];
        assert!(elo > 300.0 && elo.is_finite() && elo_margin > 10.0 && elo_margin.is_finite(), "{table:?}");
        assert!(table.superiority[1][0] > 0.999);
    }
}
