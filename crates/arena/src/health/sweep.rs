//! The regular probes: one process of all nodes looks for bots that are due, and checks some of them up at the same time.

use super::BotProber;
use super::checkup;
use super::recorder;
use crate::environment::ArenaEnvironment;
use bot_client::statistics::hour_of;
use engine::commands::{BotCommand, Command, Outcome};
use engine::health::EvidenceSource;
use engine::ids::{AccountId, BotId};
use engine::limits::{BOT_CALLS_RETENTION, BOT_CALLS_ROWS_MAX, HEALTH_PROBES_AT_ONCE, HEALTH_PROBES_PER_ACCOUNT};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use node::lease::Lease;
use std::collections::{BTreeMap, BTreeSet};
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
        let mut done =
            pass(&environment, &prober, || lease.is_valid() && Instant::now() < retire_at + RETIRE_EVERY).await;
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

/// Probes bots that are due until none is, or until it is not to go on, or something fails. Which are due is looked up whenever a probe
/// ends, and while probes run: a bot whose URL has changed waits for a free slot, and not for all that were due before it.
pub(super) async fn pass<E: ArenaEnvironment>(
    environment: &E,
    prober: &impl BotProber,
    goes_on: impl Fn() -> bool,
) -> Result<(), StoreError> {
    let mut probes = FuturesUnordered::new();
    let mut running = RunningProbes::default();
    let mut done = Ok(());
    loop {
        while done.is_ok() && goes_on() && running.bots.len() < HEALTH_PROBES_AT_ONCE {
            let (now, besides) = (environment.now(), running.full_accounts());
            let due = environment.read(move |reader| reader.bots_to_probe(now, &besides, HEALTH_PROBES_AT_ONCE)).await;
            let started: Vec<_> = match due {
                Ok(due) => due.into_iter().filter(|due| running.try_add(due.bot.id, due.bot.account)).collect(),
                Err(error) => {
                    done = Err(error);
                    break;
                }
            };
            if started.is_empty() {
                break;
            }
            probes.extend(started.into_iter().map(|due| async {
                let bot = due.bot.id;
                (bot, probe(environment, prober, due).await)
            }));
        }
        tokio::select! {
            ended = probes.next() => match ended {
                Some((bot, ended)) => {
                    running.bots.remove(&bot);
                    done = done.and(ended);
                }
                None => return done,
            },
            () = sleep(LOOK_EVERY) => {}
        }
    }
}

/// Bots that are being probed, with their accounts: none has more than its share, however many of its bots are due and never answer.
#[derive(Default)]
struct RunningProbes {
    bots: BTreeMap<BotId, AccountId>,
}

impl RunningProbes {
    /// Whether the bot is to be probed now.
    fn try_add(&mut self, bot: BotId, account: AccountId) -> bool {
        let is_free = self.bots.len() < HEALTH_PROBES_AT_ONCE
            && !self.bots.contains_key(&bot)
            && self.of_account(account) < HEALTH_PROBES_PER_ACCOUNT;
        if is_free {
            self.bots.insert(bot, account);
        }
        is_free
    }

    /// Accounts that have their share.
    fn full_accounts(&self) -> Vec<AccountId> {
        let accounts: BTreeSet<_> = self.bots.values().copied().collect();
        accounts.into_iter().filter(|account| self.of_account(*account) >= HEALTH_PROBES_PER_ACCOUNT).collect()
    }

    fn of_account(&self, account: AccountId) -> usize {
        self.bots.values().filter(|of_bot| **of_bot == account).count()
    }
}

/// A bot whose URL changed meanwhile is probed again: its row has changed too.
async fn probe<E: ArenaEnvironment>(
    environment: &E,
    prober: &impl BotProber,
    due: BotToProbe,
) -> Result<(), StoreError> {
    let checkup = checkup::run(prober, &due.bot, environment.now(), environment.random_bytes(), 0).await?;
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
