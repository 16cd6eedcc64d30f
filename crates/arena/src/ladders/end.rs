//! Ends a ladder at its owner's wish.

use crate::driver::AdvanceError;
use crate::environment::ArenaEnvironment;
use crate::step::{SaveStepError, check_saved};
use engine::commands::{Advance, Command, LadderCommand};
use engine::competitions::CompetitionStatus;
use engine::ids::CompetitionId;
use engine::ladders::season::{SeasonEnd, current_season};
use engine::limits::LADDER_END_ATTEMPTS_MAX;

/// Why a ladder is not ended.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum EndLadderError {
    #[error("results of the ladder were rated meanwhile, each of {LADDER_END_ATTEMPTS_MAX} times")]
    Busy,
    #[error(transparent)]
    Advance(#[from] AdvanceError),
}

/// Ends a ladder with its season: no match is created any more. Those under way still count. Nothing changes when it has ended.
///
/// # Errors
/// [`EndLadderError`].
pub async fn end<E: ArenaEnvironment>(environment: &E, id: CompetitionId) -> Result<(), EndLadderError> {
    for _ in 0..LADDER_END_ATTEMPTS_MAX {
        let row = environment.read(move |reader| reader.competition(id)).await.map_err(AdvanceError::Store)?;
        let row = row.ok_or_else(|| AdvanceError::Unexpected(format!("there is no ladder {id}")))?;
        if row.status.is_ended() {
            return Ok(());
        }
        let now = environment.now();
        let (season, last_result) = (current_season(&row), row.results_applied);
        let end = SeasonEnd { season, last_result, ended_at: now, is_last: true };
        let status = CompetitionStatus::Finished;
        let advance = Advance { entries: vec![end.encode()], status, due_at: None, ..Advance::of(&row, now) };
        let command = Command::Ladder(LadderCommand::EndSeason(advance));
        match check_saved(environment.commit(command).await.map_err(AdvanceError::Store)?) {
            Ok(()) => return Ok(()),
            // Read again.
            Err(SaveStepError::Conflict) => {}
            Err(other) => return Err(AdvanceError::Unexpected(other.to_string()).into()),
        }
    }
    Err(EndLadderError::Busy)
}
