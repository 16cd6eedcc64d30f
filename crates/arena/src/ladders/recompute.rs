//! Recomputes a season from its results and compares it with what is stored; on request puts right what differs. Needs no running server.

use engine::commands::{Command, LadderCommand, Outcome, RepairRatings};
use engine::competitions::{CompetitionKind, CompetitionRow};
use engine::ids::{BotId, CompetitionId, EntryId};
use engine::ladders::entry::{EntryRecord, Meeting, RatedGame, SeatCounts};
use engine::ladders::recompute::{Differences, Recomputation, compare_games};
use engine::ladders::season::{SeasonEnd, current_season};
use engine::limits::REPAIR_ROWS_MAX;
use engine::time::UnixMs;
use store::{Reader, Store, StoreError};

/// Rows that are read at a time.
const PAGE: usize = 1_000;
/// How often a season is compared again when results were rated meanwhile.
const TRIES_MAX: usize = 5;

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
        "results of ladder {0} were rated while it was compared, each of {TRIES_MAX} times: try again when it is quieter"
    )]
    Busy(CompetitionId),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Everything that differs in one season.
struct Comparison {
    row: CompetitionRow,
    season: u32,
    report: SeasonReport,
    records: Differences<(BotId, EntryRecord)>,
    games: Vec<RatedGame>,
    games_removed: Vec<(u64, u8)>,
    meetings: Differences<Meeting>,
    seats: Differences<(u8, SeatCounts)>,
}

/// Compares a season, the one under way when `season` is `None`; with `is_written` puts right what differs. The report is of what was
/// found.
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
    for _ in 0..TRIES_MAX {
        let compared = store.read(move |reader| compare(reader, ladder, season)).await?;
        let comparison = match compared {
            Compared::NotFound => return Err(RecomputeError::NotFound(ladder)),
            Compared::NoSuchSeason { season, current } => {
                return Err(RecomputeError::NoSuchSeason { ladder, season, current });
            }
            Compared::Moved => continue,
            Compared::Season(comparison) => *comparison,
        };
        let report = comparison.report.clone();
        if report.wrong == 0 || !is_written || write(store, comparison, now).await? {
            return Ok(report);
        }
    }
    Err(RecomputeError::Busy(ladder))
}

enum Compared {
    NotFound,
    NoSuchSeason {
        season: u32,
        current: u32,
    },
    /// Results were applied meanwhile.
    Moved,
    Season(Box<Comparison>),
}

fn compare(reader: &mut dyn Reader, ladder: CompetitionId, season: Option<u32>) -> Result<Compared, StoreError> {
    let Some(row) = reader.competition(ladder)?.filter(|row| row.kind == CompetitionKind::Ladder) else {
        return Ok(Compared::NotFound);
    };
    let current = current_season(&row);
    let season = season.unwrap_or(current);
    if !(1..=current).contains(&season) {
        return Ok(Compared::NoSuchSeason { season, current });
    }
    let (after, last) = results_of(reader, &row, season)?;
    let mut comparison = Comparison {
        season,
        report: SeasonReport { season, results: last - after, rated: 0, compared: 0, wrong: 0 },
        records: Differences::default(),
        games: Vec::new(),
        games_removed: Vec::new(),
        meetings: Differences::default(),
        seats: Differences::default(),
        row,
    };
    let recomputation = compare_results(reader, &mut comparison, after, last)?;
    comparison.records = recomputation.records(stored_records(reader, ladder, season)?);
    comparison.meetings = recomputation.meetings(stored_meetings(reader, ladder, season)?);
    comparison.seats = recomputation.seats(&reader.ladders().ladder_seats(ladder, season)?);
    let Comparison { records, meetings, seats, games, games_removed, report, .. } = &mut comparison;
    report.rated = recomputation.rated();
    report.compared += records.compared + meetings.compared + seats.compared;
    let others = records.wrong.len() + meetings.wrong.len() + seats.wrong.len();
    report.wrong = (others + games.len() + games_removed.len()) as u64;
    let now = reader.competition(ladder)?;
    let is_same = now.is_some_and(|now| {
        (now.results_applied, now.version) == (comparison.row.results_applied, comparison.row.version)
    });
    Ok(if is_same { Compared::Season(Box::new(comparison)) } else { Compared::Moved })
}

/// Behind which result a season begins, and with which it ends so far.
fn results_of(reader: &mut dyn Reader, row: &CompetitionRow, season: u32) -> Result<(u64, u64), StoreError> {
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

/// Applies all results of the season, and compares their games portion by portion.
fn compare_results(
    reader: &mut dyn Reader,
    comparison: &mut Comparison,
    mut after: u64,
    last: u64,
) -> Result<Recomputation, StoreError> {
    let ladder = comparison.row.id;
    let mut recomputation = Recomputation::default();
    while after < last {
        let limit = usize::try_from(last - after).unwrap_or(PAGE).min(PAGE);
        let results = reader.competition_results(ladder, after, limit)?;
        let Some(end) = results.last().map(|result| result.number) else {
            return Err(StoreError::Corrupt { why: format!("ladder {ladder} has no results behind {after}") });
        };
        let (games, removed) =
            compare_games(&recomputation.apply(&results), &reader.ladders().ladder_games(ladder, after, end)?);
        comparison.report.compared += games.compared + removed.len() as u64;
        comparison.games.extend(games.wrong);
        comparison.games_removed.extend(removed);
        after = end;
    }
    Ok(recomputation)
}

fn stored_records(
    reader: &mut dyn Reader,
    ladder: CompetitionId,
    season: u32,
) -> Result<Vec<(BotId, EntryRecord)>, StoreError> {
    let mut records: Vec<(BotId, EntryRecord)> = Vec::new();
    loop {
        let after = records.last().map(|(bot, _)| *bot);
        let page = reader.ladders().ladder_entries(ladder, season, after, PAGE)?;
        let is_last = page.len() < PAGE;
        records.extend(page.into_iter().map(|entry| (entry.entrant.bot, entry.record)));
        if is_last {
            return Ok(records);
        }
    }
}

fn stored_meetings(reader: &mut dyn Reader, ladder: CompetitionId, season: u32) -> Result<Vec<Meeting>, StoreError> {
    let mut meetings: Vec<Meeting> = Vec::new();
    loop {
        let after = meetings.last().map(|meeting| (meeting.bot, meeting.opponent));
        let page = reader.ladders().ladder_meetings(ladder, season, after, PAGE)?;
        let is_last = page.len() < PAGE;
        meetings.extend(page);
        if is_last {
            return Ok(meetings);
        }
    }
}

/// Writes what differs, in portions; whether all of it was written. Each row is written as it must be, so that a repetition after a
/// death in between does no harm.
async fn write(store: &Store, comparison: Comparison, now: UnixMs) -> Result<bool, StoreError> {
    let Comparison { row, season, records, games, games_removed, meetings, seats, .. } = comparison;
    let empty = RepairRatings {
        ladder: row.id,
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
        let known = {
            let bots = bots.clone();
            store.read(move |reader| super::rater::Known::read(reader, row.id, season, &bots)).await?
        };
        // The id of an entry that is made again follows from its bot.
        let strangers = known.strangers(&bots, |bot| EntryId(bot.0));
        repairs.push(RepairRatings { records: records.to_vec(), strangers, ..empty.clone() });
    }
    for games in games.chunks(REPAIR_ROWS_MAX) {
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
