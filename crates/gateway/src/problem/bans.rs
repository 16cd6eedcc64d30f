//! What the banned read, and those who ban.

use engine::rows::{Ban, BanTarget};
use wire::time::Timestamp;

/// The stable code.
pub(super) fn code(ban: &Ban) -> &'static str {
    match ban.target {
        BanTarget::Disabled(_) => "account_disabled",
        BanTarget::Account(_) | BanTarget::Guest(_) | BanTarget::Address(_) => "banned",
    }
}

pub(super) fn text(ban: &Ban) -> String {
    let who = match ban.target {
        BanTarget::Account(_) => "this account is",
        BanTarget::Guest(_) => "this guest is",
        BanTarget::Address(_) => "your address is",
        BanTarget::Disabled(_) => return format!("this account is disabled until an admin enables it: {}", ban.reason),
    };
    match ban.expires_at {
        Some(end) => format!("{who} banned from this server until {}: {}", Timestamp(end.0), ban.reason),
        None => format!("{who} banned from this server until an operator lifts the ban: {}", ban.reason),
    }
}
