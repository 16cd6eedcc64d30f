//! The sampler: once a second it puts every process and the machine, the target's metrics, the observers' figures and
//! the load onto the timeline, together with the rows of work, and onto the screen. Decides nothing.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use super::neighbours::Neighbours;
use super::observers::Observations;
use super::run_context::RunContext;
use super::silence::SilenceDetector;
use super::supervisor::ProcessList;
use super::watched_process::{SERVER, WatchedProcess};
use crate::aggregate::{Aggregate, Timeline};
use crate::findings::CurrentOutage;
use crate::format::{number, round};
use crate::generator::ControlRequest;
use crate::limits::{GAUGES_EVERY, SAMPLER_EVERY};
use crate::machine::HostCounters;
use crate::measurement::timeline::{FaultRow, SamplerRow, TimelineRow};
use crate::metrics;
use crate::report::{Progress, Screen};
use crate::scenario::{Journey, Phase};

/// The figure over time of the cores that the target uses.
const SERVER_CORES: &str = "process.server.cpu_cores";

/// The prefix of figures of programs that are not part of the trial.
pub(super) const NEIGHBOUR_PREFIX: &str = "cores_of.";

/// How long the target's metrics may take; a later response belongs to no second.
const SCRAPE_WITHIN: Duration = Duration::from_millis(900);

/// Samples a running trial.
pub(super) struct Sampler<'a> {
    context: &'a RunContext,
    observations: &'a Observations,
    process_list: watch::Receiver<ProcessList>,
    processes: Vec<WatchedProcess>,
    host: HostCounters,
    neighbours: Neighbours,
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
    pub(super) fn new(
        context: &'a RunContext,
        observations: &'a Observations,
        processes: Vec<WatchedProcess>,
        target_pid: Option<u32>,
        process_list: watch::Receiver<ProcessList>,
        screen: &'a mut Screen,
    ) -> Self {
        let phases = &context.scenario.phases;
        Self {
            context,
            observations,
            process_list,
            processes,
            host: HostCounters::read(),
            neighbours: Neighbours::default(),
            target_pid,
            target_exit_note: None,
            planned_arrivals: phases.iter().map(planned_arrivals).sum::<Option<u64>>().unwrap_or(0),
            planned_s: planned_s(phases),
            has_step_figures: context.scenario.journeys.iter().any(Journey::has_step_figures),
            reported_counts: (0, 0),
            screen,
        }
    }

    /// Samples until the trial is over.
    pub(super) async fn run(&mut self, ended: &CancellationToken) {
        let mut ticks = tokio::time::interval_at(self.context.start, SAMPLER_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = ended.cancelled() => return,
                _ = ticks.tick() => self.sample().await,
            }
        }
    }

    /// Takes a last sample; returns the watched processes, and what could not be read.
    pub(super) fn finish(mut self) -> (Vec<WatchedProcess>, Vec<String>) {
        self.screen.clear();
        WatchedProcess::sample_all(&mut self.processes);
        let notes = self.target_exit_note.into_iter().chain(self.observations.failure_notes()).collect();
        (self.processes, notes)
    }

    /// A target that was already running is not a child of the lab: its exit can only be observed.
    fn check_target_pid(&mut self, now: Duration) {
        let Some(pid) = self.target_pid else { return };
        if self.processes.iter().any(|watched| watched.name() == SERVER && watched.is_running()) {
            return;
        }
        self.target_pid = None;
        let note = format!(
            "The process {pid}, which --pid names as the target's, had ended by {} s: its figures end there.",
            number(Some(now.as_secs_f64()))
        );
        self.context.log_note(note.clone());
        self.target_exit_note = Some(note);
    }

    async fn sample(&mut self) {
        let metrics = self.scrape().await;
        let now = self.context.start.elapsed();
        self.context.recorder.close_seconds(now).iter().for_each(|row| self.context.log.write(row));
        WatchedProcess::follow_restarts(&mut self.processes, &self.process_list.borrow());
        WatchedProcess::sample_all(&mut self.processes);
        self.check_target_pid(now);
        let row = self.sampler_row(now, metrics);
        let progress = self.progress(now, &row);
        self.context.log.write(&TimelineRow::Sample(row));
        let progress = Progress { outage: self.current_outage(), ..progress };
        self.screen.show(&progress);
    }

    fn sampler_row(&mut self, now: Duration, metrics: Option<BTreeMap<String, f64>>) -> SamplerRow {
        let gauges = self.context.worker_pool.gauges();
        let host = HostCounters::read();
        let mut machine = host.since(&self.host);
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
            arrivals: self.context.recorder.with_aggregate(Aggregate::arrival_counts),
            requests: self.context.recorder.with_aggregate(Aggregate::request_counts).total(),
            processes: self.processes.iter().map(|watched| (watched.name().to_owned(), watched.current())).collect(),
            machine,
            metrics: metrics.unwrap_or_default(),
            observed: self.observations.latest().clone(),
        }
    }

    fn progress(&mut self, now: Duration, row: &SamplerRow) -> Progress {
        let notes = self.take_new_notes();
        let cores = |timeline: &Timeline| timeline.series.get(SERVER_CORES)?.last();
        let latest = self.context.recorder.last_second();
        let of_server = |figure: &str| row.processes.get(SERVER).and_then(|server| server.get(figure)).copied();
        let requests = self.context.recorder.with_aggregate(Aggregate::request_counts);
        Progress {
            elapsed: now,
            planned_s: self.planned_s,
            planned_arrivals: self.planned_arrivals,
            done: row.arrivals.total(),
            in_flight: row.in_flight,
            requests: self.has_step_figures.then_some(row.requests),
            long_polls: row.waiting,
            // A journey that continues has not failed, but its request has; a lost connection belongs to no request.
            errors: row.arrivals.errors.max(requests.errors),
            denied: row.arrivals.denied.max(requests.denied),
            work: self.context.trackers.all().map(|(name, tracker)| (name.to_owned(), tracker.counts(now))).collect(),
            server_rss_bytes: of_server("rss_bytes").map(|bytes| bytes as u64),
            throughput_per_s: latest.ok_per_s,
            latency_p99_ms: latest.latency_p99_ms,
            queued: row.queued,
            connections: row.connections,
            load_step: self.context.recorder.with_load_steps(|steps| steps.current(now).map(|spec| spec.label.clone())),
            server_cpu_cores: self.context.log.with_timeline(cores),
            outage: None,
            notes,
        }
    }

    /// Whether the target answers no request, or none successfully, as far as the timeline shows.
    fn current_outage(&self) -> Option<CurrentOutage> {
        let journeys = &self.context.scenario.journeys;
        let names: Vec<&str> = journeys.iter().map(|journey| journey.name.as_str()).collect();
        self.context.log.with_timeline(|timeline| CurrentOutage::find(timeline, &names))
    }

    /// Faults and notes since the previous sample.
    fn take_new_notes(&mut self) -> Vec<String> {
        let (faults_shown, notes_shown) = self.reported_counts;
        let (new, counts) = self.context.log.with_timeline(|timeline| {
            let faults = timeline.faults.iter().skip(faults_shown).map(fault_note);
            let notes = timeline.notes.iter().skip(notes_shown).map(|row| row.note.clone());
            (faults.chain(notes).collect(), (timeline.faults.len(), timeline.notes.len()))
        });
        self.reported_counts = counts;
        new
    }

    /// A target that does not answer in time has no metrics in this row.
    async fn scrape(&self) -> Option<BTreeMap<String, f64>> {
        let path = self.context.scenario.target.metrics_path.as_deref()?;
        let target = &self.context.prepared.target;
        let call = ControlRequest::get(path.parse().ok()?, target.headers.clone(), SCRAPE_WITHIN);
        let what = format!("The target's metrics ({path})");
        let response = match target.client.send(&call).await {
            Ok(response) if response.status == 200 => Ok(response),
            Ok(response) => Err(format!("it answered {}, and not 200", response.status)),
            Err(failure) => Err(failure.message),
        };
        let response = response.map_err(|why| self.observations.record_failure(&what, || why)).ok()?;
        let found = metrics::parse(&String::from_utf8_lossy(&response.body));
        if found.is_empty() {
            self.observations
                .record_failure(&what, || "the answer has no sample in the text format of Prometheus".to_owned());
        }
        Some(found)
    }
}

/// Samples the load many times a second, for silences, until the trial is over.
pub(super) async fn watch_silences(context: &RunContext, ended: &CancellationToken) {
    let mut silences = SilenceDetector::default();
    let mut ticks = tokio::time::interval_at(context.start, GAUGES_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = ended.cancelled() => break,
            _ = ticks.tick() => {}
        }
        let row = silences.add_sample(context.start.elapsed(), context.worker_pool.gauges());
        row.into_iter().for_each(|row| context.log.write(&TimelineRow::Silence(row)));
    }
    silences.finish().into_iter().for_each(|row| context.log.write(&TimelineRow::Silence(row)));
}

fn fault_note(fault: &FaultRow) -> String {
    let failed = fault.failed.as_ref().map_or_else(String::new, |why| format!(", which failed: {why}"));
    format!("{} {}{failed}", fault.act, fault.process)
}

/// Arrivals of a phase; the opening journey of a connection counts as well.
fn planned_arrivals(phase: &Phase) -> Option<u64> {
    let held = phase.load_profile.held().filter(|_| phase.opening_journey.is_some());
    let openings = held.map_or(0, |(connections, opening)| opening.new_connections(connections));
    Some(phase.load_profile.max_count()?.saturating_add(openings))
}

/// When the last arrival is due; none if that depends on the target's responses.
fn planned_s(phases: &[Phase]) -> Option<f64> {
    let (mut in_sequence, mut end) = (Duration::ZERO, Duration::ZERO);
    for phase in phases {
        let length = phase.load_profile.duration()?;
        match phase.starts_at {
            Some(at) => end = end.max(at.saturating_add(length)),
            None => in_sequence = in_sequence.saturating_add(phase.pause_before).saturating_add(length),
        }
    }
    Some(end.max(in_sequence).as_secs_f64())
}
