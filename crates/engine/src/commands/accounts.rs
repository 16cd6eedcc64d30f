//! Commands to a store about the deletion of accounts: the first takes an account from its holder at once, the others delete what was its own, a
//! little at a time. They may be repeated, and continued by any process.

use crate::ids::{AccountId, MatchId, TableId, WorldId};
use crate::time::UnixMs;

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountCommand {
    /// Delete the account's tokens and sign-in links and the invitations that it made, and take its name away: nothing can be created for it any
    /// more. If it is banned at `now`, its name stays with the ban. → [`super::Outcome::AccountDeleted`] | `NotFound` (no such account, or
    /// deleted before) | `LastAdmin` (no other account has a token of an admin that can be used)
    Delete { id: AccountId, now: UnixMs },
    /// Delete what is kept of a deleted account beside its bots and matches: answers, invitations, its standing and its row among the hunters. At
    /// most `max` rows of each kind. → [`super::Outcome::Retired`], with the largest of these numbers | `NotFound` (no such deleted account)
    Clear { id: AccountId, max: usize },
    /// Take the name of a deleted account out of `max` rows that keep copies of names, or a few more. → [`super::Outcome::NamesForgotten`] |
    /// `NotFound` (no such deleted account)
    ForgetNames { id: AccountId, page: NamesPage, max: usize },
    /// Note that all is gone. → `Done` | `NotFound` (no such deleted account)
    Finish { id: AccountId, now: UnixMs },
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
    /// The first page of each kind of rows.
    pub const FIRST: [Self; 3] = [Self::Seats(MatchId(0)), Self::StoryGames(TableId(0)), Self::HuntRounds(WorldId(0))];
}
