//! The resources that a request can be about, with their names in texts.

use std::fmt;

/// The kind of resource that a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    Game,
    Duel,
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
    Tournament,
    World,
    /// A party's matchmaking ticket.
    Ticket,
    /// A player of a hunt.
    Hunter,
    Leaderboard,
    /// An invitation to make an account.
    Invite,
    /// A sign-in link.
    SignInLink,
    /// A ban of an account, a guest or addresses.
    Ban,
}

impl Resource {
    /// Its name, that of several, and the code where there is none.
    fn texts(self) -> [&'static str; 3] {
        match self {
            Self::Game => ["game", "games", "no_such_game"],
            Self::Duel => ["duel", "duels", "no_such_duel"],
            Self::Table => ["table", "tables", "no_such_table"],
            Self::Card => ["card", "cards", "no_such_card"],
            Self::Snake => ["snake", "snakes", "no_such_snake"],
            Self::Token => ["token", "tokens", "no_such_token"],
            Self::Account => ["account", "accounts", "no_such_account"],
            Self::Policy => ["policy", "policies", "no_such_policy"],
            Self::Override => ["override", "overrides", "no_such_override"],
            Self::Hunt => ["hunt", "hunts", "no_such_hunt"],
            Self::Tournament => ["tournament", "tournaments", "no_such_tournament"],
            Self::World => ["world", "worlds", "no_such_world"],
            Self::Ticket => ["ticket", "tickets", "no_such_ticket"],
            Self::Hunter => ["hunter", "hunters", "no_such_hunter"],
            Self::Leaderboard => ["leaderboard", "leaderboards", "no_such_leaderboard"],
            Self::Invite => ["invitation", "invitations", "no_such_invite"],
            Self::Ban => ["ban", "bans", "no_such_ban"],
            Self::SignInLink => ["sign-in link", "sign-in links", "no_such_sign_in_link"],
        }
    }

    pub(super) fn plural(self) -> &'static str {
        self.texts()[1]
    }

    /// The stable code of a request about one that does not exist.
    pub(super) fn not_found_code(self) -> &'static str {
        self.texts()[2]
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.texts()[0])
    }
}
