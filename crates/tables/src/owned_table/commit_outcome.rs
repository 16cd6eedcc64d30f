//! What a response of the store means for the table that committed.

use crate::environment::Committed;
use engine::commands::Outcome;
use store::StoreError;

/// The outcome of a commit.
pub(super) enum CommitOutcome {
    Saved(i64),
    /// The table has another version than expected, or another owner: nothing was saved.
    Fenced,
    /// Nothing was saved.
    NotSaved(StoreError),
    /// Whether it was saved is unknown.
    Unknown(StoreError),
    /// An outcome that only an opening can have.
    Refused(Outcome),
}

/// The outcome is unknown when the connection was lost; what was never tried, or cannot be written, is not saved.
pub(super) fn commit_outcome(committed: Result<Committed, StoreError>) -> CommitOutcome {
    let Committed { outcomes, at_us } = match committed {
        Ok(committed) => committed,
        Err(error @ (StoreError::Overloaded { .. } | StoreError::Corrupt { .. })) => {
            return CommitOutcome::NotSaved(error);
        }
        Err(error @ (StoreError::Unavailable { .. } | StoreError::WrongSchema { .. })) => {
            return CommitOutcome::Unknown(error);
        }
    };
    match outcomes.into_iter().next() {
        Some(Outcome::Done) => CommitOutcome::Saved(at_us),
        Some(Outcome::Fenced) => CommitOutcome::Fenced,
        Some(Outcome::VersionConflict(have)) => {
            tracing::error!(have, "a table's log has another length than its owner expected; it is loaded again");
            CommitOutcome::Fenced
        }
        Some(other) => CommitOutcome::Refused(other),
        None => CommitOutcome::Unknown(StoreError::Unavailable { why: "the store gave no answer".to_owned() }),
    }
}
