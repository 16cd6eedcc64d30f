//! The real environment of a runner: the store, the notifiers, and bots over HTTP.

use super::environment::MatchEnvironment;
use crate::notifier::Notifier;
use bot_client::{BotCall, BotClient};
use engine::ids::MatchId;
use engine::matches::entry::Face;
use engine::matches::machine::BotAnswer;
use engine::rows::MatchLogRow;
use metrics::Metrics;
use node::Node;
use node::drain::Drain;
use quotas::socket_budget::SocketBudget;
use std::sync::Arc;
use std::time::Duration;
use store::StoreError;

/// How often idle connections and outdated faces are dropped.
const SWEEP_EVERY: Duration = Duration::from_secs(5);

#[derive(Clone)]
pub struct ProductionEnvironment {
    node: Node,
    notifier: Notifier,
    metrics: Arc<Metrics>,
    bots: BotClient,
}

impl ProductionEnvironment {
    /// Its connections to bots are swept until the drain.
    pub fn new(
        node: Node,
        notifier: Notifier,
        bots: BotClient,
        sockets: Arc<SocketBudget>,
        metrics: Arc<Metrics>,
        drain: Drain,
    ) -> Self {
        tokio::spawn(sweep(bots.clone(), sockets, drain));
        Self { node, notifier, metrics, bots }
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

    async fn fetch_face(&self, url: String) -> Face {
        self.bots.face(&url, None).await
    }

    async fn call(&self, call: BotCall) -> BotAnswer {
        self.bots.call(call).await
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
}
