//! Runs a trial that is ready for its first arrival: the load, its work, the sampler and the process supervisor
//! concurrently, until the load and its work are over or something ends them. Does not evaluate the results.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::observers::{Observations, observe};
use super::run_context::RunContext;
use super::sampler::{Sampler, watch_silences};
use super::supervisor::fault_schedule;
use super::watched_process::{GENERATOR, ProcessScope, SERVER, WatchedProcess};
use super::{ProcessSupervisor, Trial, TrialEnd, load_scheduler};
use crate::format::round;
use crate::generator::WorkerReport;
use crate::limits::INTERRUPT_DRAIN;
use crate::measurement::timeline::{FaultRow, TimelineRow};

/// What is known of a load that is over.
pub(super) struct FinishedLoad {
    pub(super) end: TrialEnd,
    /// From the start of the plan to the end.
    pub(super) elapsed: Duration,
    pub(super) watched: Vec<WatchedProcess>,
    /// What the report must say about the sampling.
    pub(super) notes: Vec<String>,
}

/// Runs the load with everything that observes or disturbs it.
///
/// # Errors
/// A fault is on a process that the lab did not start.
pub(super) async fn run_load(
    context: &RunContext,
    reports: mpsc::UnboundedReceiver<WorkerReport>,
    trial: &mut Trial,
    supervisor: &mut ProcessSupervisor,
) -> Result<FinishedLoad, String> {
    let faults = fault_schedule(&context.scenario.faults);
    supervisor.check_faults(&faults)?;
    supervisor.begin_load();
    let ended = CancellationToken::new();
    let observations = Observations::default();
    let watched = watch_processes(context, trial.target_pid, supervisor);
    let process_list = supervisor.process_list();
    let mut sampler = Sampler::new(context, &observations, watched, trial.target_pid, process_list, &mut trial.screen);
    let mut record_fault = |row: &FaultRow| context.log.write(&TimelineRow::Fault(row.clone()));
    let load = async {
        let supervising = supervisor.supervise(context.start, &faults, &mut record_fault);
        let end = drive_load(context, reports, supervising, &trial.interrupt).await;
        ended.cancel();
        end
    };
    let ((), (), (), end) = tokio::join!(
        sampler.run(&ended),
        observe(context, &observations, &ended),
        watch_silences(context, &ended),
        load
    );
    let (watched, notes) = sampler.finish();
    let elapsed = context.start.elapsed();
    for row in supervisor.close_pending_faults(&faults, round(elapsed.as_secs_f64()), &end.reason(elapsed)) {
        context.log.write(&TimelineRow::Fault(row));
    }
    Ok(FinishedLoad { end, elapsed, watched, notes })
}

fn watch_processes(context: &RunContext, pid: Option<u32>, supervisor: &ProcessSupervisor) -> Vec<WatchedProcess> {
    let workers = context.worker_pool.pids();
    let own = WatchedProcess::new(GENERATOR, std::process::id(), ProcessScope::Single, &workers);
    let given = pid.and_then(|pid| WatchedProcess::new(SERVER, pid, ProcessScope::Descendants, &[]));
    let started = supervisor.pids().filter_map(|(name, pid)| WatchedProcess::new(name, pid, ProcessScope::Group, &[]));
    own.into_iter().chain(given).chain(started).collect()
}

/// Runs the load and its work, until both are over or something ends them. An interrupt ends the load at once, and
/// gives the work a while.
async fn drive_load(
    context: &RunContext,
    reports: mpsc::UnboundedReceiver<WorkerReport>,
    supervising: impl Future<Output = String>,
    interrupt: &CancellationToken,
) -> TrialEnd {
    let (stop_load, stop, driven) = (CancellationToken::new(), CancellationToken::new(), CancellationToken::new());
    let poller = context.status_poller();
    let polls = (0..context.scenario.work_specs.len()).map(|index| poller.run(index, &driven, &stop));
    let load = async {
        let ((), received) =
            tokio::join!(load_scheduler::run(context, &stop_load), load_scheduler::receive_reports(context, reports));
        driven.cancel();
        if received.is_err() {
            // The load has ended: work in progress is not waited for.
            stop.cancel();
        }
        received
    };
    let work = async { tokio::join!(load, join_all(polls)).0 };
    tokio::pin!(work, supervising);
    let end = tokio::select! {
        received = &mut work => return received.map_or_else(TrialEnd::ProcessExited, |()| TrialEnd::Done),
        () = interrupt.cancelled() => TrialEnd::Interrupted,
        exit = &mut supervising => TrialEnd::ProcessExited(exit),
        reason = await_bound(context) => TrialEnd::BoundReached(reason),
    };
    stop_load.cancel();
    if end == TrialEnd::Interrupted {
        // Only after the work has ended is it known whether any was lost.
        tokio::select! {
            _ = &mut work => return end,
            _ = supervising => {}
            () = tokio::time::sleep(INTERRUPT_DRAIN) => {}
        }
    }
    stop.cancel();
    let _ = work.await;
    end
}

/// Returns when the run has reached one of its bounds.
async fn await_bound(context: &RunContext) -> String {
    let bounds = context.scenario.bounds;
    let requests = async {
        let mut ticks = tokio::time::interval(Duration::from_millis(100));
        loop {
            ticks.tick().await;
            let over = context.worker_pool.gauges().done;
            if over >= bounds.requests {
                return format!("{over} requests were sent, and `bounds.requests` is {}", bounds.requests);
            }
        }
    };
    tokio::select! {
        () = tokio::time::sleep_until(context.start + bounds.duration_max) => {
            format!("it lasted {:?}, as long as `bounds.time` allows", bounds.duration_max)
        }
        reason = requests => reason,
    }
}
