//! Drives duels: applies results, starts the next games, ends what is decided.
//!
//! What happens is decided by [`engine::duels`]; here it is read and saved.

use crate::cancellation::cancel_matches;
use crate::driver::{AdvanceError, Driven, drive};
use crate::environment::ArenaEnvironment;
use crate::states::{LoggedState, States};
use engine::commands::{Advance, Command, CompetitionCommand, Outcome};
use engine::competitions::{CompetitionKind, CompetitionRow, CompetitionStatus};
use engine::duels::{Duel, DuelDefinition, DuelEnd, Entry, PairOutcome, Step};
use engine::ids::{BotId, MatchId};
use engine::limits::DUEL_RESULTS_PER_STEP_MAX;
use node::lease::Lease;
use std::fmt::Display;
use std::num::NonZero;
use std::sync::Arc;
use store::StoreError;

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
    let (id, after) = (row.id, row.results_applied);
    let results =
        environment.read(move |reader| reader.competition_results(id, after, DUEL_RESULTS_PER_STEP_MAX)).await?;
    let is_withdrawn = is_any_bot_withdrawn(&environment, &row, duel.definition()).await?;
    let step = duel.advance(&results, is_withdrawn, || MatchId::new(environment.now(), environment.random_bytes()));
    let results_applied = results.last().map_or(after, |result| result.number);
    save(&environment, &states, &row, results_applied, step).await
}

/// Whether a registered bot is gone, or is another account's and not public any more: it must not be called any longer.
async fn is_any_bot_withdrawn<E: ArenaEnvironment>(
    environment: &E,
    row: &CompetitionRow,
    definition: &DuelDefinition,
) -> Result<bool, StoreError> {
    let registered: Vec<BotId> = definition.bots.iter().filter(|bot| bot.is_registered).map(|bot| bot.bot).collect();
    if registered.is_empty() {
        return Ok(false);
    }
    let sought = registered.clone();
    let bots = environment.read(move |reader| reader.bots_by_id(&sought)).await?;
    let may_be_called =
        |id: &BotId| bots.iter().any(|bot| bot.id == *id && (bot.account == row.account || bot.is_public));
    Ok(!registered.iter().all(may_be_called))
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
    let advance = Advance {
        entries: step.entries.iter().map(Entry::encode).collect(),
        results_applied,
        status: status_of(&step.duel),
        due_at: None,
        matches: step.start.iter().map(spec).collect::<Result<_, _>>()?,
        ..Advance::of(row, environment.now())
    };
    let has_matches = !advance.matches.is_empty();
    let command = Command::Competition(CompetitionCommand::Advance(advance));
    match environment.commit(command).await? {
        Outcome::Done => {}
        Outcome::VersionConflict(_) | Outcome::NotFound => return Ok(Driven::Unchanged),
        other => {
            let why = format!("the store answered a step of a duel with something else: {other:?}");
            return Err(AdvanceError::Unexpected(why));
        }
    }
    if has_matches {
        environment.notify_queue();
    }
    count(environment, &step);
    if step.duel.end().is_some() {
        let in_flight: Vec<MatchId> = step.duel.games_in_flight().map(|game| game.match_id).collect();
        cancel_matches(environment, &in_flight).await;
    }
    states.keep(row.id, row.version + step.entries.len() as u32, Arc::new(step.duel));
    Ok(Driven::Advanced)
}

/// The competition's status that goes with a duel's state.
#[must_use]
pub fn status_of(duel: &Duel) -> CompetitionStatus {
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
            Entry::Started { .. } | Entry::Ended { .. } => {}
        }
    }
}
