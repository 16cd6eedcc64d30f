//! Bans of accounts, guests and addresses.

use crate::time::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A ban to be made, of exactly one of `account`, `guest`, `player` and `address`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateBan {
    /// The id of an account.
    pub account: Option<String>,
    /// The id of a guest, which is its player's id at tables and in worlds.
    pub guest: Option<String>,
    /// The id of a player at tables or in worlds: the account of this id is banned, or the guest where there is no such account.
    pub player: Option<String>,
    /// An address of IPv4 or IPv6, or a network such as `192.0.2.0/24`.
    #[schema(example = "192.0.2.0/24")]
    pub address: Option<String>,
    /// What the banned read; 1 to 200 characters.
    #[schema(min_length = 1, max_length = 200)]
    pub reason: String,
    /// In how many seconds it ends; without it, when it is lifted.
    #[schema(minimum = 1, maximum = 315_360_000)]
    pub expires_in_s: Option<u64>,
}

/// A ban in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct BanView {
    /// Its id.
    pub id: String,
    /// The account that is banned; null of another ban.
    #[schema(required)]
    pub account: Option<String>,
    /// The name of that account; null of another ban, or where there is no such account any more.
    #[schema(required)]
    pub account_name: Option<String>,
    /// The guest that is banned; null of another ban.
    #[schema(required)]
    pub guest: Option<String>,
    /// The address or network that is banned; null of another ban.
    #[schema(required)]
    pub address: Option<String>,
    /// Whether the account was disabled by an admin, and not banned.
    pub is_disabled: bool,
    /// What the banned read.
    pub reason: String,
    /// The account that made it; null where it was made on the command line.
    #[schema(required)]
    pub made_by: Option<String>,
    /// The name of that account; null where it was made on the command line, or there is no such account any more.
    #[schema(required)]
    pub made_by_name: Option<String>,
    /// Whether the caller may lift it: only admins lift what an admin or the command line made, and enable disabled accounts.
    pub may_lift: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends; null where it lasts until it is lifted.
    #[schema(required)]
    pub expires_at: Option<Timestamp>,
}

/// Why an account is disabled.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DisableAccount {
    /// What its owner reads; 1 to 200 characters.
    #[schema(min_length = 1, max_length = 200)]
    pub reason: String,
}

/// An account is disabled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct AccountDisabled {
    /// Its id.
    pub id: String,
    /// What its owner reads: the first reason, where it was disabled before.
    pub reason: String,
    /// Since when.
    pub since: Timestamp,
    /// Games that waited to be played and were cancelled by this request.
    pub games_cancelled: usize,
}
