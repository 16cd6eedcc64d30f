//! Games that have left the queue: those who follow a tournament see what is played and since when. Nothing is decided by it.

use super::deadlines::undecided_games;
use super::step::Step;
use super::{TournamentError, Tournaments};
use crate::environment::ArenaEnvironment;
use engine::ids::MatchId;
use engine::limits::{TOURNAMENT_START_LOOK_INTERVAL_MAX, TOURNAMENT_START_LOOK_INTERVAL_MIN};
use engine::time::UnixMs;
use engine::tournaments::{Event, Game, Tournament};

/// Of the time that a game has waited, how much longer it may wait before the next look.
const WAIT_DIVISOR: u32 = 4;

impl<E: ArenaEnvironment> Tournaments<E> {
    /// Notes the starts of games, also of those that have ended since.
    pub(super) async fn note_starts(&self, step: &mut Step) -> Result<(), TournamentError> {
        let queued: Vec<(u32, MatchId)> =
            queued_games(&step.state).map(|(pairing, game)| (pairing, game.match_id)).collect();
        if queued.is_empty() {
            return Ok(());
        }
        let ids: Vec<MatchId> = queued.iter().map(|(_, id)| *id).collect();
        let statuses = self.0.environment.read(move |reader| reader.statuses(&ids)).await?;
        for (pairing, match_id) in queued {
            let status = statuses.iter().find(|status| status.id == match_id);
            if let Some(started_at) = status.and_then(|status| status.started_at) {
                step.happen(Event::GameStarted { pairing, match_id, started_at })?;
            }
        }
        Ok(())
    }
}

/// When starts are to be looked for again: soon behind a creation, and the longer the queue is, the later.
pub(super) fn next_start_look(state: &Tournament, now: UnixMs) -> Option<UnixMs> {
    let waited = queued_games(state).map(|(_, game)| now.since(game.created_at)).min()?;
    let pause = (waited / WAIT_DIVISOR).clamp(TOURNAMENT_START_LOOK_INTERVAL_MIN, TOURNAMENT_START_LOOK_INTERVAL_MAX);
    Some(now.plus(pause))
}

fn queued_games(state: &Tournament) -> impl Iterator<Item = (u32, &Game)> {
    undecided_games(state).filter(|(_, game)| game.started_at.is_none())
}
