//! Duels: is the candidate better than the baseline? Two bots play pairs of games, each pair from one seed with seats exchanged, until a
//! sequential test with stated error rates knows. With more than two bots a duel is a small league: every two play a fixed
//! number of pairs, and a table says what follows.
//!
//! A duel is a competition: its games are ordinary matches, its state follows from its definition and its log alone
//! ([`Duel`]), and [`Duel::advance`] decides what comes next. The statistics know nothing of matches.

mod definition;
mod elo;
mod entry;
mod game_key;
mod interval;
mod league;
mod likelihood;
mod pair_counts;
mod sprt;
mod state;
mod step;

pub use definition::{DefinitionError, DuelBot, DuelDefinition};
pub use elo::{elo_of, score_of};
pub use entry::{DuelEnd, Entry, GameOutcome, GameResult, NotCounted, PairOutcome, SilentAnswer, StartedGame};
pub use game_key::GameKey;
pub use interval::{INTERVAL_ERROR_RATE, score_interval};
pub use league::{LeagueTable, Standing, league_table};
pub use likelihood::log_likelihood_ratio;
pub use pair_counts::{PAIR_SCORE_MAX, PAIR_SCORES, PairCounts};
pub use sprt::{Accepted, Sprt, SprtError};
pub use state::{CorruptLog, Duel, PairingState, Silence};
pub use step::{SilentSeat, Step};
