//! The real environment of the arena: the store of this node, and the workers of this process.

use crate::environment::ArenaEnvironment;
use engine::commands::{Command, Outcome};
use engine::ids::MatchId;
use engine::leadership::LeaderJob;
use engine::rows::WorldOwner;
use engine::time::UnixMs;
use metrics::Metrics;
use node::Node;
use node::leader::LeaderContext;
use node::lease::LeaseContext;
use std::sync::Arc;
use store::{Reader, StoreError};

#[derive(Clone)]
pub struct ProductionEnvironment {
    node: Node,
    metrics: Arc<Metrics>,
    notify_queue: Arc<dyn Fn() + Send + Sync>,
    notify_match: Arc<dyn Fn(MatchId) + Send + Sync>,
}

impl ProductionEnvironment {
    /// `notify_queue` wakes the workers of this process that play matches, `notify_match` the spectators of a match.
    #[must_use]
    pub fn new(
        node: Node,
        metrics: Arc<Metrics>,
        notify_queue: impl Fn() + Send + Sync + 'static,
        notify_match: impl Fn(MatchId) + Send + Sync + 'static,
    ) -> Self {
        Self { node, metrics, notify_queue: Arc::new(notify_queue), notify_match: Arc::new(notify_match) }
    }
}

impl LeaseContext for ProductionEnvironment {
    fn now(&self) -> UnixMs {
        self.node.now()
    }

    fn random_bytes(&self) -> [u8; 10] {
        self.node.random_bytes()
    }

    fn address(&self) -> String {
        LeaseContext::address(&self.node)
    }

    fn has_exclusive_store(&self) -> bool {
        self.node.has_exclusive_store()
    }

    async fn commit(&self, command: Command) -> Result<Outcome, StoreError> {
        self.node.commit(command).await
    }
}

impl LeaderContext for ProductionEnvironment {
    async fn leader(&self, job: LeaderJob) -> Result<Option<WorldOwner>, StoreError> {
        self.node.leader(job).await
    }
}

impl ArenaEnvironment for ProductionEnvironment {
    async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&mut dyn Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.node.store.read(query).await
    }

    fn notify_queue(&self) {
        (self.notify_queue)();
    }

    fn notify_match(&self, id: MatchId) {
        (self.notify_match)(id);
    }

    fn metrics(&self) -> &Metrics {
        &self.metrics
    }
}
