//! The load scheduler: hands load specs to the worker pool when they are due, receives the workers' reports, and knows
//! when every load step is over. Levels of a ladder and of a search begin when the previous one has ended; everything
//! whose length is known is handed over at once. Does not measure: the workers do.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::held_phase::OpeningBarrier;
use super::search;
use crate::edge::SearchOutcome;
use crate::flag::wait_until_raised;
use crate::generator::{WorkerPool, WorkerReport};
use crate::limits::{INTERRUPT_GRACE, LOAD_STEPS_MAX};
use crate::measurement::PauseImpact;
use crate::measurement::timeline::{LoadStepRow, TimelineRow};
use crate::plan::{LoadSpec, PhasePosition, Schedule, load_specs, load_step_label};
use crate::record::TimelineLog;
use crate::record::{LoadStepAccumulator, LoadStepSpec, Recorder};
use crate::scenario::{EdgeSearch, LoadProfile, Phase, Scenario};
use crate::work::Trackers;

/// From handing a load spec over to its start, so that every worker has it in time.
pub(super) const START_LOAD_LEAD: Duration = Duration::from_millis(20);

/// State that all phases share.
pub(crate) struct LoadScheduler {
    pub(crate) scenario: Arc<Scenario>,
    pub(crate) worker_pool: WorkerPool,
    pub(crate) worker_count: u32,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) trackers: Arc<Trackers>,
    pub(crate) log: Arc<TimelineLog>,
    pub(crate) start: Instant,
    pub(crate) seed: u64,
    /// Notified when all connections of a load step are open, and when it is over.
    pub(crate) load_step_changed: Notify,
    /// Which phases are still opening connections.
    pub(crate) opening_barrier: OpeningBarrier,
    /// What the searches found, by phase.
    pub(crate) search_outcomes: Mutex<BTreeMap<String, SearchOutcome>>,
}

impl LoadScheduler {
    /// Runs all phases to their end, or until `stop` is true; then the workers shut down.
    pub(crate) async fn run(self: &Arc<Self>, mut stop: watch::Receiver<bool>) {
        tokio::select! {
            biased;
            () = wait_until_raised(&mut stop) => {}
            () = self.run_phases() => {}
        }
        self.worker_pool.stop(INTERRUPT_GRACE);
    }

    /// Receives reports until all workers have finished.
    ///
    /// # Errors
    /// The sentence of a worker that cannot continue.
    pub(crate) async fn receive_reports(
        &self,
        mut reports: mpsc::UnboundedReceiver<WorkerReport>,
    ) -> Result<(), String> {
        let mut ended = 0;
        while let Some(report) = reports.recv().await {
            match report {
                WorkerReport::Interval(interval) => self.recorder.add_interval(&interval),
                WorkerReport::WorkStarted(begun) => {
                    for work_item in begun {
                        self.trackers.tracker(work_item.work_index).add_started(
                            &work_item.id,
                            work_item.intended,
                            work_item.done,
                        );
                    }
                }
                WorkerReport::ConnectionsOpen { load_step, at, .. } => {
                    self.recorder.with_load_steps(|book| book.count_worker_open(load_step, self.worker_count, at));
                    self.load_step_changed.notify_waiters();
                }
                WorkerReport::LoadStepDone { load_step, at, not_sent, pause_impact: own, .. } => {
                    self.record_worker_done(load_step, at, not_sent, own);
                }
                WorkerReport::WorkerFailed { message, .. } => return Err(message),
                WorkerReport::WorkerEnded { .. } => {
                    ended += 1;
                    if ended == self.worker_count {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    fn record_worker_done(&self, load_step: u32, at: Duration, not_sent: u64, own: PauseImpact) {
        if !self
            .recorder
            .with_load_steps(|book| book.count_worker_done_with(load_step, self.worker_count, at, not_sent, own))
        {
            return;
        }
        if let Some(figures) = self.recorder.with_load_steps(|book| book.figures(load_step)) {
            self.log.write(&TimelineRow::LoadStep(LoadStepRow {
                t_s: figures.start_s + figures.length_s,
                load_step,
                phase: figures.phase,
                label: figures.label,
                over: true,
            }));
        }
        self.load_step_changed.notify_waiters();
    }

    /// Runs phases one after the other; those with their own start time run concurrently.
    async fn run_phases(self: &Arc<Self>) {
        let mut beside = JoinSet::new();
        let phases = || self.scenario.phases.iter().enumerate();
        let of_their_own = || phases().filter_map(|(index, phase)| Some((index, phase, phase.starts_at?)));
        for (index, phase, at) in of_their_own() {
            if matches!(phase.load_profile, LoadProfile::Hold { .. }) {
                // Before the first of them begins: they wait for each other.
                self.opening_barrier.announce(index, at);
            }
        }
        for (index, _, at) in of_their_own() {
            let scheduler = self.clone();
            beside.spawn(async move {
                let (load_steps, _) = scheduler.start_phase(index, at).await;
                scheduler.await_finished(&load_steps).await;
            });
        }
        let mut next = Duration::ZERO;
        let mut open = Vec::new();
        for (index, phase) in phases().filter(|(_, phase)| phase.starts_at.is_none()) {
            let (load_steps, end) = self.start_phase(index, next + phase.pause_before).await;
            open.extend(load_steps);
            next = end;
        }
        self.await_finished(&open).await;
        while let Some(ended) = beside.join_next().await {
            crate::flag::propagate_panic(ended);
        }
    }

    /// Starts a phase; returns its load steps, and the moment from which the next one counts.
    async fn start_phase(&self, number: usize, start: Duration) -> (Vec<u32>, Duration) {
        let phase = &self.scenario.phases[number];
        let position = PhasePosition::for_phase(&self.scenario.phases, number, start, self.seed);
        if let LoadProfile::Edge(edge) = &phase.load_profile {
            self.sleep_until(start).await;
            let load_steps = self.run_search(phase, position, edge).await;
            return (load_steps, self.start.elapsed());
        }
        let pause = match phase.load_profile {
            LoadProfile::Ladder { pause, .. } => pause,
            _ => Duration::ZERO,
        };
        let legs = load_specs(phase, position);
        match (legs.as_slice(), &phase.load_profile) {
            ([load_spec], LoadProfile::Hold { opening, duration, .. }) => {
                let (load_step, end) = self.run_hold(load_spec.clone(), opening.timeout, *duration).await;
                (vec![load_step], end)
            }
            ([load_spec], _) if load_spec.duration().is_some() => {
                let length = load_spec.duration().unwrap_or_default();
                (self.start_load(load_spec.clone()), start + length)
            }
            _ => self.run_in_sequence(start, pause, legs).await,
        }
    }

    /// Runs load specs one after the other, each when the previous one is over.
    async fn run_in_sequence(&self, start: Duration, pause: Duration, legs: Vec<LoadSpec>) -> (Vec<u32>, Duration) {
        let mut load_steps = Vec::new();
        let mut start = start;
        for load_spec in legs {
            self.sleep_until(start).await;
            let start_s = start.max(self.start.elapsed() + START_LOAD_LEAD);
            let load_step = self.start_load(LoadSpec { start: start_s, ..load_spec });
            self.await_finished(&load_step).await;
            load_steps.extend(load_step);
            start = self.start.elapsed() + pause;
        }
        (load_steps, self.start.elapsed())
    }

    async fn run_search(&self, phase: &Phase, position: PhasePosition, edge: &EdgeSearch) -> Vec<u32> {
        let (load_steps, outcome) = search::run_search(self, phase, position, edge).await;
        match outcome {
            Ok(outcome) => {
                self.search_outcomes.lock().unwrap_or_else(PoisonError::into_inner).insert(phase.name.clone(), outcome);
            }
            Err(errors) => errors.into_iter().for_each(|error| self.log_note(error)),
        }
        load_steps
    }

    /// Hands a load spec to every worker, and opens the accumulators of its load steps.
    pub(crate) fn start_load(&self, load_spec: LoadSpec) -> Vec<u32> {
        let first = PhasePosition::for_phase(&self.scenario.phases, load_spec.phase_index, load_spec.start, self.seed)
            .first_load_step;
        let specs = load_step_specs(&load_spec, &self.scenario.phases, first);
        let load_steps = specs.iter().map(|spec| spec.number).collect();
        for spec in specs {
            // A load step that holds connections begins when they are open.
            let (load_step, holds) = (spec.number, spec.open_within.is_some());
            if !holds {
                self.log_load_step_start(&spec, spec.start);
            }
            self.recorder.with_load_steps(|book| book.begin(spec));
            if holds {
                self.log_opening(load_step, false);
            }
        }
        self.worker_pool.start_load(load_spec);
        load_steps
    }

    pub(crate) fn log_load_step_start(&self, spec: &LoadStepSpec, start: Duration) {
        let (t_s, phase, label) = (start.as_secs_f64(), spec.phase.clone(), spec.label.clone());
        self.log.write(&TimelineRow::LoadStep(LoadStepRow { t_s, load_step: spec.number, phase, label, over: false }));
    }

    pub(crate) async fn await_finished(&self, load_steps: &[u32]) {
        self.await_load_steps(|book| load_steps.iter().all(|load_step| book.is_over(*load_step))).await;
    }

    /// Waits until the load step accumulator satisfies a condition.
    pub(crate) async fn await_load_steps(&self, says: impl Fn(&LoadStepAccumulator) -> bool) {
        loop {
            // Registered before looking: a change in between wakes this task.
            let over = self.load_step_changed.notified();
            tokio::pin!(over);
            over.as_mut().enable();
            if self.recorder.with_load_steps(|book| says(book)) {
                return;
            }
            over.await;
        }
    }

    pub(crate) async fn sleep_until(&self, moment: Duration) {
        tokio::time::sleep_until((self.start + moment).checked_sub(START_LOAD_LEAD).unwrap_or(self.start)).await;
    }

    pub(crate) fn take_search_outcomes(&self) -> BTreeMap<String, SearchOutcome> {
        std::mem::take(&mut *self.search_outcomes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What is known of the load steps of a load spec before it begins.
fn load_step_specs(load_spec: &LoadSpec, phases: &[Phase], first_part: u32) -> Vec<LoadStepSpec> {
    let phase = &phases[load_spec.phase_index];
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
            label: load_step_label(phase, first_part, load_spec, load_spec.load_step + number),
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
