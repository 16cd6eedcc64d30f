//! Whether bots answer: probes of those that play in competitions, checks that owners request, and what matches say about bots.
//!
//! The rules are `engine::health`'s. Every change of a bot's health is written under a version: a probe, a request and the evidence of
//! matches may come together, from several nodes.

mod canned;
mod checkup;
mod recorder;
mod statistics_writer;
mod sweep;

pub use checkup::{Checkup, CheckupStep, run as check_up};
pub use recorder::{HealthChange, record};

use crate::environment::ArenaEnvironment;
use bot_client::probe::{ProbeCall, ProbeReport};
use bot_client::signing::CallSigner;
use bot_client::statistics::BotStatistics;
use bot_client::{BotClient, SigningSecrets};
use engine::ids::BotId;
use engine::leadership::LeaderJob;
use engine::rows::SigningRow;
use engine::time::UnixMs;
use node::drain::Drain;
use node::leader::lead;
use statistics_writer::write_statistics;
use store::{Store, StoreError};
use sweep::sweep;

/// Probes bots whenever no other process does, and writes what this one counts of its matches; until the drain.
pub async fn run<E: ArenaEnvironment>(environment: E, prober: impl BotProber, statistics: BotStatistics, drain: Drain) {
    let probe = |lease| sweep(environment.clone(), prober.clone(), lease);
    let probes = lead(environment.clone(), LeaderJob::BotHealth, drain.clone(), probe);
    tokio::join!(probes, write_statistics(environment.clone(), statistics, drain.clone()));
}

/// What a checkup does outside this process.
pub trait BotProber: Clone + Send + Sync + 'static {
    /// Calls a bot once.
    fn probe(&self, call: ProbeCall) -> impl Future<Output = ProbeReport> + Send;
    /// Signs the calls of a bot, if its owner wants that.
    fn signer(&self, bot: BotId, now: UnixMs) -> impl Future<Output = Result<Option<CallSigner>, StoreError>> + Send;
}

/// The real one: HTTP, and the secrets of the database.
#[derive(Clone)]
pub struct HttpProber {
    bots: BotClient,
    secrets: SigningSecrets,
    store: Store,
}

impl HttpProber {
    #[must_use]
    pub fn new(bots: BotClient, secrets: SigningSecrets, store: Store) -> Self {
        Self { bots, secrets, store }
    }
}

impl BotProber for HttpProber {
    async fn probe(&self, call: ProbeCall) -> ProbeReport {
        self.bots.probe(call).await
    }

    async fn signer(&self, bot: BotId, now: UnixMs) -> Result<Option<CallSigner>, StoreError> {
        let row: Option<SigningRow> = self.store.read(move |reader| reader.signing(bot)).await?;
        match row {
            Some(row) => Ok(Some(CallSigner { keys: self.secrets.keys(row, now).await?, at: now })),
            None => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests;
