//! Rows about bots beside the bots themselves.

use super::Columns;
use crate::contract::StoreError;
use engine::DecodeError;
use engine::health::{BotCalls, BotHealth, CallFault, HealthStatus};
use engine::ids::BotId;
use engine::matches::entry::Face;
use engine::rows::{BotCallsRow, BotHealthRow, SigningRow, SigningState};

pub(crate) const HEALTH: &str =
    "bot, version, status, since, failures, successes, reason, next_probe_at, watched_until, records";
pub(crate) const CALLS: &str = "bot, hour, data";
pub(crate) const SIGNING: &str = "bot, created_at, generation, previous_until";

pub(crate) fn health(row: &mut impl Columns) -> Result<BotHealthRow, StoreError> {
    Ok(BotHealthRow {
        bot: BotId(row.id()?),
        version: row.number()?,
        health: BotHealth {
            status: row.named("status of a bot's health", HealthStatus::from_name)?,
            since: row.time()?,
            failures: row.number()?,
            successes: row.number()?,
            reason: row.maybe_text()?.and_then(|name| CallFault::from_name(&name)),
            next_probe_at: row.maybe_time()?,
            watched_until: row.time()?,
            records: BotHealth::decode_records(&row.bytes()?).map_err(|error| corrupt("the health of a bot", error))?,
        },
    })
}

pub(crate) fn calls(row: &mut impl Columns) -> Result<BotCallsRow, StoreError> {
    let (bot, hour) = (BotId(row.id()?), row.number()?);
    let calls = BotCalls::decode(&row.bytes()?).map_err(|error| corrupt("the calls of a bot", error))?;
    Ok(BotCallsRow { bot, hour, calls })
}

pub(crate) fn face(row: &mut impl Columns) -> Result<(BotId, Face), StoreError> {
    Ok((BotId(row.id()?), Face { color: row.text()?, head: row.text()?, tail: row.text()? }))
}

pub(crate) fn signing(row: &mut impl Columns) -> Result<SigningRow, StoreError> {
    let (bot, created_at) = (BotId(row.id()?), row.time()?);
    let state = SigningState { generation: row.number()?, previous_until: row.time()? };
    Ok(SigningRow { bot, created_at, state })
}

fn corrupt(what: &str, error: DecodeError) -> StoreError {
    StoreError::Corrupt { why: format!("{what}: {error}") }
}
