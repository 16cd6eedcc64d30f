//! The rater on a store in memory: each result once, whoever else rates; seasons; and a recomputation that finds every bit.

use super::recompute::{RecomputeError, recompute};
use super::{rater, standard};
use crate::driver::Driven;
use crate::production::ProductionEnvironment;
use engine::commands::{
    Advance, ClaimedMatch, Command, CompetitionCommand, LadderCommand, MatchAppend, Outcome, RepairRatings,
};
use engine::competitions::{CompetitionKind, CompetitionRow, CompetitionStatus, MatchOrigin};
use engine::ids::{AccountId, BotId, CompetitionId, EntryId, MatchId, WorkerId};
use engine::ladders::definition::{LadderDefinition, STANDARD_LADDER, STANDARD_LADDER_NAME};
use engine::ladders::entry::{EntryRecord, LadderEntry};
use engine::ladders::rating::RatingChanges;
use engine::matches::archive;
use engine::matches::result::MatchResult;
use engine::matches::spec::SeatSpec;
use engine::ratings::Rating;
use engine::rows::{Account, Bot};
use engine::time::UnixMs;
use metrics::Metrics;
use node::Node;
use node::clock::Clock;
use rules::chance::Seed;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use store::testing::MemoryDatabase;
use store::{Store, StoreConfig};

const OWNER: AccountId = AccountId(1);
const LADDER: CompetitionId = CompetitionId(2);
const WORKER: WorkerId = WorkerId(3);

struct Fixture {
    store: Store,
    environment: ProductionEnvironment,
    metrics: Arc<Metrics>,
    matches: AtomicU64,
}

impl Fixture {
    /// With a ladder of two whose season ends then, and three bots on it.
    async fn new(due_at: Option<UnixMs>) -> Self {
        let metrics = Arc::new(Metrics::default());
        let store = Store::open(Arc::new(MemoryDatabase::new()), StoreConfig { readers: 1 }, metrics.clone()).unwrap();
        let node = Node::new(store.clone(), Clock::default(), "127.0.0.1:1");
        let environment = ProductionEnvironment::new(node, metrics.clone(), || {});
        let fixture = Self { store, environment, metrics, matches: AtomicU64::new(0) };
        let account = Account { id: OWNER, name: "owner".to_owned(), created_at: UnixMs(0) };
        assert_eq!(fixture.commit(Command::EnsureAccount(account)).await, Outcome::Account(OWNER));
        let season = due_at.map(|_| Duration::from_secs(24 * 3_600));
        let definition = LadderDefinition { players: 2, season, ..LadderDefinition::standard() };
        let (kind, name) = (CompetitionKind::Ladder, "ladder".to_owned());
        let row = CompetitionRow::new(LADDER, kind, OWNER, name, definition.encode(), UnixMs(0));
        let row = CompetitionRow { status: CompetitionStatus::Running, due_at, ..row };
        let create = CompetitionCommand::Create { row, live_max: 1 };
        assert_eq!(fixture.commit(Command::Competition(create)).await, Outcome::Done);
        for n in 1..=3 {
            fixture.enter(n).await;
        }
        fixture
    }

    async fn commit(&self, command: Command) -> Outcome {
        self.store.commit(command).await.unwrap()
    }

    async fn enter(&self, n: u128) {
        let (id, name, url) = (BotId(n), format!("bot {n}"), format!("http://127.0.0.1/{n}"));
        let (created_at, updated_at) = (UnixMs(0), UnixMs(0));
        let bot = Bot { id, account: OWNER, name, url, is_public: true, created_at, updated_at };
        assert_eq!(self.commit(Command::CreateBot(bot)).await, Outcome::Done);
        let enter = LadderCommand::Enter { ladder: LADDER, entry: EntryId(n), bot: id, account: OWNER, now: UnixMs(0) };
        assert!(matches!(self.commit(Command::Ladder(enter)).await, Outcome::LadderEntry(_)));
    }

    async fn row(&self) -> CompetitionRow {
        self.store.read(|reader| reader.competition(LADDER)).await.unwrap().unwrap()
    }

    /// A match of the ladder between these bots is played to its end, the first wins; it ends at `now`.
    async fn play(&self, bots: [u128; 2], now: UnixMs) {
        let number = self.matches.fetch_add(1, Ordering::Relaxed) + 1;
        let seat =
            |n: u128| SeatSpec { bot: BotId(n), name: format!("bot {n}"), owner: String::new(), url: String::new() };
        let origin = MatchOrigin { kind: CompetitionKind::Ladder, competition: LADDER, key: number };
        let settings = LadderDefinition::standard().settings;
        let id = MatchId(number.into());
        let spec = settings.spec(id, Seed(number), Some(origin), bots.map(seat).to_vec(), true);
        let advance = Advance { matches: vec![spec], ..Advance::of(&self.row().await, now) };
        let created = self.commit(Command::Competition(CompetitionCommand::Advance(advance))).await;
        assert_eq!(created, Outcome::Done);
        let (until, address) = (UnixMs::MAX, "127.0.0.1:1".to_owned());
        self.commit(Command::RenewLease { worker: WORKER, address, now, until }).await;
        let claim = Command::ClaimMatches { worker: WORKER, number, now, max: 1, attempts_max: 5 };
        let Outcome::MatchesClaimed(claimed) = self.commit(claim).await else { panic!("nothing waits") };
        let [ClaimedMatch { epoch, .. }] = claimed[..] else { panic!("{claimed:?}") };
        let append = MatchAppend { id, epoch, rows: Vec::new(), expected_version: 0, started_at: Some(now) };
        let result = MatchResult {
            winner: Some(0),
            is_draw: false,
            placements: vec![1, 2],
            causes: vec![None, None],
            death_turns: Vec::new(),
            turns: 0,
            late_moves: 0,
            food_eaten: vec![4, 2],
            is_server_fault: false,
        };
        let finish = Command::FinishMatch { append, result, archive: archive::pack(&[]), now };
        assert_eq!(self.commit(finish).await, Outcome::Done);
    }

    /// Advances the ladder until nothing is left to do.
    async fn settle(&self) {
        while rater::advance(self.environment.clone(), self.row().await).await.unwrap() == Driven::Advanced {}
    }

    async fn entries(&self, season: u32) -> Vec<LadderEntry> {
        self.store.read(move |reader| reader.ladders().ladder_entries(LADDER, season, None, 10)).await.unwrap()
    }

    /// Wrong rows of a season.
    async fn wrong(&self, season: u32, is_written: bool) -> u64 {
        recompute(&self.store, LADDER, Some(season), is_written, UnixMs(0)).await.unwrap().wrong
    }
}

#[tokio::test]
async fn each_result_is_rated_once_whoever_else_rates() {
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
    assert_eq!(fixture.metrics.ladders.results_waiting.get(), 0);
    assert_eq!(fixture.wrong(1, false).await, 0);
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
