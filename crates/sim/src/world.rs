//! The made-up world that runners touch: one store for all, a clock for each process, bots, and trouble.

use crate::bots;
use crate::chance::{Dice, hash};
use crate::oracle::Oracle;
use crate::plan::Plan;
use engine::commands::{Command, Outcome};
use engine::ids::MatchId;
use engine::matches::entry::Face;
use engine::matches::spec::MatchSpec;
use engine::rows::{LogPage, LogRow};
use engine::time::UnixMs;
use server::lease::Tenant;
use server::metrics::Metrics;
use server::runner::{Answer, Call, Outside, Path};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use store::memory::MemoryDatabase;
use store::{Backend, Database, Reader, StoreError};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

/// When the made-up time begins.
const EPOCH: UnixMs = UnixMs(1_700_000_100_000);

/// What all processes share.
pub(crate) struct World {
    pub(crate) plan: Plan,
    specs: BTreeMap<MatchId, MatchSpec>,
    began: Instant,
    state: Mutex<State>,
    is_store_up: AtomicBool,
}

struct State {
    dice: Dice,
    writer: Box<dyn Backend>,
    reader: Box<dyn Reader>,
    oracle: Oracle,
    /// A running hash of all that happened: equal seeds give equal traces.
    trace: u64,
}

impl World {
    pub(crate) fn new(plan: Plan) -> Arc<Self> {
        let database = MemoryDatabase::default();
        let open = "a store in memory opens";
        let state = State {
            dice: Dice::new(plan.seed ^ 0xd1ce),
            writer: database.writer().expect(open),
            reader: database.reader().expect(open),
            oracle: Oracle::default(),
            trace: 0,
        };
        Arc::new(Self {
            specs: plan.matches.iter().map(|spec| (spec.id, spec.clone())).collect(),
            plan,
            began: Instant::now(),
            state: Mutex::new(state),
            is_store_up: AtomicBool::new(true),
        })
    }

    /// The store's own time.
    pub(crate) fn now(&self) -> UnixMs {
        EPOCH.after(self.began.elapsed())
    }

    /// Takes the store away, or brings it back.
    pub(crate) fn set_store_up(&self, is_up: bool) {
        self.is_store_up.store(is_up, Ordering::SeqCst);
    }

    pub(crate) fn is_faulty(&self) -> bool {
        self.began.elapsed() < self.plan.faulty_for
    }

    pub(crate) fn roll<T>(&self, roll: impl FnOnce(&mut Dice) -> T) -> T {
        roll(&mut self.lock().dice)
    }

    /// Commits at once, without faults: for setting up.
    pub(crate) fn commit(&self, command: &Command) -> Outcome {
        let mut state = self.lock();
        let outcomes = state.writer.commit(std::slice::from_ref(command)).expect("a store in memory commits");
        let outcome = outcomes.into_iter().next().expect("one command has one outcome");
        state.oracle.committed(command, &outcome);
        let elapsed_ms = self.began.elapsed().as_millis();
        let line = format!("{elapsed_ms} {command:?} {outcome:?}");
        state.trace = hash(line.as_bytes()) ^ state.trace.rotate_left(1);
        outcome
    }

    pub(crate) fn read<T>(&self, query: impl FnOnce(&mut dyn Reader) -> Result<T, StoreError>) -> T {
        query(self.lock().reader.as_mut()).expect("a store in memory reads")
    }

    pub(crate) fn page(&self, id: MatchId) -> LogPage {
        self.read(|reader| reader.log(id, 0, usize::MAX)).expect("a planned match exists")
    }

    pub(crate) fn oracle<T>(&self, ask: impl FnOnce(&mut Oracle) -> T) -> T {
        ask(&mut self.lock().oracle)
    }

    pub(crate) fn trace(&self) -> u64 {
        self.lock().trace
    }

    /// A broken assertion poisons the lock; the first one is the one to report.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a process gets no time: it was stopped, or its machine sleeps. Whoever waits is woken in the order of waiting
/// (tokio's `watch` wakes in random order, and one seed must be one story).
#[derive(Default)]
pub(crate) struct Freeze {
    is_frozen: AtomicBool,
    thaw: Notify,
}

impl Freeze {
    pub(crate) fn set(&self, is_frozen: bool) {
        self.is_frozen.store(is_frozen, Ordering::SeqCst);
        if !is_frozen {
            self.thaw.notify_waiters();
        }
    }

    async fn thawed(&self) {
        while self.is_frozen.load(Ordering::SeqCst) {
            self.thaw.notified().await;
        }
    }
}

/// One process in the world.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) world: Arc<World>,
    skew_ms: i64,
    freeze: Arc<Freeze>,
    metrics: Arc<Metrics>,
}

impl Node {
    pub(crate) fn new(world: Arc<World>, freeze: Arc<Freeze>) -> Self {
        let max = world.plan.skew_ms_max;
        let skew_ms = world.roll(|dice| dice.below(2 * max + 1)) as i64 - max as i64;
        Self { world, skew_ms, freeze, metrics: Arc::default() }
    }

    async fn thawed(&self) {
        self.freeze.thawed().await;
    }

    async fn lag(&self, most_us: u64) {
        let lag = self.world.roll(|dice| dice.below(most_us));
        sleep(Duration::from_micros(lag)).await;
        self.thawed().await;
    }

    async fn reach_store(&self) -> Result<(), StoreError> {
        self.lag(3_000).await;
        if self.world.is_store_up.load(Ordering::SeqCst) { Ok(()) } else { Err(unavailable("the store is away")) }
    }
}

fn unavailable(why: &str) -> StoreError {
    StoreError::Unavailable { why: why.to_owned() }
}

/// What befalls a command on its way.
enum Fate {
    Arrives,
    IsLost,
    ArrivesUnheard,
    ArrivesLate(Duration),
}

impl Node {
    fn fate(&self) -> Fate {
        if !self.world.is_faulty() {
            return Fate::Arrives;
        }
        let plan = &self.world.plan;
        let spread = plan.delay_max.saturating_sub(plan.delay_min).as_micros() as u64;
        self.world.roll(|dice| {
            if dice.strikes(plan.commit_lost_per_mille) {
                Fate::IsLost
            } else if dice.strikes(plan.commit_unsure_per_mille) {
                Fate::ArrivesUnheard
            } else if dice.strikes(plan.commit_delayed_per_mille) {
                Fate::ArrivesLate(plan.delay_min + Duration::from_micros(dice.below(spread)))
            } else {
                Fate::Arrives
            }
        })
    }
}

impl Tenant for Node {
    fn now(&self) -> UnixMs {
        UnixMs(self.world.now().0 + self.skew_ms)
    }

    fn random(&self) -> [u8; 10] {
        let mut random = [0; 10];
        random[..8].copy_from_slice(&self.world.roll(Dice::next).to_be_bytes());
        random
    }

    fn address(&self) -> String {
        "node.example:4000".to_owned()
    }

    async fn commit(&self, command: Command) -> Result<Outcome, StoreError> {
        self.reach_store().await?;
        let outcome = match self.fate() {
            Fate::IsLost => return Err(unavailable("lost on the way there")),
            Fate::ArrivesUnheard => {
                self.world.commit(&command);
                return Err(unavailable("lost on the way back"));
            }
            Fate::ArrivesLate(delay) => {
                // On its own way now: it arrives even if its sender dies.
                let (world, command) = (self.world.clone(), command.clone());
                let arrival = async move {
                    sleep(delay).await;
                    world.commit(&command)
                };
                tokio::spawn(arrival).await.map_err(|_| unavailable("lost on the way back"))?
            }
            Fate::Arrives => self.world.commit(&command),
        };
        self.lag(500).await;
        self.world.oracle(|oracle| oracle.acknowledged(&command, &outcome));
        Ok(outcome)
    }
}

impl Outside for Node {
    async fn log(&self, id: MatchId) -> Result<Vec<LogRow>, StoreError> {
        self.reach_store().await?;
        Ok(self.world.page(id).rows)
    }

    async fn face(&self, url: String) -> Face {
        self.lag(20_000).await;
        bots::face(&url)
    }

    async fn call(&self, call: Call) -> Answer {
        self.thawed().await;
        let (id, turn, _) = bots::read(&call.body);
        let id: MatchId = id.parse().expect("the runner sends the match's id");
        if let Some((poisoned, from_turn)) = self.world.plan.poison {
            assert!(id != poisoned || turn < from_turn || call.path != Path::Move, "poison");
        }
        let saved = self.world.page(id);
        let spec = &self.world.specs[&id];
        self.world.oracle(|oracle| oracle.called(&call, spec, &saved));
        let (answer, latency) = bots::answer(&call);
        sleep(latency).await;
        self.thawed().await;
        answer
    }

    fn saved(&self, _id: MatchId, _version: u32) {}

    async fn queue_rung(&self) {
        std::future::pending::<()>().await;
    }

    fn metrics(&self) -> &Metrics {
        &self.metrics
    }
}
