//! What the operations of one table need of the owner task that owns it: the environment, the lease, and the operations in flight.

use super::TablesState;
use super::environment::{Committed, TableEnvironment};
use super::load::{self, ClaimError, ClaimOutcome};
use super::timing_wheel::TimingWheel;
use super::waiters::PresenceNotifier;
use engine::commands::Command;
use engine::ids::{TableId, WorkerId};
use futures_util::stream::FuturesUnordered;
use node::lease::Lease;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use store::StoreError;
use tokio::time::sleep;

/// What the operations of a table need of their owner task.
pub(super) struct OwnerContext<O> {
    pub(super) environment: O,
    pub(super) worker: WorkerId,
    pub(super) lease: Lease,
    pub(super) shared: Arc<TablesState>,
    pub(super) presence: Arc<PresenceNotifier>,
    pub(super) wheel: TimingWheel<TableId>,
    /// The store said that our lease has ended.
    pub(super) is_lease_lost: bool,
    /// No new operation is started any more.
    pub(super) is_draining: bool,
    pub(super) in_flight: FuturesUnordered<OperationFuture>,
}

pub(super) type OperationFuture = Pin<Box<dyn Future<Output = CompletedOperation> + Send>>;

/// An operation of a table that has ended.
pub(super) struct CompletedOperation {
    pub(super) table: TableId,
    pub(super) completion: Completion,
}

pub(super) enum Completion {
    Committed(Result<Committed, StoreError>),
    Claimed(Result<ClaimOutcome, ClaimError>),
    RetryDue,
}

impl<O: TableEnvironment> OwnerContext<O> {
    /// Saves these commands for a table; the table gets the result.
    pub(super) fn commit(&self, table: TableId, commands: Vec<Command>) {
        let environment = self.environment.clone();
        let commit = async move {
            CompletedOperation { table, completion: Completion::Committed(environment.commit_all(commands).await) }
        };
        self.in_flight.push(Box::pin(commit));
    }

    /// Claims a table; the table gets the result.
    pub(super) fn claim(&self, table: TableId, reads_owner_first: bool) {
        let claim = load::claim(self.environment.clone(), table, self.worker, reads_owner_first);
        self.in_flight
            .push(Box::pin(async move { CompletedOperation { table, completion: Completion::Claimed(claim.await) } }));
    }

    /// Retries the load of a table after a pause.
    pub(super) fn schedule_retry(&self, table: TableId, pause: Duration) {
        self.in_flight.push(Box::pin(async move {
            sleep(pause).await;
            CompletedOperation { table, completion: Completion::RetryDue }
        }));
    }
}
