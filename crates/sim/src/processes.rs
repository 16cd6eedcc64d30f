//! Processes of a simulation, and their faults: killed as `kill -9` does, drained, or suspended for a while.

use crate::fault_counts::FaultKind;
use crate::world::{DiskFailure, Node, ProcessConditions, SimWorld, Workload};
use engine::limits::LEASE_DURATION;
use node::drain::Drain;
use node::lease;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// Pause before a process that could not open its store is started again.
const REOPEN_DELAY: Duration = Duration::from_millis(50);
/// A drain is over in this time, whatever the store does.
const DRAIN_TIMEOUT: Duration = LEASE_DURATION.saturating_mul(6);

/// A process, for which time may stop.
pub(crate) struct Process {
    task: JoinHandle<()>,
    drain: Drain,
    conditions: Arc<ProcessConditions>,
}

impl Process {
    pub(crate) fn new(
        task: impl Future<Output = ()> + Send + 'static,
        drain: Drain,
        conditions: Arc<ProcessConditions>,
    ) -> Self {
        Self { task: tokio::spawn(task), drain, conditions }
    }

    /// As `kill -9` does: everything in memory is gone at once.
    pub(crate) async fn kill(self) {
        self.task.abort();
        propagate_panic(self.task.await);
    }

    /// As SIGTERM does.
    pub(crate) async fn drain(self) {
        self.drain.begin();
        let ended = timeout(LEASE_DURATION * 3, self.task).await.expect("a drain ends");
        propagate_panic(ended);
    }
}

/// A task may be ended by us, but not by a broken assertion.
pub(crate) fn propagate_panic(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        std::panic::resume_unwind(error.into_panic());
    }
}

/// Runs a simulation on a clock that jumps.
pub(crate) fn block_on<T>(simulation: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime without input and output can be built").block_on(simulation)
}

/// Everything that goes wrong, for as long as the world is faulty; then all is well again.
pub(crate) async fn inject_faults<S: Workload>(
    world: &Arc<SimWorld<S>>,
    nodes: &mut Vec<Process>,
    start: impl Fn() -> Process,
) {
    let of_store = [
        tokio::spawn(inject_outages(world.clone())),
        tokio::spawn(inject_stalls(world.clone())),
        tokio::spawn(inject_disk_failures(world.clone())),
    ];
    inject_process_faults(world, nodes, start).await;
    of_store.iter().for_each(JoinHandle::abort);
    world.set_store_up(true);
    world.set_stalled(false);
    world.set_disk_failure(None);
    for node in nodes {
        node.conditions.suspended.set(false);
        node.conditions.cut_off.set(false);
    }
}

/// Troubles processes while the world is faulty.
async fn inject_process_faults<S: Workload>(
    world: &SimWorld<S>,
    nodes: &mut Vec<Process>,
    start: impl Fn() -> Process,
) {
    let faults = &world.cluster().faults;
    let Some(every) = faults.process_fault_interval else { return sleep(faults.faulty_for).await };
    let kinds = if faults.has_cuts_and_clock_changes { 5 } else { 3 };
    while world.is_faulty() {
        let (pause, which, kind, away) = world.random(|dice| {
            let pause = dice.below(2 * every.as_micros() as u64);
            (Duration::from_micros(pause), dice.below(64) as usize, dice.below(kinds), dice.below(9_000))
        });
        sleep(pause).await;
        let at = which % nodes.len();
        let away = Duration::from_millis(away);
        match kind {
            0 => {
                world.record_fault(FaultKind::Killed);
                nodes.swap_remove(at).kill().await;
                sleep(away / 4).await;
                nodes.push(start());
            }
            1 => {
                world.record_fault(FaultKind::Drained);
                let leaving = nodes.swap_remove(at);
                if !world.cluster().has_exclusive_store {
                    nodes.push(start());
                }
                leaving.drain.begin();
                // A drain may meet a store that is away: it must not wait for it for ever.
                propagate_panic(timeout(DRAIN_TIMEOUT, leaving.task).await.expect("a drain ends, store or no store"));
                if world.cluster().has_exclusive_store {
                    nodes.push(start());
                }
            }
            // A store of its own is in the process itself.
            3 if !world.cluster().has_exclusive_store => {
                world.record_fault(FaultKind::CutOff);
                nodes[at].conditions.cut_off.set(true);
                sleep(away).await;
                nodes[at].conditions.cut_off.set(false);
            }
            4 => world.set_clock(&nodes[at].conditions),
            _ => {
                world.record_fault(FaultKind::Suspended);
                nodes[at].conditions.suspended.set(true);
                sleep(away).await;
                nodes[at].conditions.suspended.set(false);
            }
        }
    }
}

/// Lets the disk stall now and then while the world is faulty.
async fn inject_stalls<S: Workload>(world: Arc<SimWorld<S>>) {
    let Some(every) = world.cluster().faults.stall_interval else { return };
    while world.is_faulty() {
        let pause = world.random(|dice| dice.below(2 * every.as_micros() as u64));
        sleep(Duration::from_micros(pause)).await;
        world.record_fault(FaultKind::DiskStalled);
        world.set_stalled(true);
        sleep(world.cluster().faults.stall_for).await;
        world.set_stalled(false);
    }
}

/// Lets all commits fail now and then while the world is faulty.
async fn inject_disk_failures<S: Workload>(world: Arc<SimWorld<S>>) {
    let Some(every) = world.cluster().faults.disk_failure_interval else { return };
    while world.is_faulty() {
        let (pause, lasts, is_saved) = world.random_of_faults(|dice| {
            (dice.below(2 * every.as_micros() as u64), dice.below(8_000), dice.bool_per_mille(300))
        });
        sleep(Duration::from_micros(pause)).await;
        world.record_fault(FaultKind::DiskFailed);
        world.set_disk_failure(Some(if is_saved { DiskFailure::AfterCommit } else { DiskFailure::BeforeCommit }));
        sleep(Duration::from_millis(lasts)).await;
        world.set_disk_failure(None);
    }
}

/// Begins as a process does: what earlier ones owned is free, and nothing is served before.
pub(crate) async fn acquire_store<S: Workload>(node: &Node<S>, drain: &Drain) {
    let open = async {
        while lease::end_previous_leases(node).await.is_err() {
            sleep(REOPEN_DELAY).await;
        }
    };
    tokio::select! {
        biased;
        () = open => {}
        () = drain.begun() => {}
    }
}

/// Takes the store away now and then while the world is faulty.
async fn inject_outages<S: Workload>(world: Arc<SimWorld<S>>) {
    let Some(every) = world.cluster().faults.outage_interval else { return };
    while world.is_faulty() {
        let (pause, away) = world.random(|dice| (dice.below(2 * every.as_micros() as u64), dice.below(8_000)));
        sleep(Duration::from_micros(pause)).await;
        world.record_fault(FaultKind::StoreAway);
        world.set_store_up(false);
        sleep(Duration::from_millis(away)).await;
        world.set_store_up(true);
    }
}
