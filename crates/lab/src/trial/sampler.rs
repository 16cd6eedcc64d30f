//! The sampler: once a second it puts every process and the machine, the target's metrics, the observers' figures and
//! the load onto the timeline, together with the rows of work, and onto the screen. Decides nothing.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method};
use tokio::sync::watch;
use tokio::time::MissedTickBehavior;

use super::load_scheduler::LoadScheduler;
use super::neighbours::Neighbours;
use super::observers::{LatestFigures, Observers, ReadFailures};
use super::run_context::RunContext;
use super::silence::SilenceDetector;
use super::supervisor::ProcessList;
use super::watched_process::WatchedProcess;
use crate::aggregate::{Aggregate, Timeline};
use crate::findings::CurrentOutage;
use crate::flag::wait_until_raised;
use crate::format::number;
use crate::format::round;
use crate::generator::{ControlClient, ControlRequest};
use crate::limits::{GAUGES_EVERY, SAMPLER_EVERY};
use crate::machine::HostCounters;
use crate::measurement::timeline::{FaultRow, SamplerRow, TimelineRow};
use crate::metrics;
use crate::record::TimelineLog;
use crate::report::{Progress, Screen};
use crate::scenario::{Journey, LoadProfile, Phase};

/// The name under which the lab itself is watched.
pub(crate) const GENERATOR: &str = "generator";

/// The name under which the target is watched.
pub(crate) const SERVER: &str = "server";

/// The figure over time of the cores that the target uses.
const SERVER_CORES: &str = "process.server.cpu_cores";

/// The prefix of figures of programs that are not part of the trial.
pub(crate) const NEIGHBOUR_PREFIX: &str = "cores_of.";

/// How long the target's metrics may take; a later response belongs to no second.
const SCRAPE_WITHIN: Duration = Duration::from_millis(900);

/// Samples a running trial.
pub(crate) struct Sampler<'a> {
    scheduler: Arc<LoadScheduler>,
    log: Arc<TimelineLog>,
    client: Arc<ControlClient>,
    headers: HeaderMap,
    globals: BTreeMap<String, String>,
    process_list: watch::Receiver<ProcessList>,
    processes: Vec<WatchedProcess>,
    host: HostCounters,
    neighbours: Neighbours,
    observed: LatestFigures,
    /// What could not be read from the target.
    read_failures: ReadFailures,
    /// The target's process if it was already running, until it has exited; and the note about that.
    target_pid: Option<u32>,
    target_exit_note: Option<String>,
    planned_arrivals: u64,
    planned_s: Option<f64>,
    /// Whether an arrival may be several requests.
    has_step_figures: bool,
    /// Faults and notes that were already shown on the screen.
    reported_counts: (usize, usize),
    screen: &'a mut Screen,
}

impl<'a> Sampler<'a> {
    pub(crate) fn new(
        context: &RunContext,
        watched: Vec<WatchedProcess>,
        given: Option<u32>,
        roster: watch::Receiver<ProcessList>,
        screen: &'a mut Screen,
    ) -> Self {
        let phases = &context.scenario.phases;
        Self {
            scheduler: context.scheduler.clone(),
            log: context.log.clone(),
            client: context.prepared.client.clone(),
            headers: context.prepared.headers.clone(),
            globals: context.prepared.globals.clone(),
            process_list: roster,
            processes: watched,
            host: HostCounters::read(),
            neighbours: Neighbours::default(),
            observed: LatestFigures::default(),
            read_failures: ReadFailures::default(),
            target_pid: given,
            target_exit_note: None,
            planned_arrivals: phases.iter().map(planned_arrivals).sum::<Option<u64>>().unwrap_or(0),
            planned_s: planned_s(phases),
            has_step_figures: context.scenario.journeys.iter().any(Journey::has_step_figures),
            reported_counts: (0, 0),
            screen,
        }
    }

    /// Samples until the trial is over.
    pub(crate) async fn run(&mut self, mut ended: watch::Receiver<bool>) {
        let observers = Observers {
            client: self.client.clone(),
            headers: self.headers.clone(),
            globals: self.globals.clone(),
            start: self.scheduler.start,
            latest: self.observed.clone(),
            read_failures: self.read_failures.clone(),
        };
        let scenario = self.scheduler.scenario.clone();
        let observing = observers.run(&scenario.observers, ended.clone());
        let silences = watch_silences(self.scheduler.clone(), self.log.clone(), ended.clone());
        let beating = async {
            let mut ticks = tokio::time::interval_at(self.scheduler.start, SAMPLER_EVERY);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    () = wait_until_raised(&mut ended) => return,
                    _ = ticks.tick() => self.sample().await,
                }
            }
        };
        tokio::join!(beating, observing, silences);
    }

    /// Takes a last sample; returns the watched processes, and what could not be read.
    pub(crate) fn finish(mut self) -> (Vec<WatchedProcess>, Vec<String>) {
        self.screen.clear();
        WatchedProcess::sample_all(&mut self.processes);
        let notes = self.target_exit_note.into_iter().chain(self.read_failures.sentences()).collect();
        (self.processes, notes)
    }

    /// A target that was already running is not a child of the lab: its exit can only be observed.
    fn check_target_pid(&mut self, now: Duration) {
        let Some(pid) = self.target_pid else { return };
        if self.processes.iter().any(|watched| watched.name() == SERVER && watched.is_running()) {
            return;
        }
        self.target_pid = None;
        let gone = format!(
            "The process {pid}, which --pid names as the target's, had ended by {} s: its figures end there.",
            number(Some(now.as_secs_f64()))
        );
        self.scheduler.log_note(gone.clone());
        self.target_exit_note = Some(gone);
    }

    async fn sample(&mut self) {
        let metrics = self.scrape().await;
        let now = self.scheduler.start.elapsed();
        self.scheduler.recorder.close_seconds(now).iter().for_each(|row| self.log.write(row));
        WatchedProcess::follow_restarts(&mut self.processes, &self.process_list.borrow());
        WatchedProcess::sample_all(&mut self.processes);
        self.check_target_pid(now);
        let row = self.sampler_row(now, metrics);
        let progress = self.progress(now, &row);
        self.log.write(&TimelineRow::Sample(row));
        let progress = Progress { outage: self.current_outage(), ..progress };
        self.screen.show(&progress);
    }

    fn sampler_row(&mut self, now: Duration, metrics: Option<BTreeMap<String, f64>>) -> SamplerRow {
        let gauges = self.scheduler.worker_pool.gauges();
        let (ok, denied, errors) = self.scheduler.recorder.with_aggregate(Aggregate::arrival_counts);
        let host = HostCounters::read();
        let mut machine = host.since(&self.host).by_name();
        let known = self.processes.iter().flat_map(WatchedProcess::pids).copied().collect();
        let others = self.neighbours.scan(&known);
        machine.extend(others.into_iter().map(|(name, cores)| (format!("{NEIGHBOUR_PREFIX}{name}"), cores)));
        self.host = host;
        SamplerRow {
            t_s: round(now.as_secs_f64()),
            in_flight: gauges.in_flight,
            queued: gauges.queued,
            connections: gauges.connections,
            waiting: gauges.long_polls,
            ok,
            denied,
            errors,
            requests: self.scheduler.recorder.with_aggregate(Aggregate::request_counts).total(),
            lag_p99_ms: None,
            processes: self.processes.iter().map(|watched| (watched.name().to_owned(), watched.current())).collect(),
            machine,
            metrics: metrics.unwrap_or_default(),
            observed: self.observed.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }

    fn progress(&mut self, now: Duration, row: &SamplerRow) -> Progress {
        let notes = self.take_new_notes();
        let cores = |timeline: &Timeline| timeline.series.get(SERVER_CORES)?.last();
        let latest = self.scheduler.recorder.last_second();
        let of_server = |figure: &str| row.processes.get(SERVER).and_then(|server| server.get(figure)).copied();
        let requests = self.scheduler.recorder.with_aggregate(Aggregate::request_counts);
        Progress {
            elapsed: now,
            planned_s: self.planned_s,
            planned_arrivals: self.planned_arrivals,
            done: row.ok + row.denied + row.errors,
            in_flight: row.in_flight,
            requests: self.has_step_figures.then_some(row.requests),
            long_polls: row.waiting,
            // A journey that continues has not failed, but its request has; a lost connection belongs to no request.
            errors: row.errors.max(requests.errors),
            denied: row.denied.max(requests.denied),
            work: self.scheduler.trackers.all().map(|(name, tracker)| (name.to_owned(), tracker.counts(now))).collect(),
            server_rss_bytes: of_server("rss_bytes").map(|bytes| bytes as u64),
            throughput_per_s: latest.ok_per_s,
            latency_p99_ms: latest.latency_p99_ms,
            queued: row.queued,
            connections: row.connections,
            load_step: self.scheduler.recorder.with_load_steps(|book| book.current(now).map(|spec| spec.label.clone())),
            server_cpu_cores: self.log.with_timeline(cores),
            outage: None,
            notes,
        }
    }

    /// Whether the target answers no request, or none successfully, as far as the timeline shows.
    fn current_outage(&self) -> Option<CurrentOutage> {
        let journeys = &self.scheduler.scenario.journeys;
        let names: Vec<&str> = journeys.iter().map(|journey| journey.name.as_str()).collect();
        self.log.with_timeline(|timeline| CurrentOutage::find(timeline, &names))
    }

    /// Faults and notes since the previous sample.
    fn take_new_notes(&mut self) -> Vec<String> {
        let (faults_told, notes_told) = self.reported_counts;
        let (news, told) = self.log.with_timeline(|timeline| {
            let faults = timeline.faults.iter().skip(faults_told).map(fault_note);
            let notes = timeline.notes.iter().skip(notes_told).map(|row| row.note.clone());
            (faults.chain(notes).collect(), (timeline.faults.len(), timeline.notes.len()))
        });
        self.reported_counts = told;
        news
    }

    /// A target that does not answer in time has no metrics in this row.
    async fn scrape(&self) -> Option<BTreeMap<String, f64>> {
        let path = self.scheduler.scenario.target.metrics_path.as_deref()?;
        let call = ControlRequest {
            method: Method::GET,
            path: path.parse().ok()?,
            headers: self.headers.clone(),
            body: Bytes::new(),
            timeout: SCRAPE_WITHIN,
            idempotent: true,
        };
        let what = format!("The target's metrics ({path})");
        let reply = match self.client.send(&call).await {
            Ok(reply) if reply.status == 200 => reply,
            Ok(reply) => {
                self.read_failures.record(&what, || format!("it answered {}, and not 200", reply.status));
                return None;
            }
            Err(failure) => {
                self.read_failures.record(&what, || failure.message);
                return None;
            }
        };
        let found = metrics::parse(&String::from_utf8_lossy(&reply.body));
        if found.is_empty() {
            self.read_failures.record(&what, || "the answer has no sample in the text format of Prometheus".to_owned());
        }
        Some(found)
    }
}

/// Samples the load many times a second, for silences, until the trial is over.
async fn watch_silences(conductor: Arc<LoadScheduler>, log: Arc<TimelineLog>, mut ended: watch::Receiver<bool>) {
    let mut silences = SilenceDetector::default();
    let mut ticks = tokio::time::interval_at(conductor.start, GAUGES_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = wait_until_raised(&mut ended) => break,
            _ = ticks.tick() => {}
        }
        let row = silences.add_sample(conductor.start.elapsed(), conductor.worker_pool.gauges());
        row.into_iter().for_each(|row| log.write(&TimelineRow::Silence(row)));
    }
    silences.finish().into_iter().for_each(|row| log.write(&TimelineRow::Silence(row)));
}

fn fault_note(fault: &FaultRow) -> String {
    let failed = fault.failed.as_ref().map_or_else(String::new, |why| format!(", which failed: {why}"));
    format!("{} {}{failed}", fault.act, fault.process)
}

/// Arrivals of a phase; the opening journey of a connection counts as well.
fn planned_arrivals(phase: &Phase) -> Option<u64> {
    let said_first = match phase.load_profile {
        LoadProfile::Hold { connections, opening, .. } if phase.opening_journey.is_some() => {
            opening.new_connections(connections)
        }
        _ => 0,
    };
    Some(phase.load_profile.max_count()?.saturating_add(said_first))
}

/// When the last arrival is due; none if that depends on the target's responses.
fn planned_s(phases: &[Phase]) -> Option<f64> {
    let (mut turn, mut end) = (Duration::ZERO, Duration::ZERO);
    for phase in phases {
        let length = phase.load_profile.duration()?;
        match phase.starts_at {
            Some(at) => end = end.max(at.saturating_add(length)),
            None => turn = turn.saturating_add(phase.pause_before).saturating_add(length),
        }
    }
    Some(end.max(turn).as_secs_f64())
}
