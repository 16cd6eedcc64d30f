//! The paths by which gates find figures in a record: which paths a trial will have, before anything is sent, and the
//! figure at a path afterwards. Does not know how figures are computed.

use std::collections::BTreeSet;

use serde_json::Value;

use super::held::{HELD_FIGURES, RETAINED_FIGURES};
use super::results::{OBSERVED_STATISTICS, WORK_FIGURES};
use super::summary::{PERCENTILES, STATISTICS};
use crate::scenario::message::OTHER_PUSH;
use crate::scenario::{Journey, LoadProfile, LongPoll, Observer, Phase, Push, WorkSpec};

/// A figure by its path: `create_game.errors`, `game.figures.turns.max`, `generator.schedule_lag_ms.p99`. A journey, a
/// work and a phase may share a name, but no two figures share a path.
#[must_use]
pub fn figure(results: &Value, path: &str) -> Option<f64> {
    found(results, path).map(|found| found.value)
}

/// The figure at a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Found {
    pub(crate) value: f64,
    /// For a percentile of too few numbers: it is the largest of so many.
    pub(crate) largest_of: Option<u64>,
}

/// A figure by its path. A percentile of too few numbers is the largest of them: at least as many numbers are at most
/// as large, so an upper bound holds for it exactly if it holds for all numbers.
pub(crate) fn found(results: &Value, path: &str) -> Option<Found> {
    let roots = [results.get("journeys"), results.get("work"), results.get("phases"), Some(results)];
    roots.into_iter().flatten().find_map(|root| found_below(root, path))
}

pub(crate) fn figure_below(root: &Value, path: &str) -> Option<f64> {
    found_below(root, path).map(|found| found.value)
}

fn found_below(root: &Value, path: &str) -> Option<Found> {
    let below = |path: &str| path.split('.').try_fold(root, |value, key| value.get(key));
    if let Some(value) = below(path).and_then(Value::as_f64) {
        return Some(Found { value, largest_of: None });
    }
    let (summary, name) = path.rsplit_once('.')?;
    PERCENTILES.iter().find(|percentile| percentile.name == name)?;
    let summary = below(summary)?;
    Some(Found { value: summary.get("max")?.as_f64()?, largest_of: Some(summary.get("count")?.as_u64()?) })
}

/// Every path at which a trial of this scenario can have a figure.
#[must_use]
pub fn known_figures(
    journeys: &[Journey],
    works: &[WorkSpec],
    phases: &[Phase],
    observers: &[Observer],
    pushes: &[Push],
) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    for journey in journeys {
        add_journey(&mut paths, &journey.name, journey);
    }
    works.iter().for_each(|work| add_work(&mut paths, work));
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
    if matches!(phase.load_profile, LoadProfile::Hold { .. }) {
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
    work.derived.iter().for_each(|(figure, _)| add_statistics(paths, &format!("{name}.{figure}")));
}

fn add_statistics(paths: &mut BTreeSet<String>, path: &str) {
    paths.extend(STATISTICS.map(|statistic| format!("{path}.{statistic}")));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(path: &str, expected: Option<f64>) {
        let results = json!({
            "journeys": { "up": { "errors": 1, "latency_ms": { "p99": 2.5 } } },
            "work": { "up": { "stuck": 3 } },
            "phases": { "up": { "peak_per_s": 4 } },
            "observe": { "q": { "waiting": { "last": 5 } } },
            "generator": { "cpu_s": null },
        });
        assert_eq!(figure(&results, path), expected, "{path}");
    }

    #[track_caller]
    fn check_found(path: &str, expected: Option<(f64, Option<u64>)>) {
        let few = json!({ "count": 40, "p95": 6.5, "p99": null, "max": 7.5 });
        let none = json!({ "count": 0, "p99": null, "max": null });
        let results = json!({ "journeys": { "up": { "latency_ms": few, "failed_ms": none } } });
        assert_eq!(found(&results, path).map(|found| (found.value, found.largest_of)), expected, "{path}");
    }

    #[test]
    fn a_percentile_of_too_few_numbers_is_the_largest() {
        check_found("up.latency_ms.p95", Some((6.5, None)));
        check_found("up.latency_ms.p99", Some((7.5, Some(40))));
        check_found("up.latency_ms.p99999", Some((7.5, Some(40))));
        check_found("up.latency_ms.p98", None);
        check_found("up.latency_ms.avg", None);
        check_found("up.failed_ms.p99", None);
        check_found("p99", None);
    }

    #[test]
    fn figures_by_their_paths() {
        check("up.errors", Some(1.0));
        check("up.latency_ms.p99", Some(2.5));
        check("up.stuck", Some(3.0));
        check("up.peak_per_s", Some(4.0));
        check("observe.q.waiting.last", Some(5.0));
        check("generator.cpu_s", None);
        check("up.latency_ms", None);
        check("up", None);
        check("down.errors", None);
    }
}
