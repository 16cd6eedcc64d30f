//! The end of a trial: turns everything that was recorded into figures, evaluates the gates, and finds bottlenecks.
//! Pure but for the locks that it takes. Measures nothing more.

use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::time::Duration;

use serde_json::{Value, json};

use super::run_context::RunContext;
use super::run_load::FinishedLoad;
use super::supervisor::fault_schedule;
use super::totals::mismatches;
use super::watched_process::{GENERATOR, SERVER};
use super::{PendingRun, ProcessSupervisor, TrialEnd};
use crate::aggregate::{
    Aggregate, GeneratorFigures, LoadStepFigures, PauseFigures, ProcessFigures, Results, ServerFigures, Timeline,
    TotalsFigures, Unrecorded, journey_active_s, observer_figures, phase_figures,
};
use crate::default_gates::{ERRORS_UNGATED_NOTE, default_gates};
use crate::edge::{LevelPoint, SearchOutcome, capacity, fit};
use crate::findings::{FindingsInput, ProcessExit, find_bottlenecks};
use crate::format::{count, first_few, number};
use crate::limits::{INTERRUPT_GRACE, PAUSE_REPORTED_MIN};
use crate::measurement::Basis;
use crate::measurement::timeline::FaultRow;
use crate::report::Run;
use crate::scenario::{LoadProfile, Phase, Scenario, Schedule, WorkSpec};
use crate::verdict::{GateResult, GeneratorEffect, evaluate_gates, evaluate_gates_with, evaluate_opening};

/// Aggregates and evaluates.
pub(super) fn conclude(
    context: &RunContext,
    mut record: PendingRun,
    load: &FinishedLoad,
    rises: &[Option<TotalsFigures>],
    supervisor: &mut ProcessSupervisor,
) -> (Run, Timeline) {
    let (end, elapsed) = (&load.end, load.elapsed);
    context.recorder.close_all().iter().for_each(|row| context.log.write(row));
    let load_steps = context.recorder.with_load_steps(|steps| steps.figures_on(Basis::Measured));
    let (mut timeline, lines_failure) = context.log.take();
    timeline.close();
    let searches = std::mem::take(&mut *context.search_outcomes.lock().unwrap_or_else(PoisonError::into_inner));
    let capacities = capacities(context, &load_steps, &searches);
    let apart_from_load = recorded_results(context, load, rises, supervisor, &timeline);
    let results = with_load_figures(apart_from_load, context, &searches, Basis::Measured);
    let without_delay = Results { generator: results.generator.without_lab(), ..results.clone() };
    // The same figures without the delay that the lab itself added to each time.
    let without_delay = with_load_figures(without_delay, context, &searches, Basis::WithoutLab).to_json();
    let effect = GeneratorEffect { without_generator_delay: &without_delay, late: results.generator.is_late() };
    let mut gates = evaluate_gates_with(&context.scenario.gates, &results.to_json(), effect);
    gates.extend(implicit_gates(context, &results, end, elapsed));
    gates.iter_mut().for_each(|gate| gate.void |= !gate.ok && depends_on_void_search(&gate.name, &searches));
    gates.extend(
        context
            .scenario
            .phases
            .iter()
            .filter_map(|phase| Some(evaluate_search(&phase.name, searches.get(&phase.name)?))),
    );
    gates.extend(evaluate_faults(&context.scenario, &timeline.faults));
    gates.extend(processes_alive_gate(&context.scenario, end, &supervisor.down_processes()));
    record.notes.extend(report_notes(context, lines_failure, end));
    record.notes.extend(results.generator.pauses.as_ref().and_then(pause_note));
    record.notes.extend(results.generator.unrecorded.as_ref().map(Unrecorded::sentence));
    let mut run = record.into_run(results, gates, *end == TrialEnd::Interrupted);
    run.errors = context.recorder.with_aggregate(Aggregate::errors);
    run.faults = timeline.faults.clone();
    run.capacity = capacities;
    run.load_steps = load_steps;
    run.findings = find_bottlenecks(&FindingsInput {
        results: &run.results,
        load_steps: &run.load_steps,
        errors: &run.errors,
        timeline: &timeline,
        metric_roles: &context.scenario.metric_roles,
        machine: &run.machine,
        limits: context.scenario.target.limits,
        process_exits: &process_exits(end, &run.faults, elapsed),
        workers: context.worker_count as usize,
        denies_by_status: context.scenario.denies_by_status(),
    });
    (run, timeline)
}

/// Processes that exited while the trial ran: those that a fault ended, and the one whose exit ended the trial.
fn process_exits(end: &TrialEnd, faults: &[FaultRow], now: Duration) -> Vec<ProcessExit> {
    let ordered = faults.iter().filter(|fault| fault.failed.is_none()).filter_map(|fault| {
        let signal = match fault.act.as_str() {
            "kill" => 9,
            "term" => 15,
            _ => return None,
        };
        Some(ProcessExit { process: fault.process.clone(), t_s: fault.t_s, signal: Some(signal) })
    });
    let unordered = match end {
        TrialEnd::ProcessExited(exit) => Some(ProcessExit {
            process: exit.split_whitespace().next().unwrap_or_default().to_owned(),
            t_s: now.as_secs_f64(),
            signal: exit
                .split_once("signal: ")
                .and_then(|(_, rest)| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()),
        }),
        TrialEnd::Done | TrialEnd::Interrupted | TrialEnd::BoundReached(_) => None,
    };
    ordered.chain(unordered).collect()
}

/// Everything but the figures of the load.
fn recorded_results(
    context: &RunContext,
    load: &FinishedLoad,
    rises: &[Option<TotalsFigures>],
    supervisor: &ProcessSupervisor,
    timeline: &Timeline,
) -> Results {
    let mut processes: BTreeMap<String, ProcessFigures> =
        load.watched.iter().map(|process| (process.name().to_owned(), process.figures())).collect();
    let own = processes.remove(GENERATOR).unwrap_or_default();
    let work = |(index, work): (usize, &WorkSpec)| {
        (work.name.clone(), context.trackers.tracker(index).figures(load.elapsed, rises[index]))
    };
    let lag_p99_max = context.scenario.generator.lag_p99_max;
    let generator = context.recorder.with_aggregate(|aggregate| aggregate.generator(lag_p99_max));
    Results {
        work: context.scenario.work_specs.iter().enumerate().map(work).collect(),
        observe: observer_figures(timeline),
        generator: GeneratorFigures {
            cpu_s: own.cpu_s,
            rss_bytes: own.rss_bytes,
            unrecorded: timeline.unrecorded.or_none(),
            ..generator
        },
        server: ServerFigures {
            process: processes.remove(SERVER).unwrap_or_default(),
            config: context.prepared.config.clone(),
            limits: supervisor.limits_applied().cloned(),
            limits_seen: supervisor.limit_stats(),
        },
        processes,
        ..Results::default()
    }
}

/// Adds the figures of all arrivals, of journeys, pushes and phases.
fn with_load_figures(
    results: Results,
    context: &RunContext,
    searches: &BTreeMap<String, SearchOutcome>,
    basis: Basis,
) -> Results {
    let (load_steps, requested) =
        context.recorder.with_load_steps(|steps| (steps.figures_on(basis), steps.phase_figures(basis)));
    let active_s = |journey: usize| journey_active_s(&context.scenario, &load_steps, journey);
    let (total, journeys, push) = context.recorder.with_aggregate(|aggregate| {
        (Some(aggregate.total(basis)), aggregate.journeys(&active_s, basis), aggregate.pushes(basis))
    });
    let edge_per_s = |phase: &str| searches.get(phase)?.edge_per_s;
    let phases = phase_figures(&context.scenario, &load_steps, requested, edge_per_s);
    Results { total, journeys, push, phases, ..results }
}

/// What levels of clients and searches show about the target's capacity, by phase, in full, for reports.
fn capacities(
    context: &RunContext,
    load_steps: &[LoadStepFigures],
    searches: &BTreeMap<String, SearchOutcome>,
) -> BTreeMap<String, Value> {
    let found = |phase: &Phase| {
        let own = steps_of_phase(load_steps, phase);
        let found = match (searches.get(&phase.name), &phase.load_profile) {
            (Some(outcome), _) => {
                let first = own.first().map_or(0, |load_step| load_step.load_step);
                let mut capacity = capacity(&outcome.points(first));
                if !outcome.has_answer() {
                    // Limits derived from an edge that was not found would be guesses.
                    capacity.suggestions.clear();
                }
                json!({ "capacity": capacity, "edge": outcome })
            }
            (None, LoadProfile::Ladder { .. }) => ladder_capacity(&own, context.seed),
            (None, _) => return None,
        };
        Some((phase.name.clone(), found))
    };
    context.scenario.phases.iter().filter_map(found).collect()
}

fn steps_of_phase<'a>(load_steps: &'a [LoadStepFigures], phase: &Phase) -> Vec<&'a LoadStepFigures> {
    load_steps.iter().filter(|load_step| load_step.phase == phase.name).collect()
}

/// A ladder's capacity, and the scalability law fitted to it or the reason why it cannot be.
fn ladder_capacity(load_steps: &[&LoadStepFigures], seed: u64) -> Value {
    let points: Vec<LevelPoint> = load_steps.iter().map(|load_step| level_point(load_step)).collect();
    let pairs: Vec<(f64, f64)> =
        points.iter().filter_map(|point| Some((point.concurrency?, point.throughput_per_s))).collect();
    let usl = match fit(&pairs, seed) {
        Ok(usl) => json!(usl),
        Err(refusal) => json!({ "refusal": refusal.to_string() }),
    };
    json!({ "capacity": capacity(&points), "usl": usl })
}

fn level_point(load_step: &LoadStepFigures) -> LevelPoint {
    let share = |count: u64| if load_step.op.count > 0 { count as f64 / load_step.op.count as f64 } else { 0.0 };
    LevelPoint {
        label: load_step.label.clone(),
        load_step: load_step.load_step,
        concurrency: load_step.clients.map(|clients| clients as f64),
        offered_per_s: load_step.offered_per_s,
        throughput_per_s: load_step.throughput_per_s.unwrap_or(0.0),
        error_share: share(load_step.op.errors),
        denied_share: share(load_step.op.denied),
        latency_p50_ms: load_step.op.latency_ms.p50,
        latency_p95_ms: load_step.op.latency_ms.p95,
        latency_p99_ms: load_step.op.latency_ms.p99,
        overloaded: load_step.overload.as_ref().map(|reasons| !reasons.is_empty()),
    }
}

fn implicit_gates(context: &RunContext, results: &Results, end: &TrialEnd, now: Duration) -> Vec<GateResult> {
    let mut gates = evaluate_gates(&default_gates(&context.scenario), &results.to_json());
    if context.scenario.work_specs.iter().any(|work| work.totals.is_some()) {
        let rises: Vec<_> = context.scenario.work_specs.iter().map(|work| results.work[&work.name].totals).collect();
        gates.push(reconciliation_gate(&mismatches(context, now, &rises)));
    }
    gates.extend(context.scenario.phases.iter().filter_map(|phase| opening_gate(context, results, phase)));
    if let TrialEnd::BoundReached(reason) = end {
        gates.push(GateResult::implicit("bounds", "not reached", reason, false));
    }
    gates
}

/// Whether a search for the edge reached a result: without one, nothing that the run shows about the edge holds.
fn evaluate_search(phase: &str, outcome: &SearchOutcome) -> GateResult {
    let found = match outcome.edge_per_s {
        Some(edge_per_s) => format!("{} a second", number(Some(edge_per_s))),
        None => format!("no edge found: {}", outcome.reason),
    };
    let gate = GateResult::implicit(&format!("{phase} edge"), "an answer", &found, outcome.has_answer());
    gate.void_if(outcome.is_void())
}

/// Whether a gate is on the edge of a search that the lab itself kept from finding one.
fn depends_on_void_search(gate: &str, searches: &BTreeMap<String, SearchOutcome>) -> bool {
    let phase = gate.strip_suffix(".edge_per_s").and_then(|phase| searches.get(phase));
    phase.is_some_and(SearchOutcome::is_void)
}

/// Whether every fault was carried out: without one of them this was not the planned trial.
fn evaluate_faults(scenario: &Scenario, faults: &[FaultRow]) -> Option<GateResult> {
    let all = fault_schedule(&scenario.faults).len();
    let missed = faults.iter().filter_map(|row| Some((row, row.failed.as_ref()?)));
    let missed: Vec<String> = missed
        .map(|(row, why)| format!("{} of {}, due at {} s: {why}", row.act, row.process, number(Some(row.planned_s))))
        .collect();
    let found = match missed.as_slice() {
        [] => format!("{all} of {all}"),
        missed => format!("not carried out: {}", missed.join("; ")),
    };
    (all > 0).then(|| GateResult::implicit("faults", "all carried out", &found, missed.is_empty()))
}

/// Whether the processes that the lab started ran to the end. A process that the scenario itself ended has not failed,
/// but the gate does not claim that it ran.
fn processes_alive_gate(scenario: &Scenario, end: &TrialEnd, left_down: &[String]) -> Option<GateResult> {
    if let TrialEnd::ProcessExited(exit) = end {
        return Some(GateResult::implicit("alive", "until the end", exit, false));
    }
    let (limit, found) = match left_down {
        [] => ("until the end", "yes".to_owned()),
        ended => ("until the end or a fault", format!("no: {}", ended.join("; "))),
    };
    scenario.spawns_processes().then(|| GateResult::implicit("alive", limit, &found, true))
}

/// Whether a phase got its connections; if not, the most frequent error.
fn opening_gate(context: &RunContext, results: &Results, phase: &Phase) -> Option<GateResult> {
    let held = results.phases.get(&phase.name)?.connections.as_ref()?;
    let journey = context.scenario.journeys.get(phase.opening_journey.unwrap_or(phase.journey_index));
    let errors = context.recorder.with_aggregate(Aggregate::errors);
    let own = errors.iter().filter(|error| journey.is_some_and(|journey| journey.name == error.journey));
    let most = own.max_by_key(|error| error.count);
    let why = most.map_or_else(String::new, |error| format!("; most often: {}: {}", error.kind, error.sample));
    evaluate_opening(phase, held, &why).map(|gate| gate.void_if(results.generator.is_late()))
}

fn reconciliation_gate(mismatches: &[String]) -> GateResult {
    let limit = "= server's totals";
    match mismatches {
        [] => GateResult::implicit("reconciled", limit, "equal", true),
        found => GateResult::implicit("reconciled", limit, &first_few(found, "; "), false),
    }
}

/// What a reader must know about the record itself.
fn report_notes(context: &RunContext, timeline: Option<std::io::Error>, end: &TrialEnd) -> Vec<String> {
    let ungated = (!context.scenario.gates_other_errors).then(|| ERRORS_UNGATED_NOTE.to_owned());
    let misread = context.first_misread.lock().unwrap_or_else(PoisonError::into_inner).take();
    let misread = misread.map(|message| format!("A status request got no good answer; the first: {message}"));
    let timeline = timeline.map(|error| format!("timeline.jsonl is not complete: {error}"));
    let mut notes: Vec<String> = ungated.into_iter().chain(misread).chain(timeline).collect();
    match end {
        TrialEnd::Done => {}
        TrialEnd::Interrupted => notes.extend(interruption_note(context)),
        TrialEnd::ProcessExited(_) => notes.extend(unsent_note(context)),
        TrialEnd::BoundReached(reason) => {
            notes.push(format!("The run was ended by its bounds: {reason}"));
            notes.extend(unsent_note(context));
        }
    }
    notes.extend(context.recorder.failures());
    notes
}

/// How much of the plan a run that was cut short left out, if the plan is a number.
fn unsent_note(context: &RunContext) -> Option<String> {
    let planned = |phase: &Phase| match phase.load_profile {
        LoadProfile::Single(Schedule::Poisson { .. }) => None,
        _ => phase.load_profile.max_count(),
    };
    let planned: u64 = context.scenario.phases.iter().map(planned).sum::<Option<u64>>()?;
    let begun =
        context.recorder.with_aggregate(|aggregate| aggregate.total(Basis::Measured).arrivals + aggregate.abandoned());
    let left = planned.saturating_sub(begun);
    (left > 0).then(|| {
        format!("The run was cut short: {} of {} planned arrivals were never sent.", count(left), count(planned))
    })
}

/// Reports that the lab itself did not run for a while, whatever that did to the figures.
fn pause_note(pauses: &PauseFigures) -> Option<String> {
    (pauses.longest_s >= PAUSE_REPORTED_MIN.as_secs_f64()).then(|| {
        format!(
            "The lab itself paused: for {} s at {} s, and {} times in all ({} of its workers, {} s together). It was \
             stopped, or something else had the processors. What was due or under way then was longer through the lab, and \
             gates are judged without that.",
            number(Some(pauses.longest_s)),
            number(Some(pauses.longest_at_s)),
            count(pauses.count),
            count(pauses.workers),
            number(Some(pauses.sum_s)),
        )
    })
}

/// What is unknown after an interruption: requests and work still in flight may have finished without the lab.
fn interruption_note(context: &RunContext) -> Option<String> {
    let abandoned = context.recorder.with_aggregate(Aggregate::abandoned);
    let requests = (abandoned > 0).then(|| {
        let grace_s = number(Some(INTERRUPT_GRACE.as_secs_f64()));
        format!("{} arrivals were still in flight {grace_s} s later and were abandoned", count(abandoned))
    });
    let works = context.scenario.work_specs.iter().enumerate().filter_map(|(index, work)| {
        let left = context.trackers.tracker(index).unfinished().len() as u64;
        (left > 0).then(|| format!("{} work items of {} had not finished", count(left), work.name))
    });
    let left: Vec<String> = requests.into_iter().chain(works).collect();
    let explains = "the target may count what the lab does not know of";
    (!left.is_empty()).then(|| format!("The run was interrupted: {}; {explains}.", first_few(&left, ", ")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::{LevelMeasurement, Search};
    use crate::scenario::EdgeSearch;
    use crate::verdict::{Verdict, overall_verdict};

    /// The gate of a search from 50 to 100 a second, whose levels from the given one on were void.
    #[track_caller]
    fn check(void_from: usize, expected: Verdict, says: &str) {
        let second = Duration::from_secs(2);
        let spec = EdgeSearch {
            from_per_s: 50.0,
            to_per_s: 100.0,
            precision: 0.1,
            level_duration: second,
            hold_duration: second,
            error_share: Some(0.01),
            ..EdgeSearch::default()
        };
        let mut search = Search::new(spec);
        while let Some(level) = search.next_level() {
            let due = (level.rate_per_s * 2.0) as u64;
            let generator_behind = level.number >= void_from;
            let seen =
                LevelMeasurement { lasting_s: 2.0, due, ok: due, generator_behind, ..LevelMeasurement::default() };
            search.record_level(level, &seen);
        }
        let edges = BTreeMap::from([("search".to_owned(), search.outcome())]);
        let judged = evaluate_search("search", &edges["search"]);
        assert!(judged.value.as_str().unwrap().starts_with(says), "{judged:?}");
        assert_eq!(overall_verdict(&[judged], false), expected);
        assert_eq!(depends_on_void_search("search.edge_per_s", &edges), expected == Verdict::Void);
        assert!(
            !depends_on_void_search("search.peak_per_s", &edges) && !depends_on_void_search("other.edge_per_s", &edges)
        );
    }

    #[test]
    fn a_search_that_the_lab_prevented_is_void() {
        check(9, Verdict::Passed, "100 a second");
        check(2, Verdict::Void, "no edge found: Ended at 100 requests/s, twice void");
        check(1, Verdict::Void, "no edge found: Ended at 50 requests/s, twice void");
    }
}
