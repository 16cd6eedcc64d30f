//! All side effects of the arena as one trait, so that the same jobs run against a real store, and in the simulator against one that fails.

use engine::ids::MatchId;
use metrics::Metrics;
use node::leader::LeaderContext;
use store::{Reader, StoreError};

/// Its clock, its random bytes, its commits, and what leading a job needs come with [`LeaderContext`].
pub trait ArenaEnvironment: LeaderContext {
    /// Reads what is committed.
    fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&mut dyn Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> impl Future<Output = Result<T, StoreError>> + Send;
    /// Matches have joined the queue: wakes the workers of this process.
    fn notify_queue(&self);
    /// The state of this match has changed: wakes its spectators on this node.
    fn notify_match(&self, id: MatchId);
    fn metrics(&self) -> &Metrics;
}
