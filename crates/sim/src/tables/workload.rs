//! The owner tasks' effects beyond their lease, in the simulated world; and which processes can be reached, under which
//! address.

use super::log::CommitLog;
use super::observations::Observation;
use super::plan::TablePlan;
use crate::cluster::ClusterPlan;
use crate::dice::Dice;
use crate::world::{Node, Workload};
use engine::commands::Command;
use engine::ids::TableId;
use engine::rows::TableOwner;
use engine::time::UnixMs;
use rules::chance::Seed;
use std::sync::{Mutex, MutexGuard, PoisonError};
use store::StoreError;
use tables::{Committed, TableEnvironment, Tables};

/// What happens at the tables, and who saw what of it.
pub(super) struct TableWorkload {
    pub(super) plan: TablePlan,
    pub(super) ids: Vec<TableId>,
    /// Processes that are alive.
    endpoints: Mutex<Vec<NodeEndpoint>>,
    observations: Mutex<Vec<Observation>>,
}

/// Where a process can be reached while it is alive.
#[derive(Clone)]
pub(super) struct NodeEndpoint {
    pub(super) address: String,
    pub(super) tables: Tables,
}

impl Workload for TableWorkload {
    type Oracle = CommitLog;

    fn cluster(&self) -> &ClusterPlan {
        &self.plan.cluster
    }
}

impl TableWorkload {
    pub(super) fn new(plan: TablePlan, ids: Vec<TableId>) -> Self {
        Self { plan, ids, endpoints: Mutex::default(), observations: Mutex::default() }
    }

    pub(super) fn add_endpoint(&self, endpoint: NodeEndpoint) {
        lock(&self.endpoints).push(endpoint);
    }

    pub(super) fn remove_endpoint(&self, address: &str) {
        lock(&self.endpoints).retain(|endpoint| endpoint.address != address);
    }

    /// The process of this address, or else some process, if any is alive.
    pub(super) fn endpoint(&self, address: Option<&str>, any: u64) -> Option<NodeEndpoint> {
        let endpoints = lock(&self.endpoints);
        let named = address.and_then(|address| endpoints.iter().find(|endpoint| endpoint.address == address));
        named.or_else(|| endpoints.get(any as usize % endpoints.len().max(1))).cloned()
    }

    pub(super) fn record(&self, sight: Observation) {
        lock(&self.observations).push(sight);
    }

    pub(super) fn take_observations(&self) -> Vec<Observation> {
        std::mem::take(&mut lock(&self.observations))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TableEnvironment for Node<TableWorkload> {
    async fn commit_all(&self, commands: Vec<Command>) -> Result<Committed, StoreError> {
        let appends = commands.iter().filter_map(|command| match command {
            Command::AppendTable(append) => Some((append.id, append.epoch)),
            _ => None,
        });
        let appends: Vec<_> = appends.collect();
        self.world.with_oracle(|log| appends.iter().for_each(|(id, epoch)| log.before_append(*id, *epoch)));
        let sent = self.commit_through_faults(commands).await;
        // An overloaded store has tried nothing.
        if sent.as_ref().is_err_and(|error| !matches!(error, StoreError::Overloaded { .. })) {
            self.world.with_oracle(|log| log.unknown_appends.extend(appends));
        }
        Ok(Committed { outcomes: sent?, at_us: self.now_us() })
    }

    async fn owner(&self, id: TableId) -> Result<Option<TableOwner>, StoreError> {
        self.reach_store_to_read().await?;
        let now = self.read_now();
        Ok(self.world.read(|reader| reader.table_owner(id, now)))
    }

    fn seed(&self) -> Seed {
        Seed(self.world.random(Dice::next))
    }

    fn steady_now(&self) -> UnixMs {
        Node::steady_now(self)
    }

    fn now_us(&self) -> i64 {
        self.read_now().0.saturating_mul(1_000)
    }
}
