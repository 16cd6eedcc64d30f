//! Saves a step of a competition: what has happened, how far results are applied, and the matches that follow, all of it or nothing. The one
//! place where tournaments and duels are written.

use crate::environment::ArenaEnvironment;
use engine::commands::{Advance, Command, CompetitionCommand, Outcome};
use store::StoreError;

/// Why a step is not saved.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SaveStepError {
    #[error("another writer came first")]
    Conflict,
    #[error("there is no such competition")]
    NotFound,
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store answered what it does not answer.
    #[error("the store answered a step of a competition with something else: {0}")]
    Unexpected(String),
}

/// Saves a step, and wakes the queue where it has matches.
pub(crate) async fn save_step<E: ArenaEnvironment>(environment: &E, advance: Advance) -> Result<(), SaveStepError> {
    let has_matches = !advance.matches.is_empty();
    match environment.commit(Command::Competition(CompetitionCommand::Advance(advance))).await? {
        Outcome::Done => {}
        Outcome::VersionConflict(_) => return Err(SaveStepError::Conflict),
        Outcome::NotFound => return Err(SaveStepError::NotFound),
        other => return Err(SaveStepError::Unexpected(format!("{other:?}"))),
    }
    if has_matches {
        environment.notify_queue();
    }
    Ok(())
}
