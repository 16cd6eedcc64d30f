//! The regular probes: one process of all nodes looks for bots that are due, and checks some of them up at the same time.

use super::BotProber;
use super::checkup;
use super::recorder;
use crate::environment::ArenaEnvironment;
use bot_client::statistics::hour_of;
use engine::commands::{BotCommand, Command, Outcome};
use engine::health::EvidenceSource;
use engine::limits::{BOT_CALLS_RETENTION, BOT_CALLS_ROWS_MAX, HEALTH_DUE_MAX, HEALTH_PROBES_AT_ONCE};
use futures_util::StreamExt;
use futures_util::stream;
use node::lease::Lease;
use std::time::Duration;
use store::{BotToProbe, StoreError};
use tokio::time::{Instant, sleep};

/// How often bots that are due are looked for.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// How often old counts are deleted.
const RETIRE_EVERY: Duration = Duration::from_secs(10 * 60);
/// Commits of one deletion, so that probes are not kept waiting.
const RETIRE_COMMITS_MAX: usize = 64;

/// Probes for as long as the lease is valid.
pub(super) async fn sweep<E: ArenaEnvironment>(environment: E, prober: impl BotProber, lease: Lease) {
    let mut is_failing = false;
    let mut retire_at = Instant::now();
    while lease.is_valid() {
        let mut done = pass(&environment, &prober).await;
        if Instant::now() >= retire_at {
            retire_at = Instant::now() + RETIRE_EVERY;
            done = done.and(retire(&environment).await);
        }
        if let (Err(error), false) = (&done, is_failing) {
            tracing::warn!(%error, "bots cannot be probed; tried again");
        }
        is_failing = done.is_err();
        sleep(LOOK_EVERY).await;
    }
}

/// Probes the bots that are due now, each once.
pub(super) async fn pass<E: ArenaEnvironment>(environment: &E, prober: &impl BotProber) -> Result<(), StoreError> {
    let now = environment.now();
    let due = environment.read(move |reader| reader.bots_to_probe(now, HEALTH_DUE_MAX)).await?;
    let probes = stream::iter(due).map(|due| probe(environment, prober, due));
    let results: Vec<_> = probes.buffer_unordered(HEALTH_PROBES_AT_ONCE).collect().await;
    results.into_iter().collect()
}

/// A bot whose URL changed meanwhile is probed again: its row has changed too.
async fn probe<E: ArenaEnvironment>(
    environment: &E,
    prober: &impl BotProber,
    due: BotToProbe,
) -> Result<(), StoreError> {
    let checkup = checkup::run(prober, &due.bot, environment.now(), environment.random_bytes()).await?;
    environment.metrics().matches.record_bot_probe(checkup.fault.is_none());
    recorder::record_if_unchanged(environment, due.health, checkup.record(EvidenceSource::Sweep)).await
}

async fn retire<E: ArenaEnvironment>(environment: &E) -> Result<(), StoreError> {
    let before_hour = hour_of(environment.now().minus(BOT_CALLS_RETENTION));
    for _ in 0..RETIRE_COMMITS_MAX {
        let command = Command::Bot(BotCommand::RetireCalls { before_hour, max: BOT_CALLS_ROWS_MAX });
        if !matches!(environment.commit(command).await?, Outcome::Retired(BOT_CALLS_ROWS_MAX)) {
            break;
        }
    }
    Ok(())
}
