//! What is refused around leaderboards: one stable code each, and what could be done instead.

use axum::http::StatusCode;
use engine::ladders::definition::LadderError;
use engine::limits::{
    LADDER_ENTRIES_MAX, LADDER_ENTRIES_PER_ACCOUNT_MAX, LADDER_INVITATIONS_MAX, LADDERS_OF_OPERATOR_MAX,
    LADDERS_PER_ACCOUNT_MAX,
};

/// Why something about a leaderboard does not happen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LeaderboardRefusal {
    #[error("this snake is private: make it public (PUT /api/snakes/{{id}} with is_public true), then enter it")]
    PrivateSnake,
    #[error("this snake is another account's: only its owner may enter it or take it out")]
    NotSnakeOwner,
    #[error("this leaderboard has ended: choose another one")]
    Ended,
    #[error(
        "this account has {LADDER_ENTRIES_PER_ACCOUNT_MAX} active entries on this leaderboard, which is the limit: take one out first"
    )]
    TooManyEntries,
    #[error("this leaderboard has {LADDER_ENTRIES_MAX} active entries, which is the limit: choose another one")]
    Full,
    #[error("only the owner of this leaderboard or an operator may do this")]
    NotOwner,
    #[error("every server has this leaderboard: it cannot be ended, and is open to everyone")]
    BuiltIn,
    #[error("everyone may enter this leaderboard: it has no invitations")]
    Public,
    #[error("there is no account of this name: ask for it under /api/tokens, or correct it")]
    NoSuchAccount,
    #[error("{LADDER_INVITATIONS_MAX} accounts are invited, which is the limit: take an invitation back first")]
    TooManyInvitations,
    #[error(
        "this account has as many leaderboards that have not ended as it may have ({LADDERS_PER_ACCOUNT_MAX}; an operator {LADDERS_OF_OPERATOR_MAX}): end one first"
    )]
    TooMany,
    #[error("this leaderboard has no season {season}: the one under way is {current}")]
    NoSuchSeason { season: u32, current: u32 },
    #[error("there is no such entry on this leaderboard in this season")]
    NoSuchEntry,
    #[error("results are being rated at this moment: try again")]
    Busy,
    #[error(
        "this server recomputes the ratings of a leaderboard already, and does one at a time: try again when it is done"
    )]
    RecomputeRunning,
    #[error(transparent)]
    Definition(#[from] LadderError),
}

impl LeaderboardRefusal {
    /// The status and the stable code.
    pub(crate) fn status_and_code(&self) -> (StatusCode, &'static str) {
        match self {
            Self::PrivateSnake => (StatusCode::BAD_REQUEST, "private_snake"),
            Self::NotSnakeOwner => (StatusCode::FORBIDDEN, "not_snake_owner"),
            Self::Ended => (StatusCode::CONFLICT, "leaderboard_ended"),
            Self::TooManyEntries | Self::TooManyInvitations | Self::TooMany => (StatusCode::CONFLICT, "too_many"),
            Self::Full => (StatusCode::CONFLICT, "leaderboard_full"),
            Self::NotOwner => (StatusCode::FORBIDDEN, "not_owner"),
            Self::BuiltIn => (StatusCode::CONFLICT, "built_in"),
            Self::Public => (StatusCode::CONFLICT, "leaderboard_public"),
            Self::NoSuchAccount => (StatusCode::NOT_FOUND, "no_such_account"),
            Self::NoSuchSeason { .. } => (StatusCode::NOT_FOUND, "no_such_season"),
            Self::NoSuchEntry => (StatusCode::NOT_FOUND, "no_such_entry"),
            Self::Busy => (StatusCode::SERVICE_UNAVAILABLE, "leaderboard_busy"),
            Self::RecomputeRunning => (StatusCode::SERVICE_UNAVAILABLE, "recompute_running"),
            Self::Definition(_) => (StatusCode::BAD_REQUEST, "bad_value"),
        }
    }

    /// The member of the request that is at fault.
    pub(crate) fn field(&self) -> Option<&'static str> {
        match self {
            Self::PrivateSnake => Some("/battlesnake_id"),
            Self::Definition(LadderError::Players(_)) => Some("/players"),
            Self::Definition(LadderError::Season) => Some("/season_days"),
            Self::NoSuchAccount => Some("/account"),
            _ => None,
        }
    }
}
