//! The specification of a match: fixed at creation, never changed. Together with the log it is the whole match.

use super::origin::MatchOrigin;
use crate::ids::{BotId, MatchId};
use crate::limits::SEATS_MAX;
use rules::chance::Seed;
use rules::snake::{RuleError, Rules};

/// A bot in its seat, with the name, owner and URL that it had when the match was created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeatSpec {
    /// The registered bot.
    pub bot: BotId,
    /// Its name at creation.
    pub name: String,
    /// The name of the account that it belonged to at creation: the author whom viewers see. Empty where it is not known.
    pub owner: String,
    /// Its base URL at creation.
    pub url: String,
}

/// What is played, by whom, from which seed.
#[derive(Clone, Debug, PartialEq)]
pub struct MatchSpec {
    pub id: MatchId,
    /// Ruleset, map and settings.
    pub rules: Rules,
    /// Cells from left to right.
    pub width: u8,
    /// Cells from bottom to top.
    pub height: u8,
    /// Where all chance of the match comes from.
    pub seed: Seed,
    /// How long a bot may take for an answer, in milliseconds.
    pub timeout_ms: u16,
    /// The match ends at the latest after this many turns.
    pub turns_max: u32,
    /// The competition that it is played for, if it is for one.
    pub origin: Option<MatchOrigin>,
    /// The bots by seat; the same bot may sit twice.
    pub seats: Vec<SeatSpec>,
    /// Whether strangers may find it in a list: all of its bots were public when it was created, or its competition was.
    pub is_public: bool,
}

impl MatchSpec {
    /// Whether this can be played at all: what [`rules::snake::setup`] would refuse is refused here, at creation.
    ///
    /// # Errors
    /// The rule book's refusal.
    pub fn validate(&self) -> Result<(), RuleError> {
        self.rules.validate(self.width, self.height, self.seats.len().min(SEATS_MAX + 1) as u8)
    }

    /// The id of a seat's snake in frames and webhooks: unique even when one bot sits twice, and the same after a resume.
    ///
    /// A version 8 id (RFC 9562, section 5.8) made of the match's id and the seat.
    #[must_use]
    pub fn snake_id(&self, seat: usize) -> MatchId {
        const VERSION: u128 = 0xf << 76;
        let mixed = self.id.0 ^ (seat as u128 + 1) << 32;
        MatchId(mixed & !VERSION | 8 << 76)
    }
}
