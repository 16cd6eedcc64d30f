//! Runs a search for the edge: level after level, each on a target with nothing left over from the previous one. The
//! pure search in `edge` decides the next level; this module gives it clocks. Does not evaluate a level.

use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior};

use super::run_context::RunContext;
use crate::aggregate::{Aggregate, OpFigures};
use crate::edge::{Level, LevelMeasurement, Search, SearchOutcome};
use crate::limits::{EDGE_DRAIN_WITHIN, EDGE_SAMPLE_EVERY};
use crate::measurement::OutcomeCounts;
use crate::plan::{self, LoadSpec, PhasePosition};
use crate::scenario::{EdgeSearch, Phase};

/// From the end of one level to the beginning of the next, so that caches and accept queues settle.
const LEVEL_PAUSE: Duration = Duration::from_millis(200);

/// From handing a level over to its first arrival.
const LEVEL_LEAD: Duration = Duration::from_millis(20);

/// Searches; returns the load steps that it ran, and what it found.
pub(super) async fn run_search(
    context: &RunContext,
    phase: &Phase,
    position: PhasePosition,
    edge: &EdgeSearch,
) -> (Vec<u32>, SearchOutcome) {
    let mut load_steps = Vec::new();
    let mut search = Search::new(edge.clone());
    while let Some(level) = search.next_level() {
        let start = context.start.elapsed() + LEVEL_LEAD;
        let number = u32::try_from(load_steps.len()).unwrap_or(u32::MAX);
        let load_spec = plan::search_level(
            phase,
            edge,
            PhasePosition { start, ..position },
            number,
            level.rate_per_s,
            level.duration,
        );
        let load_step = load_spec.load_step;
        load_steps.push(load_step);
        let seen = run_level(context, load_spec, edge, &level).await;
        let title = level.title();
        let judged = search.record_level(level, &seen);
        context.recorder.with_load_steps(|steps| steps.set_overload(load_step, &judged));
        context.log_note(format!("{title}: {judged}"));
        await_drained(context).await;
    }
    (load_steps, search.outcome())
}

async fn run_level(context: &RunContext, load_spec: LoadSpec, edge: &EdgeSearch, level: &Level) -> LevelMeasurement {
    let (load_step, start, duration) = (load_spec.load_step, load_spec.start, level.duration);
    let before = context.worker_pool.gauges();
    let _ = context.recorder.take_lag();
    let paused_before = context.recorder.with_aggregate(Aggregate::paused_total);
    context.start_load(load_spec);
    let mut seen = watch_level(context, start, duration, before.due - before.done).await;
    let over_in_level = context.worker_pool.gauges().done - before.done;
    context.worker_pool.end_load_step(load_step);
    context.await_finished(&[load_step]).await;
    let lag = context.recorder.take_lag().quantile_ms(0.99);
    let quantile = edge.latency_ms.map(|(quantile, _)| quantile);
    let (figures, latency_gate_ms) = context.recorder.with_load_steps(|steps| {
        (steps.figures(load_step).unwrap_or_default(), quantile.and_then(|q| steps.latency_ms(load_step, q)))
    });
    seen.lasting_s = duration.as_secs_f64();
    seen.due = (level.rate_per_s * seen.lasting_s).round() as u64;
    let OpFigures { ok, denied, errors, .. } = figures.op;
    seen.set_outcomes(OutcomeCounts { ok, denied, errors }, over_in_level);
    seen.latency_gate_ms = latency_gate_ms;
    let latency = &figures.op.latency_ms;
    (seen.latency_p50_ms, seen.latency_p99_ms) = (latency.p50.or(latency.max), latency.p99);
    let bound_ms = context.scenario.generator.lag_p99_max.as_secs_f64() * 1000.0;
    seen.generator_behind = lag.is_some_and(|lag| lag > bound_ms);
    let paused = context.recorder.with_aggregate(Aggregate::paused_total).saturating_sub(paused_before);
    seen.paused_share = paused.as_secs_f64() / (f64::from(context.worker_count.max(1)) * seen.lasting_s);
    seen
}

/// Counts requests that wait for a response, and work that waits in the target's own queue, for as long as the level
/// lasts.
async fn watch_level(context: &RunContext, start: Duration, duration: Duration, left_over: u64) -> LevelMeasurement {
    let begin = context.start + start;
    let mut ticks = tokio::time::interval_at(begin + EDGE_SAMPLE_EVERY, EDGE_SAMPLE_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut seen = LevelMeasurement::default();
    let mut last_waiting = None;
    while Instant::now() + EDGE_SAMPLE_EVERY <= begin + duration {
        ticks.tick().await;
        let t_s = begin.elapsed().as_secs_f64();
        let gauges = context.worker_pool.gauges();
        let backlog = (gauges.due - gauges.done.min(gauges.due)).saturating_sub(left_over);
        seen.backlog.push((t_s, backlog as f64));
        let waiting: u64 = context.trackers.all().map(|(_, tracker)| tracker.waiting()).sum();
        // Between two polls of the target there is no new information.
        if last_waiting != Some(waiting) && !context.scenario.work_specs.is_empty() {
            seen.work_waiting.push((t_s, waiting as f64));
            last_waiting = Some(waiting);
        }
    }
    tokio::time::sleep_until(begin + duration).await;
    seen
}

/// Waits until the target has nothing left to do, within a bound.
async fn await_drained(context: &RunContext) {
    let deadline = Instant::now() + EDGE_DRAIN_WITHIN;
    loop {
        tokio::time::sleep(LEVEL_PAUSE).await;
        if context.trackers.all().all(|(_, tracker)| tracker.is_settled()) {
            return;
        }
        if Instant::now() >= deadline {
            return context.log_note(format!(
                "Work of the previous level was still in progress after {} s; the next level begins anyway",
                EDGE_DRAIN_WITHIN.as_secs()
            ));
        }
    }
}
