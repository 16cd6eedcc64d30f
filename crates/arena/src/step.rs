//! Saves a step of a competition: what has happened, how far results are applied, and the matches that follow, all of it or nothing. The one
//! place where tournaments and duels are written.

use crate::driver::{AdvanceError, Driven};
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

impl SaveStepError {
    /// What it means to the leader. Where another writer came first, the next look sees what that one wrote.
    pub(crate) fn into_driven(self) -> Result<Driven, AdvanceError> {
        match self {
            Self::Conflict | Self::NotFound => Ok(Driven::Unchanged),
            Self::Store(error) => Err(error.into()),
            Self::Unexpected(_) => Err(AdvanceError::Unexpected(self.to_string())),
        }
    }
}

/// Whether a commit that moves a competition on is saved.
pub(crate) fn check_saved(outcome: Outcome) -> Result<(), SaveStepError> {
    match outcome {
        Outcome::Done => Ok(()),
        Outcome::VersionConflict(_) => Err(SaveStepError::Conflict),
        Outcome::NotFound => Err(SaveStepError::NotFound),
        other => Err(SaveStepError::Unexpected(format!("{other:?}"))),
    }
}

/// Saves a step, and wakes the queue where it has matches.
pub(crate) async fn save_step<E: ArenaEnvironment>(environment: &E, advance: Advance) -> Result<(), SaveStepError> {
    let has_matches = !advance.matches.is_empty();
    check_saved(environment.commit(Command::Competition(CompetitionCommand::Advance(advance))).await?)?;
    if has_matches {
        environment.notify_queue();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_store_does_not_answer_and_its_errors_are_tried_again_later() {
        let driven = |outcome| check_saved(outcome).map_or_else(SaveStepError::into_driven, |()| Ok(Driven::Advanced));
        for (outcome, want) in [
            (Outcome::Done, Some(Driven::Advanced)),
            (Outcome::VersionConflict(7), Some(Driven::Unchanged)),
            (Outcome::NotFound, Some(Driven::Unchanged)),
            (Outcome::Duplicate, None),
        ] {
            assert_eq!(driven(outcome.clone()).ok(), want, "{outcome:?}");
        }
        let away = StoreError::Unavailable { why: "away".to_owned() };
        assert_eq!(SaveStepError::from(away.clone()).into_driven(), Err(AdvanceError::Store(away)));
    }
}
