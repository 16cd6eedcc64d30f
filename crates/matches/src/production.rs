//! The real environment of a runner: the store, the notifiers, and bots over HTTP.

use super::environment::MatchEnvironment;
use crate::notifier::Notifier;
use bot_client::signing::{CallSigner, SigningKeys};
use bot_client::statistics::{BotStatistics, Presence};
use bot_client::{BotCall, BotClient, SigningSecrets};
use engine::ids::{AccountId, BotId, MatchId};
use engine::matches::entry::{AnswerClass, Face};
use engine::matches::machine::BotAnswer;
use engine::rows::{MatchLogRow, SigningRow};
use metrics::Metrics;
use node::Node;
use node::drain::Drain;
use quotas::socket_budget::SocketBudget;
use std::sync::Arc;
use std::time::Duration;
use store::StoreError;
use telemetry::Tracer;

/// How often idle connections and outdated faces are dropped.
const SWEEP_EVERY: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub struct ProductionEnvironment {
    node: Node,
    notifier: Notifier,
    metrics: Arc<Metrics>,
    bots: BotClient,
    statistics: BotStatistics,
    secrets: SigningSecrets,
    tracer: Tracer,
}

impl ProductionEnvironment {
    /// Its connections to bots are swept until the drain.
    pub fn new(
        node: Node,
        notifier: Notifier,
        (bots, statistics, secrets): (BotClient, BotStatistics, SigningSecrets),
        sockets: Arc<SocketBudget>,
        (metrics, tracer): (Arc<Metrics>, Tracer),
        drain: Drain,
    ) -> Self {
        tokio::spawn(sweep(bots.clone(), sockets, drain));
        Self { node, notifier, metrics, bots, statistics, secrets, tracer }
    }
}

async fn sweep(bots: BotClient, sockets: Arc<SocketBudget>, drain: Drain) {
    loop {
        tokio::select! {
            () = drain.begun() => return,
            () = tokio::time::sleep(SWEEP_EVERY) => bots.sweep(),
            () = sockets.wait_for_shortage() => bots.close_idle(),
        }
    }
}

impl MatchEnvironment for ProductionEnvironment {
    type Node = Node;

    fn node(&self) -> &Node {
        &self.node
    }

    async fn read_log(&self, id: MatchId) -> Result<Vec<MatchLogRow>, StoreError> {
        let page = self.node.store.read(move |reader| reader.match_log(id, 0, usize::MAX)).await?;
        Ok(page.map(|page| page.rows).unwrap_or_default())
    }

    async fn fetch_face(&self, url: String, signer: Option<CallSigner>, account: AccountId) -> Face {
        self.bots.face(&url, signer, account).await
    }

    async fn call(&self, call: BotCall) -> BotAnswer {
        self.bots.call(call).await
    }

    async fn signing_keys(&self, row: SigningRow) -> Result<Arc<SigningKeys>, StoreError> {
        self.secrets.keys(row, self.node.clock.now()).await
    }

    fn record_call(&self, bot: BotId, class: AnswerClass, latency_ms: u16) {
        self.statistics.record_call(bot, self.node.clock.now(), class, latency_ms);
    }

    fn record_face(&self, bot: BotId, face: &Face) {
        self.statistics.record_face(bot, face);
    }

    fn record_match(&self, bot: BotId, presence: Presence, is_competing: bool) {
        self.statistics.record_match(bot, presence, is_competing);
    }

    fn notify_saved(&self, id: MatchId) {
        self.notifier.notify(id);
    }

    async fn queue_notified(&self) {
        self.notifier.queue_notified().await;
    }

    fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    fn tracer(&self) -> &Tracer {
        &self.tracer
    }
}
