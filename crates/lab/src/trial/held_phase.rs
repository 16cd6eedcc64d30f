//! Runs held connections: all connections of a phase are opened, at every worker, before its time begins and anything
//! is sent over them. Opening has a timeout: without its connections a phase would not have the planned load, so it does
//! not take place. Does not evaluate that.

use std::time::Duration;

use super::run_context::RunContext;
use crate::aggregate::HeldFigures;
use crate::format::{count, number};
use crate::measurement::Basis;
use crate::plan::{LoadSpec, PhasePosition};

/// Opens the connections of a load spec within a time, and then starts its load; returns its load step, and the moment
/// at which it ends.
pub(super) async fn run_hold(
    context: &RunContext,
    load_spec: LoadSpec,
    within: Duration,
    duration: Duration,
) -> (u32, Duration) {
    let load_spec = await_predecessor(context, load_spec).await;
    let (phase, load_step, start) = (load_spec.phase_index, load_spec.load_step, load_spec.start);
    context.opening_barrier.announce(phase, start);
    context.start_load(load_spec);
    let opened = context.await_load_steps(|steps| steps.is_open(load_step, context.worker_count));
    let is_open = tokio::time::timeout_at(context.start + start.saturating_add(within), opened).await.is_ok();
    context.opening_barrier.finish(phase);
    if !is_open {
        abandon_opening(context, load_step, within).await;
        return (load_step, context.start.elapsed());
    }
    context.log_opening(load_step, true);
    context.opening_barrier.await_others(context.start.elapsed()).await;
    let at = context.earliest_start();
    let spec = context.recorder.with_load_steps(|steps| {
        steps.start_requests_at(load_step, at);
        steps.spec(load_step).cloned()
    });
    spec.into_iter().for_each(|spec| context.log_load_step_start(&spec, at));
    note_opened_connections(context, load_step);
    context.worker_pool.start_requests(load_step, at);
    (load_step, at.saturating_add(duration))
}

/// A load spec that takes connections over begins when the phase that had them is over at every worker.
async fn await_predecessor(context: &RunContext, load_spec: LoadSpec) -> LoadSpec {
    let Some(before) = load_spec.resumes_phase else { return load_spec };
    let position = PhasePosition::for_phase(&context.scenario.phases, before, load_spec.start, context.seed);
    context.await_finished(&[position.first_load_step]).await;
    let start = load_spec.start.max(context.earliest_start());
    LoadSpec { start, ..load_spec }
}

/// Too many connections are missing for too long: the phase is over before it began.
async fn abandon_opening(context: &RunContext, load_step: u32, within: Duration) {
    context.worker_pool.end_load_step(load_step);
    context.await_finished(&[load_step]).await;
    let figures = context.recorder.with_load_steps(|steps| steps.figures(load_step));
    let Some(held) = figures.and_then(|figures| figures.connections) else { return };
    context.log_note(format!(
        "{} of {} connections were open after {} s: nothing was sent over them",
        count(held.counts.opened_or_kept()),
        count(held.planned),
        number(Some(within.as_secs_f64()))
    ));
}

fn note_opened_connections(context: &RunContext, load_step: u32) {
    let Some(figures) = context.recorder.with_load_steps(|steps| steps.figures(load_step)) else { return };
    let Some(held) = figures.connections else { return };
    note_lost_connections(context, &held);
    let (opened, seconds, took) = (count(held.counts.opened), number(held.opening_s), &held.opening_ms);
    let word = if took.p99.is_some() { "p99" } else { "max" };
    let longest_ms = number(took.p99_or_max());
    let kept = if held.counts.kept > 0 { format!(", and {} kept", count(held.counts.kept)) } else { String::new() };
    context.log_note(format!(
        "{}: {opened} connections were opened in {seconds} s, {word} {longest_ms} ms{kept}",
        figures.phase
    ));
}

/// Notes how many of the connections that it was to take over were lost before, if any.
fn note_lost_connections(context: &RunContext, held: &HeldFigures) {
    let Some(earlier) = &held.keeps else { return };
    let figures = context.recorder.with_load_steps(|steps| steps.figures_on(Basis::Measured));
    let found = figures.into_iter().find(|figures| figures.phase == *earlier);
    let Some(left) = found.and_then(|found| found.connections).filter(|left| left.counts.lost_after() > 0) else {
        return;
    };
    context.log_note(format!(
        "{} of the {} connections that {earlier} left open were lost before they were taken over: {} closed by the \
         target, {} otherwise",
        count(left.counts.lost_after()),
        count(left.counts.left),
        count(left.counts.closed_after),
        count(left.counts.dropped_after)
    ));
}
