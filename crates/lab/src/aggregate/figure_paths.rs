//! The figure at a path of a record, for gates. Which paths there are: `scenario::figure_names`. Does not know how figures
//! are computed.

use serde_json::Value;

use super::summary::PERCENTILES;

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
