//! Commands to a store about one-time codes, and the sessions that they open.

use crate::ids::{AccountId, CodeId, TokenId};
use crate::rows::{Account, OneTimeCode};
use crate::time::UnixMs;

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub enum CodeCommand {
    /// Add a code. → `Done` | `LimitReached` (of all invitations, or of the account's sign-in links, that have not expired by its
    /// `created_at`) | `NotFound` (no such account) | `Duplicate` (the code is known)
    Create(OneTimeCode),
    /// Delete an invitation. → `Done` | `NotFound` (used, deleted or expired)
    WithdrawInvite { id: CodeId, now: UnixMs },
    /// Use a code up, all or nothing. → [`super::Outcome::SignedIn`] | `NotFound` (used, withdrawn, expired, or never made) | `Duplicate`
    /// (the name of the new account is taken) | `LimitReached` (the account's tokens are as many as it may have, and none is a session)
    Redeem(RedeemCode),
    /// Delete a session's token; any other token stays. → `Done` | `NotFound`
    EndSession { token: TokenId },
    /// Delete codes and sessions that have expired, at most `max` of each. → [`super::Outcome::Retired`], with the larger number of the two
    RetireExpired { now: UnixMs, max: usize },
}

/// A code to be used up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedeemCode {
    /// SHA-256 of the code.
    pub digest: [u8; 32],
    /// Redeems an invitation: the account to be made. `None` redeems a sign-in link.
    pub new_account: Option<Account>,
    /// The session to be opened. An account that has as many tokens as it may have loses its oldest session.
    pub session: NewSession,
    pub now: UnixMs,
}

/// The token of a browser's session, but for what the code says: whose it is, and what it may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSession {
    pub token: TokenId,
    /// What its holder calls it.
    pub name: String,
    /// SHA-256 of the token's secret.
    pub digest: [u8; 32],
    pub expires_at: UnixMs,
}

/// Whose session was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignedIn {
    pub account: AccountId,
    /// The code that was redeemed.
    pub code: CodeId,
}
