//! The effects of the arena's drivers in the simulated world.

use crate::world::{Node, Workload};
use arena::ArenaEnvironment;
use engine::ids::MatchId;
use engine::leadership::LeaderJob;
use engine::rows::WorldOwner;
use metrics::Metrics;
use node::leader::LeaderContext;
use store::{Reader, StoreError};

impl<S: Workload> LeaderContext for Node<S> {
    async fn leader(&self, job: LeaderJob) -> Result<Option<WorldOwner>, StoreError> {
        self.reach_store_to_read().await?;
        let now = self.read_now();
        Ok(self.world.read(|reader| reader.leader(job, now)))
    }
}

impl<S: Workload> ArenaEnvironment for Node<S> {
    async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&mut dyn Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.reach_store_to_read().await?;
        Ok(self.world.read(query))
    }

    /// The referee looks by itself: this notification is always lost.
    fn notify_queue(&self) {}

    fn notify_match(&self, _id: MatchId) {}

    fn metrics(&self) -> &Metrics {
        &self.metrics
    }
}
