//! How a table comes into a keeper's hands: ask who answers for it, then claim it. Most tables that are asked for and are not in
//! memory are somebody else's, or nobody ever knew them: those cost a read and no write.

use super::outside::Outside;
use engine::commands::{ClaimedTable, Command, Outcome};
use engine::ids::{TableId, WorkerId};
use engine::rows::TableOwner;
use store::StoreError;

/// What came of a claim.
pub(super) enum Claim {
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
pub(super) struct Unheard {
    pub(super) why: StoreError,
    /// Whether the claim may have been saved: then the table is ours and nobody knows it, until we ask again.
    pub(super) may_be_ours: bool,
}

/// Claims a table. With `asks_first`, only one that is free or ours.
pub(super) async fn claim<O: Outside>(
    outside: O,
    id: TableId,
    worker: WorkerId,
    asks_first: bool,
) -> Result<Claim, Unheard> {
    if asks_first {
        match outside.owner(id).await {
            Ok(None) => return Ok(Claim::Missing),
            Ok(Some(TableOwner::Leased { worker: other, address })) if other != worker => {
                return Ok(Claim::Elsewhere(address));
            }
            Ok(Some(TableOwner::Leased { .. } | TableOwner::Unowned)) => {}
            Err(why) => return Err(Unheard { why, may_be_ours: false }),
        }
    }
    let command = Command::ClaimTable { id, worker, now: outside.now() };
    let outcome = outside.commit(command).await.map_err(|why| {
        let may_be_ours = !matches!(why, StoreError::Overloaded { .. });
        Unheard { why, may_be_ours }
    })?;
    match outcome {
        Outcome::TableClaimed(claimed) => Ok(Claim::Ours(Box::new(claimed))),
        Outcome::TableElsewhere { address } => Ok(Claim::Elsewhere(address)),
        Outcome::LeaseLost => Ok(Claim::LeaseLost),
        Outcome::NotFound => Ok(Claim::Missing),
        other => {
            tracing::error!(table.id = %id, outcome = ?other, "the store answered a claim of a table with something else");
            let why = StoreError::Unavailable { why: "the store answered with something else".to_owned() };
            Err(Unheard { why, may_be_ours: true })
        }
    }
}
