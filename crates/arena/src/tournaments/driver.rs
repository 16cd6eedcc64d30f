//! The leader's steps: a tournament starts when its time has come, results become events in their order, late games are decided, and the
//! games that follow are put into the queue.

use super::deadlines::next_deadline_look;
use super::starts::next_start_look;
use super::step::{Saved, Step};
use super::{LoadedTournament, TournamentError, Tournaments};
use crate::cancellation::cancel_matches;
use crate::driver::{AdvanceError, Driven, drive};
use crate::environment::ArenaEnvironment;
use engine::competitions::{CompetitionKind, CompetitionResult, CompetitionRow, MatchOrigin};
use engine::ids::{BotId, MatchId};
use engine::limits::{TOURNAMENT_ABSENCE_LOOK_INTERVAL, TOURNAMENT_RESULTS_PER_STEP_MAX};
use engine::matches::lifecycle::MatchState;
use engine::matches::spec::MatchSpec;
use engine::rows::OwnedBot;
use engine::time::UnixMs;
use engine::tournaments::{CancelReason, Event, GameOrder, GameScore, Phase, Refusal, Tournament, VoidReason};
use node::lease::Lease;
use std::collections::{BTreeMap, BTreeSet};
use store::StoreError;

impl<E: ArenaEnvironment> Tournaments<E> {
    /// Moves all tournaments on while the lease is valid.
    pub async fn run(self, lease: Lease) {
        let leading_since = self.0.environment.now();
        let environment = self.0.environment.clone();
        let advance = move |row: CompetitionRow| {
            let tournaments = self.clone();
            async move { tournaments.advance(row, leading_since).await }
        };
        drive(environment, lease, CompetitionKind::Tournament, advance).await;
    }

    pub(super) async fn advance(&self, row: CompetitionRow, leading_since: UnixMs) -> Result<Driven, AdvanceError> {
        self.try_advance(row, leading_since).await.map_err(|error| match error {
            TournamentError::Store(error) => AdvanceError::Store(error),
            TournamentError::Unreadable(error) => AdvanceError::Unreadable(error),
            other => AdvanceError::Unexpected(other.to_string()),
        })
    }

    async fn try_advance(&self, row: CompetitionRow, leading_since: UnixMs) -> Result<Driven, TournamentError> {
        let _writer = self.lock_writer(row.id).await;
        let loaded = self.load(row.id).await?;
        let now = self.0.environment.now();
        if loaded.row.due_at.is_some_and(|due_at| due_at <= now) {
            self.cancel_abandoned_games(&loaded).await?;
        }
        let is_started_by_time = loaded.state.definition().starts_at.is_some_and(|at| at <= now);
        let mut step = Step::new(loaded, now);
        match step.state.phase() {
            Phase::Entries if is_started_by_time => self.start_by_time(&mut step).await?,
            Phase::Entries => step.due_at = step.state.definition().starts_at,
            Phase::Running => {
                self.note_starts(&mut step).await?;
                self.apply_results(&mut step).await?;
                self.end_late_games(&mut step, leading_since, now).await?;
                self.review_absences(&mut step, leading_since, now).await?;
                step = self.queue_games(step).await?;
                step.due_at = next_due(&step.state, leading_since, now);
            }
            // What is still played counts for nothing.
            Phase::Finished | Phase::Cancelled(_) => {
                (step.results_applied, step.due_at) = (step.row().results, None);
            }
        }
        if step.is_empty() {
            return Ok(Driven::Unchanged);
        }
        match self.save(step).await? {
            Saved::Yes(LoadedTournament { .. }) => Ok(Driven::Advanced),
            Saved::Conflict => Ok(Driven::Unchanged),
        }
    }

    /// Calls off the games of its log that no longer count. Those that another process creates meanwhile are not among them.
    async fn cancel_abandoned_games(&self, loaded: &LoadedTournament) -> Result<(), StoreError> {
        let is_running = loaded.state.phase() == Phase::Running;
        let mut abandoned = BTreeSet::new();
        for pairing in loaded.state.pairings() {
            let counts = is_running && pairing.outcome.is_none();
            let games = pairing.games.iter().filter(|game| !counts || game.end.is_some());
            abandoned.extend(games.map(|game| game.match_id));
        }
        if abandoned.is_empty() {
            return Ok(());
        }
        cancel_matches(&self.0.environment, loaded.row.id, |id| !abandoned.contains(&id)).await
    }

    async fn start_by_time(&self, step: &mut Step) -> Result<(), TournamentError> {
        match self.start_step(step).await {
            Err(TournamentError::Refused(Refusal::TooFewEntrants { .. })) => {
                Ok(step.happen(Event::Cancelled { reason: CancelReason::TooFewEntrants })?)
            }
            started => started,
        }
    }

    async fn apply_results(&self, step: &mut Step) -> Result<(), TournamentError> {
        let (id, after) = (step.row().id, step.results_applied);
        let read = self
            .0
            .environment
            .read(move |reader| reader.competition_results(id, after, TOURNAMENT_RESULTS_PER_STEP_MAX));
        for result in read.await? {
            let seats = result.summary.seats.iter().filter(|_| result.is_played());
            let silent = seats.map(|seat| seat.is_silent).collect();
            // One that ended before, by a walkover or its deadline, counts for nothing.
            let pairing = GameOrder::pairing_of(result.key);
            if step.state.phase() == Phase::Running && step.state.is_game_open(pairing, result.match_id) {
                step.happen(event_of(pairing, &result, silent))?;
            }
            step.results_applied = result.number;
        }
        Ok(())
    }

    /// Puts into the queue what is to be played now. Bots that are gone leave first, and those that are paused are waited for, which may
    /// change what that is.
    async fn queue_games(&self, mut step: Step) -> Result<Step, TournamentError> {
        loop {
            // On a reader's thread: the pairs of a large Swiss tournament take a while.
            let (planned, orders) = self.0.environment.read(|_| Ok(plan_games(step))).await??;
            step = planned;
            if orders.is_empty() {
                return Ok(step);
            }
            let mut ids: Vec<BotId> =
                orders.iter().flat_map(|order| &order.seats).map(|seat| bot_of(&step.state, *seat)).collect();
            ids.sort_unstable();
            ids.dedup();
            let before = step.state.version();
            let bots = self.withdraw_gone_of(&mut step, ids.clone()).await?;
            self.note_absences(&mut step, ids).await?;
            if step.state.version() == before {
                self.add_games(&mut step, &orders, &bots)?;
                return Ok(step);
            }
        }
    }

    fn add_games(
        &self,
        step: &mut Step,
        orders: &[GameOrder],
        bots: &BTreeMap<BotId, OwnedBot>,
    ) -> Result<(), TournamentError> {
        let environment = &self.0.environment;
        for order in orders {
            let id = MatchId::new(environment.now(), environment.random_bytes());
            let spec = match_spec(step, order, id, bots);
            if spec.validate().is_err() {
                // Its map or rule set was valid when it was created, and is not in this version.
                step.matches.clear();
                return Ok(step.happen(Event::Cancelled { reason: CancelReason::NotPlayable })?);
            }
            let seats = order.seats.clone();
            step.happen(Event::GameCreated { pairing: order.pairing, match_id: id, seats })?;
            step.matches.push(spec);
        }
        Ok(())
    }
}

/// Adds the rounds that are due, and what is to be played now.
fn plan_games(mut step: Step) -> Result<(Step, Vec<GameOrder>), Refusal> {
    while let Some(round) = step.state.next_round() {
        step.happen(round)?;
    }
    let orders = step.state.next_games();
    Ok((step, orders))
}

fn bot_of(state: &Tournament, entrant: u16) -> BotId {
    state.entrants()[usize::from(entrant)].info.bot
}

fn match_spec(step: &Step, order: &GameOrder, id: MatchId, bots: &BTreeMap<BotId, OwnedBot>) -> MatchSpec {
    let seat = |entrant: &u16| {
        let bot = bots.get(&bot_of(&step.state, *entrant))?;
        Some(bot.seat())
    };
    let origin = MatchOrigin { kind: CompetitionKind::Tournament, competition: step.row().id, key: order.key() };
    let seats = order.seats.iter().filter_map(seat).collect();
    step.state.definition().game.spec(id, order.seed, Some(origin), seats, step.row().is_public)
}

fn event_of(pairing: u32, result: &CompetitionResult, silent: Vec<bool>) -> Event {
    let match_id = result.match_id;
    let void = match result.ending {
        MatchState::Failed => Some(VoidReason::Failed),
        MatchState::Finished if result.summary.is_server_fault => Some(VoidReason::ServerFault),
        MatchState::Finished => None,
        MatchState::Cancelled | MatchState::Waiting | MatchState::Running => Some(VoidReason::Cancelled),
    };
    if let Some(reason) = void {
        return Event::GameVoid { pairing, match_id, reason };
    }
    let summary = &result.summary;
    let places = if summary.is_draw && summary.seats.len() == 2 {
        vec![1; 2]
    } else {
        summary.seats.iter().map(|seat| seat.place).collect()
    };
    let score = GameScore {
        places,
        food: summary.seats.iter().map(|seat| seat.food_eaten).collect(),
        silent,
        turns: summary.turns,
    };
    Event::GamePlayed { pairing, match_id, score }
}

/// When the tournament is to be looked at without a result.
fn next_due(state: &Tournament, leading_since: UnixMs, now: UnixMs) -> Option<UnixMs> {
    let next_absence_look = state.absent().next().map(|_| now.plus(TOURNAMENT_ABSENCE_LOOK_INTERVAL));
    let next_looks = [next_deadline_look(state, leading_since, now), next_absence_look, next_start_look(state, now)];
    next_looks.into_iter().flatten().min()
}
