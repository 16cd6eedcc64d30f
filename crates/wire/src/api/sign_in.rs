//! Invitations and sign-in links: codes that are redeemed once, in a browser, for a session.

use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::fmt;
use utoipa::ToSchema;

/// An invitation to be made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateInvite {
    /// What the account's session may do: `guest`, `player`, `operator` or `admin`, and no more than the caller.
    #[schema(default = "player")]
    pub role: Option<String>,
    /// A name to suggest; the person who redeems the invitation may choose another one.
    #[schema(min_length = 1, max_length = 100)]
    pub name: Option<String>,
    /// How long it can be redeemed, in seconds: a minute to 30 days.
    #[schema(minimum = 60, maximum = 2_592_000, default = 604_800)]
    pub expires_in_s: Option<u64>,
}

/// An invitation that can be redeemed, without its code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct InviteView {
    /// Its id, by which it is withdrawn.
    pub id: String,
    /// What the account's session will be allowed to do.
    pub role: String,
    /// The name that it suggests, if it suggests one.
    #[schema(required)]
    pub name: Option<String>,
    /// The name of the account that made it.
    #[schema(required)]
    pub made_by: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// An invitation was made: the only time that its code is shown.
#[derive(Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct InviteCreated {
    /// The invitation.
    #[serde(flatten)]
    pub invite: InviteView,
    /// What is redeemed. It is not stored.
    pub code: String,
    /// The link's path on this server. The code stands in its fragment, which a browser sends to no server.
    #[schema(example = "/join#gni_0123456789abcdef0123456789abcdef01234567")]
    pub path: String,
}

/// A code, to learn what it is for.
#[derive(Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct InspectCode {
    /// The code: what follows `#` in the link.
    pub code: String,
}

/// What an invitation gives to the first who redeems it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct InviteOffer {
    /// What the account's session will be allowed to do.
    pub role: String,
    /// The name that it suggests, if it suggests one.
    #[schema(required)]
    pub name: Option<String>,
    /// The name of the account that made it.
    #[schema(required)]
    pub made_by: Option<String>,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// An invitation to be redeemed.
#[derive(Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct RedeemInvite {
    /// The code: what follows `#` in the link.
    pub code: String,
    /// The account's unique name; 1 to 100 characters. The space around it is removed.
    #[schema(min_length = 1, max_length = 100)]
    pub name: String,
}

/// A sign-in link to be made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateSignInLink {
    /// The name of the account; the caller's own when absent. Only operators and admins make links for others.
    pub account: Option<String>,
    /// What the session may do, and no more than the caller; when absent as much as the caller's own token, or `player` for another account.
    pub role: Option<String>,
    /// How long it can be redeemed, in seconds: a minute to a day.
    #[schema(minimum = 60, maximum = 86_400, default = 600)]
    pub expires_in_s: Option<u64>,
}

/// A sign-in link was made: the only time that its code is shown.
#[derive(Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct SignInLinkCreated {
    /// Its id, as the log names it.
    pub id: String,
    /// The name of the account that it signs in.
    pub account: String,
    /// What the session will be allowed to do.
    pub role: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends.
    pub expires_at: Timestamp,
    /// What is redeemed. It is not stored.
    pub code: String,
    /// The link's path on this server. The code stands in its fragment, which a browser sends to no server.
    #[schema(example = "/sign-in#gns_0123456789abcdef0123456789abcdef01234567")]
    pub path: String,
}

/// Whom a sign-in link signs in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct SignInOffer {
    /// The name of the account.
    pub account: String,
    /// What the session will be allowed to do.
    pub role: String,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// A sign-in link to be redeemed.
#[derive(Clone, PartialEq, Eq, Deserialize, ToSchema)]
pub struct RedeemSignInLink {
    /// The code: what follows `#` in the link.
    pub code: String,
}

/// Without the code: a debug line must never hold one.
macro_rules! debug_without_code {
    ($($name:ident { $($field:ident),* })*) => {
        $(impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name))$(.field(stringify!($field), &self.$field))*.finish_non_exhaustive()
            }
        })*
    };
}
debug_without_code! {
    InviteCreated { invite }
    InspectCode {}
    RedeemInvite { name }
    SignInLinkCreated { id, account }
    RedeemSignInLink {}
}
