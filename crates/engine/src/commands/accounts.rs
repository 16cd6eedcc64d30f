//! Commands to a store about the deletion of accounts: the first takes an account from its holder at once, the others delete what was its own, a
//! little at a time. They may be repeated, and continued by any process.

use crate::ids::{AccountId, MatchId, TableId, WorldId};
use crate::time::UnixMs;
use std::fmt;
use std::str::FromStr;

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountCommand {
    /// Delete the account's tokens and sign-in links and the invitations that it made, and take its name away: nothing can be created for it any
    /// more. If it is banned at `now`, its name stays with the ban. → [`super::Outcome::AccountDeleted`] | `NotFound` (no such account, or
    /// deleted before) | `LastAdmin` (as of a ban)
    Delete { id: AccountId, now: UnixMs },
    /// Delete what is kept of a deleted account beside its bots and matches: answers, invitations, its standing and its row among the hunters. At
    /// most `max` rows of each kind. → [`super::Outcome::Retired`], with the largest of these numbers | `NotFound` (no such deleted account)
    Clear { id: AccountId, max: usize },
    /// Take the name of a deleted account out of the next `max` rows that keep copies of names, or a few more. How far it has come is kept with
    /// the account; behind the last row all is gone. → [`super::Outcome::NamesForgotten`] | `NotFound` (no such deleted account, or nothing
    /// is left of it)
    ForgetNames { id: AccountId, max: usize, now: UnixMs },
}

/// Rows that keep copies of names, behind this one, in the order of their ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamesPage {
    /// Seats of matches: the name of the bot's owner, and the bot's URL. Also of bots that are not registered, in its own matches.
    Seats(MatchId),
    /// Games of Stories: the name of the storyteller. By the id of the table.
    StoryGames(TableId),
    /// Rounds of hunts: the name of the winner.
    HuntRounds(WorldId),
}

impl NamesPage {
    pub const FIRST: Self = Self::Seats(MatchId(0));

    /// The first page of the kind of rows behind this one.
    #[must_use]
    pub fn next_kind(self) -> Option<Self> {
        match self {
            Self::Seats(_) => Some(Self::StoryGames(TableId(0))),
            Self::StoryGames(_) => Some(Self::HuntRounds(WorldId(0))),
            Self::HuntRounds(_) => None,
        }
    }
}

/// As it is kept.
impl fmt::Display for NamesPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seats(id) => write!(f, "seats:{id}"),
            Self::StoryGames(id) => write!(f, "story_games:{id}"),
            Self::HuntRounds(id) => write!(f, "hunt_rounds:{id}"),
        }
    }
}

/// A text that is no [`NamesPage`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a page of names: expected seats:ID, story_games:ID or hunt_rounds:ID")]
pub struct ParseNamesPageError;

impl FromStr for NamesPage {
    type Err = ParseNamesPageError;

    fn from_str(text: &str) -> Result<Self, ParseNamesPageError> {
        let page = match text.split_once(':').ok_or(ParseNamesPageError)? {
            ("seats", id) => id.parse().ok().map(Self::Seats),
            ("story_games", id) => id.parse().ok().map(Self::StoryGames),
            ("hunt_rounds", id) => id.parse().ok().map(Self::HuntRounds),
            _ => None,
        };
        page.ok_or(ParseNamesPageError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_read_back() {
        let id = 0x0190_b5a4_7c1e_7000_8000_0000_0000_0001;
        for page in
            [NamesPage::Seats(MatchId(id)), NamesPage::StoryGames(TableId(id)), NamesPage::HuntRounds(WorldId(id))]
        {
            assert_eq!(page.to_string().parse(), Ok(page));
        }
        for text in ["", "seats", "seats:", "seats:1", "rows:0190b5a4-7c1e-7000-8000-000000000001"] {
            assert_eq!(text.parse::<NamesPage>(), Err(ParseNamesPageError), "{text}");
        }
    }
}
