//! What metrics mean: the roles that a scenario's `[signals]` can assign to a target's metrics, the names of our own
//! server's metrics for them (names alone: the lab knows nothing else of it), and a role's figures over time ranges.
//! Does not evaluate them.

use std::collections::BTreeSet;

use super::series::{SeriesStep, TimeRanges, area, mean, steps, time_when_s, value_at};
use crate::aggregate::{Series, Timeline, seconds_in_unit};
use crate::scenario::MetricRoles;

/// Every role, and our own server's metric for it.
pub const ROLE_METRICS: [(&str, Option<&str>); 16] = [
    // Times: histograms, summaries, or gauges in the unit that their name ends with, seconds without one.
    ("pool_wait", Some("gauntlet_store_pool_wait_seconds")),
    ("query_time", Some("gauntlet_store_query_seconds")),
    ("commit_wait", Some("gauntlet_store_commit_wait_seconds")),
    ("commit_time", Some("gauntlet_store_commit_seconds")),
    ("queue_wait", Some("gauntlet_queue_wait_seconds")),
    ("run_time", Some("gauntlet_run_time_seconds")),
    ("scheduler_delay", Some("gauntlet_scheduler_delay_seconds")),
    ("dependency_time", Some("gauntlet_bot_call_seconds")),
    ("dependency_wait", Some("gauntlet_bot_permit_wait_seconds")),
    // Counters.
    ("dependency_late", Some("gauntlet_late_moves_total")),
    ("denied", None),
    ("accept_errors", Some("gauntlet_http_accept_errors_total")),
    // Gauges.
    ("queue_depth", None),
    ("work_in_memory", Some("gauntlet_matches_running")),
    ("own_work", Some("gauntlet_ladder_matches_unapplied")),
    ("open_files", None),
];

/// The metrics that findings use: those that the scenario names, and those of our own server. A timeline keeps room for
/// them ([`Timeline::with_preferred_metrics`]).
#[must_use]
pub fn metric_names(signals: &MetricRoles) -> BTreeSet<String> {
    let named = signals.values().map(|metric| metric_name(metric).to_owned());
    let known = ROLE_METRICS.iter().filter_map(|(_, metric)| metric.map(str::to_owned));
    named.chain(known).collect()
}

fn metric_name(metric: &str) -> &str {
    metric.split('{').next().unwrap_or(metric)
}

/// What the timeline shows of one role.
#[derive(Clone, Debug)]
pub(super) struct RoleSeries<'a> {
    /// The timeline's name of its main figure, for evidence.
    pub(super) figure: String,
    /// How often, and how much time in total per second, over all labels of a histogram or summary.
    summaries: Vec<(&'a Series, &'a Series)>,
    /// Values of a gauge, over all its labels.
    gauges: Vec<&'a Series>,
    /// Rates of a counter, over all its labels.
    rates: Vec<&'a Series>,
    /// Seconds in the unit of a gauge.
    unit_s: f64,
}

/// The time of a role over a time range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RoleTiming {
    /// The mean, in seconds.
    pub(super) mean_s: f64,
    /// The mean concurrency; none for a gauge.
    pub(super) concurrency: Option<f64>,
    /// How many there were per second; none for a gauge.
    pub(super) per_s: Option<f64>,
}

impl<'a> RoleSeries<'a> {
    /// The series of this role on the timeline: the metric that the scenario names, or the known one.
    pub(super) fn find(role: &str, timeline: &'a Timeline, signals: &MetricRoles) -> Option<Self> {
        let known = ROLE_METRICS.iter().find(|(name, _)| *name == role).and_then(|(_, metric)| *metric);
        let metric = signals.get(role).map(String::as_str).or(known)?;
        Self::from_metric(metric, timeline)
    }

    fn from_metric(metric: &str, timeline: &'a Timeline) -> Option<Self> {
        let paths = series_names(metric, timeline);
        let get = |path: &String, figure: &str| timeline.get(&format!("{path}{figure}"));
        let spread = |path: &String| {
            let spent = get(path, ".under_way").or_else(|| get(path, ".sum_per_s"))?;
            Some((get(path, ".per_s")?, spent))
        };
        let spreads: Vec<_> = paths.iter().filter_map(spread).collect();
        let rates =
            if spreads.is_empty() { paths.iter().filter_map(|path| get(path, ".per_s")).collect() } else { Vec::new() };
        // A figure of an observer or of the machine can be named as well.
        let gauges: Vec<_> = paths.iter().filter_map(|path| get(path, "")).chain(timeline.get(metric)).collect();
        let unit_s = seconds_in_unit(metric_name(metric)).unwrap_or(1.0);
        let shown =
            paths.iter().flat_map(|path| ["", ".mean_s", ".mean", ".per_s"].map(|figure| format!("{path}{figure}")));
        let figure = shown.chain([metric.to_owned()]).find(|name| timeline.get(name).is_some())?;
        Some(Self { figure, summaries: spreads, gauges, rates, unit_s })
    }

    /// The timeline's name of the concurrency, for evidence.
    pub(super) fn concurrency_figure(&self) -> String {
        self.figure.strip_suffix(".mean_s").map_or_else(|| self.figure.clone(), |path| format!("{path}.under_way"))
    }

    /// The time that it took, over these times; none if there was none.
    pub(super) fn timing(&self, times: &TimeRanges) -> Option<RoleTiming> {
        if self.summaries.is_empty() {
            let mean_s = self.mean(times)? * self.unit_s;
            return Some(RoleTiming { mean_s, concurrency: None, per_s: None });
        }
        let (mut counted, mut spent, mut known_s) = (0.0, 0.0, 0.0_f64);
        for (rate, under_way) in &self.summaries {
            let (count, rate_known_s) = area(rate, times);
            counted += count;
            spent += area(under_way, times).0;
            known_s = known_s.max(rate_known_s);
        }
        (counted > 0.0 && known_s > 0.0 && spent.is_finite() && counted.is_finite()).then(|| RoleTiming {
            mean_s: spent / counted,
            concurrency: Some(spent / known_s),
            per_s: Some(counted / known_s),
        })
    }

    /// A gauge's mean over these times, the highest over its labels.
    pub(super) fn mean(&self, times: &TimeRanges) -> Option<f64> {
        let means = self.gauges.iter().filter_map(|gauge| mean(gauge, times));
        means.max_by(f64::total_cmp)
    }

    /// The gauge itself, if it has only one set of labels.
    pub(super) fn gauge(&self) -> Option<&'a Series> {
        match self.gauges.as_slice() {
            [gauge] => Some(gauge),
            _ => None,
        }
    }

    /// A counter's rise per second over these times, over all its labels.
    pub(super) fn per_s(&self, times: &TimeRanges) -> Option<f64> {
        let rates: Vec<f64> = self.rates.iter().filter_map(|rate| mean(rate, times)).collect();
        (!rates.is_empty()).then(|| rates.iter().sum())
    }

    /// How much of these times it took at least this long, by the mean of each sample.
    pub(super) fn time_above_s(&self, times: &TimeRanges, least_s: f64) -> f64 {
        let Some((first, _)) = self.summaries.first() else {
            let long =
                self.gauges.iter().map(|gauge| time_when_s(gauge, times, |value| value * self.unit_s >= least_s));
            return long.fold(0.0, f64::max);
        };
        let is_long = |t_s: f64| {
            let sum = |of: fn(&(&'a Series, &'a Series)) -> &'a Series| {
                self.summaries.iter().filter_map(|spread| value_at(of(spread), t_s)).sum::<f64>()
            };
            let (counted, spent) = (sum(|spread| spread.0), sum(|spread| spread.1));
            counted > 0.0 && spent / counted >= least_s
        };
        let long = steps(first).filter(|step| is_long(step.from_s)).map(|step| (step.from_s, step.to_s));
        let long = TimeRanges::new(long);
        times.total_s() - times.difference(&long).total_s()
    }

    /// The means of single samples in these times, in seconds, shortest first.
    pub(super) fn sample_means_s(&self, times: &TimeRanges) -> Vec<f64> {
        let Some((first, _)) = self.summaries.first() else { return Vec::new() };
        let sample =
            |step: SeriesStep| self.timing(&TimeRanges::new([(step.from_s, step.to_s)])).map(|took| took.mean_s);
        let inside = steps(first).filter(|step| times.contains((step.from_s + step.to_s) / 2.0));
        let mut means: Vec<f64> = inside.filter_map(sample).collect();
        means.sort_by(f64::total_cmp);
        means
    }
}

/// The timeline's names of a metric: itself, or one per set of labels.
fn series_names(metric: &str, timeline: &Timeline) -> Vec<String> {
    let exact = format!("metric.{metric}");
    let labelled = format!("{exact}{{");
    let mut found = BTreeSet::from([exact]);
    let names =
        timeline.series.range(labelled.clone()..).map(|(name, _)| name).take_while(|name| name.starts_with(&labelled));
    found.extend(names.filter_map(|name| Some(name[..=name.rfind('}')?].to_owned())));
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_role_of_a_scenario_is_used() {
        let mut known = crate::scenario::METRIC_ROLES.to_vec();
        let mut looked_for = ROLE_METRICS.map(|(role, _)| role).to_vec();
        known.sort_unstable();
        looked_for.sort_unstable();
        assert_eq!(known, looked_for);
    }

    #[test]
    fn metrics_are_kept_by_name_whatever_their_labels() {
        let signals = MetricRoles::from([("pool_wait".to_owned(), "wait_seconds{db=\"x\"}".to_owned())]);
        let names = metric_names(&signals);
        assert!(names.contains("wait_seconds") && names.contains("gauntlet_store_query_seconds"), "{names:?}");
    }
}
