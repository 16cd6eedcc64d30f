//! Rates the results of ladders in their order, and ends seasons. One commit moves a ladder over results and has everything that they
//! change: a result counts once, whatever dies. Who else rates at the same time is told so by the store and reads again.

use crate::driver::{AdvanceError, Driven};
use crate::environment::ArenaEnvironment;
use crate::step::check_saved;
use engine::commands::{Advance, Command, LadderCommand, RateResults};
use engine::competitions::{CompetitionResult, CompetitionRow, CompetitionStatus};
use engine::ids::{BotId, CompetitionId, EntryId};
use engine::ladders::definition::LadderDefinition;
use engine::ladders::entry::{Entrant, EntryRecord, LadderEntry};
use engine::ladders::rating::RatingChanges;
use engine::ladders::season::{SeasonEnd, current_season, results_within};
use engine::limits::RATED_AT_ONCE_MAX;
use engine::rows::Bot;
use engine::time::UnixMs;
use std::collections::BTreeMap;
use std::time::Duration;
use store::{Damage, Reader, StoreError, StoredKind};

/// Applies the next results of a ladder, or ends its season when that is over.
pub(super) async fn advance<E: ArenaEnvironment>(environment: E, row: CompetitionRow) -> Result<Driven, AdvanceError> {
    let (id, after, now) = (row.id, row.results_applied, environment.now());
    let results = environment.read(move |reader| reader.competition_results(id, after, RATED_AT_ONCE_MAX)).await?;
    let within = results_within(&results, row.due_at);
    let is_over = row.status == CompetitionStatus::Running && row.due_at.is_some_and(|due_at| due_at <= now);
    if within > 0 {
        rate(&environment, &row, &results[..within], now).await
    } else if is_over || !results.is_empty() {
        end_season(&environment, &row, now).await
    } else {
        Ok(Driven::Unchanged)
    }
}

async fn rate<E: ArenaEnvironment>(
    environment: &E,
    row: &CompetitionRow,
    results: &[CompetitionResult],
    now: UnixMs,
) -> Result<Driven, AdvanceError> {
    let (id, season) = (row.id, current_season(row));
    let bots: Vec<BotId> = RatingChanges::bots_of(results).into_iter().collect();
    let (records, strangers) = environment.read(move |reader| known_records(reader, id, season, &bots)).await?;
    let strangers = strangers.entrants(|_| EntryId::new(now, environment.random_bytes()));
    let mut changes = RatingChanges::from_records(records);
    results.iter().for_each(|result| changes.apply(result));
    let rated = changes.rated;

    let results_applied = results.last().map_or(row.results_applied, |last| last.number);
    let advance = Advance { results_applied, ..Advance::of(row, now) };
    let command = LadderCommand::Rate(Box::new(RateResults { advance, season, changes, strangers }));
    if let Err(error) = check_saved(environment.commit(Command::Ladder(command)).await?) {
        return error.into_driven();
    }
    let metrics = &environment.metrics().ladders;
    metrics.results_rated.add(rated);
    metrics.results_passed_over.add(results.len() as u64 - rated);
    let committed_at = environment.now();
    for result in results {
        let lag_ms = u64::try_from(committed_at.0.saturating_sub(result.ended_at.0)).unwrap_or_default();
        metrics.rating_lag.observe(Duration::from_millis(lag_ms));
    }
    Ok(Driven::Advanced)
}

/// Ends the season behind the last result that was applied.
async fn end_season<E: ArenaEnvironment>(
    environment: &E,
    row: &CompetitionRow,
    now: UnixMs,
) -> Result<Driven, AdvanceError> {
    let definition = LadderDefinition::decode(&row.definition)
        .map_err(|error| StoreError::Corrupt { why: format!("the definition of ladder {}: {error}", row.id) })?;
    let due_at = row.due_at.unwrap_or(now);
    let season = current_season(row);
    let end = SeasonEnd { season, last_result: row.results_applied, ended_at: due_at, is_last: false };
    let next = definition.next_season_end(due_at, now);
    let advance = Advance { entries: vec![end.encode()], due_at: next, ..Advance::of(row, now) };
    if let Err(error) = check_saved(environment.commit(Command::Ladder(LadderCommand::EndSeason(advance))).await?) {
        return error.into_driven();
    }
    environment.metrics().ladders.seasons_ended.inc();
    tracing::info!(ladder.id = %row.id, season, last_result = end.last_result, "a season of a ladder ended");
    Ok(Driven::Advanced)
}

/// The records of these bots, and those of them that have none.
fn known_records(
    reader: &mut dyn Reader,
    ladder: CompetitionId,
    season: u32,
    bots: &[BotId],
) -> Result<(BTreeMap<BotId, EntryRecord>, BotsWithoutEntry), StoreError> {
    let read = |reader: &mut dyn Reader, bots: &[BotId]| -> Result<BTreeMap<BotId, EntryRecord>, StoreError> {
        let entries = reader.ladders().ladder_entries_of(ladder, season, bots)?;
        Ok(entries.into_iter().map(|entry| (entry.entrant.bot, entry.record)).collect())
    };
    let mut records = read(reader, bots)?;
    let missing: Vec<BotId> = bots.iter().copied().filter(|bot| !records.contains_key(bot)).collect();
    let without = BotsWithoutEntry::read(reader, ladder, season, &missing)?;
    // The others have entered since, or their entries cannot be read, and must not begin anew.
    let entered: Vec<BotId> = missing.into_iter().filter(|bot| !without.bots.contains(bot)).collect();
    if !entered.is_empty() {
        records.append(&mut read(reader, &entered)?);
    }
    match entered.iter().find(|bot| !records.contains_key(bot)) {
        Some(bot) => {
            let why =
                "no game of it is rated until `gauntlet ratings recompute --write` has written it anew".to_owned();
            Err(Damage { kind: StoredKind::LadderEntry, key: bot.to_string(), why }.into())
        }
        None => Ok((records, without)),
    }
}

/// Bots that played without an entry: of each the entry of the season before, or the bot itself, as far as there is any.
pub(super) struct BotsWithoutEntry {
    bots: Vec<BotId>,
    earlier: Vec<LadderEntry>,
    known: Vec<Bot>,
}

impl BotsWithoutEntry {
    /// Those of these bots that have no entry, be it one that cannot be read.
    pub(super) fn read(
        reader: &mut dyn Reader,
        ladder: CompetitionId,
        season: u32,
        bots: &[BotId],
    ) -> Result<Self, StoreError> {
        let entered = reader.ladders().ladder_bots_of(ladder, season, bots)?;
        let bots: Vec<BotId> = bots.iter().copied().filter(|bot| !entered.contains(bot)).collect();
        let earlier = reader.ladders().ladder_entries_of(ladder, season.saturating_sub(1), &bots)?;
        let known = reader.bots_by_id(&bots)?;
        Ok(Self { bots, earlier, known })
    }

    /// What their entries begin with.
    pub(super) fn entrants(&self, new_id: impl Fn(BotId) -> EntryId) -> Vec<Entrant> {
        let entrant = |bot: BotId| {
            if let Some(earlier) = self.earlier.iter().find(|entry| entry.entrant.bot == bot) {
                return earlier.entrant.clone();
            }
            let known = self.known.iter().find(|known| known.id == bot);
            let name = known.map_or_else(String::new, |known| known.name.clone());
            Entrant { entry: new_id(bot), bot, account: known.map(|known| known.account), name }
        };
        self.bots.iter().copied().map(entrant).collect()
    }
}
