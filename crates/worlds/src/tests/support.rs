//! A store in memory that several processes share, and that holds commits back and fails on demand; and processes that can be killed.

use super::super::*;
use super::recording_sink::{PATIENCE, RecordingSink};
use engine::commands::{Command, Outcome, WorldAppend, WorldCommand};
use engine::ids::{WorkerId, WorldId};
use engine::limits::LEASE_DURATION;
use engine::rows::{Admission, WorldEntry, WorldKind, WorldLogRow, WorldRow};
use engine::time::UnixMs;
use engine::worlds::{Fact, Input, InputKind, MoverRef, Registered, Registration, ViewOptions, settings_to_bytes};
use node::drain::Drain;
use node::lease::LeaseContext;
use rules::chance::Seed;
use rules::world::{Cell, HuntSettings, Indicator, Size, Step};
use std::sync::Mutex as Lock;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize};
use std::time::{Duration, Instant};
use store::testing::MemoryDatabase;
use store::{Backend, Database, Reader};
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// How the next commit of claims fails.
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
    /// Whether one process has the store for itself.
    is_own: bool,
    began: Instant,
    /// By how much the clock was advanced, in microseconds.
    moved_us: AtomicI64,
    store: Lock<(Box<dyn Backend>, Box<dyn Reader>)>,
    faults: Lock<Vec<CommitFault>>,
    random: AtomicUsize,
    /// Whether commits of claims, of items and of worlds, and of snapshots are held back.
    held: watch::Sender<bool>,
    /// Whether the next use of the clock panics.
    is_clock_broken: AtomicBool,
    /// Whether the next lease is refused although it has not ended.
    is_renewal_refused: AtomicBool,
    pub(super) claims_requested: AtomicUsize,
    pub(super) loads: AtomicUsize,
    pub(super) leases: AtomicUsize,
    pub(super) leases_ended: AtomicUsize,
}

impl TestStore {
    fn made(is_own: bool) -> Arc<Self> {
        let database = MemoryDatabase::default();
        Arc::new(Self {
            is_own,
            began: Instant::now(),
            moved_us: AtomicI64::new(0),
            store: Lock::new((database.writer().unwrap(), database.reader().unwrap())),
            faults: Lock::default(),
            random: AtomicUsize::new(1),
            held: watch::channel(false).0,
            is_clock_broken: AtomicBool::new(false),
            is_renewal_refused: AtomicBool::new(false),
            claims_requested: AtomicUsize::new(0),
            loads: AtomicUsize::new(0),
            leases: AtomicUsize::new(0),
            leases_ended: AtomicUsize::new(0),
        })
    }

    /// A store with one world of 12 x 12 cells; with a hunt, a quarter of them have chests.
    pub(super) fn with_world(is_hunt: bool) -> Arc<Self> {
        Self::with_built_in(false, is_hunt)
    }

    /// The same for one process that has the store for itself.
    pub(super) fn own() -> Arc<Self> {
        Self::with_built_in(true, false)
    }

    /// The same with a hunt.
    pub(super) fn own_hunt() -> Arc<Self> {
        Self::with_built_in(true, true)
    }

    fn with_built_in(is_own: bool, is_hunt: bool) -> Arc<Self> {
        let store = Self::made(is_own);
        store.make(WorldId(7), name(), is_hunt, None);
        store
    }

    /// Makes a world for each of these names, numbered from 8 on.
    pub(super) fn make_passing_all<const N: usize>(&self, names: [&str; N]) -> [WorldName; N] {
        let names = names.map(|name| name.parse().unwrap());
        (8..).zip(&names).for_each(|(id, name)| self.make_passing(id, name));
        names
    }

    /// Makes a world with an end, as a player may.
    pub(super) fn make_passing(&self, id: u128, name: &WorldName) {
        self.make(WorldId(id), name.clone(), true, Some(self.now().plus(Duration::from_secs(3_600))));
    }

    fn make(&self, id: WorldId, name: WorldName, is_hunt: bool, ends_at: Option<UnixMs>) {
        let hunt = HuntSettings { chests: 36, power_ups: 0, ..HuntSettings::default() };
        let settings = rules::world::WorldSettings {
            size: Size { width: 12, height: 12 },
            tree_permille: 0,
            move_min: Duration::ZERO,
            hunt: is_hunt.then_some(hunt),
            ..rules::world::WorldSettings::default()
        };
        let row = WorldRow {
            id,
            name,
            kind: if is_hunt { WorldKind::Hunt } else { WorldKind::World },
            settings: settings_to_bytes(&settings),
            seed: Seed(3),
            creator: None,
            created_at: self.now(),
            ends_at,
            admission: Admission::Everybody,
            players_max: 0,
        };
        let made = self.commit_now(Command::World(WorldCommand::Ensure { row, members: Vec::new() }));
        assert!(matches!(made, Outcome::World(_)), "{made:?}");
    }

    pub(super) fn inject_faults(&self, faults: &[CommitFault]) {
        *self.faults.lock().unwrap() = faults.to_vec();
    }

    /// Holds commits of claims, of items and of worlds, and of snapshots back, or releases them.
    pub(super) fn hold(&self, is_held: bool) {
        self.held.send_replace(is_held);
    }

    /// Refuses the next lease, as if its owner could not have written it in time.
    pub(super) fn refuse_renewal(&self) {
        self.is_renewal_refused.store(true, Ordering::Relaxed);
    }

    /// Makes the next use of the clock panic.
    pub(super) fn break_clock(&self) {
        self.is_clock_broken.store(true, Ordering::Relaxed);
    }

    /// Moves the clock on.
    pub(super) fn pass(&self, span: Duration) {
        self.moved_us.fetch_add(span.as_micros() as i64, Ordering::Relaxed);
    }

    /// Claims the world as another worker does when its owner's lease has ended.
    pub(super) fn steal(&self) {
        let (worker, later) = (WorkerId(77), self.now().plus(LEASE_DURATION * 2));
        let lease =
            Command::RenewLease { worker, address: "c".to_owned(), now: later, until: later.plus(LEASE_DURATION) };
        assert_eq!(self.commit_now(lease), Outcome::Done);
        let claim = WorldCommand::Claim { id: WorldId(7), worker, now: later };
        assert!(matches!(self.commit_now(Command::World(claim)), Outcome::WorldClaimed(_)));
    }

    /// Replaces the stored data of the world: these rows of its log, and a snapshot that is to stand for so many of them.
    pub(super) fn damage(&self, log: &[&[u8]], snapshot: Option<(u32, &[u8])>) {
        self.steal();
        let (id, epoch) = (WorldId(7), 1);
        let rows = (0..).zip(log).map(|(version, bytes)| WorldLogRow { version, bytes: bytes.to_vec() }).collect();
        let append = WorldCommand::Append(WorldAppend { id, epoch, expected_version: 0, rows });
        let keep = snapshot.map(|(claims_version, bytes)| {
            let bytes = bytes.to_vec();
            WorldCommand::Snapshot { id, epoch, claims_version, bytes }
        });
        for command in [append].into_iter().chain(keep) {
            assert_eq!(self.commit_now(Command::World(command)), Outcome::Done);
        }
        assert_eq!(self.commit_now(Command::EndLease { worker: WorkerId(77) }), Outcome::Done);
    }

    pub(super) fn commit_now(&self, command: Command) -> Outcome {
        self.store.lock().unwrap().0.commit(&[command]).unwrap().remove(0)
    }

    /// The facts in the stored log of a world.
    pub(super) fn facts(&self, id: u128) -> Vec<Fact> {
        let log = self.store.lock().unwrap().1.world_log(WorldId(id), 0, usize::MAX).unwrap().unwrap();
        log.rows.iter().map(|row| Fact::from_bytes(&row.bytes).unwrap()).collect()
    }

    pub(super) fn hunts_unfinished(&self) -> Vec<WorldRow> {
        self.store.lock().unwrap().1.unfinished_hunts(None, 9, self.now()).unwrap()
    }

    /// How many there are, also of those in memory.
    pub(super) fn unfinished(&self) -> usize {
        let later = self.now().plus(LEASE_DURATION * 2);
        self.store.lock().unwrap().1.unfinished_hunts(None, 9, later).unwrap().len()
    }

    pub(super) fn now(&self) -> UnixMs {
        UnixMs(self.now_us() / 1_000)
    }

    pub(super) fn now_us(&self) -> i64 {
        1_700_000_000_000_000 + self.began.elapsed().as_micros() as i64 + self.moved_us.load(Ordering::Relaxed)
    }

    fn count(&self, command: &Command) {
        let counter = match command {
            Command::World(WorldCommand::Append(_)) => &self.claims_requested,
            Command::World(WorldCommand::Claim { .. }) => &self.loads,
            Command::RenewLease { .. } => &self.leases,
            Command::EndLease { .. } => &self.leases_ended,
            _ => return,
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// The effects of one process.
#[derive(Clone)]
struct TestEnvironment {
    store: Arc<TestStore>,
    address: &'static str,
}

impl LeaseContext for TestEnvironment {
    fn now(&self) -> UnixMs {
        self.store.now()
    }

    fn random_bytes(&self) -> [u8; 10] {
        let mut random = [0; 10];
        random[2..].copy_from_slice(&self.store.random.fetch_add(1, Ordering::Relaxed).to_be_bytes());
        random
    }

    fn address(&self) -> String {
        self.address.to_owned()
    }

    fn has_exclusive_store(&self) -> bool {
        self.store.is_own
    }

    async fn commit(&self, command: Command) -> Result<Outcome, StoreError> {
        self.store.count(&command);
        let is_lease = matches!(command, Command::RenewLease { .. });
        if is_lease && self.store.is_renewal_refused.swap(false, Ordering::Relaxed) {
            return Ok(Outcome::LeaseLost);
        }
        let is_held_back = |command: &WorldCommand| {
            matches!(command, WorldCommand::Append(_) | WorldCommand::Claim { .. } | WorldCommand::Snapshot { .. })
        };
        if matches!(&command, Command::World(command) if is_held_back(command)) {
            let mut held = self.store.held.subscribe();
            held.wait_for(|is_held| !is_held).await.unwrap();
        }
        if !matches!(command, Command::World(WorldCommand::Append(_))) {
            return Ok(self.store.commit_now(command));
        }
        let fault = self.store.faults.lock().unwrap().pop();
        let unavailable = || StoreError::Unavailable { why: "made to fail".to_owned() };
        match fault {
            Some(CommitFault::Lost) => return Err(unavailable()),
            Some(CommitFault::Overloaded) => return Err(StoreError::Overloaded { waiting_max: 1 }),
            Some(CommitFault::Unreported) | None => {}
        }
        let outcome = self.store.commit_now(command);
        if fault.is_some() { Err(unavailable()) } else { Ok(outcome) }
    }
}

impl WorldEnvironment for TestEnvironment {
    async fn find(&self, name: WorldName) -> Result<Option<WorldEntry>, StoreError> {
        self.store.store.lock().unwrap().1.world_named(&name, self.store.now())
    }

    fn now_us(&self) -> i64 {
        assert!(!self.store.is_clock_broken.swap(false, Ordering::Relaxed), "made to panic");
        self.store.now_us()
    }
}

/// One process.
pub(super) struct Node {
    pub(super) worlds: Worlds,
    pub(super) metrics: Arc<Metrics>,
    drain: Drain,
    task: JoinHandle<()>,
}

/// A registered player.
pub(super) struct Player {
    pub(super) sink: Arc<RecordingSink>,
    pub(super) mover: MoverHandle,
    pub(super) registered: Registered,
    pub(super) world: WorldHandle,
    pub(super) next: u32,
}

pub(super) fn name() -> WorldName {
    "plaza".parse().unwrap()
}

pub(crate) fn settings() -> WorldsConfig {
    let hour = Duration::from_secs(3_600);
    WorldsConfig {
        loaded_max: 4,
        per_address_max: 4,
        players_cells_max: 64_000_000,
        mailbox_max: 64,
        sender_threads: 2,
        snapshot_every: hour,
        silent: hour,
        idle_timeout: hour,
        drain_max: hour,
        actor_threads: 2,
    }
}

/// A player who may come back, and sees the whole world of [`TestStore::with_world`] from anywhere.
pub(super) fn viewer(at: Cell) -> Registration {
    Registration { view: Some(ViewOptions { radius_x: 12, radius_y: 12, per_s: 60 }), ..walker(at) }
}

/// A player who may come back, and sees nothing.
pub(super) fn walker(at: Cell) -> Registration {
    Registration {
        indicator: Indicator::PLAYER,
        at: Some(at),
        view: None,
        player: None,
        name: Some("ann".into()),
        is_resumable: true,
        resume: None,
    }
}

/// Polls until the condition holds.
pub(super) async fn until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "never happened: {what}");
        sleep(Duration::from_millis(1)).await;
    }
}

impl Node {
    pub(super) fn start(store: &Arc<TestStore>, address: &'static str) -> Self {
        Self::start_with(store, address, settings())
    }

    pub(super) fn start_with(store: &Arc<TestStore>, address: &'static str, settings: WorldsConfig) -> Self {
        let (metrics, drain) = (Arc::new(Metrics::default()), Drain::default());
        let worlds = Worlds::new(settings, metrics.clone());
        let touch = TestEnvironment { store: store.clone(), address };
        if store.is_own {
            assert_eq!(store.commit_now(Command::EndAllLeases), Outcome::Done);
        }
        let task = tokio::spawn(run(touch, worlds.clone(), drain.clone(), |_| {}));
        Self { worlds, metrics, drain, task }
    }

    pub(super) async fn visit(&self) -> Result<WorldHandle, VisitError> {
        self.worlds.visit(&name()).await
    }

    pub(super) async fn come(&self, registration: Registration) -> Player {
        self.come_to(&name(), registration).await
    }

    pub(super) async fn come_to(&self, world: &WorldName, registration: Registration) -> Player {
        let (world, sink) = (self.worlds.visit(world).await.unwrap(), RecordingSink::new());
        let (registered, mover) = world.register(registration, sink.clone()).await.unwrap();
        Player { sink, mover, registered, world, next: registered.next_seq }
    }

    /// Like `kill -9`, except that threads of a test cannot be killed: they are cut off from the store.
    pub(super) async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }

    pub(super) fn begin_drain(&self) {
        self.drain.begin();
    }

    pub(super) async fn stop(self) {
        self.begin_drain();
        self.task.await.unwrap();
    }
}

impl Player {
    pub(super) fn seat(&self) -> MoverRef {
        self.mover.seat()
    }

    /// Sends an input; returns its number.
    pub(super) fn want(&mut self, what: InputKind) -> u32 {
        let seq = self.next;
        self.next += 1;
        let input = Input { mover: self.seat(), seq, tag: 0, at_us: self.world.now_us(), kind: what };
        self.world.send(&mut vec![input]).unwrap();
        seq
    }

    /// Moves a step, and waits for the answer.
    pub(super) async fn step(&mut self, step: Step) -> Result<engine::worlds::Done, engine::worlds::Refusal> {
        let seq = self.want(InputKind::Step(step));
        self.sink.answer(seq).await
    }

    /// The chests that the newest picture shows.
    pub(super) async fn chests(&self) -> Vec<Cell> {
        let picture = self.world.picture().await.unwrap();
        let section = picture
            .section(engine::worlds::CellRect::whole(picture.size()), engine::worlds::Detail::Everything)
            .unwrap();
        section.items.iter().map(|(cell, _)| *cell).collect()
    }
}
