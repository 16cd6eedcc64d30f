//! What is counted of the commits of the arena's drivers.

use super::plan::CompetitionPlan;
use crate::cluster::ClusterPlan;
use crate::world::{Oracle, Workload};
use engine::commands::{Command, CompetitionCommand, Outcome};
use engine::ids::WorkerId;
use std::collections::BTreeSet;
use std::time::Duration;

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
