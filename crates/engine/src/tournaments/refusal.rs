//! Why something cannot happen to a tournament.

use crate::limits::{TOURNAMENT_INVITED_MAX, TOURNAMENT_REGISTRATIONS_MAX, TOURNAMENT_SEEDS_NAMED_MAX};

/// Why an event is not taken; nothing has changed then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It has begun, or ended.
    #[error("entries are closed: this tournament has started, finished or been cancelled")]
    EntriesClosed,
    /// It has ended.
    #[error("this tournament has ended: nothing can be changed in it")]
    Ended,
    /// It has begun already.
    #[error("this tournament has been started already")]
    AlreadyStarted,
    /// There is no room.
    #[error("this tournament is full: it takes {max} bots")]
    Full { max: u16 },
    /// The account has entered as many as it may.
    #[error("an account may enter {max} bots in this tournament: withdraw one first")]
    AccountFull { max: u16 },
    /// The account has come and gone too often.
    #[error(
        "this account has made {max} entries in this tournament, withdrawn ones included: no further ones are taken"
    )]
    TooManyEntries { max: u16 },
    /// Entries are by invitation.
    #[error("this tournament is by invitation: ask its organizer to invite your account")]
    NotInvited,
    /// The bot is in it.
    #[error("this bot is entered already")]
    AlreadyEntered,
    /// Another bot is the same program.
    #[error("a bot with the same URL is entered already: one program enters once")]
    UrlAlreadyEntered,
    /// The bot is not in it.
    #[error("this bot is not entered")]
    NotEntered,
    /// Too few bots.
    #[error("this tournament needs at least {min} bots to start, and {entered} are entered")]
    TooFewEntrants { min: u16, entered: u16 },
    /// An order that is none.
    #[error("expected each bot once, and only bots that are entered")]
    InvalidSeeds,
    /// The organizer's list is not asked for.
    #[error("this tournament is not seeded by hand: its `seeding` is not `manual`")]
    NotSeededByHand,
    #[error("at most {TOURNAMENT_INVITED_MAX} accounts can be invited")]
    TooManyInvited,
    #[error(
        "{TOURNAMENT_REGISTRATIONS_MAX} invitations, entries, withdrawals and orders of seeds were made: no further ones are taken before the start"
    )]
    TooManyChanges,
    #[error("the orders of seeds so far name {TOURNAMENT_SEEDS_NAMED_MAX} bots in all: the last one stands")]
    TooManySeeds,
    /// An event that does not follow from the log before it.
    #[error("an event that does not fit the tournament: {0}")]
    Inconsistent(&'static str),
}
