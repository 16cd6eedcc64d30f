//! The effects of the arena's drivers in the simulated world, and what is counted of their commits.

use super::plan::CompetitionPlan;
use crate::cluster::ClusterPlan;
use crate::world::{Node, Oracle, Workload};
use arena::ArenaEnvironment;
use engine::commands::{Command, CompetitionCommand, Outcome};
use engine::ids::{MatchId, WorkerId};
use engine::leadership::LeaderJob;
use engine::rows::WorldOwner;
use metrics::Metrics;
use node::leader::LeaderContext;
use std::collections::BTreeSet;
use std::time::Duration;
use store::{Reader, StoreError};

/// What is played for.
pub(super) struct CompetitionWorkload(pub(super) CompetitionPlan);

impl Workload for CompetitionWorkload {
    type Oracle = CommitCounts;

    fn cluster(&self) -> &ClusterPlan {
        &self.0.cluster
    }
}

/// What the drivers wrote. Whether it was right is seen in the logs.
#[derive(Default)]
pub(super) struct CommitCounts {
    /// Steps of competitions that were saved.
    pub(super) steps: u32,
    /// Steps that were refused because another process came first.
    pub(super) conflicts: u32,
    /// Processes that ever led something.
    pub(super) leaders: BTreeSet<WorkerId>,
}

impl Oracle for CommitCounts {
    fn committed(&mut self, _at: Duration, command: &Command, outcome: &Outcome) {
        match (command, outcome) {
            (Command::Competition(CompetitionCommand::Advance(_)), Outcome::Done) => self.steps += 1,
            (Command::Competition(CompetitionCommand::Advance(_)), Outcome::VersionConflict(_)) => self.conflicts += 1,
            (Command::AcquireLeadership { .. }, Outcome::LedBy(leader)) => drop(self.leaders.insert(leader.worker)),
            _ => {}
        }
    }

    fn acknowledged(&mut self, _command: &Command, _outcome: &Outcome) {}
}

impl LeaderContext for Node<CompetitionWorkload> {
    async fn leader(&self, job: LeaderJob) -> Result<Option<WorldOwner>, StoreError> {
        self.reach_store().await?;
        let now = self.world.now();
        Ok(self.world.read(|reader| reader.leader(job, now)))
    }
}

impl ArenaEnvironment for Node<CompetitionWorkload> {
    async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&mut dyn Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.reach_store().await?;
        Ok(self.world.read(query))
    }

    /// The referee looks by itself: this notification is always lost.
    fn notify_queue(&self) {}

    fn notify_match(&self, _id: MatchId) {}

    fn metrics(&self) -> &Metrics {
        &self.metrics
    }
}
