//! What an answer of the store means for the table that asked.

use crate::tables::environment::Committed;
use engine::commands::Outcome;
use store::StoreError;

/// What a commit of ours came to.
pub(super) enum CommitOutcome {
    Saved(i64),
    /// The table is not as we believed, or not ours: nothing was saved.
    Fenced,
    /// Certainly nothing was saved.
    NotSaved(StoreError),
    /// Nobody knows.
    Unknown(StoreError),
    /// Something that only an opening gets.
    Refused(Outcome),
}

/// Nobody knows what became of a commit whose connection was lost; what was never tried, or cannot be written, is not saved.
pub(super) fn commit_outcome(committed: Result<Committed, StoreError>) -> CommitOutcome {
    let Committed { outcomes, at_us } = match committed {
        Ok(committed) => committed,
        Err(why @ (StoreError::Overloaded { .. } | StoreError::Corrupt { .. })) => return CommitOutcome::NotSaved(why),
        Err(why @ (StoreError::Unavailable { .. } | StoreError::WrongSchema { .. })) => {
            return CommitOutcome::Unknown(why);
        }
    };
    match outcomes.into_iter().next() {
        Some(Outcome::Done) => CommitOutcome::Saved(at_us),
        Some(Outcome::Fenced) => CommitOutcome::Fenced,
        Some(Outcome::VersionConflict(have)) => {
            tracing::error!(have, "a table's log is not as long as its owner believed; it is read again");
            CommitOutcome::Fenced
        }
        Some(other) => CommitOutcome::Refused(other),
        None => CommitOutcome::Unknown(StoreError::Unavailable { why: "the store gave no answer".to_owned() }),
    }
}
