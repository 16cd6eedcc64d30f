//! Summarises numbers: count, sum and extremes exactly, percentiles to one part in a thousand, in constant memory.
//! Does not know what the numbers mean.

use crate::format::round;
use crate::measurement::{Basis, TimeHistogram, histogram, quantile_ms};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Milliseconds are kept to the microsecond, seconds to the millisecond.
const STEPS_PER_UNIT: f64 = 1000.0;

/// Larger numbers are counted as this one.
const STEPS_MAX: f64 = 1e15;

/// The percentiles of a summary. One that leaves a share of `1 - quantile` above it needs `1 / (1 - quantile)` numbers:
/// with fewer, not one number lies above it, and it is just the largest. So the percentile output of HdrHistogram, and
/// wrk2's after it, ends at the level that the count resolves and continues with the maximum; k6 interpolates between
/// the two largest, a value that was never measured.
pub const PERCENTILES: [Percentile; 7] = [
    Percentile { name: "p50", quantile: 0.5, needs: 2 },
    Percentile { name: "p90", quantile: 0.9, needs: 10 },
    Percentile { name: "p95", quantile: 0.95, needs: 20 },
    Percentile { name: "p99", quantile: 0.99, needs: 100 },
    Percentile { name: "p999", quantile: 0.999, needs: 1_000 },
    Percentile { name: "p9999", quantile: 0.9999, needs: 10_000 },
    Percentile { name: "p99999", quantile: 0.99999, needs: 100_000 },
];

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percentile {
    /// Its name in results and gates.
    pub name: &'static str,
    /// The share of all numbers that are at most as large.
    pub quantile: f64,
    /// With fewer numbers it is not known.
    pub needs: u64,
}

#[derive(Clone, Debug)]
pub struct Summary {
    steps: Histogram<u64>,
    sum: f64,
    min: f64,
    max: f64,
}

impl Default for Summary {
    fn default() -> Self {
        Self { steps: histogram(), sum: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY }
    }
}

impl Summary {
    /// Adds a number. One that is not finite is omitted; percentiles count a negative one as zero.
    pub fn record(&mut self, value: f64) {
        if !value.is_finite() {
            return;
        }
        let steps = (value * STEPS_PER_UNIT).round().clamp(0.0, STEPS_MAX);
        // It resizes itself, and STEPS_MAX is far below what it can hold: nothing is ever refused.
        let _ = self.steps.record(steps as u64);
        self.sum += value;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    #[must_use]
    pub fn count(&self) -> u64 {
        self.steps.len()
    }

    #[must_use]
    pub fn statistics(&self) -> Statistics {
        let count = self.count();
        if count == 0 {
            return Statistics::default();
        }
        let at = |quantile| (self.steps.value_at_quantile(quantile) as f64 / STEPS_PER_UNIT).clamp(self.min, self.max);
        Statistics::of(count, [self.sum, self.min, self.sum / count as f64, self.max], at)
    }
}

/// The statistics of a summary: only the count if there were no numbers, and no percentile with too few numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Statistics {
    pub count: u64,
    pub sum: Option<f64>,
    pub min: Option<f64>,
    pub avg: Option<f64>,
    pub p50: Option<f64>,
    pub p90: Option<f64>,
    pub p95: Option<f64>,
    pub p99: Option<f64>,
    pub p999: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p9999: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99999: Option<f64>,
    pub max: Option<f64>,
}

impl Statistics {
    /// Of `count` numbers, at least one: sum, smallest, mean and largest, and the value at a quantile.
    pub(crate) fn of(count: u64, [sum, min, avg, max]: [f64; 4], at: impl Fn(f64) -> f64) -> Self {
        let [p50, p90, p95, p99, p999, p9999, p99999] = PERCENTILES.map(|it| Some(round(at(it.quantile))));
        let [sum, min, avg, max] = [sum, min, avg, max].map(|value| Some(round(value)));
        Self { count, sum, min, avg, p50, p90, p95, p99, p999, p9999, p99999, max }.resolved()
    }

    /// Without the percentiles that have too few numbers.
    #[must_use]
    pub fn resolved(mut self) -> Self {
        let Self { count, p50, p90, p95, p99, p999, p9999, p99999, .. } = &mut self;
        for (value, percentile) in [p50, p90, p95, p99, p999, p9999, p99999].into_iter().zip(PERCENTILES) {
            *value = value.filter(|_| *count >= percentile.needs);
        }
        self
    }

    /// The 99th percentile, or the largest number if there are too few: the figure for limits.
    #[must_use]
    pub fn p99_or_max(&self) -> Option<f64> {
        self.p99.or(self.max)
    }
}

impl TimeHistogram {
    /// The statistics in milliseconds, on a basis.
    pub(crate) fn statistics_ms(&self, basis: Basis) -> Statistics {
        let times = self.on(basis);
        let count = times.len();
        if count == 0 {
            return Statistics::default();
        }
        let [avg, min, max] = [times.mean(), times.min() as f64, times.max() as f64].map(|us| us / 1000.0);
        let at = |quantile| quantile_ms(&times, quantile).unwrap_or(max);
        Statistics::of(count, [avg * count as f64, min, avg, max], at)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn summary(values: &[f64]) -> Summary {
        let mut summary = Summary::default();
        values.iter().for_each(|value| summary.record(*value));
        summary
    }

    fn values() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec((0u32..10_000_000).prop_map(|steps| f64::from(steps) / 1000.0), 0..200)
    }

    #[test]
    fn an_empty_summary_has_no_figures() {
        assert_eq!(summary(&[]).statistics(), Statistics::default());
        assert_eq!(summary(&[f64::NAN, f64::INFINITY]).statistics(), Statistics::default());
    }

    #[test]
    fn names_of_statistics_are_those_of_the_record() {
        let figures = Statistics::of(100_000, [1.0; 4], |_| 1.0);
        let record = serde_json::to_value(figures).unwrap();
        let mut names: Vec<_> = record.as_object().unwrap().keys().cloned().collect();
        let mut stated = crate::scenario::STATISTICS.map(str::to_owned).to_vec();
        names.sort();
        stated.sort();
        assert_eq!(names, stated);
    }

    /// Checks how many percentiles are known of so many distinct numbers.
    #[track_caller]
    fn check_known(count: u32, known: usize) {
        let mut all = Summary::default();
        (1..=count).for_each(|n| all.record(f64::from(n)));
        let figures = all.statistics();
        let Statistics { p50, p90, p95, p99, p999, p9999, p99999, .. } = figures;
        let found: Vec<f64> = [p50, p90, p95, p99, p999, p9999, p99999].into_iter().map_while(|value| value).collect();
        assert_eq!(found.len(), known, "{count}: {figures:?}");
        // None is just the largest, as far as three digits tell.
        assert!(count > 1_000 || found.iter().all(|value| Some(*value) < figures.max), "{count}: {figures:?}");
        let read: Statistics = serde_json::from_value(serde_json::to_value(&figures).unwrap()).unwrap();
        assert_eq!(read, figures);
    }

    #[test]
    fn a_percentile_needs_numbers_above_it() {
        check_known(1, 0);
        check_known(2, 1);
        check_known(9, 1);
        check_known(10, 2);
        check_known(19, 2);
        check_known(20, 3);
        check_known(40, 3);
        check_known(99, 3);
        check_known(100, 4);
        check_known(999, 4);
        check_known(1_000, 5);
        check_known(10_000, 6);
        check_known(99_999, 6);
        check_known(100_000, 7);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn percentiles_are_those_of_the_sorted_numbers(mut values in values()) {
            let figures = summary(&values).statistics();
            values.sort_by(f64::total_cmp);
            let all = [figures.p50, figures.p90, figures.p95, figures.p99];
            for (Percentile { quantile, needs, .. }, found) in PERCENTILES.into_iter().zip(all) {
                let rank = (quantile * values.len() as f64).ceil().max(1.0) as usize;
                match values.get(rank - 1).filter(|_| values.len() as u64 >= needs) {
                    Some(exact) => prop_assert!((found.unwrap() - exact).abs() <= 0.0011 + exact * 0.001),
                    None => prop_assert_eq!(found, None),
                }
            }
            prop_assert_eq!(figures.max, values.last().map(|max| round(*max)));
            prop_assert_eq!(figures.count, values.len() as u64);
        }
    }
}
