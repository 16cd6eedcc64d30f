//! The figures that a scenario can name: in gates, in headlines, in sweeps. Known before anything is sent, so that a gate on
//! a figure that a trial cannot have is an error of the scenario. How they are computed: `aggregate`.

use std::collections::BTreeSet;

use super::message::OTHER_PUSH;
use super::{Journey, LoadProfile, LongPoll, Phase, Scenario, WorkSpec};

/// Names that no journey, work, phase and process may have: figures of the run itself are found under them.
pub const RESERVED_NAMES: [&str; 5] = ["generator", "observe", "push", "server", "total"];

/// The statistics of a figure that an observer reads.
const OBSERVED_STATISTICS: [&str; 4] = ["min", "avg", "max", "last"];

/// Names that no derived figure may have: a work's own figures, and after them those of a phase of the same name.
pub const WORK_FIGURES: [&str; 22] = [
    "created",
    "finished",
    "failed",
    "stuck",
    "unknown",
    "waiting",
    "running",
    "duplicates",
    "throughput_per_min",
    "drain_s",
    "completion_s",
    "queue_wait_s",
    "run_s",
    "figures",
    "progress_per_s",
    "totals",
    "drain_curve",
    "stuck_by",
    "unknown_ids",
    "connections",
    "journey",
    "opening",
];

/// Figures that every phase with held connections has.
const HELD_FIGURES: [&str; 9] =
    ["planned", "opened", "kept", "failed", "closed", "dropped", "reopened", "opening_s", "opened_per_s"];

/// Paths of those that only a phase has whose connections a later one resumes: of any other, a gate on them could not
/// fail.
const RETAINED_FIGURES: [&str; 3] = ["left", "closed_after", "dropped_after"];

/// The names of all statistics of a summary, in results and gates.
pub const STATISTICS: [&str; 12] =
    ["count", "sum", "min", "avg", "p50", "p90", "p95", "p99", "p999", "p9999", "p99999", "max"];

/// Every path at which a trial of this scenario can have a figure.
#[must_use]
pub fn known_figures(scenario: &Scenario) -> BTreeSet<String> {
    let Scenario { journeys, work_specs, phases, observers, pushes, .. } = scenario;
    let mut paths = BTreeSet::new();
    for journey in journeys {
        add_journey(&mut paths, &journey.name, journey);
    }
    work_specs.iter().for_each(|work| add_work(&mut paths, work));
    phases.iter().for_each(|phase| add_phase(&mut paths, phase, journeys));
    for observer in observers {
        for figure in observer.figure_names() {
            add(&mut paths, &format!("observe.{}.{figure}", observer.name), &OBSERVED_STATISTICS);
        }
    }
    pushes.iter().for_each(|push| add_push(&mut paths, &push.name, push.event_time.is_some()));
    if !pushes.is_empty() {
        add_push(&mut paths, OTHER_PUSH, false);
    }
    add(&mut paths, "generator.schedule_lag_ms", &STATISTICS);
    add(&mut paths, "generator", &["capped", "behind_pauses", "not_sent", "arrivals", "requests", "cpu_s"]);
    add(&mut paths, "total", &["arrivals", "ok", "denied", "errors", "not_sent", "retried", "resent"]);
    add(&mut paths, "server", &["cpu_s", "rss_bytes.first", "rss_bytes.peak", "rss_bytes.last"]);
    paths
}

fn add(paths: &mut BTreeSet<String>, prefix: &str, figures: &[&str]) {
    paths.extend(figures.iter().map(|figure| format!("{prefix}.{figure}")));
}

fn add_journey(paths: &mut BTreeSet<String>, name: &str, journey: &Journey) {
    add_op(paths, name, None);
    add(paths, name, &["not_sent", "throughput_per_s", "requests", "answered_per_s"]);
    for step in journey.steps.iter().filter(|_| journey.has_step_figures()) {
        add_op(paths, &format!("{name}.steps.{}", step.name), step.long_poll.as_ref());
    }
}

/// Only a load that is raised step by step has a peak, only a search finds an edge, and only held connections are
/// counted apart from requests.
fn add_phase(paths: &mut BTreeSet<String>, phase: &Phase, journeys: &[Journey]) {
    for (key, index) in [("journey", Some(phase.journey_index)), ("opening", phase.opening_journey)] {
        if let Some(journey) = index.and_then(|index| journeys.get(index)) {
            add_journey(paths, &format!("{}.{key}", phase.name), journey);
        }
    }
    let figures: &[&str] = match phase.load_profile {
        LoadProfile::Ladder { .. } => &["peak_per_s"],
        LoadProfile::Edge(_) => &["peak_per_s", "edge_per_s"],
        _ => &[],
    };
    add(paths, &phase.name, figures);
    if phase.load_profile.held().is_some() {
        let prefix = format!("{}.connections", phase.name);
        add(paths, &prefix, &HELD_FIGURES);
        add(paths, &format!("{prefix}.opening_ms"), &STATISTICS);
        if phase.leaves_open {
            add(paths, &prefix, &RETAINED_FIGURES);
        }
    }
}

/// A long poll has no latency.
fn add_op(paths: &mut BTreeSet<String>, name: &str, long_polls: Option<&LongPoll>) {
    add(paths, name, &["count", "ok", "errors", "denied", "retries"]);
    let times: &[&str] = match long_polls {
        None => &["latency_ms", "service_ms", "failed_ms"],
        Some(LongPoll { event_time: None, .. }) => &["waited_ms", "failed_ms"],
        Some(LongPoll { event_time: Some(_), .. }) => &["waited_ms", "wake_ms", "failed_ms"],
    };
    for figure in times {
        add(paths, &format!("{name}.{figure}"), &STATISTICS);
    }
}

fn add_push(paths: &mut BTreeSet<String>, name: &str, has_event_time: bool) {
    let prefix = format!("push.{name}");
    add(paths, &prefix, &["frames", "bytes", "frames_per_s", "bytes_per_s"]);
    if has_event_time {
        add(paths, &format!("{prefix}.delay_ms"), &STATISTICS);
    }
}

fn add_work(paths: &mut BTreeSet<String>, work: &WorkSpec) {
    let WorkSpec { name, status_mapping, derived, .. } = work;
    add(paths, name, &WORK_FIGURES[..10]);
    let own = WORK_FIGURES[10..13].iter().map(|figure| (*figure).to_owned());
    let read = status_mapping.figures.iter().map(|(figure, _)| format!("figures.{figure}"));
    for figure in own.chain(read).chain(derived.iter().map(|figure| figure.name.clone())) {
        add(paths, &format!("{name}.{figure}"), &STATISTICS);
    }
    for index in &status_mapping.progress {
        paths.insert(format!("{name}.progress_per_s.{}", status_mapping.figures[*index].0));
    }
}
