//! Writes evidence into a bot's health: reads, decides, writes under the version that was read, and begins again when another writer came
//! first.

use crate::environment::ArenaEnvironment;
use engine::commands::{BotCommand, Command, Outcome};
use engine::health::{BotHealth, HealthRecord, HealthTransition};
use engine::ids::BotId;
use engine::limits::{HEALTH_CONFLICTS_MAX, HEALTH_WATCH_FOR};
use engine::rows::BotHealthRow;
use engine::time::UnixMs;
use store::StoreError;

/// What became of a change of a bot's health.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HealthChange<T> {
    Saved(T),
    /// The bot does not exist any more.
    NoSuchBot,
    /// Other writers came first, [`HEALTH_CONFLICTS_MAX`] times: nothing was saved.
    Busy,
}

/// Takes in a piece of evidence; the bot's health after it.
///
/// # Errors
/// The store's.
pub async fn record<E: ArenaEnvironment>(
    environment: &E,
    bot: BotId,
    record: HealthRecord,
) -> Result<HealthChange<BotHealth>, StoreError> {
    let jitter = jitter(environment);
    let changed = change(environment, bot, |health| health.apply(record, jitter)).await?;
    Ok(match changed {
        HealthChange::Saved((health, transition)) => {
            report(environment, bot, record, transition);
            HealthChange::Saved(health)
        }
        HealthChange::NoSuchBot => HealthChange::NoSuchBot,
        HealthChange::Busy => HealthChange::Busy,
    })
}

/// Takes in the evidence of a probe that was due by this row, unless the row has changed since: then another process has probed the bot
/// too, or there is other evidence, and the row says when the next probe is due. So two sweeps at once count no failure twice.
///
/// # Errors
/// The store's.
pub(super) async fn record_if_unchanged<E: ArenaEnvironment>(
    environment: &E,
    mut row: BotHealthRow,
    record: HealthRecord,
) -> Result<(), StoreError> {
    let (bot, transition) = (row.bot, row.health.apply(record, jitter(environment)));
    match environment.commit(Command::Bot(BotCommand::SaveHealth(row))).await? {
        Outcome::Done => report(environment, bot, record, transition),
        Outcome::VersionConflict(_) | Outcome::NotFound => {}
        other => tracing::error!(outcome = ?other, "the store answered a write of a bot's health with something else"),
    }
    Ok(())
}

fn jitter(environment: &impl ArenaEnvironment) -> u32 {
    let [a, b, c, d, ..] = environment.random_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// Says what saved evidence has changed.
fn report(environment: &impl ArenaEnvironment, bot: BotId, record: HealthRecord, transition: HealthTransition) {
    let reason = record.fault.map(engine::health::CallFault::name);
    match transition {
        HealthTransition::Paused => {
            environment.metrics().matches.bots_paused.inc();
            tracing::info!(bot.id = %bot, reason, source = record.source.name(), "a bot is paused");
        }
        HealthTransition::Resumed => {
            environment.metrics().matches.bots_resumed.inc();
            tracing::info!(bot.id = %bot, "a bot is resumed");
        }
        HealthTransition::Unchanged => {}
    }
}

/// The bot plays in competitions: it is probed regularly from now on. Writes only when the time until which it is known runs out.
///
/// # Errors
/// The store's.
pub(super) async fn watch<E: ArenaEnvironment>(environment: &E, bots: &[BotId], now: UnixMs) -> Result<(), StoreError> {
    let ids = bots.to_vec();
    let known = environment.read(move |reader| reader.bot_health(&ids)).await?;
    let is_watched = |bot: BotId| {
        known.iter().any(|row| row.bot == bot && row.health.watched_until > now.plus(HEALTH_WATCH_FOR / 2))
    };
    for &bot in bots.iter().filter(|bot| !is_watched(**bot)) {
        change(environment, bot, |health| health.watch(now, now.plus(HEALTH_WATCH_FOR))).await?;
    }
    Ok(())
}

/// Changes a bot's health; what it is then, and what the change returned.
async fn change<E: ArenaEnvironment, T>(
    environment: &E,
    bot: BotId,
    apply: impl Fn(&mut BotHealth) -> T,
) -> Result<HealthChange<(BotHealth, T)>, StoreError> {
    for _ in 0..HEALTH_CONFLICTS_MAX {
        let known = environment.read(move |reader| reader.bot_health(&[bot])).await?.into_iter().next();
        let new = || BotHealthRow { bot, version: 0, health: BotHealth::default() };
        let mut row = known.unwrap_or_else(new);
        let applied = apply(&mut row.health);
        match environment.commit(Command::Bot(BotCommand::SaveHealth(row.clone()))).await? {
            Outcome::Done => return Ok(HealthChange::Saved((row.health, applied))),
            Outcome::VersionConflict(_) => {}
            Outcome::NotFound => return Ok(HealthChange::NoSuchBot),
            other => {
                let why = format!("it answered a write of a bot's health with something else: {other:?}");
                return Err(StoreError::Unavailable { why });
            }
        }
    }
    tracing::warn!(bot.id = %bot, "the health of a bot was not changed: other writers came first too often");
    Ok(HealthChange::Busy)
}
