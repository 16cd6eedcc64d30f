//! How a table comes into a keeper's hands: ask who answers for it, then claim it. Most tables that are asked for and are not in
//! memory are somebody else's, or nobody ever knew them: those cost a read and no write.

use super::environment::TableEnvironment;
use engine::commands::{ClaimedTable, Command, Outcome};
use engine::ids::{TableId, WorkerId};
use engine::rows::TableOwner;
use store::StoreError;

/// What came of a claim.
pub(super) enum ClaimOutcome {
    /// The table is ours, as it stands in the store, under a new epoch.
    Ours(Box<ClaimedTable>),
    /// Another worker's, at this address.
    Elsewhere(String),
    /// Nobody knows such a table.
    Missing,
    /// The lease of our worker has ended.
    LeaseLost,
}

/// A claim that was not answered.
pub(super) struct ClaimError {
    pub(super) why: StoreError,
    /// Whether the claim may have been saved: then the table is ours and nobody knows it, until we ask again.
    pub(super) may_be_ours: bool,
}

/// Claims a table. With `asks_first`, only one that is free or ours.
pub(super) async fn claim<O: TableEnvironment>(
    outside: O,
    id: TableId,
    worker: WorkerId,
    asks_first: bool,
) -> Result<ClaimOutcome, ClaimError> {
    if asks_first {
        match outside.owner(id).await {
            Ok(None) => return Ok(ClaimOutcome::Missing),
            Ok(Some(TableOwner::Leased { worker: other, address })) if other != worker => {
                return Ok(ClaimOutcome::Elsewhere(address));
            }
            Ok(Some(TableOwner::Leased { .. } | TableOwner::Unowned)) => {}
            Err(why) => return Err(ClaimError { why, may_be_ours: false }),
        }
    }
    let command = Command::ClaimTable { id, worker, now: outside.now() };
    let outcome = outside.commit(command).await.map_err(|why| {
        let may_be_ours = !matches!(why, StoreError::Overloaded { .. });
        ClaimError { why, may_be_ours }
    })?;
    match outcome {
        Outcome::TableClaimed(claimed) => Ok(ClaimOutcome::Ours(Box::new(claimed))),
        Outcome::TableElsewhere { address } => Ok(ClaimOutcome::Elsewhere(address)),
        Outcome::LeaseLost => Ok(ClaimOutcome::LeaseLost),
        Outcome::NotFound => Ok(ClaimOutcome::Missing),
        other => {
            tracing::error!(table.id = %id, outcome = ?other, "the store answered a claim of a table with something else");
            let why = StoreError::Unavailable { why: "the store answered with something else".to_owned() };
            Err(ClaimError { why, may_be_ours: true })
        }
    }
}
