//! What an answer of the store means for the table that asked.

use crate::tables::outside::Committed;
use engine::commands::Outcome;
use store::StoreError;

/// What a commit of ours came to.
pub(super) enum Verdict {
    Saved(i64),
    /// The table is not as we believed, or not ours: nothing was saved.
    Fenced,
    /// Certainly nothing was saved.
    NotSaved(StoreError),
    /// Nobody knows.
    Unsure(StoreError),
    /// Something that only an opening gets.
    Refused(Outcome),
}

/// Nobody knows what became of a commit whose connection was lost; what was never tried, or cannot be written, is not saved.
pub(super) fn verdict(committed: Result<Committed, StoreError>) -> Verdict {
    let Committed { outcomes, at_us } = match committed {
        Ok(committed) => committed,
        Err(why @ (StoreError::Overloaded { .. } | StoreError::Corrupt { .. })) => return Verdict::NotSaved(why),
        Err(why @ (StoreError::Unavailable { .. } | StoreError::WrongSchema { .. })) => return Verdict::Unsure(why),
    };
    match outcomes.into_iter().next() {
        Some(Outcome::Done) => Verdict::Saved(at_us),
        Some(Outcome::Fenced) => Verdict::Fenced,
        Some(Outcome::VersionConflict(have)) => {
            tracing::error!(have, "a table's log is not as long as its owner believed; it is read again");
            Verdict::Fenced
        }
        Some(other) => Verdict::Refused(other),
        None => Verdict::Unsure(StoreError::Unavailable { why: "the store gave no answer".to_owned() }),
    }
}
