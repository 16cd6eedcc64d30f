//! The resources that a request can be about, with their names in texts.

use std::fmt;

/// The kind of resource that a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    Game,
    /// A table of Stories.
    Table,
    /// A card of Stories.
    Card,
    Snake,
    Token,
    Account,
    /// A policy of the rate limiter.
    Policy,
    /// A quota of a single key.
    Override,
    Hunt,
    World,
    /// A party's matchmaking ticket.
    Ticket,
    /// A player of a hunt.
    Hunter,
}

impl Resource {
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
