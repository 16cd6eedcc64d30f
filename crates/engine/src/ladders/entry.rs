//! Entries of ladders with what is kept of each, and the rows beside them: games of an entry, meetings of two bots, seats.

use crate::ids::{AccountId, BotId, CompetitionId, EntryId, MatchId};
use crate::limits::{LADDER_MIN_GAMES, SEATS_MAX};
use crate::pack::{DecodeError, decode_versioned, encode_versioned};
use crate::ratings::Rating;
use crate::time::UnixMs;

const SEATS_FORMAT: u8 = 1;

/// Who entered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entrant {
    pub entry: EntryId,
    pub bot: BotId,
    /// The bot's owner. `None` for a bot of which nothing but its games is known any more.
    pub account: Option<AccountId>,
    /// The bot's name: the present one, or its last.
    pub name: String,
}

/// What its games have made of an entry, in one season.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EntryRecord {
    pub rating: Rating,
    /// Rated games.
    pub games: u32,
    /// Games in which it had the first place, alone or shared.
    pub first_places: u32,
    pub food_eaten: u64,
    /// Rated games by seat, as many numbers as a match has seats; none where they are damaged, see [`EntryRecord::has_seats`].
    pub seats: Vec<u32>,
    /// When the last of them ended.
    pub last_game_at: Option<UnixMs>,
}

impl EntryRecord {
    /// Whether it has played enough to have a rank.
    #[must_use]
    pub fn is_ranked(&self) -> bool {
        self.games >= LADDER_MIN_GAMES
    }

    /// Whether its games by seat are known: they are not where a store found the bytes of an entry that has played damaged.
    #[must_use]
    pub fn has_seats(&self) -> bool {
        self.games == 0 || !self.seats.is_empty()
    }

    /// Whether both are the same to the last bit.
    #[must_use]
    pub fn is_identical(&self, other: &Self) -> bool {
        self.rating.is_identical(other.rating) && self == other
    }

    /// The numbers by seat as a store keeps them.
    #[must_use]
    pub fn encode_seats(&self) -> Vec<u8> {
        encode_versioned(SEATS_FORMAT, &self.seats)
    }

    /// # Errors
    /// [`DecodeError`], saying what is wrong.
    pub fn decode_seats(bytes: &[u8]) -> Result<Vec<u32>, DecodeError> {
        decode_versioned(SEATS_FORMAT, bytes)
    }

    /// Another game, in this seat. Games by seat that are not known stay so.
    pub(super) fn count_game(&mut self, seat: usize, seats: usize) {
        let has_seats = self.has_seats();
        self.games = self.games.saturating_add(1);
        if !has_seats {
            return;
        }
        self.seats.resize(self.seats.len().max(seats).min(SEATS_MAX), 0);
        if let Some(count) = self.seats.get_mut(seat) {
            *count = count.saturating_add(1);
        }
    }
}

/// An entry as it is stored and read.
#[derive(Clone, Debug, PartialEq)]
pub struct LadderEntry {
    pub ladder: CompetitionId,
    /// From 1.
    pub season: u32,
    pub entrant: Entrant,
    /// The name of the bot's owner, if there is one.
    pub owner: Option<String>,
    /// Whether it is paired. In a season that has ended: whether it was at its end.
    pub is_active: bool,
    pub joined_at: UnixMs,
    pub record: EntryRecord,
}

/// A game of an entry, and what it changed.
#[derive(Clone, Debug, PartialEq)]
pub struct RatedGame {
    /// The number of the result in its competition.
    pub number: u64,
    pub seat: u8,
    pub bot: BotId,
    pub match_id: MatchId,
    pub ended_at: UnixMs,
    /// 1 is best; equals share a place.
    pub place: u8,
    /// Bots in the game.
    pub players: u8,
    pub before: Rating,
    pub after: Rating,
}

impl RatedGame {
    /// Whether both are the same to the last bit.
    #[must_use]
    pub fn is_identical(&self, other: &Self) -> bool {
        self.before.is_identical(other.before) && self.after.is_identical(other.after) && self == other
    }
}

/// What one bot has against another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeetingCounts {
    /// Games in which it had the better place.
    pub wins: u32,
    pub losses: u32,
    /// Games in which they shared a place.
    pub ties: u32,
}

impl MeetingCounts {
    pub(super) fn add(&mut self, other: Self) {
        self.wins = self.wins.saturating_add(other.wins);
        self.losses = self.losses.saturating_add(other.losses);
        self.ties = self.ties.saturating_add(other.ties);
    }
}

/// A bot and an opponent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meeting {
    pub bot: BotId,
    pub opponent: BotId,
    pub counts: MeetingCounts,
}

/// An account that may enter a ladder that is not public.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invitation {
    pub account: AccountId,
    /// The account's name.
    pub name: String,
    pub invited_at: UnixMs,
}

/// What a seat was worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SeatCounts {
    pub games: u64,
    /// Games in which its bot had the first place, alone or shared.
    pub first_places: u64,
    /// The sum of the places of its bots: divided by the games, their mean.
    pub places: u64,
}

impl SeatCounts {
    pub(super) fn add(&mut self, other: Self) {
        self.games += other.games;
        self.first_places += other.first_places;
        self.places += other.places;
    }
}
