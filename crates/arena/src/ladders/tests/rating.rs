//! The rater: each result once, even if two processes rate; seasons; and a recomputation that finds every bit.

use super::*;
use crate::driver::AdvanceError;
use store::StoreError;

#[tokio::test]
async fn each_result_is_rated_once_even_if_two_processes_rate() {
    let fixture = Fixture::new(None).await;
    for bots in [[1, 2], [2, 3], [3, 1], [1, 2]] {
        fixture.play(bots, UnixMs(5)).await;
    }
    // Two processes think that they lead, and have read the same.
    let row = fixture.row().await;
    let first = rater::advance(fixture.environment.clone(), row.clone()).await;
    let second = rater::advance(fixture.environment.clone(), row).await;
    assert_eq!((first, second), (Ok(Driven::Advanced), Ok(Driven::Unchanged)));
    fixture.play([2, 1], UnixMs(6)).await;
    fixture.settle().await;

    let results = fixture.store.read(|reader| reader.competition_results(LADDER, 0, 10)).await.unwrap();
    let mut want = RatingChanges::default();
    results.iter().for_each(|result| want.apply(result));
    for entry in fixture.entries(1).await {
        assert!(entry.record.is_identical(&want.records[&entry.entrant.bot]), "{entry:?}");
    }
    assert_eq!(fixture.row().await.results_applied, 5);
    assert_eq!(fixture.metrics.ladders.results_rated.get(), 5);
    assert_eq!(fixture.wrong(1, false).await, 0);
}

#[tokio::test]
async fn a_game_in_which_a_bot_gave_no_move_rates_no_bot() {
    let fixture = Fixture::with_bots(3).await;
    fixture.matchmaker(1).look().await.unwrap();
    fixture.finish_next_with(UnixMs(5), vec![0]).await;
    fixture.settle().await;
    let row = fixture.row().await;
    assert_eq!((row.results, row.results_applied), (1, 1));
    let metrics = &fixture.metrics.ladders;
    assert_eq!((metrics.results_rated.get(), metrics.results_passed_over.get()), (0, 1));
    assert!(fixture.entries(1).await.iter().all(|entry| entry.record == EntryRecord::default()));
    assert_eq!(fixture.wrong(1, false).await, 0);
}

#[tokio::test]
async fn a_game_of_a_bot_that_was_deleted_is_called_off_and_rates_no_bot() {
    let fixture = Fixture::with_bots(3).await;
    fixture.matchmaker(1).look().await.unwrap();
    let [row] = &fixture.live().await[..] else { panic!("one game waits") };
    let id = row.spec.seats[0].bot;
    assert_eq!(fixture.commit(Command::DeleteBot { id, account: OWNER }).await, Outcome::Done);
    let rate = |row| rater::advance(fixture.environment.clone(), row);
    let mut driver = Driver::new(fixture.environment.clone(), CompetitionKind::Ladder, rate);
    assert_eq!(driver.pass(&|| true).await, Ok(Driven::Advanced));
    assert!(fixture.live().await.is_empty());
    let metrics = &fixture.metrics.ladders;
    assert_eq!((metrics.results_rated.get(), metrics.results_passed_over.get()), (0, 1));
}

#[tokio::test]
async fn the_results_that_wait_are_those_of_all_ladders() {
    let fixture = Fixture::new(None).await;
    let other = CompetitionId(20);
    fixture.create_ladder(other, None).await;
    for ladder in [LADDER, other, other] {
        fixture.play_on(ladder, [1, 2], UnixMs(5)).await;
    }
    let rate = |row| rater::advance(fixture.environment.clone(), row);
    let mut driver = Driver::new(fixture.environment.clone(), CompetitionKind::Ladder, rate);
    for (driven, waiting) in [(Driven::Advanced, 3), (Driven::Unchanged, 0)] {
        assert_eq!(driver.pass(&|| true).await, Ok(driven));
        assert_eq!(fixture.metrics.ladders.results_waiting.get(), waiting);
    }
}

#[tokio::test]
async fn a_bot_without_an_entry_is_rated_in_the_game_that_was_played() {
    let fixture = Fixture::new(None).await;
    fixture.play([9, 1], UnixMs(5)).await;
    fixture.settle().await;
    let entries = fixture.entries(1).await;
    let stranger = entries.iter().find(|entry| entry.entrant.bot == BotId(9)).unwrap();
    assert!(!stranger.is_active && stranger.record.games == 1 && stranger.record.rating.mu > Rating::START.mu);
    assert_eq!(fixture.wrong(1, false).await, 0);
}

#[tokio::test]
async fn a_recomputation_finds_and_mends_every_row() {
    let fixture = Fixture::new(None).await;
    for bots in [[1, 2], [2, 3], [3, 1]] {
        fixture.play(bots, UnixMs(5)).await;
    }
    fixture.settle().await;
    let mut record = fixture.entries(1).await[0].record.clone();
    record.rating.mu = f64::from_bits(record.rating.mu.to_bits() + 1);
    let damage = RepairRatings {
        ladder: LADDER,
        season: 1,
        expected_results_applied: 3,
        records: vec![(BotId(1), record), (BotId(2), EntryRecord::default())],
        strangers: Vec::new(),
        games: Vec::new(),
        games_removed: vec![(2, 0)],
        meetings: Vec::new(),
        seats: vec![(1, engine::ladders::entry::SeatCounts::default())],
        now: UnixMs(0),
    };
    let damaged = fixture.commit(Command::Ladder(LadderCommand::Repair(Box::new(damage)))).await;
    assert_eq!(damaged, Outcome::Done);
    assert_eq!(fixture.wrong(1, false).await, 4);
    assert_eq!(fixture.wrong(1, true).await, 4);
    assert_eq!(fixture.wrong(1, false).await, 0);
    let missing = recompute(&fixture.store, LADDER, Some(2), false, UnixMs(0)).await;
    assert!(matches!(missing, Err(RecomputeError::NoSuchSeason { season: 2, current: 1, .. })));
    let unknown = recompute(&fixture.store, CompetitionId(7), None, false, UnixMs(0)).await;
    assert!(matches!(unknown, Err(RecomputeError::NotFound(_))));
}

/// First the bytes of its games by seat are damaged, then its row cannot be read at all.
#[tokio::test]
async fn a_damaged_entry_holds_up_no_other_and_is_written_anew() {
    const FIRST: &str = "bot = (SELECT bot FROM ladder_entries ORDER BY bot LIMIT 1)";
    let fixture = Fixture::new(None).await;
    fixture.play([1, 2], UnixMs(5)).await;
    fixture.settle().await;
    fixture.database.rewrite(("ladder_entries", "seats", FIRST), &mut |bytes| bytes[1] ^= 8);
    for bots in [[2, 3], [3, 1]] {
        fixture.play(bots, UnixMs(6)).await;
    }
    fixture.settle().await;
    assert_eq!(fixture.row().await.results_applied, 3);
    assert_eq!(fixture.wrong(1, false).await, 1, "all but the games by seat of one entry is right");
    assert_eq!(fixture.wrong(1, true).await, 1);
    assert_eq!((fixture.wrong(1, false).await, fixture.database.check_checksums().damaged), (0, 0));

    fixture.database.run_unchecked(&format!("UPDATE ladder_entries SET games = -1 WHERE {FIRST}"));
    fixture.play([2, 3], UnixMs(7)).await;
    fixture.settle().await;
    assert_eq!(fixture.row().await.results_applied, 4, "a game without it is rated");
    fixture.play([1, 2], UnixMs(8)).await;
    let rated = rater::advance(fixture.environment.clone(), fixture.row().await).await;
    assert!(matches!(rated, Err(AdvanceError::Store(StoreError::Damaged(_)))), "{rated:?}");
    assert_eq!(fixture.wrong(1, true).await, 1);
    fixture.settle().await;
    assert_eq!((fixture.row().await.results_applied, fixture.wrong(1, false).await), (5, 0));
}

/// The rater has read the ladder, and a repair is committed before it commits.
#[tokio::test]
async fn a_repair_is_not_undone_by_a_rating_under_way() {
    let fixture = Fixture::new(None).await;
    fixture.play([1, 2], UnixMs(5)).await;
    fixture.settle().await;
    let right = fixture.entries(1).await[0].record.clone();
    fixture.damage(EntryRecord { games: 77, ..right }).await;
    fixture.play([1, 2], UnixMs(6)).await;
    let read_before = fixture.row().await;
    assert_eq!(fixture.wrong(1, true).await, 1);
    let rated = rater::advance(fixture.environment.clone(), read_before).await;
    assert_eq!(rated, Ok(Driven::Unchanged));
    fixture.settle().await;
    assert_eq!((fixture.row().await.results_applied, fixture.wrong(1, false).await), (2, 0));
}

/// Results are rated, and a season ends, while one is compared.
#[tokio::test]
async fn a_ladder_that_plays_all_the_time_is_compared() {
    let due_at = UnixMs(9_000_000_000_000);
    let fixture = Fixture::new(Some(due_at)).await;
    for bots in [[1, 2], [2, 3], [3, 1]] {
        fixture.play(bots, UnixMs(5)).await;
    }
    fixture.settle().await;
    let begin = |reader: &mut dyn store::Reader| Comparison::begin(reader, LADDER, None);
    let mut comparison = fixture.store.read(begin).await.unwrap().unwrap();
    for (bots, at) in [([1, 2], UnixMs(6)), ([2, 3], due_at)] {
        fixture.play(bots, at).await;
        fixture.settle().await;
    }
    while !comparison.is_complete() {
        comparison = fixture.store.read(|reader| comparison.add_results(reader)).await.unwrap();
    }
    let report = comparison.report(&comparison.differences());
    assert_eq!((report.season, report.results, report.wrong), (1, 3, 0));
    let comparison = fixture.store.read(|reader| comparison.refresh(reader)).await.unwrap().unwrap();
    let comparison = fixture.store.read(|reader| comparison.add_results(reader)).await.unwrap();
    let report = comparison.report(&comparison.differences());
    assert_eq!((report.season, report.results, report.wrong), (1, 4, 0));
}

#[tokio::test]
async fn a_season_ends_with_the_first_late_result() {
    let due_at = UnixMs(1_000);
    let fixture = Fixture::new(Some(due_at)).await;
    for (bots, at) in [([1, 2], 998), ([1, 2], 999), ([3, 2], 1_000), ([1, 2], 999)] {
        fixture.play(bots, UnixMs(at)).await;
    }
    fixture.settle().await;
    let row = fixture.row().await;
    assert_eq!((row.results_applied, row.version), (4, 1));
    assert!(row.due_at.is_some_and(|next| next > due_at));
    let games = |entries: &[LadderEntry]| entries.iter().map(|entry| entry.record.games).collect::<Vec<_>>();
    assert_eq!(games(&fixture.entries(1).await), [2, 2, 0]);
    assert_eq!(games(&fixture.entries(2).await), [1, 2, 1]);
    assert_eq!((fixture.wrong(1, false).await, fixture.wrong(2, false).await), (0, 0));
    assert_eq!(fixture.metrics.ladders.seasons_ended.get(), 1);
}

#[tokio::test]
async fn a_season_without_results_ends_by_its_time() {
    let fixture = Fixture::new(Some(UnixMs(1_000))).await;
    fixture.settle().await;
    assert_eq!(fixture.row().await.version, 1);
    assert_eq!(fixture.entries(2).await.len(), 3);
    assert_eq!((fixture.wrong(1, false).await, fixture.wrong(2, false).await), (0, 0));
}

#[tokio::test]
async fn the_standard_ladder_is_made_once() {
    let fixture = Fixture::new(None).await;
    standard::ensure(&fixture.environment).await;
    let made = fixture.store.read(|reader| reader.competition(STANDARD_LADDER)).await.unwrap().unwrap();
    assert_eq!((made.name.as_str(), made.status), (STANDARD_LADDER_NAME, CompetitionStatus::Running));
    assert_eq!(LadderDefinition::decode(&made.definition), Ok(LadderDefinition::standard()));
    standard::ensure(&fixture.environment).await;
    let again = fixture.store.read(|reader| reader.competition(STANDARD_LADDER)).await.unwrap();
    assert_eq!(again, Some(made));
}
