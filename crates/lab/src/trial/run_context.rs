//! A trial that is ready for its first arrival: runs the worker pool, the record, the work trackers, the sampler and
//! the process supervisor concurrently until the load and its work are over. Does not evaluate the results.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::held_phase::OpeningBarrier;
use super::load_scheduler::LoadScheduler;
use super::prepare::{PreparedTrial, read_all_totals};
use super::requirements::peak_connections;
use super::sampler::{GENERATOR, SERVER, Sampler};
use super::supervisor::fault_schedule;
use super::watched_process::{ProcessScope, WatchedProcess};
use super::{PendingRun, ProcessSupervisor, ResolvedEndpoints, Trial, TrialEnd, TrialError};
use crate::aggregate::{Timeline, TotalsFigures};
use crate::clock::unix_ms_now;
use crate::findings::metric_names;
use crate::flag::{propagate_panic, wait_until_raised};
use crate::format::round;
use crate::generator::{GeneratorConfig, MonotonicTime, Segment, WorkerPool, WorkerProcessSpec, WorkerReport};
use crate::limits::{INTERRUPT_DRAIN, START_LEAD};
use crate::machine::local_ports;
use crate::measurement::timeline::{FaultRow, TimelineRow};
use crate::preflight::sources_needed;
use crate::record::hlog::Writer;
use crate::record::{JsonLinesFile, Recorder, SampleFile, TimelineLog};
use crate::report::Run;
use crate::safety::is_loopback;
use crate::scenario::Scenario;
use crate::work::{StatusPoller, Trackers, reconcile};

/// Reads of the server's totals before a difference counts: a counter may lag behind the work it counts.
const RECONCILE_ATTEMPTS: usize = 3;

/// The interval between such reads.
const RECONCILE_EVERY: Duration = Duration::from_secs(1);

/// A trial that is ready for its first arrival.
pub(crate) struct RunContext {
    pub(crate) scenario: Arc<Scenario>,
    pub(crate) scheduler: Arc<LoadScheduler>,
    pub(crate) status_poller: Arc<StatusPoller>,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) log: Arc<TimelineLog>,
    pub(crate) prepared: PreparedTrial,
    reports: mpsc::UnboundedReceiver<WorkerReport>,
}

impl RunContext {
    pub(crate) fn new(
        trial: &Trial,
        scenario: Arc<Scenario>,
        id: &str,
        dir: &Path,
        ResolvedEndpoints { target: addresses, message_endpoints: doors }: ResolvedEndpoints,
        before: PreparedTrial,
    ) -> Result<Self, TrialError> {
        let file = |error: std::io::Error| TrialError(format!("{}: {error}", dir.display()));
        let samples =
            trial.writes_samples.then(|| SampleFile::create(&dir.join("samples.csv"))).transpose().map_err(file)?;
        let lines = JsonLinesFile::create(&dir.join("timeline.jsonl")).map_err(file)?;
        let log =
            Arc::new(TimelineLog::new(lines, Timeline::with_preferred_metrics(metric_names(&scenario.metric_roles))));
        let (start, start_moment) = (Instant::now() + START_LEAD, MonotonicTime::now() + START_LEAD);
        let hlog = Writer::create(&dir.join("intervals.hlog"), unix_ms_now() + START_LEAD.as_millis() as i64);
        let recorder = Arc::new(Recorder::new(&scenario.journeys, &scenario.pushes, hlog.map_err(file)?, samples));
        let board = Arc::new(Trackers::new(&scenario.work_specs));
        let setting = GeneratorConfig {
            scenario: scenario.clone(),
            headers: before.headers.clone(),
            globals: before.globals.clone(),
            picks: before.picks.clone(),
            feeds: before.feeds.clone(),
            run_id: id.to_owned(),
            start: start_moment,
            source_addresses: source_addresses(&scenario, &addresses),
            writes_samples: trial.writes_samples,
            segment: Segment::whole(worker_count(&scenario, &addresses) as u32),
            processes: trial.worker_program.as_ref().map(|program| {
                WorkerProcessSpec::new(program.clone(), trial.scenario_source.clone(), peak_connections(&scenario))
            }),
            addresses,
            message_endpoints: doors,
        };
        let failed = |error: std::io::Error| TrialError(format!("the load workers cannot start: {error}"));
        let (crew, reports) = WorkerPool::start(Arc::new(setting), 1).map_err(failed)?;
        let follow = Arc::new(StatusPoller {
            scenario: scenario.clone(),
            client: before.client.clone(),
            headers: before.headers.clone(),
            globals: before.globals.clone(),
            trackers: board.clone(),
            log: log.clone(),
            start,
            first_misread: Mutex::default(),
        });
        let conductor = Arc::new(LoadScheduler {
            scenario: scenario.clone(),
            worker_count: crew.worker_count() as u32,
            worker_pool: crew,
            recorder: recorder.clone(),
            trackers: board,
            log: log.clone(),
            start,
            seed: trial.seed,
            load_step_changed: Notify::new(),
            opening_barrier: OpeningBarrier::default(),
            search_outcomes: Mutex::default(),
        });
        Ok(Self { scenario, scheduler: conductor, status_poller: follow, recorder, log, prepared: before, reports })
    }

    /// Drives, follows, watches; then aggregates and evaluates.
    pub(crate) async fn run(
        mut self,
        trial: &mut Trial,
        fleet: &mut ProcessSupervisor,
        mut record: PendingRun,
    ) -> Result<(Run, Timeline), TrialError> {
        let orders = fault_schedule(&self.scenario.faults);
        fleet.check_faults(&orders)?;
        let (over, ended) = watch::channel(false);
        let mut pulse = Sampler::new(
            &self,
            self.watch_processes(trial.target_pid, fleet),
            trial.target_pid,
            fleet.process_list(),
            &mut trial.screen,
        );
        let reports = std::mem::replace(&mut self.reports, mpsc::unbounded_channel().1);
        let log = self.log.clone();
        let mut tell = move |row: &FaultRow| log.write(&TimelineRow::Fault(row.clone()));
        let load = async {
            let minding = fleet.supervise(self.scheduler.start, &orders, &mut tell);
            let end = run_load(&self, reports, minding, &mut trial.interrupt).await;
            over.send_replace(true);
            end
        };
        let ((), end) = tokio::join!(pulse.run(ended), load);
        let (watched, unread) = pulse.finish();
        record.notes.extend(unread);
        let now = self.scheduler.start.elapsed();
        for row in fleet.close_pending_faults(&orders, round(now.as_secs_f64()), &end.reason(now)) {
            self.log.write(&TimelineRow::Fault(row));
        }
        let unknown = || vec![None; self.scenario.work_specs.len()];
        let after = match end {
            TrialEnd::Done => self.totals_increase(now).await,
            // The user who interrupts is waiting: a target that does not answer is not polled for long.
            TrialEnd::Interrupted => {
                timeout(INTERRUPT_DRAIN, self.totals_increase(now)).await.unwrap_or_else(|_| unknown())
            }
            TrialEnd::ProcessExited(_) | TrialEnd::BoundReached(_) => unknown(),
        };
        Ok(super::conclude::conclude(&self, record, &end, now, &after, &watched, fleet))
    }

    fn watch_processes(&self, pid: Option<u32>, fleet: &ProcessSupervisor) -> Vec<WatchedProcess> {
        let own = [WatchedProcess::with_extra(
            GENERATOR,
            std::process::id(),
            ProcessScope::Single,
            &self.scheduler.worker_pool.pids(),
        )];
        let given = pid.map(|pid| WatchedProcess::new(SERVER, pid, ProcessScope::Descendants));
        let started = fleet.pids().map(|(name, pid)| WatchedProcess::new(name, pid, ProcessScope::Group));
        own.into_iter().chain(given).chain(started).flatten().collect()
    }

    /// By how much the server's totals rose, for each kind of work.
    async fn totals_increase(&self, now: Duration) -> Vec<Option<TotalsFigures>> {
        let mut rises = vec![None; self.scenario.work_specs.len()];
        for sample in 0..RECONCILE_ATTEMPTS {
            if sample > 0 {
                tokio::time::sleep(RECONCILE_EVERY).await;
            }
            let follow = &self.status_poller;
            let after =
                read_all_totals(&self.scenario, &follow.client, &self.prepared.headers, &self.prepared.globals).await;
            let Ok(after) = after else { continue };
            let rise =
                |(after, before): (Option<TotalsFigures>, &Option<TotalsFigures>)| Some(after?.since((*before)?));
            rises = after.into_iter().zip(&self.prepared.totals).map(rise).collect();
            if self.mismatches(now, &rises).is_empty() {
                break;
            }
        }
        rises
    }

    /// Where the server's totals and the lab's differ, each in a sentence.
    pub(crate) fn mismatches(&self, now: Duration, rises: &[Option<TotalsFigures>]) -> Vec<String> {
        let mut found = Vec::new();
        for (index, work) in self.scenario.work_specs.iter().enumerate() {
            let Some(totals) = &work.totals else { continue };
            let figures = self.status_poller.trackers.tracker(index).figures(now, rises[index]);
            if figures.unknown > 0 {
                let work_items = format!("{} {}: the server does not know them", work.name, figures.unknown);
                found.push(format!("{work_items}, and had answered for their creation"));
            }
            found.extend(reconcile(totals, &figures).into_iter().map(|mismatch| {
                let server = mismatch.server.map_or_else(|| "unknown".to_owned(), |count| count.to_string());
                format!("{} {}: lab {}, server {server}", work.name, mismatch.count, mismatch.lab)
            }));
        }
        found
    }
}

/// Runs the load and its work, until both are over or something ends them. An interrupt ends the load at once, and
/// gives the work a while.
async fn run_load(
    context: &RunContext,
    reports: mpsc::UnboundedReceiver<WorkerReport>,
    minding: impl Future<Output = String>,
    interrupt: &mut watch::Receiver<bool>,
) -> TrialEnd {
    let (stop_load, load_stopped) = watch::channel(false);
    let (stop, stopped) = watch::channel(false);
    let (driven, seen_driven) = watch::channel(false);
    let mut following = JoinSet::new();
    for index in 0..context.scenario.work_specs.len() {
        let (follow, driven, stopped) = (context.status_poller.clone(), seen_driven.clone(), stopped.clone());
        following.spawn(async move { follow.run(index, driven, stopped).await });
    }
    let work = async {
        let ((), listened) =
            tokio::join!(context.scheduler.run(load_stopped), context.scheduler.receive_reports(reports));
        driven.send_replace(true);
        if listened.is_err() {
            // The load has ended: work in progress is not waited for.
            stop.send_replace(true);
        }
        while let Some(ended) = following.join_next().await {
            propagate_panic(ended);
        }
        listened
    };
    tokio::pin!(work, minding);
    let end = tokio::select! {
        listened = &mut work => return listened.map_or_else(TrialEnd::ProcessExited, |()| TrialEnd::Done),
        () = wait_until_raised(interrupt) => TrialEnd::Interrupted,
        exit = &mut minding => TrialEnd::ProcessExited(exit),
        reason = await_bound(context) => TrialEnd::BoundReached(reason),
    };
    stop_load.send_replace(true);
    if end == TrialEnd::Interrupted {
        // Only after the work has ended is it known whether any was lost.
        tokio::select! {
            _ = &mut work => return end,
            _ = minding => {}
            () = tokio::time::sleep(INTERRUPT_DRAIN) => {}
        }
    }
    stop.send_replace(true);
    let _ = work.await;
    end
}

/// Returns when the run has reached one of its bounds.
async fn await_bound(context: &RunContext) -> String {
    let (bounds, start) = (context.scenario.bounds, context.scheduler.start);
    let requests = async {
        let mut ticks = tokio::time::interval(Duration::from_millis(100));
        loop {
            ticks.tick().await;
            let over = context.scheduler.worker_pool.gauges().done;
            if over >= bounds.requests {
                return format!("{over} requests were sent, and `bounds.requests` is {}", bounds.requests);
            }
        }
    };
    tokio::select! {
        () = tokio::time::sleep_until(start + bounds.duration_max) => {
            format!("it lasted {:?}, as long as `bounds.time` allows", bounds.duration_max)
        }
        reason = requests => reason,
    }
}

/// One worker per core. On a machine that also runs the target, half of them: the target lacks what the lab takes.
fn worker_count(scenario: &Scenario, addresses: &[SocketAddr]) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let shared = addresses.iter().all(|address| is_loopback(address.ip()));
    let workers = if shared { cores / 2 } else { cores };
    scenario.generator.workers.unwrap_or(workers).max(1)
}

/// Where connections come from: the scenario's addresses; if it names none and one has too few ports, as many of this
/// machine's own loopback addresses as are needed.
fn source_addresses(scenario: &Scenario, addresses: &[SocketAddr]) -> Vec<IpAddr> {
    let given = &scenario.generator.source_addresses;
    let local = addresses.iter().all(|address| address.is_ipv4() && is_loopback(address.ip()));
    let needed = local_ports().map_or(1, |range| sources_needed(peak_connections(scenario), &range));
    if !given.is_empty() || !local || needed <= 1 {
        return given.clone();
    }
    let first = u32::from(Ipv4Addr::new(127, 0, 0, 2));
    (0..u32::try_from(needed).unwrap_or(1)).map(|number| IpAddr::V4(Ipv4Addr::from(first + number))).collect()
}
