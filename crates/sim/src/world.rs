//! The simulated world around processes: one store for all, a clock for each process, and faults. What happens in it,
//! and what must be true of it, is a [`Workload`] of its own.

use crate::cluster::ClusterPlan;
use crate::dice::{Dice, hash};
use crate::fault_counts::{FaultCounts, FaultKind};
use engine::commands::{Command, Outcome};
use engine::ids::WorkerId;
use engine::time::UnixMs;
use metrics::Metrics;
use node::lease::LeaseContext;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use store::testing::MemoryDatabase;
use store::{Backend, Database, Reader, StoreError};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

/// When the made-up time begins.
const EPOCH: UnixMs = UnixMs(1_700_000_100_000);
/// What the store says of its limit when it refuses a commit.
const COMMANDS_WAITING_MAX: usize = 4_096;

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
    /// For kinds of faults that came later: what the other dice give does not depend on them.
    fault_dice: Dice,
    faults: FaultCounts,
    disk_failure: Option<DiskFailure>,
    writer: Box<dyn Backend>,
    reader: Box<dyn Reader>,
    oracle: O,
    /// Workers that ever had a lease.
    workers: BTreeSet<WorkerId>,
    /// A running hash of all that happened: equal seeds give equal traces.
    trace: u64,
}

impl<S: Workload> SimWorld<S> {
    pub(crate) fn new(workload: S) -> Arc<Self> {
        let database = MemoryDatabase::default();
        let open = "a store in memory opens";
        let state = SimState {
            dice: Dice::new(workload.cluster().seed ^ 0xd1ce),
            fault_dice: Dice::new(workload.cluster().seed ^ 0xfa17),
            faults: FaultCounts::default(),
            disk_failure: None,
            writer: database.writer().expect(open),
            reader: database.reader().expect(open),
            oracle: S::Oracle::default(),
            workers: BTreeSet::new(),
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
        self.disk.set(is_stalled);
    }

    /// Lets all commits fail, or none.
    pub(crate) fn set_disk_failure(&self, failure: Option<DiskFailure>) {
        self.lock().disk_failure = failure;
    }

    /// Sets a process's clock to another difference.
    pub(crate) fn set_clock(&self, conditions: &ProcessConditions) {
        self.record_fault(FaultKind::ClockSet);
        let max = self.cluster().faults.skew_ms_max;
        let skew_ms = self.random_of_faults(|dice| dice.below(2 * max + 1)) as i64 - max as i64;
        conditions.skew_ms.store(skew_ms, Ordering::SeqCst);
    }

    pub(crate) fn record_fault(&self, kind: FaultKind) {
        self.lock().faults.record(kind);
    }

    /// What went wrong so far.
    pub(crate) fn faults(&self) -> FaultCounts {
        self.lock().faults
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

    pub(crate) fn random_of_faults<T>(&self, roll: impl FnOnce(&mut Dice) -> T) -> T {
        roll(&mut self.lock().fault_dice)
    }

    /// Whether a fault of this kind happens now, which it does in `per_mille` of 1,000 cases while the world is faulty.
    pub(crate) fn happens(&self, kind: FaultKind, per_mille: u64) -> bool {
        let happens = per_mille > 0 && self.is_faulty() && self.random_of_faults(|dice| dice.bool_per_mille(per_mille));
        if happens {
            self.record_fault(kind);
        }
        happens
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

    pub(crate) fn is_set(&self) -> bool {
        self.is_frozen.load(Ordering::SeqCst)
    }

    pub(crate) async fn thawed(&self) {
        while self.is_frozen.load(Ordering::SeqCst) {
            self.thaw.notified().await;
        }
    }
}

/// How all commits fail while the disk does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DiskFailure {
    BeforeCommit,
    /// They are saved, and that cannot be said.
    AfterCommit,
}

/// What happens to one process from outside.
#[derive(Default)]
pub(crate) struct ProcessConditions {
    pub(crate) suspended: Freeze,
    /// Whether its packets to the store are lost.
    pub(crate) cut_off: Freeze,
    /// How far its clock is before the store's.
    skew_ms: AtomicI64,
}

/// One process in the world.
pub(crate) struct Node<S: Workload> {
    pub(crate) world: Arc<SimWorld<S>>,
    address: String,
    conditions: Arc<ProcessConditions>,
    /// How far its clock was before the store's when it started.
    steady_skew_ms: i64,
    pub(crate) metrics: Arc<Metrics>,
}

impl<S: Workload> Clone for Node<S> {
    fn clone(&self) -> Self {
        let (world, conditions, metrics) = (self.world.clone(), self.conditions.clone(), self.metrics.clone());
        Self { world, address: self.address.clone(), conditions, steady_skew_ms: self.steady_skew_ms, metrics }
    }
}

impl<S: Workload> Node<S> {
    pub(crate) fn new(world: Arc<SimWorld<S>>, address: String, conditions: Arc<ProcessConditions>) -> Self {
        let faults = &world.cluster().faults;
        let max = faults.skew_ms_max;
        let skew_ms = world.random(|dice| dice.below(2 * max + 1)) as i64 - max as i64;
        conditions.skew_ms.store(skew_ms, Ordering::SeqCst);
        let steady_skew_ms = if faults.has_cuts_and_clock_changes { skew_ms } else { 0 };
        Self { world, address, conditions, steady_skew_ms, metrics: Arc::default() }
    }

    pub(crate) async fn thawed(&self) {
        self.conditions.suspended.thawed().await;
    }

    /// The time that is not adjusted while the process lives.
    pub(crate) fn steady_now(&self) -> UnixMs {
        UnixMs(self.world.now().0 + self.steady_skew_ms)
    }

    /// The time by which the process reads who owns something.
    pub(crate) fn read_now(&self) -> UnixMs {
        if self.world.cluster().faults.has_cuts_and_clock_changes { LeaseContext::now(self) } else { self.world.now() }
    }

    pub(crate) async fn delay(&self, most_us: u64) {
        let lag = self.world.random(|dice| dice.below(most_us));
        sleep(Duration::from_micros(lag)).await;
        self.thawed().await;
    }

    pub(crate) async fn reach_store(&self) -> Result<(), StoreError> {
        self.delay(3_000).await;
        if self.conditions.cut_off.is_set() {
            // A connection breaks, or it waits and what was sent arrives late.
            if self.world.random_of_faults(|dice| dice.bool_per_mille(500)) {
                return Err(unavailable("this process cannot reach the store"));
            }
            self.conditions.cut_off.thawed().await;
            self.thawed().await;
        }
        if self.world.is_store_up.load(Ordering::SeqCst) { Ok(()) } else { Err(unavailable("the store is away")) }
    }

    pub(crate) async fn reach_store_to_read(&self) -> Result<(), StoreError> {
        self.reach_store().await?;
        let is_lost = self.world.happens(FaultKind::ReadLost, self.world.cluster().faults.read_lost_per_mille);
        if is_lost { Err(unavailable("a read has no answer")) } else { Ok(()) }
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
        if self.world.happens(FaultKind::Overloaded, self.world.cluster().faults.overloaded_per_mille) {
            return Err(StoreError::Overloaded { waiting_max: COMMANDS_WAITING_MAX });
        }
        self.world.disk.thawed().await;
        let failure = self.world.lock().disk_failure;
        match failure {
            Some(DiskFailure::BeforeCommit) => return Err(unavailable("the disk failed")),
            Some(DiskFailure::AfterCommit) => {
                self.world.commit_all(&commands);
                return Err(unavailable("the disk failed once it was saved"));
            }
            None => {}
        }
        let outcomes = match self.fate() {
            CommandFate::Lost => {
                self.world.record_fault(FaultKind::CommitLost);
                return Err(unavailable("lost on the way there"));
            }
            CommandFate::SavedUnreported => {
                self.world.record_fault(FaultKind::OutcomeLost);
                self.world.commit_all(&commands);
                return Err(unavailable("lost on the way back"));
            }
            // What a process has under way at its own store ends with it.
            CommandFate::Delayed(delay) if self.world.cluster().has_exclusive_store => {
                self.world.record_fault(FaultKind::CommitLate);
                sleep(delay).await;
                self.world.commit_all(&commands)
            }
            CommandFate::Delayed(delay) => {
                self.world.record_fault(FaultKind::CommitLate);
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
        UnixMs(self.world.now().0 + self.conditions.skew_ms.load(Ordering::SeqCst))
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
