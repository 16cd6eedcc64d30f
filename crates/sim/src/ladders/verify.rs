//! What must be true of the stored ladders: while they play, and once all is over.

use super::oracle::LadderWorkload;
use crate::world::SimWorld;
use arena::ladders::recompute::{SeasonReport, compare};
use engine::competitions::{CompetitionResult, CompetitionRow};
use engine::ids::{BotId, CompetitionId, MatchId};
use engine::ladders::entry::RatedGame;
use engine::ladders::season::SeasonEnd;
use engine::ratings::Rating;
use std::collections::{BTreeMap, BTreeSet};
use store::{Reader, StoreError};

/// More rows than a simulated ladder has.
const ALL: usize = 100_000;

/// The counters of each ladder are those of its matches: what was created and has not ended is there, and is what was saved.
pub(super) fn check_counts(world: &SimWorld<LadderWorkload>, ids: &[CompetitionId]) {
    for id in ids {
        let (row, live) = world.read(|reader| {
            let live = reader.competition_matches(*id, true, None, ALL)?;
            Ok((reader.competition(*id)?, live.into_iter().map(|row| row.spec.id).collect::<BTreeSet<MatchId>>()))
        });
        let Some(row) = row else { continue };
        world.with_oracle(|oracle| {
            let ladder = oracle.ladders.entry(*id).or_default();
            let saved: BTreeSet<MatchId> =
                ladder.created.iter().filter(|id| !ladder.ended.contains(id)).copied().collect();
            let counted = (row.matches_created, row.results, row.results_applied);
            let have = (ladder.created.len() as u64, ladder.ended.len() as u64, ladder.applied as u64);
            oracle.violations.check(counted == have, || {
                format!("ladder {id} counts {counted:?} created, ended and applied; {have:?} were")
            });
            oracle.violations.check(live == saved && row.matches_under_way() == live.len() as u64, || {
                format!(
                    "ladder {id}: {} under way by its counters, {live:?} there, {saved:?} saved",
                    row.matches_under_way()
                )
            });
        });
    }
}

/// A ladder that is over, all of whose matches are: each result was rated once, in its order, in the season to which it belongs.
pub(super) fn check_ended(world: &SimWorld<LadderWorkload>, id: CompetitionId) -> u64 {
    let read = |reader: &mut dyn Reader| -> Result<_, StoreError> {
        let row = reader.competition(id)?.expect("it was created");
        let results = reader.competition_results(id, 0, ALL)?;
        let games = reader.ladders().ladder_games(id, 0, row.results)?;
        Ok((results, games, reader.competition_log(id, 0, ALL)?, row))
    };
    let (results, games, log, row) = world.read(read);
    let numbers: Vec<u64> = results.iter().map(|result| result.number).collect();
    assert_eq!(numbers, (1..=row.results).collect::<Vec<_>>(), "ladder {id}: results without gaps");
    let keys: BTreeSet<u64> = results.iter().map(|result| result.key).collect();
    assert!(keys.iter().copied().eq(1..=row.matches_created), "ladder {id}: each match has one result: {keys:?}");
    let ends: Vec<SeasonEnd> = log.iter().map(|bytes| SeasonEnd::decode(bytes).expect("as written")).collect();
    let seasons = split(world, &row, &results, &ends);
    check_games(id, &results, &games, &seasons);
    let report = |season: u32| -> SeasonReport {
        world.read(|reader| Ok(compare(reader, id, Some(season)).expect("a season that ended is compared")))
    };
    let reports: Vec<SeasonReport> = (1..=row.version).map(report).collect();
    for report in &reports {
        assert_eq!(report.wrong, 0, "ladder {id}: computed anew, rows differ: {report:?}");
    }
    let compared: u64 = reports.iter().map(|report| report.results).sum();
    assert_eq!(compared, row.results, "ladder {id}: the seasons have all results: {reports:?}");
    reports.iter().map(|report| report.rated).sum()
}

/// The season of each result, by the log. No result of a season came at its end or later. One that came before is in it, unless the
/// leader's clock had passed the end already: by that it ends where nothing comes.
fn split(
    world: &SimWorld<LadderWorkload>,
    row: &CompetitionRow,
    results: &[CompetitionResult],
    ends: &[SeasonEnd],
) -> Vec<u32> {
    let seasons: Vec<u32> = ends.iter().map(|end| end.season).collect();
    assert_eq!(seasons, (1..=row.version).collect::<Vec<_>>(), "ladder {}: one end for each season", row.id);
    assert!(ends.is_sorted_by_key(|end| end.last_result), "ladder {}: {ends:?}", row.id);
    let skew_ms = world.cluster().faults.skew_ms_max as i64;
    let season = |result: &CompetitionResult| -> u32 {
        let season = ends.iter().find(|end| end.is_last || result.number <= end.last_result);
        let end = season.expect("the last season has the rest");
        let is_before = end.is_last || result.ended_at < end.ended_at;
        assert!(is_before, "ladder {}: result {} came after {end:?}", row.id, result.number);
        for earlier in ends.iter().filter(|earlier| earlier.season < end.season) {
            let is_behind = result.ended_at.0 >= earlier.ended_at.0 - skew_ms;
            assert!(is_behind, "ladder {}: {result:?} belongs to the season of {earlier:?}", row.id);
        }
        end.season
    };
    results.iter().map(season).collect()
}

/// Each result that rates has one game for each of its bots, and each game begins with the rating that the bot's last one of the season
/// left.
fn check_games(id: CompetitionId, results: &[CompetitionResult], games: &[RatedGame], seasons: &[u32]) {
    let mut left = games.iter();
    let mut ratings: BTreeMap<(u32, BotId), Rating> = BTreeMap::new();
    for (result, season) in results.iter().zip(seasons).filter(|(result, _)| result.is_rated()) {
        let before = ratings.clone();
        for (seat, summary) in result.summary.seats.iter().enumerate() {
            let game = left.next().unwrap_or_else(|| panic!("ladder {id}: {result:?} was not rated"));
            let have = (game.number, usize::from(game.seat), game.bot, game.match_id, game.place);
            let want = (result.number, seat, summary.bot, result.match_id, summary.place);
            assert_eq!(have, want, "ladder {id}: rated games in the order of the results");
            let was = before.get(&(*season, game.bot)).copied().unwrap_or(Rating::START);
            assert!(game.before.is_identical(was), "ladder {id}: {game:?} does not begin with {was:?}");
            ratings.insert((*season, game.bot), game.after);
        }
    }
    assert_eq!(left.next(), None, "ladder {id}: a game that no result has");
}
