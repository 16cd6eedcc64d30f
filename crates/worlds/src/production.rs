//! The real environment of worlds: this node, and who is to know of saved claims.

use super::environment::WorldEnvironment;
use engine::commands::{Command, Outcome};
use engine::ids::{WorldId, WorldName};
use engine::rows::WorldEntry;
use engine::time::UnixMs;
use node::Node;
use node::lease::LeaseContext;
use std::sync::Arc;
use store::StoreError;

/// Cheap to clone.
#[derive(Clone)]
pub struct ProductionEnvironment {
    node: Node,
    on_claims_saved: Arc<dyn Fn(WorldId) + Send + Sync>,
}

impl ProductionEnvironment {
    /// `on_claims_saved` is called by writers, on their own threads: it must not wait.
    pub fn new(node: Node, on_claims_saved: impl Fn(WorldId) + Send + Sync + 'static) -> Self {
        Self { node, on_claims_saved: Arc::new(on_claims_saved) }
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
        self.node.address()
    }

    fn has_exclusive_store(&self) -> bool {
        self.node.has_exclusive_store()
    }

    async fn commit(&self, command: Command) -> Result<Outcome, StoreError> {
        self.node.commit(command).await
    }
}

impl WorldEnvironment for ProductionEnvironment {
    async fn find(&self, name: WorldName) -> Result<Option<WorldEntry>, StoreError> {
        let now = self.node.now();
        self.node.store.read(move |reader| reader.world_named(&name, now)).await
    }

    fn now_us(&self) -> i64 {
        self.node.clock.steady_us()
    }

    fn notify_claims_saved(&self, id: WorldId) {
        (self.on_claims_saved)(id);
    }
}
