//! What a party is looking for.

use crate::ids::{PlayerId, TicketId};
use crate::limits::{PARTY_MAX, RATING_MAX, REGION_BYTES_MAX, TICKET_PLAYERS_MAX, TICKET_PLAYERS_MIN};
use crate::time::UnixMs;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// Where a party wants to play.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Region(String);

/// A text that is not the name of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not the name of a region: expected 1 to {REGION_BYTES_MAX} small letters (a-z), digits and hyphens, such as eu-north"
)]
pub struct ParseRegionError;

impl FromStr for Region {
    type Err = ParseRegionError;
    fn from_str(text: &str) -> Result<Self, ParseRegionError> {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_region = (1..=REGION_BYTES_MAX).contains(&text.len()) && text.bytes().all(is_plain);
        is_region.then(|| Self(text.to_owned())).ok_or(ParseRegionError)
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// A party that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    pub id: TicketId,
    /// Who took it.
    pub owner: PlayerId,
    /// Who plays together, the owner first: all others joined by themselves. A player is on one ticket at a time.
    pub party: Vec<PlayerId>,
    /// How many the party is to have. Others are looked for once it has them.
    pub party_size: u8,
    /// Players of the match, theirs included.
    pub players: u8,
    /// Where; `None`: anywhere.
    pub region: Option<Region>,
    /// Their strength, as they state it.
    pub rating: u16,
    /// Since when they wait: for the party first, and from when it is whole for others.
    pub since: UnixMs,
    /// When they give up.
    pub until: UnixMs,
}

/// Why a ticket is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TicketRefusal {
    /// Too many play together, or a player is named twice.
    #[error("a party has 1 to {PARTY_MAX} different players, its owner included")]
    InvalidParty,
    /// All of the party have joined it.
    #[error("the party of this ticket is complete: create a ticket of your own")]
    PartyFull,
    /// It no longer waits for its party or for other tickets.
    #[error("this ticket has ended, or its match is being made: create a ticket of your own")]
    NotWaiting,
    /// No such match is played, or the party does not fit into it.
    #[error(
        "a match has {TICKET_PLAYERS_MIN} to {TICKET_PLAYERS_MAX} players, and at least one of them outside the party"
    )]
    InvalidPlayers,
    /// No such rating.
    #[error("a rating is a whole number from 0 to {RATING_MAX}")]
    InvalidRating,
    /// The player is on another ticket.
    #[error("this player waits with ticket {0} already: cancel it first")]
    AlreadyWaiting(TicketId),
    /// The pool is full.
    #[error("the matchmaking queue is full: try again in a moment")]
    QueueFull,
}

impl Ticket {
    /// Whether all of the party have joined.
    #[must_use]
    pub fn is_party_complete(&self) -> bool {
        self.party.len() >= usize::from(self.party_size)
    }

    /// A player joins the party. The last one begins the wait for others, which may last as long as the one for the
    /// party.
    pub(super) fn join(&mut self, player: PlayerId, now: UnixMs) -> Result<(), TicketRefusal> {
        if self.party.contains(&player) {
            return Ok(());
        }
        if self.is_party_complete() {
            return Err(TicketRefusal::PartyFull);
        }
        self.party.push(player);
        if self.is_party_complete() {
            let wait = self.until.since(self.since);
            (self.since, self.until) = (now, now.plus(wait));
        }
        Ok(())
    }

    /// Whether it can be taken at all.
    pub(super) fn validate(&self) -> Result<(), TicketRefusal> {
        let different: BTreeSet<_> = self.party.iter().collect();
        let is_party = different.len() == self.party.len() && different.contains(&self.owner);
        let size = usize::from(self.party_size);
        if !is_party || size > PARTY_MAX || self.party.len() > size {
            return Err(TicketRefusal::InvalidParty);
        }
        if !(TICKET_PLAYERS_MIN..=TICKET_PLAYERS_MAX).contains(&self.players) || self.party_size >= self.players {
            return Err(TicketRefusal::InvalidPlayers);
        }
        if self.rating > RATING_MAX { Err(TicketRefusal::InvalidRating) } else { Ok(()) }
    }
}
