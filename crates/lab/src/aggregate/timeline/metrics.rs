//! The target's metrics over time: gauges as they are, counters as rates, histograms and summaries as rate, mean and
//! concurrency. Their buckets are not kept: a mean over one second is enough on a timeline, and it has percentiles of
//! the client's view as well. Does not know what a metric means.

use std::collections::{BTreeMap, BTreeSet};

use super::{SeriesClass, Timeline};

/// Suffixes of names that give the unit of a time, and that unit in seconds. The first is Prometheus' own.
const TIME_UNITS: [(&str, f64); 7] = [
    ("_seconds", 1.0),
    ("_milliseconds", 1e-3),
    ("_ms", 1e-3),
    ("_microseconds", 1e-6),
    ("_us", 1e-6),
    ("_nanoseconds", 1e-9),
    ("_ns", 1e-9),
];

/// The unit of a metric with this name in seconds, if its suffix says that it is a time.
pub(crate) fn seconds_in_unit(name: &str) -> Option<f64> {
    TIME_UNITS.iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, seconds)| *seconds)
}

/// The parts of a sample's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MetricName<'a> {
    base: &'a str,
    /// With their braces, or empty.
    labels: &'a str,
}

impl<'a> MetricName<'a> {
    fn parse(sample: &'a str) -> Self {
        let (base, labels) = sample.split_at(sample.find('{').unwrap_or(sample.len()));
        Self { base, labels }
    }

    /// The same with another suffix: the sum of a histogram for its count.
    fn sibling(self, ending: &str, other: &str) -> Option<String> {
        Some(format!("{}{other}{}", self.base.strip_suffix(ending)?, self.labels))
    }
}

impl Timeline {
    /// Adds the samples that were scraped at a moment.
    pub(super) fn add_metrics(&mut self, t_s: f64, samples: &BTreeMap<String, f64>) {
        let mut left_out = BTreeSet::new();
        for (sample, value) in samples {
            let name = MetricName::parse(sample);
            let count = name.sibling("_sum", "_count").and_then(|count| samples.get(&count));
            let is_counted = name.sibling("_count", "_sum").is_some_and(|sum| samples.contains_key(&sum));
            let has_room = match count {
                // The sum stands for both.
                _ if is_counted => true,
                Some(count) => self.add_summary(name, t_s, *value, *count),
                None if name.base.ends_with("_total") => self.add_counter(name, t_s, *value),
                None => self.add_gauge(name, t_s, *value),
            };
            if !has_room {
                left_out.insert(sample);
            }
        }
        self.omitted_metrics = self.omitted_metrics.max(left_out.len());
    }

    fn add_gauge(&mut self, name: MetricName<'_>, t_s: f64, value: f64) -> bool {
        let series = format!("metric.{}{}", name.base, name.labels);
        let has_room = self.ensure_series(name.base, &[&series]);
        if has_room {
            self.push(SeriesClass::Metric, &series, t_s, value);
        }
        has_room
    }

    fn add_counter(&mut self, name: MetricName<'_>, t_s: f64, value: f64) -> bool {
        let series = format!("metric.{}{}.per_s", name.base, name.labels);
        if !self.ensure_series(name.base, &[&series]) {
            return false;
        }
        if let Some(rise) = self.counters.increase_since_last(&series, t_s, value) {
            self.push_until(SeriesClass::Metric, &series, rise.span(), rise.per_s());
        }
        true
    }

    fn add_summary(&mut self, name: MetricName<'_>, t_s: f64, sum: f64, count: f64) -> bool {
        let base = name.base.strip_suffix("_sum").unwrap_or(name.base);
        let (unit_s, ending, spent) = match seconds_in_unit(base) {
            Some(unit_s) => (unit_s, "mean_s", "under_way"),
            None => (1.0, "mean", "sum_per_s"),
        };
        let path = format!("metric.{base}{}", name.labels);
        let [rate, mean, spent] = ["per_s", ending, spent].map(|figure| format!("{path}.{figure}"));
        if !self.ensure_series(base, &[&rate, &mean, &spent]) {
            return false;
        }
        let sums = self.counters.increase_since_last(&format!("{path}_sum"), t_s, sum);
        let counts = self.counters.increase_since_last(&format!("{path}_count"), t_s, count);
        // Both or none: after a restart one of them may have grown beyond its old value already.
        let (Some(sums), Some(counts)) = (sums, counts) else { return true };
        self.push_until(SeriesClass::Metric, &rate, counts.span(), counts.per_s());
        // Time spent per second is the mean concurrency (Little's law).
        self.push_until(SeriesClass::Metric, &spent, sums.span(), sums.per_s() * unit_s);
        if counts.by > 0.0 {
            self.push_until(SeriesClass::Metric, &mean, counts.span(), sums.by * unit_s / counts.by);
        }
        true
    }

    /// Creates the series of a metric, all or none of them. Of a metric without room nothing is kept, not even its
    /// counter's value.
    fn ensure_series(&mut self, base: &str, names: &[&String]) -> bool {
        let room = if self.preferred.contains(base) { SeriesClass::PreferredMetric } else { SeriesClass::Metric };
        names.iter().all(|name| self.series.contains_key(*name))
            || names.iter().all(|name| self.create_series(room, name))
    }
}
