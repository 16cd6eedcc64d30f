//! A store in memory that several processes share, and that fails on demand; processes that can be killed.

use super::super::*;
use engine::commands::{Command, Outcome};
use engine::ids::WorkerId;
use engine::rows::TableOwner;
use engine::tables::{Action, BotSettings, EventKind};
use engine::time::UnixMs;
use node::drain::Drain;
use node::lease::LeaseContext;
use rules::chance::Seed;
use std::sync::Mutex as Lock;
use std::sync::atomic::AtomicI64;
use std::time::Duration;
use store::testing::MemoryDatabase;
use store::{Backend, Database, Reader};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// How the next commits of tables fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommitFault {
    /// Saved, and reported as failed.
    Unreported,
    /// Not saved, and reported as failed.
    Lost,
    /// Not tried.
    Overloaded,
}

pub(super) struct TestStore {
    began: Instant,
    /// By how much the clock for dates was set, in milliseconds.
    set_ms: AtomicI64,
    store: Lock<(Box<dyn Backend>, Box<dyn Reader>)>,
    faults: Lock<Vec<CommitFault>>,
    random: AtomicUsize,
    /// Whether appends never return.
    pub(super) is_stuck: AtomicBool,
    /// Whether only leases can be written, as on a full disk.
    pub(super) is_full: AtomicBool,
    /// Whether leases cannot be written.
    pub(super) is_lease_stuck: AtomicBool,
    /// Whether one process has the store for itself.
    is_own: bool,
}

impl TestStore {
    pub(super) fn new() -> Arc<Self> {
        Self::made(false)
    }

    /// A store that one process has for itself.
    pub(super) fn own() -> Arc<Self> {
        Self::made(true)
    }

    fn made(is_own: bool) -> Arc<Self> {
        let database = MemoryDatabase::default();
        Arc::new(Self {
            began: Instant::now(),
            set_ms: AtomicI64::new(0),
            store: Lock::new((database.writer().unwrap(), database.reader().unwrap())),
            faults: Lock::default(),
            random: AtomicUsize::new(1),
            is_stuck: AtomicBool::new(false),
            is_full: AtomicBool::new(false),
            is_lease_stuck: AtomicBool::new(false),
            is_own,
        })
    }

    pub(super) fn inject_faults(&self, faults: &[CommitFault]) {
        *self.faults.lock().unwrap() = faults.to_vec();
    }

    pub(super) fn read<T>(&self, query: impl FnOnce(&mut dyn Reader) -> Result<T, StoreError>) -> T {
        query(self.store.lock().unwrap().1.as_mut()).unwrap()
    }

    fn commit(&self, commands: &[Command]) -> Vec<Outcome> {
        self.store.lock().unwrap().0.commit(commands).unwrap()
    }

    pub(super) fn commit_now(&self, command: Command) -> Outcome {
        self.commit(&[command]).remove(0)
    }

    pub(super) fn now(&self) -> UnixMs {
        UnixMs(self.steady().0 + self.set_ms.load(Ordering::Relaxed))
    }

    /// The time that is not adjusted. It begins with the date of a process that starts before the clock is set.
    fn steady(&self) -> UnixMs {
        UnixMs(1_700_000_000_000).plus(self.began.elapsed())
    }

    /// Sets the clock for dates.
    pub(super) fn set_clock(&self, by_ms: i64) {
        self.set_ms.fetch_add(by_ms, Ordering::Relaxed);
    }
}

/// The effects of one process.
#[derive(Clone)]
pub(super) struct TestEnvironment {
    world: Arc<TestStore>,
    address: &'static str,
}

impl LeaseContext for TestEnvironment {
    fn now(&self) -> UnixMs {
        self.world.now()
    }

    fn random_bytes(&self) -> [u8; 10] {
        let mut random = [0; 10];
        random[2..].copy_from_slice(&self.world.random.fetch_add(1, Ordering::Relaxed).to_be_bytes());
        random
    }

    fn address(&self) -> String {
        self.address.to_owned()
    }

    fn has_exclusive_store(&self) -> bool {
        self.world.is_own
    }

    async fn commit(&self, command: Command) -> Result<Outcome, StoreError> {
        tokio::task::yield_now().await;
        let is_lease = matches!(command, Command::RenewLease { .. } | Command::EndLease { .. });
        while is_lease && self.world.is_lease_stuck.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        if !is_lease && self.world.is_full.load(Ordering::Relaxed) {
            return Err(StoreError::Unavailable { why: "the disk is full".to_owned() });
        }
        Ok(self.world.commit(&[command]).remove(0))
    }
}

impl TableEnvironment for TestEnvironment {
    async fn commit_all(&self, commands: Vec<Command>) -> Result<Committed, StoreError> {
        tokio::task::yield_now().await;
        while self.world.is_stuck.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        if self.world.is_full.load(Ordering::Relaxed) {
            return Err(StoreError::Unavailable { why: "the disk is full".to_owned() });
        }
        let fault = self.world.faults.lock().unwrap().pop();
        let unavailable = || StoreError::Unavailable { why: "made to fail".to_owned() };
        match fault {
            Some(CommitFault::Lost) => return Err(unavailable()),
            Some(CommitFault::Overloaded) => return Err(StoreError::Overloaded { waiting_max: 1 }),
            Some(CommitFault::Unreported) | None => {}
        }
        let outcomes = self.world.commit(&commands);
        if fault.is_some() { Err(unavailable()) } else { Ok(Committed { outcomes, at_us: self.now_us() }) }
    }

    async fn owner(&self, id: TableId) -> Result<Option<TableOwner>, StoreError> {
        tokio::task::yield_now().await;
        let now = self.now();
        Ok(self.world.read(|reader| reader.table_owner(id, now)))
    }

    fn seed(&self) -> Seed {
        Seed(self.world.random.fetch_add(1, Ordering::Relaxed) as u64)
    }

    fn steady_now(&self) -> UnixMs {
        self.world.steady()
    }

    fn now_us(&self) -> i64 {
        self.world.now().0 * 1_000
    }
}

/// One process.
pub(super) struct Node {
    pub(super) tables: Tables,
    pub(super) drain: Drain,
    task: JoinHandle<()>,
    world: Arc<TestStore>,
}

pub(super) fn settings() -> TablesConfig {
    TablesConfig {
        owner_tasks: 2,
        tables_max: 100,
        tables_per_player_max: 100,
        tables_per_address_max: 100,
        waiters_max: 1_000,
        waiters_per_player_max: 8,
        waiters_per_address_max: 1_000,
        presence_grace: Duration::from_secs(15),
        unjoined_timeout: Duration::from_secs(1_800),
        claim_period: Duration::from_secs(1),
    }
}

pub(super) fn player(number: u128) -> PlayerId {
    PlayerId(number << 8 | 1)
}

pub(super) fn newcomer(number: u128) -> Newcomer {
    Newcomer { id: player(number), name: format!("player {number}").into(), standing: Default::default() }
}

impl Node {
    pub(super) async fn start(world: &Arc<TestStore>, address: &'static str) -> Self {
        Self::start_with(world, address, settings()).await
    }

    /// Returns when it serves requests.
    pub(super) async fn start_with(world: &Arc<TestStore>, address: &'static str, settings: TablesConfig) -> Self {
        Self::with(world, address, Tables::new(settings, Arc::default())).await
    }

    /// The same, with tables that were made before.
    pub(super) async fn with(world: &Arc<TestStore>, address: &'static str, tables: Tables) -> Self {
        let drain = Drain::default();
        let touch = TestEnvironment { world: world.clone(), address };
        node::lease::end_previous_leases(&touch).await.unwrap();
        let task = tokio::spawn(run(touch, tables.clone(), drain.clone()));
        while !tables.shared.is_serving.load(Ordering::Acquire) {
            tokio::task::yield_now().await;
        }
        Self { tables, drain, task, world: world.clone() }
    }

    /// Like `kill -9`.
    pub(super) async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }

    pub(super) async fn stop(self) {
        self.drain.begin();
        self.task.await.unwrap();
    }

    pub(super) fn opening(&self, opener: u128) -> NewTable {
        let touch = TestEnvironment { world: self.world.clone(), address: "" };
        NewTable {
            id: TableId::new(touch.now(), touch.random_bytes()),
            opener: newcomer(opener),
            address: None,
            is_operator: false,
            settings: engine::tables::TableSettings::default(),
            bots: BotSettings::default(),
            idempotency: None,
        }
    }

    /// Opens a table whose first storyteller is player 1.
    pub(super) async fn open(&self) -> TableId {
        let opening = self.opening(1);
        let id = opening.id;
        match self.tables.open(opening).await.unwrap() {
            OpenResult::New { .. } => id,
            OpenResult::Replayed(_) => panic!("nothing was opened before"),
        }
    }

    pub(super) async fn act(&self, table: TableId, actor: u128, action: Action) -> Result<ActionResult, TableError> {
        self.tables.act(table, None, player(actor), action).await
    }

    pub(super) async fn join(&self, table: TableId, number: u128) -> Result<ActionResult, TableError> {
        self.act(table, number, Action::Join(newcomer(number))).await
    }

    /// Chooses the first card of the storyteller's hand and tells a story.
    pub(super) async fn tell_story(&self, table: TableId) {
        let hand = self.tables.view(table, Some(player(1))).await.unwrap().view.game.unwrap().own.unwrap().hand;
        let card = hand.iter().next().unwrap();
        self.act(table, 1, Action::ChooseCard(card)).await.unwrap();
        self.act(table, 1, Action::TellStory("a story".to_owned())).await.unwrap();
    }
}

/// The kinds of events in a response, with their numbers.
pub(super) fn events(response: &FeedResponse) -> Vec<(u64, EventKind)> {
    match &response.feed {
        Feed::News(update) => update.events.iter().map(|event| (event.seq, event.kind.clone())).collect(),
        Feed::TooOld(_) => panic!("the cursor is not too old"),
    }
}

/// A new worker, for tests that use the store directly.
pub(super) fn worker(number: u128) -> WorkerId {
    WorkerId(number)
}
