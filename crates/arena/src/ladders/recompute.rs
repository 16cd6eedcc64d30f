//! Recomputes a season from its results and compares it with what is stored; on request puts right what differs. Needs no running server.

use super::rater::BotsWithoutEntry;
use engine::commands::{Command, LadderCommand, Outcome, RepairRatings};
use engine::competitions::CompetitionRow;
use engine::ids::{BotId, CompetitionId, EntryId};
use engine::ladders::entry::{EntryRecord, Meeting, RatedGame, SeatCounts};
use engine::ladders::recompute::{Differences, Recomputation, StoredSeason, compare_games};
use engine::ladders::season::{SeasonEnd, current_season};
use engine::limits::{REPAIR_ATTEMPTS_MAX, REPAIR_ROWS_MAX};
use engine::time::UnixMs;
use store::{Reader, Store, StoreError};

/// Results that are read at a time.
const PAGE: usize = 1_000;

/// What a comparison came to.
#[derive(Clone, Debug, PartialEq)]
pub struct SeasonReport {
    pub season: u32,
    /// Results of the season that were applied.
    pub results: u64,
    /// Of these, how many rated.
    pub rated: u64,
    /// Rows that were compared: records of entries, games, meetings, seats.
    pub compared: u64,
    /// Rows that differ, are missing or must not be there.
    pub wrong: u64,
}

/// Why there is no comparison.
#[derive(Debug, thiserror::Error)]
pub enum RecomputeError {
    #[error("there is no ladder {0}: GET /api/leaderboards lists them")]
    NotFound(CompetitionId),
    #[error("ladder {ladder} has no season {season}: the one under way is {current}")]
    NoSuchSeason { ladder: CompetitionId, season: u32, current: u32 },
    #[error(
        "results of ladder {0} were rated while it was put right, each of {REPAIR_ATTEMPTS_MAX} times: try again when it is quieter"
    )]
    Busy(CompetitionId),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Compares a season, the one under way when `season` is `None`; with `is_written` puts right what differs. The report is of what was
/// found. Results may be rated meanwhile.
///
/// # Errors
/// [`RecomputeError`].
pub async fn recompute(
    store: &Store,
    ladder: CompetitionId,
    season: Option<u32>,
    is_written: bool,
    now: UnixMs,
) -> Result<SeasonReport, RecomputeError> {
    let mut comparison = store.read(move |reader| Comparison::begin(reader, ladder, season)).await??;
    let mut found = None;
    for _ in 0..REPAIR_ATTEMPTS_MAX {
        // Portion by portion, so that other readers have their turn.
        while !comparison.is_complete() {
            comparison = store.read(move |reader| comparison.add_results(reader)).await?;
        }
        // On a reader's thread, too: a large season takes a while.
        let (compared, differences) = store
            .read(move |_| {
                let differences = comparison.differences();
                Ok((comparison, differences))
            })
            .await?;
        comparison = compared;
        let report = found.get_or_insert_with(|| comparison.report(&differences)).clone();
        if !is_written || write(store, &comparison, differences, now).await? {
            return Ok(report);
        }
        comparison = store.read(move |reader| comparison.refresh(reader)).await??;
    }
    Err(RecomputeError::Busy(ladder))
}

/// Compares a season at once, and writes nothing: for a store that this process reads directly.
///
/// # Errors
/// [`RecomputeError`].
pub fn compare(
    reader: &mut dyn Reader,
    ladder: CompetitionId,
    season: Option<u32>,
) -> Result<SeasonReport, RecomputeError> {
    let mut comparison = Comparison::begin(reader, ladder, season)??;
    while !comparison.is_complete() {
        comparison = comparison.add_results(reader)?;
    }
    Ok(comparison.report(&comparison.differences()))
}

/// A season as it was stored at one moment, and what follows from its results up to that moment. Neither those results nor their games
/// change any more: they are read afterwards, whatever is rated meanwhile.
pub(super) struct Comparison {
    stored: StoredSeason,
    /// The number of the last result before the season.
    begin: u64,
    /// The number of its last result that is compared.
    last: u64,
    /// The number of the last result that was added.
    added: u64,
    recomputation: Recomputation,
    games: Differences<RatedGame>,
    games_removed: Vec<(u64, u8)>,
}

/// Rows of a season that results change again and again.
pub(super) struct RowDifferences {
    records: Differences<(BotId, EntryRecord)>,
    meetings: Differences<Meeting>,
    seats: Differences<(u8, SeatCounts)>,
}

impl Comparison {
    pub(super) fn begin(
        reader: &mut dyn Reader,
        ladder: CompetitionId,
        season: Option<u32>,
    ) -> Result<Result<Self, RecomputeError>, StoreError> {
        let Some(stored) = reader.ladders().ladder_season(ladder, season)? else {
            return Ok(Err(RecomputeError::NotFound(ladder)));
        };
        let (season, current) = (stored.season, current_season(&stored.row));
        if !(1..=current).contains(&season) {
            return Ok(Err(RecomputeError::NoSuchSeason { ladder, season, current }));
        }
        let (begin, last) = results_of_season(reader, &stored.row, season)?;
        Ok(Ok(Self {
            stored,
            begin,
            last,
            added: begin,
            recomputation: Recomputation::default(),
            games: Differences::default(),
            games_removed: Vec::new(),
        }))
    }

    pub(super) fn is_complete(&self) -> bool {
        self.added >= self.last
    }

    /// Adds the next results, and compares their games.
    pub(super) fn add_results(mut self, reader: &mut dyn Reader) -> Result<Self, StoreError> {
        let (ladder, after) = (self.stored.row.id, self.added);
        let limit = usize::try_from(self.last - after).unwrap_or(PAGE).min(PAGE);
        let results = reader.competition_results(ladder, after, limit)?;
        let Some(end) = results.last().map(|result| result.number) else {
            return Err(StoreError::Corrupt { why: format!("ladder {ladder} has no results behind {after}") });
        };
        let stored = reader.ladders().ladder_games(ladder, after, end)?;
        let (games, removed) = compare_games(&self.recomputation.apply(&results), &stored);
        self.games.compared += games.compared + removed.len() as u64;
        self.games.wrong.extend(games.wrong);
        self.games_removed.extend(removed);
        self.added = end;
        Ok(self)
    }

    pub(super) fn differences(&self) -> RowDifferences {
        let StoredSeason { records, meetings, seats, .. } = &self.stored;
        RowDifferences {
            records: self.recomputation.records(records.iter().cloned()),
            meetings: self.recomputation.meetings(meetings.iter().copied()),
            seats: self.recomputation.seats(seats),
        }
    }

    pub(super) fn report(&self, differences: &RowDifferences) -> SeasonReport {
        let RowDifferences { records, meetings, seats } = differences;
        let wrong_rows = records.wrong.len() + meetings.wrong.len() + seats.wrong.len();
        SeasonReport {
            season: self.stored.season,
            results: self.last - self.begin,
            rated: self.recomputation.rated(),
            compared: self.games.compared + records.compared + meetings.compared + seats.compared,
            wrong: (wrong_rows + self.games.wrong.len() + self.games_removed.len()) as u64,
        }
    }

    /// Takes the season as it is stored now. Results that were added stay so: only those that were rated since are left to add.
    pub(super) fn refresh(mut self, reader: &mut dyn Reader) -> Result<Result<Self, RecomputeError>, StoreError> {
        let (ladder, season) = (self.stored.row.id, self.stored.season);
        let Some(stored) = reader.ladders().ladder_season(ladder, Some(season))? else {
            return Ok(Err(RecomputeError::NotFound(ladder)));
        };
        (_, self.last) = results_of_season(reader, &stored.row, season)?;
        self.stored = stored;
        Ok(Ok(self))
    }
}

/// Behind which result a season begins, and with which it ends so far.
///
/// # Errors
/// The store's.
pub fn results_of_season(reader: &mut dyn Reader, row: &CompetitionRow, season: u32) -> Result<(u64, u64), StoreError> {
    let mut end_of = |season: u32| -> Result<Option<u64>, StoreError> {
        let Some(version) = season.checked_sub(1) else { return Ok(Some(0)) };
        let Some(bytes) = reader.competition_log(row.id, version, 1)?.pop() else { return Ok(None) };
        let end = SeasonEnd::decode(&bytes)
            .map_err(|error| StoreError::Corrupt { why: format!("the log of ladder {}: {error}", row.id) })?;
        // Games that were under way when the ladder ended still count for its last season.
        Ok((!end.is_last).then_some(end.last_result))
    };
    let after = end_of(season.saturating_sub(1))?.unwrap_or_default();
    Ok((after, end_of(season)?.unwrap_or(row.results_applied)))
}

/// Writes what differs, in portions; whether all of it was written. Each row is written as it must be, so that a repetition after a
/// death in between does no harm.
async fn write(
    store: &Store,
    comparison: &Comparison,
    differences: RowDifferences,
    now: UnixMs,
) -> Result<bool, StoreError> {
    let Comparison { stored: StoredSeason { row, season, .. }, games, games_removed, .. } = comparison;
    let (ladder, season) = (row.id, *season);
    let RowDifferences { records, meetings, seats } = differences;
    let empty = RepairRatings {
        ladder,
        season,
        expected_results_applied: row.results_applied,
        records: Vec::new(),
        strangers: Vec::new(),
        games: Vec::new(),
        games_removed: Vec::new(),
        meetings: Vec::new(),
        seats: Vec::new(),
        now,
    };
    let mut repairs = Vec::new();
    for records in records.wrong.chunks(REPAIR_ROWS_MAX) {
        let bots: Vec<BotId> = records.iter().map(|(bot, _)| *bot).collect();
        let strangers = store.read(move |reader| BotsWithoutEntry::read(reader, ladder, season, &bots)).await?;
        // The id of an entry that is made again follows from its bot.
        let strangers = strangers.entrants(|bot| EntryId(bot.0));
        repairs.push(RepairRatings { records: records.to_vec(), strangers, ..empty.clone() });
    }
    for games in games.wrong.chunks(REPAIR_ROWS_MAX) {
        repairs.push(RepairRatings { games: games.to_vec(), ..empty.clone() });
    }
    for removed in games_removed.chunks(REPAIR_ROWS_MAX) {
        repairs.push(RepairRatings { games_removed: removed.to_vec(), ..empty.clone() });
    }
    for meetings in meetings.wrong.chunks(REPAIR_ROWS_MAX) {
        repairs.push(RepairRatings { meetings: meetings.to_vec(), ..empty.clone() });
    }
    if !seats.wrong.is_empty() {
        repairs.push(RepairRatings { seats: seats.wrong, ..empty.clone() });
    }
    for repair in repairs {
        let command = Command::Ladder(LadderCommand::Repair(Box::new(repair)));
        if store.commit(command).await? != Outcome::Done {
            return Ok(false);
        }
    }
    Ok(true)
}
