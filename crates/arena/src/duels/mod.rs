//! Drives duels: applies results, starts the next games, ends what is decided.
//!
//! What happens is decided by [`engine::duels`]; here it is read and saved.

use crate::cancellation::cancel_matches;
use crate::driver::{AdvanceError, Driven, drive};
use crate::environment::ArenaEnvironment;
use crate::silence::silent_seats;
use crate::states::{LoggedState, States};
use crate::step::save_step;
use engine::commands::Advance;
use engine::competitions::{CompetitionKind, CompetitionResult, CompetitionRow, CompetitionStatus};
use engine::duels::{Duel, DuelDefinition, DuelEnd, Entry, PairOutcome, SilentAnswer, SilentSeat, Step};
use engine::ids::{BotId, MatchId};
use engine::limits::DUEL_RESULTS_PER_STEP_MAX;
use engine::rows::Bot;
use node::lease::Lease;
use std::fmt::Display;
use std::num::NonZero;
use std::sync::Arc;
use store::{Reader, StoreError};

/// Duels in memory.
pub type DuelStates = States<Duel>;

impl LoggedState for Duel {
    /// A long one takes some 20 kB.
    const KEPT_MAX: NonZero<usize> = NonZero::new(1_024).expect("not zero");

    fn begin(definition: &[u8]) -> Result<Self, impl Display> {
        DuelDefinition::decode(definition).map(Self::new)
    }

    fn add(&mut self, entry: &[u8]) -> Result<(), impl Display> {
        let entry = Entry::decode(entry).map_err(|error| error.to_string())?;
        self.apply(&entry).map_err(|error| error.to_string())
    }
}

/// Drives all duels while the lease is valid.
pub async fn run<E: ArenaEnvironment>(environment: E, states: Arc<DuelStates>, lease: Lease) {
    let own = environment.clone();
    let advance = move |row| advance_duel(own.clone(), states.clone(), row);
    drive(environment, lease, CompetitionKind::Duel, advance).await;
}

async fn advance_duel<E: ArenaEnvironment>(
    environment: E,
    states: Arc<DuelStates>,
    row: CompetitionRow,
) -> Result<Driven, AdvanceError> {
    let known = states.clone();
    let read = environment.read(move |reader| {
        let mut row = row;
        Ok((known.read(reader, &mut row)?, row))
    });
    let (duel, row) = read.await?;
    let duel = duel?;
    if row.status.is_ended() && row.due_at.is_some() {
        cancel_matches(&environment, row.id, |_| false).await?;
    }
    let (id, after) = (row.id, row.results_applied);
    let read = environment.read(move |reader| {
        let results = reader.competition_results(id, after, DUEL_RESULTS_PER_STEP_MAX)?;
        let silent = silent_in(reader, &results)?;
        Ok((results, silent))
    });
    let (results, mut silent) = read.await?;
    let bots = registered_bots(&environment, duel.definition()).await?;
    let is_withdrawn = is_any_bot_withdrawn(&row, duel.definition(), &bots);
    hide_answers_of_others(&mut silent, &results, &row, duel.definition(), &bots);
    let new_id = || MatchId::new(environment.now(), environment.random_bytes());
    let step = duel.advance(&results, &silent, is_withdrawn, new_id);
    let results_applied = results.last().map_or(after, |result| result.number);
    save(&environment, &states, &row, results_applied, step).await
}

/// Calls a duel off; the leader calls off its games that are under way. Nothing changes when it has ended, or when another writer came first.
///
/// # Errors
/// The store's.
pub async fn cancel<E: ArenaEnvironment>(
    environment: &E,
    states: &DuelStates,
    row: &CompetitionRow,
    duel: &Duel,
) -> Result<(), AdvanceError> {
    let step = duel.cancel();
    if !step.entries.is_empty() {
        save(environment, states, row, row.results_applied, step).await?;
    }
    Ok(())
}

/// The seats that got no valid move in these games.
fn silent_in(reader: &mut dyn Reader, results: &[CompetitionResult]) -> Result<Vec<SilentSeat>, StoreError> {
    let mut silent = Vec::new();
    let has_silent = |result: &&CompetitionResult| result.summary.seats.iter().any(|seat| seat.is_silent);
    for result in results.iter().filter(|result| result.is_played()).filter(has_silent) {
        let seats = silent_seats(reader, result.match_id, result.summary.seats.len())?;
        let seat = |(seat, answer): (u8, Option<SilentAnswer>)| {
            Some(SilentSeat { match_id: result.match_id, seat, answer: answer? })
        };
        silent.extend((0..).zip(seats).filter_map(seat));
    }
    Ok(silent)
}

/// What a bot answered is shown to its own owner: not to the duel's, where the bot is another account's.
fn hide_answers_of_others(
    silent: &mut [SilentSeat],
    results: &[CompetitionResult],
    row: &CompetitionRow,
    definition: &DuelDefinition,
    registered: &[Bot],
) {
    let is_shown = |id: BotId| {
        let is_own = registered.iter().any(|bot| bot.id == id && bot.account == row.account);
        is_own || definition.bots.iter().any(|bot| bot.bot == id && !bot.is_registered)
    };
    for silent in silent {
        let result = results.iter().find(|result| result.match_id == silent.match_id);
        let bot = result.and_then(|result| result.summary.seats.get(usize::from(silent.seat)));
        if !bot.is_some_and(|seat| is_shown(seat.bot)) {
            silent.answer.response = None;
        }
    }
}

/// The registered bots of a duel that still exist.
async fn registered_bots<E: ArenaEnvironment>(
    environment: &E,
    definition: &DuelDefinition,
) -> Result<Vec<Bot>, StoreError> {
    let registered: Vec<BotId> = definition.bots.iter().filter(|bot| bot.is_registered).map(|bot| bot.bot).collect();
    if registered.is_empty() {
        return Ok(Vec::new());
    }
    environment.read(move |reader| reader.bots_by_id(&registered)).await
}

/// Whether a registered bot is gone, or is another account's and not public any more: it must not be called any longer.
fn is_any_bot_withdrawn(row: &CompetitionRow, definition: &DuelDefinition, registered: &[Bot]) -> bool {
    let may_be_called =
        |id: BotId| registered.iter().any(|bot| bot.id == id && (bot.account == row.account || bot.is_public));
    definition.bots.iter().any(|bot| bot.is_registered && !may_be_called(bot.bot))
}

async fn save<E: ArenaEnvironment>(
    environment: &E,
    states: &DuelStates,
    row: &CompetitionRow,
    results_applied: u64,
    step: Step,
) -> Result<Driven, AdvanceError> {
    let definition = step.duel.definition();
    let spec = |game: &engine::duels::StartedGame| {
        let spec = definition.match_spec(row.id, game.key, game.match_id);
        spec.ok_or_else(|| AdvanceError::Unexpected(format!("the duel has no bots for {:?}", game.key)))
    };
    let (now, status) = (environment.now(), status_of(&step.duel));
    let ends_with_games = status.is_ended() && !row.status.is_ended() && step.duel.games_in_flight().len() > 0;
    let advance = Advance {
        entries: step.entries.iter().map(Entry::encode).collect(),
        results_applied,
        status,
        // The next look calls these games off.
        due_at: ends_with_games.then_some(now),
        matches: step.start.iter().map(spec).collect::<Result<_, _>>()?,
        ..Advance::of(row, now)
    };
    if let Err(error) = save_step(environment, advance).await {
        return error.into_driven();
    }
    count(environment, &step);
    states.keep(row.id, row.version + step.entries.len() as u32, Arc::new(step.duel));
    Ok(Driven::Advanced)
}

/// The competition's status that goes with a duel's state.
fn status_of(duel: &Duel) -> CompetitionStatus {
    match duel.end() {
        None => CompetitionStatus::Running,
        Some(DuelEnd::Cancelled) => CompetitionStatus::Cancelled,
        Some(_) => CompetitionStatus::Finished,
    }
}

fn count<E: ArenaEnvironment>(environment: &E, step: &Step) {
    let metrics = &environment.metrics().duels;
    metrics.games_started.add(step.start.len() as u64);
    metrics.games_repeated.add(step.start.iter().filter(|game| game.key.attempt > 0).count() as u64);
    for entry in &step.entries {
        match entry {
            Entry::Counted { pairs, .. } => {
                let played = pairs.iter().filter(|pair| matches!(pair, PairOutcome::Played(_)));
                metrics.pairs_counted.add(played.count() as u64);
            }
            Entry::Over { .. } => metrics.ended.add(1),
            Entry::Started { .. } | Entry::Ended { .. } | Entry::Silent { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests;
