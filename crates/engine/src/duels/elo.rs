//! Elo and scores: two scales for one thing. The logistic form is the one that chess uses (A. Elo, *The Rating of Chessplayers*,
//! 1978; 400 points are odds of ten to one).

use std::f64::consts::LN_10;

/// Points of Elo for odds of e to one.
pub(super) const ELO_PER_LOGIT: f64 = 400.0 / LN_10;

/// The expected score of a game, from 0 to 1, of a player who is `elo` points stronger.
#[must_use]
pub fn score_of(elo: f64) -> f64 {
    1.0 / (1.0 + libm::exp(-elo / ELO_PER_LOGIT))
}

/// The inverse of [`score_of`]: minus infinity for 0, plus infinity for 1.
#[must_use]
pub fn elo_of(score: f64) -> f64 {
    if score <= 0.0 {
        f64::NEG_INFINITY
    } else if score >= 1.0 {
        f64::INFINITY
    } else {
        ELO_PER_LOGIT * (libm::log(score) - libm::log1p(-score))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(elo: f64, score: f64) {
        assert!((score_of(elo) - score).abs() < 1e-9, "{elo}: {}", score_of(elo));
        assert!((elo_of(score) - elo).abs() < 1e-5, "{score}: {}", elo_of(score));
    }

    #[test]
    fn scores_and_elo_are_inverse() {
        check(0.0, 0.5);
        check(400.0, 10.0 / 11.0);
        check(-400.0, 1.0 / 11.0);
        check(50.0, 0.571_463_117);
        assert_eq!(elo_of(0.0), f64::NEG_INFINITY);
        assert_eq!(elo_of(1.0), f64::INFINITY);
    }
}
