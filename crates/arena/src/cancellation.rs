//! Calls off matches that no longer count for what they were played for, and those of bots that were deleted.
//!
//! The step by which they stop to count is saved with a competition that is due at once, and it stays due until the leader has called them
//! off. So they end whether or not a process dies in between or the client whose request it was goes away, and none is called off again
//! with each late result.

use crate::environment::ArenaEnvironment;
use engine::commands::{Command, Outcome};
use engine::competitions::CompetitionKind;
use engine::ids::{CompetitionId, MatchId};
use store::StoreError;

/// Rows of one read.
const PAGE: usize = 256;

/// Calls off those of a competition's matches that do not count and have not ended, and notifies their spectators.
///
/// # Errors
/// The store's: some of them may go on.
pub(crate) async fn cancel_matches<E: ArenaEnvironment>(
    environment: &E,
    competition: CompetitionId,
    counts: impl Fn(MatchId) -> bool + Send,
) -> Result<(), StoreError> {
    let mut before = None;
    loop {
        let live = environment.read(move |reader| reader.competition_matches(competition, true, before, PAGE)).await?;
        let ids: Vec<MatchId> = live.iter().map(|row| row.spec.id).collect();
        let Some(last) = ids.last() else { return Ok(()) };
        before = Some(*last);
        for id in ids {
            if counts(id) {
                continue;
            }
            cancel(environment, id).await?;
        }
    }
}

/// Calls off matches of competitions of this kind in which a bot sits that was deleted meanwhile: its URL must not be called any longer. What
/// follows for the competition, it decides when it applies their results.
///
/// # Errors
/// The store's: some of them may go on until the next look.
pub(crate) async fn cancel_matches_of_deleted_bots<E: ArenaEnvironment>(
    environment: &E,
    kind: CompetitionKind,
) -> Result<(), StoreError> {
    for id in environment.read(move |reader| reader.matches_of_deleted_bots(kind, PAGE)).await? {
        cancel(environment, id).await?;
    }
    Ok(())
}

async fn cancel<E: ArenaEnvironment>(environment: &E, id: MatchId) -> Result<(), StoreError> {
    // Anything else than `Done`: it has ended meanwhile, or is deleted.
    if environment.commit(Command::CancelMatch { id, account: None, now: environment.now() }).await? == Outcome::Done {
        environment.notify_match(id);
    }
    Ok(())
}
