//! Rows about bots beside the bots themselves: their health, how they answered, and whether their calls are signed.

use crate::health::{BotCalls, BotHealth};
use crate::ids::BotId;
use crate::time::UnixMs;

/// The health of a bot as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BotHealthRow {
    pub bot: BotId,
    /// How often it was written; 0 for a row that is not stored yet.
    pub version: u32,
    pub health: BotHealth,
}

/// How a bot answered in one hour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BotCallsRow {
    pub bot: BotId,
    /// Hours since 1970.
    pub hour: u32,
    pub calls: BotCalls,
}

/// With which secrets the calls of a bot are signed; the secrets themselves are derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SigningState {
    /// The number of the current secret, from 1.
    pub generation: u32,
    /// Until then calls are signed with the secret before, too.
    pub previous_until: UnixMs,
}

/// Whether and how the calls of a bot are signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SigningRow {
    pub bot: BotId,
    /// When the current secret was made.
    pub created_at: UnixMs,
    pub state: SigningState,
}
