//! Writes what this process has counted of its matches: how bots answered, which bots play in competitions, and which did not play at all.

use super::recorder;
use crate::environment::ArenaEnvironment;
use bot_client::statistics::{BotMatches, BotStatistics};
use engine::commands::{BotCommand, Command};
use engine::health::{CallFault, EvidenceSource, HealthRecord};
use engine::ids::BotId;
use engine::limits::{BOT_CALLS_ROWS_MAX, BOT_CALLS_WRITE_INTERVAL};
use node::drain::Drain;
use std::collections::VecDeque;
use store::StoreError;
use tokio::time::sleep;

/// Writes every few seconds, and a last time when the process drains.
pub(super) async fn write_statistics<E: ArenaEnvironment>(environment: E, statistics: BotStatistics, drain: Drain) {
    let process = process_number(environment.random_bytes());
    let mut is_failing = false;
    loop {
        let is_last = tokio::select! {
            () = drain.begun() => true,
            () = sleep(BOT_CALLS_WRITE_INTERVAL) => false,
        };
        let written = write(&environment, &statistics, process).await;
        if let (Err(error), false) = (&written, is_failing) {
            tracing::warn!(%error, "how bots answered cannot be written; tried again");
        }
        is_failing = written.is_err();
        if is_last {
            return;
        }
    }
}

fn process_number([a, b, c, d, e, f, g, h, ..]: [u8; 10]) -> u64 {
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

pub(super) async fn write<E: ArenaEnvironment>(
    environment: &E,
    statistics: &BotStatistics,
    process: u64,
) -> Result<(), StoreError> {
    let calls = write_calls(environment, statistics, process).await;
    calls.and(write_faces(environment, statistics).await).and(write_matches(environment, statistics).await)
}

async fn write_calls<E: ArenaEnvironment>(
    environment: &E,
    statistics: &BotStatistics,
    process: u64,
) -> Result<(), StoreError> {
    let changed = statistics.changed_calls(environment.now());
    for (at, rows) in changed.chunks(BOT_CALLS_ROWS_MAX).enumerate() {
        let command = Command::Bot(BotCommand::SaveCalls { process, rows: rows.to_vec() });
        if let Err(error) = environment.commit(command).await {
            statistics.keep_changed(&changed[at * BOT_CALLS_ROWS_MAX..]);
            return Err(error);
        }
    }
    Ok(())
}

/// Looks that cannot be written are let go: the bot's next match has them again.
async fn write_faces<E: ArenaEnvironment>(environment: &E, statistics: &BotStatistics) -> Result<(), StoreError> {
    for faces in statistics.take_faces().chunks(BOT_CALLS_ROWS_MAX) {
        environment.commit(Command::Bot(BotCommand::SaveFaces(faces.to_vec()))).await?;
    }
    Ok(())
}

/// A bot that played in one of several matches is there. One that gave no valid move in any of these failed once, however many they were:
/// matches that ran at the same time are one piece of evidence.
async fn write_matches<E: ArenaEnvironment>(environment: &E, statistics: &BotStatistics) -> Result<(), StoreError> {
    let now = environment.now();
    let matches = statistics.take_matches();
    let competing: Vec<BotId> = matches.iter().filter(|(_, of)| of.is_competing).map(|(bot, _)| *bot).collect();
    if !competing.is_empty()
        && let Err(error) = recorder::watch(environment, &competing, now).await
    {
        statistics.put_back_matches(matches);
        return Err(error);
    }
    let is_silent = |(_, of): &(BotId, BotMatches)| of.silent > 0 && of.played == 0;
    let mut silent: VecDeque<_> = matches.into_iter().filter(is_silent).collect();
    while let Some((bot, _)) = silent.front() {
        let fault = Some(CallFault::SilentInMatch);
        let record = HealthRecord { at: now, source: EvidenceSource::Match, fault, took_ms: 0 };
        if let Err(error) = recorder::record(environment, *bot, record).await {
            // Only what is not written: evidence of one match counts once.
            statistics.put_back_matches(silent);
            return Err(error);
        }
        silent.pop_front();
    }
    Ok(())
}
