//! The load scheduler: hands load specs to the worker pool when they are due, receives the workers' reports, and knows
//! when every load step is over. Levels of a ladder and of a search begin when the previous one has ended; everything
//! whose length is known is handed over at once. Does not measure: the workers do.

use std::sync::PoisonError;
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::held_phase::run_hold;
use super::run_context::RunContext;
use super::search::run_search;
use crate::generator::WorkerReport;
use crate::limits::INTERRUPT_GRACE;
use crate::measurement::PauseImpact;
use crate::measurement::timeline::{LoadStepRow, TimelineRow};
use crate::plan::{LoadSpec, PhasePosition, Schedule, load_specs};
use crate::scenario::LoadProfile;

/// Runs all phases to their end, or until `stop` ends them; then the workers shut down.
pub(super) async fn run(context: &RunContext, stop: &CancellationToken) {
    tokio::select! {
        biased;
        () = stop.cancelled() => {}
        () = run_phases(context) => {}
    }
    context.worker_pool.stop(INTERRUPT_GRACE);
}

/// Receives reports until all workers have finished.
///
/// # Errors
/// The sentence of a worker that cannot continue.
pub(super) async fn receive_reports(
    context: &RunContext,
    mut reports: mpsc::UnboundedReceiver<WorkerReport>,
) -> Result<(), String> {
    let mut ended = 0;
    while let Some(report) = reports.recv().await {
        match report {
            WorkerReport::Interval(interval) => context.recorder.add_interval(&interval),
            WorkerReport::WorkStarted(begun) => {
                for item in begun {
                    context.trackers.tracker(item.work_index).add_started(&item.id, item.intended, item.done);
                }
            }
            WorkerReport::ConnectionsOpen { load_step, at, .. } => {
                context.recorder.with_load_steps(|steps| steps.count_worker_open(load_step, context.worker_count, at));
                context.load_step_changed.notify_waiters();
            }
            WorkerReport::LoadStepDone { load_step, at, not_sent, pause_impact, .. } => {
                record_worker_done(context, load_step, at, not_sent, pause_impact);
            }
            WorkerReport::WorkerFailed { message, .. } => return Err(message),
            WorkerReport::WorkerEnded { .. } => {
                ended += 1;
                if ended == context.worker_count {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}

fn record_worker_done(context: &RunContext, load_step: u32, at: Duration, not_sent: u64, pause_impact: PauseImpact) {
    let figures = context.recorder.with_load_steps(|steps| {
        let is_over = steps.count_worker_done(load_step, context.worker_count, at, not_sent, pause_impact);
        is_over.then(|| steps.figures(load_step))
    });
    let Some(figures) = figures else { return };
    if let Some(figures) = figures {
        let t_s = figures.start_s + figures.length_s;
        let (phase, label) = (figures.phase, figures.label);
        context.log.write(&TimelineRow::LoadStep(LoadStepRow { t_s, load_step, phase, label, over: true }));
    }
    context.load_step_changed.notify_waiters();
}

/// Runs phases one after the other; those with their own start time run concurrently.
async fn run_phases(context: &RunContext) {
    let phases = || context.scenario.phases.iter().enumerate();
    let own_time = || phases().filter_map(|(index, phase)| Some((index, phase, phase.starts_at?)));
    for (index, phase, at) in own_time() {
        if phase.load_profile.held().is_some() {
            // Before the first of them begins: they wait for each other.
            context.opening_barrier.announce(index, at);
        }
    }
    let concurrent = own_time().map(async |(index, _, at)| {
        let (load_steps, _) = run_phase(context, index, at).await;
        context.await_finished(&load_steps).await;
    });
    let in_sequence = async {
        let mut next = Duration::ZERO;
        let mut open = Vec::new();
        for (index, phase) in phases().filter(|(_, phase)| phase.starts_at.is_none()) {
            let (load_steps, end) = run_phase(context, index, next + phase.pause_before).await;
            open.extend(load_steps);
            next = end;
        }
        context.await_finished(&open).await;
    };
    tokio::join!(join_all(concurrent), in_sequence);
}

/// Runs a phase until the next one can be handed over; returns its load steps, and the moment from which the next one
/// counts.
async fn run_phase(context: &RunContext, index: usize, start: Duration) -> (Vec<u32>, Duration) {
    let phase = &context.scenario.phases[index];
    let position = PhasePosition::for_phase(&context.scenario.phases, index, start, context.seed);
    if let LoadProfile::Edge(edge) = &phase.load_profile {
        context.sleep_until(start).await;
        let (load_steps, outcome) = run_search(context, phase, position, edge).await;
        context.search_outcomes.lock().unwrap_or_else(PoisonError::into_inner).insert(phase.name.clone(), outcome);
        return (load_steps, context.start.elapsed());
    }
    let specs = load_specs(phase, position);
    match (specs.as_slice(), &phase.load_profile) {
        ([spec], LoadProfile::Single(Schedule::Hold { opening, lasting, .. })) => {
            let (load_step, end) = run_hold(context, spec.clone(), opening.timeout, *lasting).await;
            (vec![load_step], end)
        }
        ([spec], _) if spec.schedule.duration().is_some() => {
            let length = spec.schedule.duration().unwrap_or_default();
            (context.start_load(spec.clone()), start + length)
        }
        (_, LoadProfile::Ladder { pause, .. }) => run_in_sequence(context, start, *pause, specs).await,
        _ => run_in_sequence(context, start, Duration::ZERO, specs).await,
    }
}

/// Runs load specs one after the other, each when the previous one is over.
async fn run_in_sequence(
    context: &RunContext,
    mut start: Duration,
    pause: Duration,
    specs: Vec<LoadSpec>,
) -> (Vec<u32>, Duration) {
    let mut all = Vec::new();
    for spec in specs {
        context.sleep_until(start).await;
        let start_at = start.max(context.earliest_start());
        let load_steps = context.start_load(LoadSpec { start: start_at, ..spec });
        context.await_finished(&load_steps).await;
        all.extend(load_steps);
        start = context.start.elapsed() + pause;
    }
    (all, context.start.elapsed())
}
