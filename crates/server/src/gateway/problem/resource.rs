//! What a request can be about, in words.

use std::fmt;

/// What a request can be about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// A game.
    Game,
    /// A table of Stories.
    Table,
    /// A card of Stories.
    Card,
    /// A snake.
    Snake,
    /// A token.
    Token,
    /// An account.
    Account,
    /// A policy of the rate limiter.
    Policy,
    /// A key with a quota of its own.
    Override,
    /// A hunt.
    Hunt,
    /// A world.
    World,
    /// A ticket of a party that wants to be matched.
    Ticket,
    /// Somebody who hunts.
    Hunter,
}

impl Resource {
    /// Several of them.
    pub(super) fn plural(self) -> &'static str {
        match self {
            Self::Game => "games",
            Self::Table => "tables",
            Self::Card => "cards",
            Self::Snake => "snakes",
            Self::Token => "tokens",
            Self::Account => "accounts",
            Self::Policy => "policies",
            Self::Override => "overrides",
            Self::Hunt => "hunts",
            Self::World => "worlds",
            Self::Ticket => "tickets",
            Self::Hunter => "hunters",
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Game => "game",
            Self::Table => "table",
            Self::Card => "card",
            Self::Snake => "snake",
            Self::Token => "token",
            Self::Account => "account",
            Self::Policy => "policy",
            Self::Override => "override",
            Self::Hunt => "hunt",
            Self::World => "world",
            Self::Ticket => "ticket",
            Self::Hunter => "hunter",
        })
    }
}
