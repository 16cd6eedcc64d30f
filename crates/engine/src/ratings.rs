//! Ratings of bots: how strong a bot is believed to be, and what the end of a game changes about it.
//!
//! The method is Bayesian approximation with the Plackett-Luce model, for one player a team: algorithm 4 of R. C. Weng and C.-J. Lin,
//! "A Bayesian Approximation Method for Online Ranking", Journal of Machine Learning Research 12 (2011), pages 267–300.
//! Exponentials come from `libm`, and sums run in the order of the seats: the same games give the same bits on every processor, so
//! a ladder can be recomputed and compared.

/// Half the width of skill that a game's luck can hide: the paper's beta, half of [`SIGMA_START`].
pub const BETA: f64 = MU_START / 6.0;
/// What a rating begins with: the paper's mu.
pub const MU_START: f64 = 25.0;
/// How uncertain it is at first: the paper's sigma.
pub const SIGMA_START: f64 = MU_START / 3.0;
/// One game multiplies a variance by this at least, so that it never becomes zero or negative: the paper's kappa.
pub const KAPPA: f64 = 1e-4;
/// How many sigmas below mu the shown score lies: with 99.7 % certainty, the bot is at least that strong.
pub const SIGMAS_BELOW: f64 = 3.0;

/// What is believed of a bot's strength: a normal distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rating {
    /// Its mean.
    pub mu: f64,
    /// Its standard deviation, above 0.
    pub sigma: f64,
}

impl Rating {
    /// The rating of a bot that has not played.
    pub const START: Self = Self { mu: MU_START, sigma: SIGMA_START };

    /// The score that lists show and sort by: mu − 3 sigma.
    #[must_use]
    pub fn display_score(self) -> f64 {
        self.mu - SIGMAS_BELOW * self.sigma
    }

    /// Whether both are the same to the last bit.
    #[must_use]
    pub fn is_identical(self, other: Self) -> bool {
        self.mu.to_bits() == other.mu.to_bits() && self.sigma.to_bits() == other.sigma.to_bits()
    }
}

impl Default for Rating {
    fn default() -> Self {
        Self::START
    }
}

/// The ratings after a game. `players` has the rating that each player came with and the place in which the player ended; 1 is best,
/// equal places are a tie, and places need not be without gaps.
///
/// Notation of the paper: player i came with mean μᵢ and deviation σᵢ; C_q are the players who did not end before q, A_q how many tie
/// with q.
///
/// - c = √Σ(σᵢ² + β²), and p(i, q) = exp(μᵢ/c) / Σ_{s ∈ C_q} exp(μ_s/c): how likely i is the best of C_q;
/// - Ωᵢ = (σᵢ²/c) Σ_{q: rank(q) ≤ rank(i)} (\[i = q\] − p(i, q)) / A_q;
/// - Δᵢ = γ (σᵢ²/c²) Σ_{q: rank(q) ≤ rank(i)} p(i, q) (1 − p(i, q)) / A_q, with γ = σᵢ/c;
/// - μᵢ ← μᵢ + Ωᵢ and σᵢ² ← σᵢ² · max(1 − Δᵢ, κ).
///
/// A game of fewer than two players says nothing: its ratings stay as they were.
#[must_use]
pub fn rate(players: &[(Rating, u8)]) -> Vec<Rating> {
    if players.len() < 2 {
        return players.iter().map(|(rating, _)| *rating).collect();
    }
    let c = players.iter().map(|(rating, _)| rating.sigma * rating.sigma + BETA * BETA).sum::<f64>().sqrt();
    // Subtracting the largest mean changes no quotient, and keeps every exponential within (0, 1].
    let mu_max = players.iter().map(|(rating, _)| rating.mu).fold(f64::NEG_INFINITY, f64::max);
    let strengths: Vec<f64> = players.iter().map(|(rating, _)| libm::exp((rating.mu - mu_max) / c)).collect();
    let choices: Vec<Choice> = players.iter().map(|&(_, place)| Choice::new(place, players, &strengths)).collect();

    let rated = players.iter().enumerate().map(|(seat, &(rating, place))| {
        let mut expected = 0.0;
        let mut delta = 0.0;
        for choice in choices.iter().filter(|choice| choice.place <= place) {
            let chance = strengths[seat] / choice.strength_sum;
            expected += chance / choice.ties;
            delta += chance * (1.0 - chance) / choice.ties;
        }
        // The player's own choice is added last: equals who tie get the same bits, wherever they sit.
        let omega = choices[seat].ties.recip() - expected;
        let variance = rating.sigma * rating.sigma;
        let delta = delta * (variance / (c * c)) * (rating.sigma / c);
        Rating { mu: rating.mu + omega * variance / c, sigma: rating.sigma * (1.0 - delta).max(KAPPA).sqrt() }
    });
    rated.collect()
}

/// One choice of the model: who takes this place, of those who did not end before it.
struct Choice {
    place: u8,
    /// The sum over C_q.
    strength_sum: f64,
    /// A_q, the one who is meant included.
    ties: f64,
}

impl Choice {
    fn new(place: u8, players: &[(Rating, u8)], strengths: &[f64]) -> Self {
        let not_before = players.iter().zip(strengths).filter(|((_, other), _)| *other >= place);
        let ties = players.iter().filter(|(_, other)| *other == place).count();
        Self { place, strength_sum: not_before.map(|(_, strength)| *strength).sum(), ties: ties as f64 }
    }
}

#[cfg(test)]
mod tests;
