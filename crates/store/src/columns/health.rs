//! Rows about bots beside the bots themselves.

use super::{Columns, part_of_list, row_of_id};
use crate::checksums::{Damage, StoredKey, StoredKind};
use crate::contract::StoreError;
use engine::health::{BotCalls, BotHealth, CallFault, HealthRecord, HealthStatus};
use engine::ids::BotId;
use engine::matches::entry::Face;
use engine::rows::{BotCallsRow, BotHealthRow, SigningRow, SigningState};

pub(crate) const HEALTH: &str =
    "bot, version, status, since, failures, successes, reason, next_probe_at, watched_until, records, checksum";
pub(crate) const CALLS: &str = "bot, hour, data, checksum";
pub(crate) const SIGNING: &str = "bot, created_at, generation, previous_until";

/// Without its evidence where that is damaged: that is written anew all the time.
pub(crate) fn health(row: &mut impl Columns, damages: &mut Vec<Damage>) -> Result<BotHealthRow, StoreError> {
    row_of_id(row, StoredKind::BotHealth, |row, id| health_of_bot(row, BotId(id), damages))
}

fn health_of_bot(row: &mut impl Columns, bot: BotId, damages: &mut Vec<Damage>) -> Result<BotHealthRow, StoreError> {
    Ok(BotHealthRow {
        bot,
        version: row.number()?,
        health: BotHealth {
            status: row.named("status of a bot's health", HealthStatus::from_name)?,
            since: row.time()?,
            failures: row.number()?,
            successes: row.number()?,
            reason: row.maybe_text()?.and_then(|name| CallFault::from_name(&name)),
            next_probe_at: row.maybe_time()?,
            watched_until: row.time()?,
            records: part_of_list(records(row, bot), damages)?,
        },
    })
}

fn records(row: &mut impl Columns, bot: BotId) -> Result<Vec<HealthRecord>, StoreError> {
    let key = evidence(bot);
    BotHealth::decode_records(&row.verified(key)?).map_err(|error| StoreError::from(key.damage(error)))
}

pub(crate) fn evidence(bot: BotId) -> StoredKey<'static> {
    StoredKey::new(StoredKind::BotHealth, bot.to_bytes())
}

/// Without what was counted in an hour where that is damaged.
pub(crate) fn calls(row: &mut impl Columns, damages: &mut Vec<Damage>) -> Result<BotCallsRow, StoreError> {
    let (bot, hour) = (BotId(row.id()?), row.number()?);
    let key = calls_of_hour(bot, hour);
    let calls = row
        .verified(key)
        .and_then(|bytes| BotCalls::decode(&bytes).map_err(|error| StoreError::from(key.damage(error))));
    Ok(BotCallsRow { bot, hour, calls: part_of_list(calls, damages)? })
}

pub(crate) fn calls_of_hour(bot: BotId, hour: u32) -> StoredKey<'static> {
    StoredKey::new(StoredKind::BotCalls, bot.to_bytes()).number(hour.into())
}

pub(crate) fn face(row: &mut impl Columns) -> Result<(BotId, Face), StoreError> {
    row_of_id(row, StoredKind::Bot, |row, id| {
        Ok((BotId(id), Face { color: row.text()?, head: row.text()?, tail: row.text()? }))
    })
}

pub(crate) fn signing(row: &mut impl Columns) -> Result<SigningRow, StoreError> {
    let (bot, created_at) = (BotId(row.id()?), row.time()?);
    let state = SigningState { generation: row.number()?, previous_until: row.time()? };
    Ok(SigningRow { bot, created_at, state })
}
