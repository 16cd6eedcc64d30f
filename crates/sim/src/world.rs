//! The simulated world around processes: one store for all, a clock for each process, and faults. What happens in it,
//! and what must be true of it, is a [`Workload`] of its own.

use crate::cluster::ClusterPlan;
use crate::dice::{Dice, hash};
use engine::commands::{Command, Outcome};
use engine::ids::WorkerId;
use engine::time::UnixMs;
use metrics::Metrics;
use node::lease::LeaseContext;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use store::testing::MemoryDatabase;
use store::{Backend, Database, Reader, StoreError};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

/// When the made-up time begins.
const EPOCH: UnixMs = UnixMs(1_700_000_100_000);

/// What happens in a world.
pub(crate) trait Workload: Sized + Send + Sync + 'static {
    /// Who looks whether everything is as it must be.
    type Oracle: Oracle;
    /// Its processes, and what goes wrong.
    fn cluster(&self) -> &ClusterPlan;
}

/// What was not as it must be. A check must not panic where it fails: that is inside a task of a process, and processes survive
/// tasks that panic.
#[derive(Default)]
pub(crate) struct Violations(Vec<String>);

impl Violations {
    pub(crate) fn check(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.0.push(what());
        }
    }

    /// Fails the simulation if anything was ever broken.
    pub(crate) fn assert_none(&self) {
        assert!(self.0.is_empty(), "what must be true was not: {:#?}", self.0);
    }
}

/// An observer of every commit.
pub(crate) trait Oracle: Default + Send {
    /// A command was committed so long after the beginning, whether or not its caller gets the outcome.
    fn committed(&mut self, at: Duration, command: &Command, outcome: &Outcome);
    /// A caller received the outcome of its command.
    fn acknowledged(&mut self, command: &Command, outcome: &Outcome);
}

/// What all processes share.
pub(crate) struct SimWorld<S: Workload> {
    pub(crate) workload: S,
    began: Instant,
    state: Mutex<SimState<S::Oracle>>,
    is_store_up: AtomicBool,
    /// Where commits get no time while the disk stalls.
    disk: Freeze,
}

struct SimState<O> {
    dice: Dice,
    writer: Box<dyn Backend>,
    reader: Box<dyn Reader>,
    oracle: O,
    /// Workers that ever had a lease.
    workers: BTreeSet<WorkerId>,
    stalls: u32,
    /// A running hash of all that happened: equal seeds give equal traces.
    trace: u64,
}

impl<S: Workload> SimWorld<S> {
    pub(crate) fn new(workload: S) -> Arc<Self> {
        let database = MemoryDatabase::default();
        let open = "a store in memory opens";
        let state = SimState {
            dice: Dice::new(workload.cluster().seed ^ 0xd1ce),
            writer: database.writer().expect(open),
            reader: database.reader().expect(open),
            oracle: S::Oracle::default(),
            workers: BTreeSet::new(),
            stalls: 0,
            trace: 0,
        };
        Arc::new(Self {
            workload,
            began: Instant::now(),
            state: Mutex::new(state),
            is_store_up: AtomicBool::new(true),
            disk: Freeze::default(),
        })
    }

    pub(crate) fn cluster(&self) -> &ClusterPlan {
        self.workload.cluster()
    }

    /// The store's own time.
    pub(crate) fn now(&self) -> UnixMs {
        EPOCH.plus(self.elapsed())
    }

    /// Since the beginning.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Takes the store away, or brings it back.
    pub(crate) fn set_store_up(&self, is_up: bool) {
        self.is_store_up.store(is_up, Ordering::SeqCst);
    }

    /// Stalls the disk, or resumes it.
    pub(crate) fn set_stalled(&self, is_stalled: bool) {
        self.lock().stalls += u32::from(is_stalled);
        self.disk.set(is_stalled);
    }

    /// How often the disk stalled.
    pub(crate) fn stalls(&self) -> u32 {
        self.lock().stalls
    }

    /// Workers so far: each had a lease.
    pub(crate) fn worker_count(&self) -> usize {
        self.lock().workers.len()
    }

    pub(crate) fn is_faulty(&self) -> bool {
        self.elapsed() < self.cluster().faults.faulty_for
    }

    pub(crate) fn random<T>(&self, roll: impl FnOnce(&mut Dice) -> T) -> T {
        roll(&mut self.lock().dice)
    }

    /// Commits one command at once, without faults: for setting up.
    pub(crate) fn commit(&self, command: &Command) -> Outcome {
        self.commit_all(std::slice::from_ref(command)).remove(0)
    }

    /// Commits at once, without faults.
    pub(crate) fn commit_all(&self, commands: &[Command]) -> Vec<Outcome> {
        let mut state = self.lock();
        let outcomes = state.writer.commit(commands).expect("a store in memory commits");
        assert_eq!(outcomes.len(), commands.len(), "one command has one outcome");
        let elapsed = self.elapsed();
        for (command, outcome) in commands.iter().zip(&outcomes) {
            state.oracle.committed(elapsed, command, outcome);
            if let (Command::RenewLease { worker, .. }, Outcome::Done) = (command, outcome) {
                state.workers.insert(*worker);
            }
            let line = format!("{} {command:?} {outcome:?}", elapsed.as_millis());
            state.trace = hash(line.as_bytes()) ^ state.trace.rotate_left(1);
        }
        outcomes
    }

    pub(crate) fn read<T>(&self, query: impl FnOnce(&mut dyn Reader) -> Result<T, StoreError>) -> T {
        query(self.lock().reader.as_mut()).expect("a store in memory reads")
    }

    pub(crate) fn with_oracle<T>(&self, read: impl FnOnce(&mut S::Oracle) -> T) -> T {
        read(&mut self.lock().oracle)
    }

    pub(crate) fn trace(&self) -> u64 {
        self.lock().trace
    }

    /// A broken assertion poisons the lock; the first one is the one to report.
    fn lock(&self) -> MutexGuard<'_, SimState<S::Oracle>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a process is suspended: it was stopped, or its machine sleeps; or a disk. Waiters are woken in the order of
/// waiting (tokio's `watch` wakes in random order, and one seed must give one run).
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

    pub(crate) async fn thawed(&self) {
        while self.is_frozen.load(Ordering::SeqCst) {
            self.thaw.notified().await;
        }
    }
}

/// One process in the world.
pub(crate) struct Node<S: Workload> {
    pub(crate) world: Arc<SimWorld<S>>,
    address: String,
    skew_ms: i64,
    freeze: Arc<Freeze>,
    pub(crate) metrics: Arc<Metrics>,
}

impl<S: Workload> Clone for Node<S> {
    fn clone(&self) -> Self {
        let (world, freeze, metrics) = (self.world.clone(), self.freeze.clone(), self.metrics.clone());
        Self { world, address: self.address.clone(), skew_ms: self.skew_ms, freeze, metrics }
    }
}

impl<S: Workload> Node<S> {
    pub(crate) fn new(world: Arc<SimWorld<S>>, address: String, freeze: Arc<Freeze>) -> Self {
        let max = world.cluster().faults.skew_ms_max;
        let skew_ms = world.random(|dice| dice.below(2 * max + 1)) as i64 - max as i64;
        Self { world, address, skew_ms, freeze, metrics: Arc::default() }
    }

    pub(crate) async fn thawed(&self) {
        self.freeze.thawed().await;
    }

    pub(crate) async fn delay(&self, most_us: u64) {
        let lag = self.world.random(|dice| dice.below(most_us));
        sleep(Duration::from_micros(lag)).await;
        self.thawed().await;
    }

    pub(crate) async fn reach_store(&self) -> Result<(), StoreError> {
        self.delay(3_000).await;
        if self.world.is_store_up.load(Ordering::SeqCst) { Ok(()) } else { Err(unavailable("the store is away")) }
    }
}

fn unavailable(why: &str) -> StoreError {
    StoreError::Unavailable { why: why.to_owned() }
}

/// What befalls a command on its way.
enum CommandFate {
    Delivered,
    Lost,
    SavedUnreported,
    Delayed(Duration),
}

impl<S: Workload> Node<S> {
    fn fate(&self) -> CommandFate {
        if !self.world.is_faulty() {
            return CommandFate::Delivered;
        }
        let faults = &self.world.cluster().faults;
        let spread = faults.delay_max.saturating_sub(faults.delay_min).as_micros() as u64;
        self.world.random(|dice| {
            if dice.bool_per_mille(faults.commit_lost_per_mille) {
                CommandFate::Lost
            } else if dice.bool_per_mille(faults.commit_unknown_per_mille) {
                CommandFate::SavedUnreported
            } else if dice.bool_per_mille(faults.commit_delayed_per_mille) {
                CommandFate::Delayed(faults.delay_min + Duration::from_micros(dice.below(spread)))
            } else {
                CommandFate::Delivered
            }
        })
    }

    /// Commits as a process does: over a way on which things get lost and late.
    pub(crate) async fn commit_through_faults(&self, commands: Vec<Command>) -> Result<Vec<Outcome>, StoreError> {
        self.reach_store().await?;
        self.world.disk.thawed().await;
        let outcomes = match self.fate() {
            CommandFate::Lost => return Err(unavailable("lost on the way there")),
            CommandFate::SavedUnreported => {
                self.world.commit_all(&commands);
                return Err(unavailable("lost on the way back"));
            }
            // What a process has under way at its own store ends with it.
            CommandFate::Delayed(delay) if self.world.cluster().has_exclusive_store => {
                sleep(delay).await;
                self.world.commit_all(&commands)
            }
            CommandFate::Delayed(delay) => {
                // On its own way now: it arrives even if its sender dies.
                let (world, commands) = (self.world.clone(), commands.clone());
                let arrival = async move {
                    sleep(delay).await;
                    world.commit_all(&commands)
                };
                tokio::spawn(arrival).await.map_err(|_| unavailable("lost on the way back"))?
            }
            CommandFate::Delivered => self.world.commit_all(&commands),
        };
        self.delay(500).await;
        for (command, outcome) in commands.iter().zip(&outcomes) {
            self.world.with_oracle(|oracle| oracle.acknowledged(command, outcome));
        }
        Ok(outcomes)
    }
}

impl<S: Workload> LeaseContext for Node<S> {
    fn now(&self) -> UnixMs {
        UnixMs(self.world.now().0 + self.skew_ms)
    }

    fn random_bytes(&self) -> [u8; 10] {
        self.world.random(|dice| dice.id_bytes(0))
    }

    fn address(&self) -> String {
        self.address.clone()
    }

    fn has_exclusive_store(&self) -> bool {
        self.world.cluster().has_exclusive_store
    }

    async fn commit(&self, command: Command) -> Result<Outcome, StoreError> {
        Ok(self.commit_through_faults(vec![command]).await?.remove(0))
    }
}
