//! Accounts and their bearer tokens.

use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;
use utoipa::ToSchema;

/// An account to be made.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateAccount {
    /// Its unique name; 1 to 100 characters. The space around it is removed.
    #[schema(min_length = 1, max_length = 100)]
    pub name: String,
}

/// An account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct AccountView {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
}

/// An account in the list that admins see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct AccountListed {
    /// The account.
    #[serde(flatten)]
    pub account: AccountView,
    /// Whether an admin has disabled it.
    pub is_disabled: bool,
    /// Snakes that it has registered.
    pub snakes: usize,
    /// Its tokens, browsers' sessions included.
    pub tokens: usize,
}

/// The deletion of an account by an admin.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteAccount {
    /// The account's name as it is now, so that no other is deleted by mistake.
    pub name: String,
    /// Why, for the audit log; 1 to 200 characters in one line.
    #[schema(min_length = 1, max_length = 200)]
    pub reason: String,
}

/// The deletion of the caller's own account.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteOwnAccount {
    /// The account's name as it is now, so that none is deleted by mistake.
    pub name: String,
}

/// What the deletion of an account ends and deletes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct AccountDeletion {
    /// The account.
    pub id: String,
    /// Its name before.
    pub name: String,
    /// Its tokens, browsers' sessions included.
    pub tokens: usize,
    /// Snakes that it has registered, deleted with their health, evidence and secrets.
    pub snakes: usize,
    /// Games that it created and that wait to be played, cancelled.
    pub games_waiting: usize,
    /// Duels that have not ended, called off.
    pub duels: usize,
    /// Tournaments that it organizes and that have not ended, cancelled.
    pub tournaments: usize,
    /// Leaderboards that it made and that have not ended, ended.
    pub leaderboards: usize,
    /// Hunts that it made and that are not over, ended.
    pub hunts: usize,
}

/// What a session says of its account, beside the name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct AccountSummary {
    /// When it was made.
    pub created_at: Timestamp,
    /// Snakes that it has registered.
    pub snakes: usize,
    /// Its tokens, browsers' sessions included.
    pub tokens: usize,
}

/// A token to be made for the caller's own account.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateToken {
    /// What its holder calls it; 1 to 100 characters. The space around it is removed.
    #[schema(min_length = 1, max_length = 100)]
    pub name: String,
    /// `guest`, `player`, `operator` or `admin`, and no more than the caller's own.
    #[schema(default = "player")]
    pub role: Option<String>,
    /// `use` for everyday use, or `load_test`: the limiter has classes of its own for load tests. Only operators and admins make
    /// such tokens.
    #[schema(default = "use")]
    pub purpose: Option<String>,
    /// In how many seconds it ends by itself; without it, when it is deleted.
    #[schema(minimum = 60, maximum = 315_360_000)]
    pub expires_in_s: Option<u64>,
}

/// A token to be made for any account.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateTokenFor {
    /// The account's name.
    pub account: String,
    /// What its holder calls it; 1 to 100 characters. The space around it is removed.
    #[schema(min_length = 1, max_length = 100)]
    pub name: String,
    /// `guest`, `player`, `operator` or `admin`.
    #[schema(default = "player")]
    pub role: Option<String>,
    /// `use` for everyday use, or `load_test`: the limiter has classes of its own for load tests.
    #[schema(default = "use")]
    pub purpose: Option<String>,
    /// In how many seconds it ends by itself; without it, when it is deleted.
    #[schema(minimum = 60, maximum = 315_360_000)]
    pub expires_in_s: Option<u64>,
}

/// A token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct TokenView {
    /// Its id.
    pub id: String,
    /// What its holder calls it.
    pub name: String,
    /// What it may do.
    pub role: String,
    /// What it is for: `use` or `load_test`.
    pub purpose: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When a request came with it last, to about a minute; null before the first.
    #[schema(required)]
    pub last_used_at: Option<Timestamp>,
    /// When it ends by itself; null for one that lasts until it is deleted.
    #[schema(required)]
    pub expires_at: Option<Timestamp>,
    /// Whether it is a browser's session, which signing out deletes.
    pub is_session: bool,
}

/// A token was made: the only time that its secret is shown.
#[derive(Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct TokenCreated {
    /// The token.
    #[serde(flatten)]
    pub token: TokenView,
    /// What to send as `Authorization: Bearer …`. It is not stored: if it is lost, make another token.
    pub secret: String,
}

impl fmt::Debug for TokenCreated {
    /// Without the secret: a debug line must never hold one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenCreated").field("token", &self.token).finish_non_exhaustive()
    }
}
