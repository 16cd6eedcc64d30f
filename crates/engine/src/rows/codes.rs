//! Rows about one-time codes: invitations and sign-in links.

use super::Role;
use crate::ids::{AccountId, CodeId};
use crate::time::UnixMs;

/// What a one-time code gives to the first who redeems it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CodeUse {
    /// An invitation: a new account, and a session of it.
    Invite {
        /// The name that its maker suggests.
        name: Option<String>,
    },
    /// A sign-in link: a session of this account.
    SignIn { account: AccountId },
}

/// A code that can be redeemed once. The code itself is nowhere: only its SHA-256 digest is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OneTimeCode {
    pub id: CodeId,
    pub used_for: CodeUse,
    /// What the session may do.
    pub role: Role,
    /// SHA-256 of the code.
    pub digest: [u8; 32],
    /// Who made it; `None` for one that was made on the command line.
    pub made_by: Option<AccountId>,
    pub created_at: UnixMs,
    pub expires_at: UnixMs,
}

/// A code with the name of the account that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedCode {
    pub code: OneTimeCode,
    pub made_by_name: Option<String>,
}
