//! What all parts of a running trial share: the plan's clock, the worker pool, the record, the work trackers. Hands load
//! specs to the workers and waits for load steps; does not know which comes next.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

use super::opening_barrier::OpeningBarrier;
use super::prepare::PreparedTrial;
use super::requirements::peak_connections;
use super::{ResolvedEndpoints, Trial};
use crate::aggregate::Timeline;
use crate::clock::unix_ms_now;
use crate::edge::SearchOutcome;
use crate::findings::metric_names;
use crate::generator::{
    GeneratorConfig, MonotonicTime, RunInputs, Segment, WorkerPool, WorkerProcessSpec, WorkerReport,
};
use crate::limits::{LOAD_STEPS_MAX, START_LEAD};
use crate::machine::local_ports;
use crate::measurement::timeline::{LoadStepRow, NoteRow, TimelineRow};
use crate::plan::{LoadSpec, PhasePosition, Schedule, load_step_label};
use crate::preflight::sources_needed;
use crate::record::hlog::Writer;
use crate::record::{LoadStepAccumulator, LoadStepSpec, Recorder, SampleFile, TimelineLog};
use crate::safety::is_loopback;
use crate::scenario::{KnownValues, Phase, Scenario};
use crate::work::{StatusPoller, Trackers};

/// From handing a load spec over to its start, so that every worker has it in time.
const START_LOAD_LEAD: Duration = Duration::from_millis(20);

/// A trial that is ready for its first arrival.
pub(super) struct RunContext {
    pub(super) scenario: Arc<Scenario>,
    pub(super) prepared: PreparedTrial,
    /// For each observer, the true values of what it lists.
    pub(super) known_values: Vec<KnownValues>,
    pub(super) worker_pool: WorkerPool,
    pub(super) worker_count: u32,
    pub(super) recorder: Recorder,
    pub(super) trackers: Trackers,
    pub(super) log: TimelineLog,
    /// The first response to a status request that could not be understood.
    pub(super) first_misread: Mutex<Option<String>>,
    /// The start of the plan.
    pub(super) start: Instant,
    pub(super) seed: u64,
    /// Notified when all connections of a load step are open, and when it is over.
    pub(super) load_step_changed: Notify,
    /// Which phases are still opening connections.
    pub(super) opening_barrier: OpeningBarrier,
    /// What the searches found, by phase.
    pub(super) search_outcomes: Mutex<BTreeMap<String, SearchOutcome>>,
}

impl RunContext {
    /// Starts the workers; returns their reports as well.
    pub(super) fn new(
        trial: &Trial,
        scenario: Arc<Scenario>,
        id: &str,
        dir: &Path,
        ResolvedEndpoints { target: addresses, message_endpoints }: ResolvedEndpoints,
        mut prepared: PreparedTrial,
    ) -> Result<(Self, mpsc::UnboundedReceiver<WorkerReport>), String> {
        let file_error = |error: std::io::Error| format!("{}: {error}", dir.display());
        let samples = trial
            .writes_samples
            .then(|| SampleFile::create(&dir.join("samples.csv")))
            .transpose()
            .map_err(file_error)?;
        let timeline = Timeline::with_preferred_metrics(metric_names(&scenario.metric_roles));
        let log = TimelineLog::create(&dir.join("timeline.jsonl"), timeline).map_err(file_error)?;
        let (start, start_moment) = (Instant::now() + START_LEAD, MonotonicTime::now() + START_LEAD);
        let start_unix_ms = unix_ms_now() + START_LEAD.as_millis() as i64;
        let hlog = Writer::create(&dir.join("intervals.hlog"), start_unix_ms).map_err(file_error)?;
        let known_values = scenario.known_values(&prepared.feeds).map_err(|errors| errors.to_string())?;
        let config = GeneratorConfig {
            scenario: scenario.clone(),
            segment: Segment::whole(worker_count(&scenario, &addresses) as u32),
            processes: trial.worker_program.as_ref().map(|program| {
                WorkerProcessSpec::new(program.clone(), trial.document.source(), peak_connections(&scenario))
            }),
            inputs: RunInputs {
                headers: prepared.target.headers.iter().map(header_texts).collect(),
                globals: prepared.target.globals.clone(),
                picks: std::mem::take(&mut prepared.picks),
                feeds: std::mem::take(&mut prepared.feeds),
                run_id: id.to_owned(),
                start: start_moment,
                source_addresses: source_addresses(&scenario, &addresses),
                writes_samples: trial.writes_samples,
                addresses,
                message_endpoints,
            },
        };
        let (worker_pool, reports) =
            WorkerPool::start(config).map_err(|error| format!("the load workers cannot start: {error}"))?;
        let context = Self {
            known_values,
            worker_count: worker_pool.worker_count() as u32,
            worker_pool,
            recorder: Recorder::new(&scenario.journeys, &scenario.pushes, hlog, samples),
            trackers: Trackers::new(&scenario.work_specs),
            log,
            first_misread: Mutex::default(),
            start,
            seed: trial.seed,
            load_step_changed: Notify::new(),
            opening_barrier: OpeningBarrier::default(),
            search_outcomes: Mutex::default(),
            scenario,
            prepared,
        };
        Ok((context, reports))
    }

    pub(super) fn status_poller(&self) -> StatusPoller<'_> {
        StatusPoller {
            scenario: &self.scenario,
            target: &self.prepared.target,
            trackers: &self.trackers,
            log: &self.log,
            start: self.start,
            first_misread: &self.first_misread,
        }
    }

    /// Hands a load spec to every worker, and opens the accumulators of its load steps.
    pub(super) fn start_load(&self, load_spec: LoadSpec) -> Vec<u32> {
        let specs = load_step_specs(&load_spec, &self.scenario.phases, self.seed);
        let load_steps = specs.iter().map(|spec| spec.number).collect();
        for spec in specs {
            // A load step that holds connections begins when they are open.
            let (load_step, opens_connections) = (spec.number, spec.open_within.is_some());
            if !opens_connections {
                self.log_load_step_start(&spec, spec.start);
            }
            self.recorder.with_load_steps(|steps| steps.begin(spec));
            if opens_connections {
                self.log_opening(load_step, false);
            }
        }
        self.worker_pool.start_load(load_spec);
        load_steps
    }

    pub(super) fn log_load_step_start(&self, spec: &LoadStepSpec, start: Duration) {
        self.log.write(&TimelineRow::LoadStep(load_step_row(spec, start, false)));
    }

    /// Logs when the first connection of a load step was due, or the last one was open.
    pub(super) fn log_opening(&self, load_step: u32, over: bool) {
        let found = self.recorder.with_load_steps(|steps| {
            let (spec, opened_by) = (steps.spec(load_step)?, steps.opened_by(load_step)?);
            Some(load_step_row(spec, if over { opened_by } else { spec.start }, over))
        });
        found.into_iter().for_each(|row| self.log.write(&TimelineRow::Opening(row)));
    }

    /// Writes a note on the timeline.
    pub(super) fn log_note(&self, note: String) {
        self.log.write(&TimelineRow::Note(NoteRow { t_s: self.start.elapsed().as_secs_f64(), note }));
    }

    /// Waits until these load steps are over at every worker.
    pub(super) async fn await_finished(&self, load_steps: &[u32]) {
        self.await_load_steps(|steps| load_steps.iter().all(|load_step| steps.is_over(*load_step))).await;
    }

    /// Waits until the load step accumulator satisfies a condition.
    pub(super) async fn await_load_steps(&self, is_reached: impl Fn(&LoadStepAccumulator) -> bool) {
        loop {
            // Registered before looking: a change in between wakes this task.
            let changed = self.load_step_changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if self.recorder.with_load_steps(|steps| is_reached(steps)) {
                return;
            }
            changed.await;
        }
    }

    /// Waits until a moment of the plan is near enough to hand over what starts then.
    pub(super) async fn sleep_until(&self, moment: Duration) {
        tokio::time::sleep_until((self.start + moment).checked_sub(START_LOAD_LEAD).unwrap_or(self.start)).await;
    }

    /// The earliest moment of the plan at which a load spec that is handed over now can start.
    pub(super) fn earliest_start(&self) -> Duration {
        self.start.elapsed() + START_LOAD_LEAD
    }
}

fn load_step_row(spec: &LoadStepSpec, at: Duration, over: bool) -> LoadStepRow {
    let (phase, label) = (spec.phase.clone(), spec.label.clone());
    LoadStepRow { t_s: at.as_secs_f64(), load_step: spec.number, phase, label, over }
}

/// What is known of the load steps of a load spec before it begins.
fn load_step_specs(load_spec: &LoadSpec, phases: &[Phase], seed: u64) -> Vec<LoadStepSpec> {
    let phase = &phases[load_spec.phase_index];
    let first = PhasePosition::for_phase(phases, load_spec.phase_index, load_spec.start, seed).first_load_step;
    let (every, times) = match load_spec.schedule {
        Schedule::Bursts { every, times, .. } => (every, u32::try_from(times).unwrap_or(u32::MAX)),
        _ => (Duration::ZERO, 1),
    };
    let (offered_per_s, clients) = match load_spec.schedule {
        Schedule::ConstantRate { rate_per_s, .. } | Schedule::Poisson { rate_per_s, .. } => (Some(rate_per_s), None),
        Schedule::ClosedLoop { clients, .. } => (None, Some(clients)),
        Schedule::Hold { connections, rate_per_s, .. } => (rate_per_s, Some(connections)),
        Schedule::Bursts { .. } | Schedule::Ramp { .. } => (None, None),
    };
    (0..times.min(LOAD_STEPS_MAX))
        .map(|number| LoadStepSpec {
            number: load_spec.load_step + number,
            phase: phase.name.clone(),
            steps_of_phase: phase.load_profile.load_step_count(),
            label: load_step_label(phase, first, load_spec, load_spec.load_step + number),
            start: load_spec.start + every.saturating_mul(number),
            offered_per_s,
            clients,
            journey: phase.journey_index,
            opening: load_spec.opening_journey_index,
            open_within: match load_spec.schedule {
                Schedule::Hold { opening, .. } => Some(opening.timeout),
                _ => None,
            },
            resumes_phase: load_spec.resumes_phase.and_then(|index| phases.get(index)).map(|kept| kept.name.clone()),
        })
        .collect()
}

/// One worker per core. On a machine that also runs the target, half of them: the target lacks what the lab takes.
fn worker_count(scenario: &Scenario, addresses: &[SocketAddr]) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let shared = addresses.iter().all(|address| is_loopback(address.ip()));
    let workers = if shared { cores / 2 } else { cores };
    scenario.generator.workers.unwrap_or(workers).max(1)
}

/// A header's name and value. Its value was rendered from a text.
fn header_texts((name, value): (&HeaderName, &HeaderValue)) -> (String, String) {
    (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
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
