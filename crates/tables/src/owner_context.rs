//! What the operations of one table need of the owner task that owns it: the environment, the lease, and the operations in flight.

use super::TablesState;
use super::environment::{Committed, TableEnvironment};
use super::waiters::PresenceNotifier;
use engine::commands::{Command, Outcome};
use engine::ids::{TableId, WorkerId};
use engine::rows::TableOwner;
use engine::time::UnixMs;
use futures_util::stream::FuturesUnordered;
use node::lease::Lease;
use std::collections::BTreeSet;
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
    /// Each table's timer, by when it fires.
    pub(super) timers: BTreeSet<(UnixMs, TableId)>,
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
    Claimed(Result<Outcome, ClaimError>),
    RetryDue,
}

/// A claim without an answer from the store.
pub(super) struct ClaimError {
    pub(super) error: StoreError,
    /// Whether the claim may have been saved: then the table may be ours, which only another claim tells.
    pub(super) may_be_ours: bool,
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

    /// Claims a table; the table gets the result. With `reads_owner_first`, only a table that is free or ours: most requested tables that
    /// are not in memory belong to another node or do not exist, and those cost a read and no write.
    pub(super) fn claim(&self, table: TableId, reads_owner_first: bool) {
        let claim = claim(self.environment.clone(), table, self.worker, reads_owner_first);
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

async fn claim<O: TableEnvironment>(
    environment: O,
    id: TableId,
    worker: WorkerId,
    reads_owner_first: bool,
) -> Result<Outcome, ClaimError> {
    if reads_owner_first {
        match environment.owner(id).await {
            Ok(None) => return Ok(Outcome::NotFound),
            Ok(Some(TableOwner::Leased { worker: other, address })) if other != worker => {
                return Ok(Outcome::TableElsewhere { address });
            }
            Ok(Some(TableOwner::Leased { .. } | TableOwner::Unowned)) => {}
            Err(error) => return Err(ClaimError { error, may_be_ours: false }),
        }
    }
    environment.commit(Command::ClaimTable { id, worker, now: environment.now() }).await.map_err(|error| {
        let may_be_ours = !matches!(error, StoreError::Overloaded { .. } | StoreError::Damaged(_));
        ClaimError { error, may_be_ours }
    })
}
