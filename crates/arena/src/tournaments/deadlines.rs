//! Games that take too long. What counts is the time in which a game is played: from its first /start, not from its creation, because others
//! may fill the queue. A game that passes its deadline is decided by its board ([`adjudicate`]).

use super::step::Step;
use super::{TournamentError, Tournaments};
use crate::environment::ArenaEnvironment;
use engine::ids::MatchId;
use engine::limits::{TOURNAMENT_DEADLINE_LOOK_INTERVAL, TOURNAMENT_GAME_WAIT_MAX};
use engine::matches::machine::MatchMachine;
use engine::rows::MatchStatus;
use engine::time::UnixMs;
use engine::tournaments::{Event, Game, GameScore, Tournament, VoidReason, adjudicate};
use store::{Reader, StoreError};

/// Entries of a log that are read at once.
const PAGE: usize = 256;

/// When a game that began then no longer goes on, or an absence that began then is over. The time in which no process led the tournaments is
/// not held against either.
pub(super) fn deadline(state: &Tournament, began_at: UnixMs, leading_since: UnixMs) -> UnixMs {
    began_at.max(leading_since).plus(state.definition().rules.game_deadline)
}

/// What becomes of a game that may be late.
enum Late {
    /// Its board decides.
    Adjudicated(GameScore),
    /// It does not count.
    Void,
}

impl<E: ArenaEnvironment> Tournaments<E> {
    /// Decides the games that have passed their deadline, and gives up those that were never played.
    pub(super) async fn end_late_games(
        &self,
        step: &mut Step,
        leading_since: UnixMs,
        now: UnixMs,
    ) -> Result<(), TournamentError> {
        // A game begins after its creation, so that the others cannot be late.
        let suspects: Vec<(u32, MatchId, UnixMs)> = undecided_games(&step.state)
            .map(|(pairing, game)| (pairing, game.match_id, game.created_at))
            .filter(|(_, _, created_at)| deadline(&step.state, *created_at, leading_since) <= now)
            .collect();
        if suspects.is_empty() {
            return Ok(());
        }
        let ids: Vec<MatchId> = suspects.iter().map(|(_, id, _)| *id).collect();
        let statuses = self.0.environment.read(move |reader| reader.statuses(&ids)).await?;
        for (pairing, match_id, created_at) in suspects {
            let status = statuses.iter().find(|status| status.id == match_id);
            if !is_late(&step.state, status, created_at, leading_since, now) {
                continue;
            }
            let event = match self.0.environment.read(move |reader| judge(reader, match_id)).await? {
                Late::Adjudicated(score) => Event::GameAdjudicated { pairing, match_id, score },
                Late::Void => Event::GameVoid { pairing, match_id, reason: VoidReason::Late },
            };
            step.happen(event)?;
            step.has_given_up = true;
        }
        Ok(())
    }
}

fn is_late(
    state: &Tournament,
    status: Option<&MatchStatus>,
    created_at: UnixMs,
    leading_since: UnixMs,
    now: UnixMs,
) -> bool {
    match status {
        // Deleted: it has no result any more.
        None => true,
        // Its result comes next.
        Some(status) if status.ended_at.is_some() => false,
        Some(MatchStatus { started_at: Some(started_at), .. }) => deadline(state, *started_at, leading_since) <= now,
        Some(_) => deadline(state, created_at, leading_since).plus(TOURNAMENT_GAME_WAIT_MAX) <= now,
    }
}

/// By the log as far as it is saved. One that cannot be read decides nothing.
fn judge(reader: &mut dyn Reader, id: MatchId) -> Result<Late, StoreError> {
    let Some(row) = reader.match_by_id(id)? else { return Ok(Late::Void) };
    let seats = row.spec.seats.len();
    let Ok(mut machine) = MatchMachine::new(row.spec) else { return Ok(Late::Void) };
    while let Some(page) = reader.match_log(id, machine.version(), PAGE)?.filter(|page| !page.rows.is_empty()) {
        if let Some(error) = page.rows.iter().find_map(|row| machine.replay(row).err()) {
            tracing::warn!(match.id = %id, %error, "a late game cannot be replayed; it does not count");
            return Ok(Late::Void);
        }
    }
    let silent = (0..seats).map(|seat| machine.is_silent(seat)).collect();
    let score = adjudicate(&machine, silent).filter(|_| machine.server_faults() == 0);
    Ok(score.map_or(Late::Void, Late::Adjudicated))
}

/// Open games of pairings that are not decided.
pub(super) fn undecided_games(state: &Tournament) -> impl Iterator<Item = (u32, &Game)> {
    let is_undecided = |pairing: u32| state.pairings()[pairing as usize].outcome.is_none();
    state.open_games().filter(move |(pairing, _)| is_undecided(*pairing))
}

/// When the next game may be late: by its start, or by its creation while it is queued; from then on again and again.
pub(super) fn next_deadline_look(state: &Tournament, leading_since: UnixMs, now: UnixMs) -> Option<UnixMs> {
    let next_look = now.plus(TOURNAMENT_DEADLINE_LOOK_INTERVAL);
    let look_at = |game: &Game| {
        let earliest = deadline(state, game.started_at.unwrap_or(game.created_at), leading_since);
        if earliest > now { earliest } else { next_look }
    };
    undecided_games(state).map(|(_, game)| look_at(game)).min()
}
