//! What a party asks for.

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
pub struct BadRegion;

impl FromStr for Region {
    type Err = BadRegion;
    fn from_str(text: &str) -> Result<Self, BadRegion> {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_region = (1..=REGION_BYTES_MAX).contains(&text.len()) && text.bytes().all(is_plain);
        is_region.then(|| Self(text.to_owned())).ok_or(BadRegion)
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
    /// Which.
    pub id: TicketId,
    /// Who asked, for everybody in the party: the first of it. He has one ticket at a time.
    pub owner: PlayerId,
    /// Who plays together, the owner included.
    pub party: Vec<PlayerId>,
    /// Players of the match, theirs included.
    pub players: u8,
    /// Where; `None`: anywhere.
    pub region: Option<Region>,
    /// How good they are, as they say.
    pub rating: u16,
    /// Since when they wait.
    pub since: UnixMs,
    /// When they give up.
    pub until: UnixMs,
}

/// Why a ticket is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TicketRefusal {
    /// Too many play together, or somebody plays twice.
    #[error("a party has 1 to {PARTY_MAX} different players, the one who asks included")]
    Party,
    /// No such match is played, or the party does not fit into it.
    #[error("a match has {TICKET_PLAYERS_MIN} to {TICKET_PLAYERS_MAX} players, and more than the party alone")]
    Players,
    /// No such rating.
    #[error("a rating is a whole number from 0 to {RATING_MAX}")]
    Rating,
    /// The owner waits already.
    #[error("this player waits already: cancel the ticket {0} first")]
    Waiting(TicketId),
    /// Nobody else can wait.
    #[error("as many parties wait as may wait: try again in a moment")]
    Full,
}

impl Ticket {
    /// Whether it can be taken at all.
    pub(super) fn check(&self) -> Result<(), TicketRefusal> {
        let different: BTreeSet<_> = self.party.iter().collect();
        let is_party = different.len() == self.party.len() && different.contains(&self.owner);
        if !is_party || self.party.len() > PARTY_MAX {
            return Err(TicketRefusal::Party);
        }
        if !(TICKET_PLAYERS_MIN..=TICKET_PLAYERS_MAX).contains(&self.players)
            || self.party.len() >= usize::from(self.players)
        {
            return Err(TicketRefusal::Players);
        }
        if self.rating > RATING_MAX { Err(TicketRefusal::Rating) } else { Ok(()) }
    }
}
