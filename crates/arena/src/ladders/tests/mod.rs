//! The jobs of ladders on a store in memory.

mod pairing;
mod rating;

use super::recompute::{Comparison, RecomputeError, recompute};
use super::{rater, standard};
use crate::driver::{Driven, Driver};
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
use engine::matches::slots::SlotUsage;
use engine::matches::spec::{MatchSpec, SeatSpec};
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
use store::testing::{DamageRows, MemoryDatabase};
use store::{Store, StoreConfig};

const OWNER: AccountId = AccountId(1);
const LADDER: CompetitionId = CompetitionId(2);
const WORKER: WorkerId = WorkerId(3);

struct Fixture {
    database: MemoryDatabase,
    store: Store,
    environment: ProductionEnvironment,
    metrics: Arc<Metrics>,
    matches: AtomicU64,
    claims: AtomicU64,
}

impl Fixture {
    /// With a ladder of two whose season ends then, and three bots on it.
    async fn new(due_at: Option<UnixMs>) -> Self {
        let metrics = Arc::new(Metrics::default());
        let database = MemoryDatabase::new();
        let store = Store::open(Arc::new(database.clone()), StoreConfig { readers: 1 }, metrics.clone()).unwrap();
        let node = Node::new(store.clone(), Clock::default(), "127.0.0.1:1");
        let environment = ProductionEnvironment::new(node, metrics.clone(), || {}, |_| {});
        let fixture =
            Self { database, store, environment, metrics, matches: AtomicU64::new(0), claims: AtomicU64::new(0) };
        let account = Account { id: OWNER, name: "owner".to_owned(), created_at: UnixMs(0) };
        assert_eq!(fixture.commit(Command::EnsureAccount(account)).await, Outcome::Account(OWNER));
        fixture.create_ladder(LADDER, due_at).await;
        for n in 1..=3 {
            fixture.enter(n).await;
        }
        fixture
    }

    /// A ladder of two whose season ends then.
    async fn create_ladder(&self, id: CompetitionId, due_at: Option<UnixMs>) {
        let season = due_at.map(|_| Duration::from_secs(24 * 3_600));
        let definition = LadderDefinition { players: 2, season, ..LadderDefinition::standard() };
        let (kind, name) = (CompetitionKind::Ladder, format!("ladder {id}"));
        let row = CompetitionRow::new(id, kind, OWNER, name, definition.encode(), UnixMs(0));
        // Private: bots of one account may meet.
        let row = CompetitionRow { status: CompetitionStatus::Running, is_public: false, due_at, ..row };
        let create = CompetitionCommand::Create { row, live_max: 100, idempotency: None };
        assert_eq!(self.commit(Command::Competition(create)).await, Outcome::Done);
    }

    async fn commit(&self, command: Command) -> Outcome {
        self.store.commit(command).await.unwrap()
    }

    async fn enter(&self, n: u128) {
        let (id, name, url) = (BotId(n), format!("bot {n}"), format!("http://127.0.0.1/{n}"));
        let (created_at, updated_at) = (UnixMs(0), UnixMs(0));
        let bot = Bot { id, account: OWNER, name, url, is_public: true, created_at, updated_at };
        assert_eq!(self.commit(Command::CreateBot(bot)).await, Outcome::Done);
        self.enter_ladder(LADDER, n).await;
    }

    async fn enter_ladder(&self, ladder: CompetitionId, n: u128) {
        let entry = EntryId(ladder.0 << 32 | n);
        let enter = LadderCommand::Enter { ladder, entry, bot: BotId(n), account: OWNER, now: UnixMs(0) };
        assert!(matches!(self.commit(Command::Ladder(enter)).await, Outcome::LadderEntry(_)));
    }

    async fn row(&self) -> CompetitionRow {
        self.row_of(LADDER).await
    }

    async fn row_of(&self, ladder: CompetitionId) -> CompetitionRow {
        self.store.read(move |reader| reader.competition(ladder)).await.unwrap().unwrap()
    }

    /// A match of the ladder between these bots is played to its end, the first wins; it ends at `now`.
    async fn play(&self, bots: [u128; 2], now: UnixMs) {
        self.play_on(LADDER, bots, now).await;
    }

    async fn play_on(&self, ladder: CompetitionId, bots: [u128; 2], now: UnixMs) {
        let number = self.matches.fetch_add(1, Ordering::Relaxed) + 1;
        let seat =
            |n: u128| SeatSpec { bot: BotId(n), name: format!("bot {n}"), owner: String::new(), url: String::new() };
        let origin = MatchOrigin { kind: CompetitionKind::Ladder, competition: ladder, key: number };
        let settings = LadderDefinition::standard().settings;
        let id = MatchId(number.into());
        let spec = settings.spec(id, Seed(number), Some(origin), bots.map(seat).to_vec(), true);
        let advance = Advance { matches: vec![spec], ..Advance::of(&self.row_of(ladder).await, now) };
        let created = self.commit(Command::Competition(CompetitionCommand::Advance(advance))).await;
        assert_eq!(created, Outcome::Done);
        self.finish_next(now).await;
    }

    /// The match that waits longest is played to its end, the first seat wins.
    async fn finish_next(&self, now: UnixMs) -> MatchId {
        self.finish_next_with(now, Vec::new()).await
    }

    /// The same where the bots in these seats give no move.
    async fn finish_next_with(&self, now: UnixMs, silent_seats: Vec<u8>) -> MatchId {
        let number = self.claims.fetch_add(1, Ordering::Relaxed) + 1;
        let (until, address) = (UnixMs::MAX, "127.0.0.1:1".to_owned());
        self.commit(Command::RenewLease { worker: WORKER, address, now, until }).await;
        let claim =
            Command::ClaimMatches { worker: WORKER, number, now, max: 1, slots: SlotUsage::new(1), attempts_max: 5 };
        let Outcome::MatchesClaimed(claimed) = self.commit(claim).await else { panic!("nothing waits") };
        let [ClaimedMatch { spec: MatchSpec { id, .. }, epoch, .. }] = claimed[..] else { panic!("{claimed:?}") };
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
            silent_seats,
        };
        let finish = Command::FinishMatch { append, result, archive: archive::pack(&[]), now };
        assert_eq!(self.commit(finish).await, Outcome::Done);
        id
    }

    /// Advances the ladder until nothing is left to do.
    async fn settle(&self) {
        self.settle_ladder(LADDER).await;
    }

    async fn settle_ladder(&self, ladder: CompetitionId) {
        while rater::advance(self.environment.clone(), self.row_of(ladder).await).await.unwrap() == Driven::Advanced {}
    }

    async fn entries(&self, season: u32) -> Vec<LadderEntry> {
        self.store.read(move |reader| reader.ladders().ladder_entries(LADDER, season, None, 10)).await.unwrap()
    }

    /// The record of the first bot in the season under way is another one.
    async fn damage(&self, record: EntryRecord) {
        let row = self.row().await;
        let damage = RepairRatings {
            ladder: LADDER,
            season: engine::ladders::season::current_season(&row),
            expected_results_applied: row.results_applied,
            records: vec![(BotId(1), record)],
            strangers: Vec::new(),
            games: Vec::new(),
            games_removed: Vec::new(),
            meetings: Vec::new(),
            seats: Vec::new(),
            now: UnixMs(0),
        };
        assert_eq!(self.commit(Command::Ladder(LadderCommand::Repair(Box::new(damage)))).await, Outcome::Done);
    }

    /// Wrong rows of a season.
    async fn wrong(&self, season: u32, is_written: bool) -> u64 {
        recompute(&self.store, LADDER, Some(season), is_written, UnixMs(0)).await.unwrap().wrong
    }
}
