//! Commands to a store about bans.

use crate::ids::BanId;
use crate::rows::Ban;
use crate::time::UnixMs;

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub enum BanCommand {
    /// Add a ban. → `Done` | `Duplicate` (its target is banned already, or the id is known) | `LimitReached` (of all bans that have not
    /// expired by its `created_at`) | `NotFound` (no such account, or a deleted one) | `LastAdmin` (the account is an admin's, and no other one
    /// has an admin's token that never ends and can be used)
    Create(Ban),
    /// Delete a ban. → `Done` | `NotFound` (lifted or expired)
    Lift { id: BanId, now: UnixMs },
    /// Delete bans that have expired, at most `max`. → [`super::Outcome::Retired`]
    RetireExpired { now: UnixMs, max: usize },
}
