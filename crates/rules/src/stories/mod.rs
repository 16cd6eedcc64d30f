//! The game of stories: one player tells a sentence about a card, the others pick cards that might be meant, all vote.
//!
//! The parts of a game, as functions of values: [`deal`] a hand, shuffle a [`board`], [`score`] the votes, and what the
//! points mean for a player ([`Standing`]). Who may do what and when is not known here, nor are time and players'
//! names: a player is the number of a seat.

mod card;
mod deal;
mod level;
mod score;
mod settings;
mod standing;

pub use crate::validation::ValidationError;
pub use card::{BASE_CARDS, CARDS, Card, CardSet};
pub use deal::{board, deal};
pub use level::Level;
pub use score::{Ballot, GameScore, PlayerScore, score};
pub use settings::GameSettings;
pub use standing::Standing;
