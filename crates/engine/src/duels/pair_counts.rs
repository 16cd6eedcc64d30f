//! Counts of pairs of games by their score: the pentanomial model. Both games of a pair are played from one seed with seats exchanged, so
//! that their results depend on each other; pairs do not.

/// What a pair may be worth to the candidate, in half points: from two losses (0) to two wins (4).
pub const PAIR_SCORES: usize = 5;
/// The most half points of one pair.
pub const PAIR_SCORE_MAX: u8 = PAIR_SCORES as u8 - 1;

/// How many pairs had which score, from the candidate's side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PairCounts(pub [u32; PAIR_SCORES]);

impl PairCounts {
    /// Counts a pair of so many half points, at most [`PAIR_SCORE_MAX`].
    pub fn add(&mut self, half_points: u8) {
        self.0[usize::from(half_points.min(PAIR_SCORE_MAX))] += 1;
    }

    #[must_use]
    pub fn pairs(&self) -> u32 {
        self.0.iter().sum()
    }

    /// The mean score of a game, from 0 to 1; a half without games.
    #[must_use]
    pub fn score(&self) -> f64 {
        if self.pairs() == 0 { 0.5 } else { mean(&self.0.map(f64::from)) }
    }

    /// The same pairs from the other side.
    #[must_use]
    pub fn swapped(mut self) -> Self {
        self.0.reverse();
        self
    }
}

impl FromIterator<u8> for PairCounts {
    fn from_iter<I: IntoIterator<Item = u8>>(scores: I) -> Self {
        let mut counts = Self::default();
        scores.into_iter().for_each(|score| counts.add(score));
        counts
    }
}

/// The score of a game, from 0 to 1, in a pair of the category `index`.
pub(super) fn game_score(index: usize) -> f64 {
    index as f64 / f64::from(PAIR_SCORE_MAX)
}

/// The mean of game scores that are weighted like this.
pub(super) fn mean(weights: &[f64; PAIR_SCORES]) -> f64 {
    let sum: f64 = weights.iter().sum();
    let scored: f64 = weights.iter().enumerate().map(|(index, weight)| weight * game_score(index)).sum();
    scored / sum
}

/// The variance of a pair's mean game score under these weights.
pub(super) fn variance(weights: &[f64; PAIR_SCORES]) -> f64 {
    let (sum, mean) = (weights.iter().sum::<f64>(), mean(weights));
    let square = |(index, weight): (usize, &f64)| weight * (game_score(index) - mean) * (game_score(index) - mean);
    weights.iter().enumerate().map(square).sum::<f64>() / sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(counts: [u32; PAIR_SCORES], score: f64, variance_of_pairs: f64) {
        let counts = PairCounts(counts);
        assert!((counts.score() - score).abs() < 1e-12, "{}", counts.score());
        assert!((counts.swapped().score() - (1.0 - score)).abs() < 1e-12);
        let variance = variance(&counts.0.map(f64::from));
        assert!((variance - variance_of_pairs).abs() < 1e-12, "{variance}");
    }

    #[test]
    fn means_and_variances() {
        check([0, 0, 7, 0, 0], 0.5, 0.0);
        check([1, 0, 0, 0, 1], 0.5, 0.25);
        check([0, 0, 1, 0, 1], 0.75, 0.0625);
        check([1, 1, 1, 1, 1], 0.5, 0.125);
        assert_eq!(PairCounts::default().score(), 0.5);
        assert_eq!([0, 4, 4, 2, 9].into_iter().collect::<PairCounts>(), PairCounts([1, 0, 1, 0, 3]));
    }
}
