//! One step of a tournament: the events that are decided, the state that they lead to, the matches that are put into the queue, and all of
//! it saved at once.

use super::{LoadedTournament, TournamentError, Tournaments};
use crate::environment::ArenaEnvironment;
use crate::step::{SaveStepError, save_step};
use engine::commands::Advance;
use engine::competitions::CompetitionStatus;
use engine::matches::spec::MatchSpec;
use engine::time::UnixMs;
use engine::tournaments::{Event, LogEntry, Phase, Refusal, Tournament};
use std::sync::Arc;

/// A step before it is saved.
pub(super) struct Step {
    before: LoadedTournament,
    pub(super) state: Tournament,
    entries: Vec<LogEntry>,
    pub(super) matches: Vec<MatchSpec>,
    /// Whether games were given up that did not end in time.
    pub(super) has_given_up: bool,
    pub(super) results_applied: u64,
    pub(super) due_at: Option<UnixMs>,
    now: UnixMs,
}

/// What became of it.
pub(super) enum Saved {
    Yes(LoadedTournament),
    /// Another writer came first.
    Conflict,
}

impl Step {
    pub(super) fn new(before: LoadedTournament, now: UnixMs) -> Self {
        Self {
            state: Tournament::clone(&before.state),
            entries: Vec::new(),
            matches: Vec::new(),
            has_given_up: false,
            results_applied: before.row.results_applied,
            due_at: before.row.due_at,
            before,
            now,
        }
    }

    pub(super) fn happen(&mut self, event: Event) -> Result<(), Refusal> {
        let entry = LogEntry { at: self.now, event };
        self.state.apply(&entry)?;
        self.entries.push(entry);
        Ok(())
    }

    pub(super) fn row(&self) -> &engine::competitions::CompetitionRow {
        &self.before.row
    }

    /// Whether saving it would change anything.
    pub(super) fn is_empty(&self) -> bool {
        let row = &self.before.row;
        self.entries.is_empty() && self.results_applied == row.results_applied && self.due_at == row.due_at
    }

    /// Whether there are games that no longer count since this step.
    fn has_abandoned_games(&self) -> bool {
        let is_cancelled = matches!(self.state.phase(), Phase::Cancelled(_));
        let was_cancelled = matches!(self.before.state.phase(), Phase::Cancelled(_));
        let is_decided = |state: &Tournament, pairing: u32| {
            state.pairings().get(pairing as usize).is_some_and(|pairing| pairing.outcome.is_some())
        };
        let is_abandoned = |pairing| {
            (is_cancelled && !was_cancelled)
                || (is_decided(&self.state, pairing) && !is_decided(&self.before.state, pairing))
        };
        self.has_given_up || self.state.open_games().any(|(pairing, _)| is_abandoned(pairing))
    }
}

fn status_of(state: &Tournament) -> CompetitionStatus {
    match state.phase() {
        Phase::Entries => CompetitionStatus::Scheduled,
        Phase::Running => CompetitionStatus::Running,
        Phase::Finished => CompetitionStatus::Finished,
        Phase::Cancelled(_) => CompetitionStatus::Cancelled,
    }
}

impl<E: ArenaEnvironment> Tournaments<E> {
    /// Saves a step, all of it or nothing, and lets everyone know.
    pub(super) async fn save(&self, step: Step) -> Result<Saved, TournamentError> {
        let status = status_of(&step.state);
        let advance = Advance {
            entries: step.entries.iter().map(LogEntry::encode).collect(),
            results_applied: step.results_applied,
            status,
            due_at: match step.has_abandoned_games() {
                // The next look calls them off.
                true => Some(step.now),
                false => step.due_at.filter(|_| !status.is_ended()),
            },
            matches: step.matches.clone(),
            ..Advance::of(&step.before.row, step.now)
        };
        let environment = &self.0.environment;
        match save_step(environment, advance).await {
            Ok(()) => {}
            Err(SaveStepError::Conflict) => return Ok(Saved::Conflict),
            Err(SaveStepError::NotFound) => return Err(TournamentError::NotFound),
            Err(SaveStepError::Store(error)) => return Err(error.into()),
            Err(SaveStepError::Unexpected(outcome)) => return Err(TournamentError::Unexpected(outcome)),
        }
        let metrics = &environment.metrics().tournaments;
        metrics.games_created.add(step.matches.len() as u64);
        metrics.results_applied.add(step.results_applied - step.before.row.results_applied);
        let mut row = step.before.row;
        row.version = step.state.version();
        row.status = status;
        row.results_applied = step.results_applied;
        row.matches_created += step.matches.len() as u64;
        (row.started_at, row.ended_at) = (step.state.started_at(), step.state.ended_at());
        let state = Arc::new(step.state);
        self.0.states.keep(row.id, row.version, state.clone());
        self.0.feeds.publish(row.id, row.version);
        Ok(Saved::Yes(LoadedTournament { row, state }))
    }
}
