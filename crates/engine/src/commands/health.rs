//! Commands to a store about bots beside the bots themselves: their health, how they answered, and with which secrets their calls are
//! signed.

use crate::ids::{AccountId, BotId};
use crate::matches::entry::Face;
use crate::rows::{BotCallsRow, BotHealthRow};
use crate::time::UnixMs;

/// One thing to do.
#[derive(Clone, Debug, PartialEq)]
pub enum BotCommand {
    /// Write a bot's health; the row's version is what is stored now, 0 where nothing is. → `Done` | `VersionConflict` (another writer came
    /// first) | `NotFound` (no such bot)
    SaveHealth(BotHealthRow),
    /// Write how bots answered, as this process has counted it so far in each hour: later rows of a process replace its earlier ones, so a
    /// repetition does no harm. Bots that do not exist any more are left out. → `Done`
    SaveCalls {
        /// A number that is this process's alone.
        process: u64,
        rows: Vec<BotCallsRow>,
    },
    /// Keep how bots looked in their last matches, each once. Bots that do not exist any more are left out. → `Done`
    SaveFaces(Vec<(BotId, Face)>),
    /// Delete what was counted before this hour, at most `max` rows. → [`super::Outcome::Retired`]
    RetireCalls { before_hour: u32, max: usize },
    /// Sign the calls of a bot of this account, with a new secret. → [`super::Outcome::Signing`] | `NotFound`
    RotateSigningSecret {
        bot: BotId,
        account: AccountId,
        now: UnixMs,
        /// Until when calls are signed with the secret before too, if they were signed.
        overlap_until: UnixMs,
    },
    /// Stop signing the calls of a bot of this account. → `Done` | `NotFound` (no such bot, or its calls are not signed)
    StopSigning { bot: BotId, account: AccountId },
}
