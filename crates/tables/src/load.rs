//! How an owner task gets a table: it reads the table's owner, then claims the table. Most requested tables that are not in memory belong
//! to another node or do not exist: those cost a read and no write.

use super::environment::TableEnvironment;
use engine::commands::{ClaimedTable, Command, Outcome};
use engine::ids::{TableId, WorkerId};
use engine::rows::TableOwner;
use store::StoreError;

/// The result of a claim.
pub(super) enum ClaimOutcome {
    /// The table is ours, as it is stored, under a new epoch.
    Ours(Box<ClaimedTable>),
    /// Another worker owns it, at this address.
    Elsewhere(String),
    Missing,
    /// Our worker's lease has ended.
    LeaseLost,
}

/// A claim without an answer from the store.
pub(super) struct ClaimError {
    pub(super) error: StoreError,
    /// Whether the claim may have been saved: then the table may be ours, which only another claim tells.
    pub(super) may_be_ours: bool,
}

/// Claims a table. With `reads_owner_first`, only one that is free or ours.
pub(super) async fn claim<O: TableEnvironment>(
    environment: O,
    id: TableId,
    worker: WorkerId,
    reads_owner_first: bool,
) -> Result<ClaimOutcome, ClaimError> {
    if reads_owner_first {
        match environment.owner(id).await {
            Ok(None) => return Ok(ClaimOutcome::Missing),
            Ok(Some(TableOwner::Leased { worker: other, address })) if other != worker => {
                return Ok(ClaimOutcome::Elsewhere(address));
            }
            Ok(Some(TableOwner::Leased { .. } | TableOwner::Unowned)) => {}
            Err(error) => return Err(ClaimError { error, may_be_ours: false }),
        }
    }
    let command = Command::ClaimTable { id, worker, now: environment.now() };
    let outcome = environment.commit(command).await.map_err(|error| {
        let may_be_ours = !matches!(error, StoreError::Overloaded { .. });
        ClaimError { error, may_be_ours }
    })?;
    match outcome {
        Outcome::TableClaimed(claimed) => Ok(ClaimOutcome::Ours(Box::new(claimed))),
        Outcome::TableElsewhere { address } => Ok(ClaimOutcome::Elsewhere(address)),
        Outcome::LeaseLost => Ok(ClaimOutcome::LeaseLost),
        Outcome::NotFound => Ok(ClaimOutcome::Missing),
        other => {
            tracing::error!(table.id = %id, outcome = ?other, "the store answered a claim of a table with something else");
            let error = StoreError::Unavailable { why: "the store answered with something else".to_owned() };
            Err(ClaimError { error, may_be_ours: true })
        }
    }
}
