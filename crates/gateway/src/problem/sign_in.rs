//! What is refused around invitations, sign-in links and the deletion of accounts: one stable code each.

use axum::http::StatusCode;
use engine::limits::{INVITES_MAX, SIGN_IN_LINKS_PER_ACCOUNT_MAX, TOKENS_PER_ACCOUNT_MAX};
use engine::rows::Role;

/// Why a person is not invited or signed in, or an account is not deleted. Whether a code was used, has expired, was withdrawn or never
/// existed makes no difference: what tells them apart would tell a stranger which codes there were.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignInRefusal {
    #[error(
        "this invitation cannot be used: it was used already, has expired, was withdrawn, or its link is not complete; ask for another one, or for a sign-in link if you have an account"
    )]
    InviteGone,
    #[error(
        "this sign-in link cannot be used: it was used already, has expired, or is not complete; ask for another one, or make one on a device where you are signed in"
    )]
    LinkGone,
    #[error(
        "{INVITES_MAX} invitations are open, which is the limit: withdraw one, or wait until one is used or expires"
    )]
    TooManyInvites,
    #[error(
        "{SIGN_IN_LINKS_PER_ACCOUNT_MAX} sign-in links of this account are open, which is the limit: wait until one is used or expires"
    )]
    TooManyLinks,
    #[error(
        "this account has {TOKENS_PER_ACCOUNT_MAX} tokens, which is the limit, and none is a browser's session that could end for the new one: delete a token first (DELETE /api/tokens/{{id}}, gauntlet token revoke); the link can still be used"
    )]
    TooManyTokens,
    #[error("this account has a token with the role {}, and yours is {}: only one of at least the same role may sign in for it", account.name(), have.name())]
    AccountTooStrong { account: Role, have: Role },
    #[error(
        "this token ends by itself: it makes no token, link or invitation that would outlast it, and deletes no account; use one without an end, or sign in"
    )]
    TokenEnds,
    #[error(
        "without this no account would be left with an admin's token that never ends: make one first, of another account, or another one of yours before you delete a token (POST /api/tokens, POST /api/admin/tokens, or on the server's machine gauntlet token create --role admin --account NAME); otherwise no account could do what only admins may"
    )]
    LastAdmin,
    #[error("the account that created this game, or that of one of its snakes, was deleted: it is not played any more")]
    AccountDeleted,
    #[error("this account is the server's own, or that of its bootstrap token: it cannot be deleted")]
    BuiltInAccount,
    #[error(
        "this account is the server's own: it cannot be banned or disabled; a token of it can be deleted (DELETE /api/admin/accounts/{{id}}/tokens/{{token}})"
    )]
    ServerAccount,
}

impl SignInRefusal {
    /// The status and the stable code.
    pub(super) fn status_and_code(self) -> (StatusCode, &'static str) {
        match self {
            Self::InviteGone => (StatusCode::GONE, "invite_gone"),
            Self::LinkGone => (StatusCode::GONE, "sign_in_link_gone"),
            Self::TooManyInvites => (StatusCode::CONFLICT, "too_many_invites"),
            Self::TooManyLinks => (StatusCode::CONFLICT, "too_many_sign_in_links"),
            Self::TooManyTokens => (StatusCode::CONFLICT, "too_many"),
            Self::LastAdmin => (StatusCode::CONFLICT, "last_admin"),
            Self::AccountDeleted => (StatusCode::CONFLICT, "account_deleted"),
            Self::BuiltInAccount | Self::ServerAccount => (StatusCode::CONFLICT, "built_in"),
            Self::TokenEnds => (StatusCode::FORBIDDEN, "token_ends"),
            Self::AccountTooStrong { .. } => (StatusCode::FORBIDDEN, "role_too_weak"),
        }
    }
}
