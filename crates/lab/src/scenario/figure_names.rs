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
        let path = |figure: &str, statistic| format!("observe.{}.{figure}.{statistic}", observer.name);
        paths.extend(
            observer
                .figures
                .iter()
                .flat_map(|(figure, _)| OBSERVED_STATISTICS.map(|statistic| path(figure, statistic))),
        );
    }
    pushes.iter().for_each(|push| add_push(&mut paths, &push.name, push.event_time.is_some()));
    if !pushes.is_empty() {
        add_push(&mut paths, OTHER_PUSH, false);
    }
    add_statistics(&mut paths, "generator.schedule_lag_ms");
    for figure in ["capped", "behind_pauses", "not_sent", "arrivals", "requests", "cpu_s"] {
        paths.insert(format!("generator.{figure}"));
    }
    for figure in ["arrivals", "ok", "denied", "errors", "not_sent", "retried", "resent"] {
        paths.insert(format!("total.{figure}"));
    }
    paths.insert("server.cpu_s".to_owned());
    for figure in ["first", "peak", "last"] {
        paths.insert(format!("server.rss_bytes.{figure}"));
    }
    paths
}

fn add_journey(paths: &mut BTreeSet<String>, name: &str, journey: &Journey) {
    add_op(paths, name, None);
    paths.extend(
        ["not_sent", "throughput_per_s", "requests", "answered_per_s"].map(|figure| format!("{name}.{figure}")),
    );
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
    paths.extend(figures.iter().map(|figure| format!("{}.{figure}", phase.name)));
    if phase.load_profile.held().is_some() {
        paths.extend(HELD_FIGURES.map(|figure| format!("{}.connections.{figure}", phase.name)));
        add_statistics(paths, &format!("{}.connections.opening_ms", phase.name));
        if phase.leaves_open {
            paths.extend(RETAINED_FIGURES.map(|figure| format!("{}.connections.{figure}", phase.name)));
        }
    }
}

/// A long poll has no latency.
fn add_op(paths: &mut BTreeSet<String>, name: &str, long_polls: Option<&LongPoll>) {
    for figure in ["count", "ok", "errors", "denied", "retries"] {
        paths.insert(format!("{name}.{figure}"));
    }
    let times: &[&str] = match long_polls {
        None => &["latency_ms", "service_ms", "failed_ms"],
        Some(LongPoll { event_time: None, .. }) => &["waited_ms", "failed_ms"],
        Some(LongPoll { event_time: Some(_), .. }) => &["waited_ms", "wake_ms", "failed_ms"],
    };
    for figure in times {
        add_statistics(paths, &format!("{name}.{figure}"));
    }
}

fn add_push(paths: &mut BTreeSet<String>, name: &str, tells: bool) {
    let figures = ["frames", "bytes", "frames_per_s", "bytes_per_s"];
    paths.extend(figures.map(|figure| format!("push.{name}.{figure}")));
    if tells {
        add_statistics(paths, &format!("push.{name}.delay_ms"));
    }
}

fn add_work(paths: &mut BTreeSet<String>, work: &WorkSpec) {
    let name = &work.name;
    for figure in &WORK_FIGURES[..10] {
        paths.insert(format!("{name}.{figure}"));
    }
    for figure in &WORK_FIGURES[10..13] {
        add_statistics(paths, &format!("{name}.{figure}"));
    }
    work.status_mapping
        .figures
        .iter()
        .for_each(|(figure, _)| add_statistics(paths, &format!("{name}.figures.{figure}")));
    for index in &work.status_mapping.progress {
        paths.insert(format!("{name}.progress_per_s.{}", work.status_mapping.figures[*index].0));
    }
    work.derived.iter().for_each(|figure| add_statistics(paths, &format!("{name}.{}", figure.name)));
}

fn add_statistics(paths: &mut BTreeSet<String>, path: &str) {
    paths.extend(STATISTICS.map(|statistic| format!("{path}.{statistic}")));
}
