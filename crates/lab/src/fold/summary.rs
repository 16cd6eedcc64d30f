//! Numbers of one kind, folded: count, sum, extremes exactly, percentiles to one part in a thousand, in constant
//! memory. Merging is associative. Refuses to know what the numbers mean.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Steps per unit: milliseconds are kept to the microsecond, seconds to the millisecond.
const STEPS_PER_UNIT: f64 = 1000.0;

/// Beyond this a number is counted, but only its magnitude is told apart.
const STEPS_MAX: f64 = 1e15;

/// The names of all statistics that a summary has, as they stand in results and gates.
pub const STATISTICS: [&str; 10] = ["count", "sum", "min", "avg", "p50", "p90", "p95", "p99", "p999", "max"];

/// Numbers below which a 95th percentile is the highest of them.
pub const P95_NEEDS: u64 = 20;

/// Numbers below which a 99th percentile is the highest of them.
pub const P99_NEEDS: u64 = 100;

/// A growing summary.
#[derive(Clone, Debug)]
pub struct Summary {
    steps: Histogram<u64>,
    sum: f64,
    min: f64,
    max: f64,
}

impl Default for Summary {
    fn default() -> Self {
        let steps = Histogram::new(3).expect("three significant digits are within the library's range of 0 to 5");
        Self { steps, sum: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY }
    }
}

impl Summary {
    /// Takes one number in. What is not a number is left out; percentiles count a negative one as zero.
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

    /// Takes all numbers of another summary in.
    pub fn merge(&mut self, other: &Self) {
        // Both resize themselves, so the library has no reason to refuse.
        let _ = self.steps.add(&other.steps);
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// How many numbers there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.steps.len()
    }

    /// The statistics, for a record that people and programs read.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let count = self.count();
        if count == 0 {
            return Figures::default();
        }
        let at = |quantile| {
            let value = self.steps.value_at_quantile(quantile) as f64 / STEPS_PER_UNIT;
            Some(round(value.clamp(self.min, self.max)))
        };
        Figures {
            count,
            sum: Some(round(self.sum)),
            min: Some(round(self.min)),
            avg: Some(round(self.sum / count as f64)),
            p50: at(0.5),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            p999: at(0.999),
            max: Some(round(self.max)),
        }
    }
}

/// The statistics of a summary; none but the count where there were no numbers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Figures {
    pub count: u64,
    pub sum: Option<f64>,
    pub min: Option<f64>,
    pub avg: Option<f64>,
    pub p50: Option<f64>,
    pub p90: Option<f64>,
    pub p95: Option<f64>,
    pub p99: Option<f64>,
    pub p999: Option<f64>,
    pub max: Option<f64>,
}

pub(crate) fn round(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
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
    fn nothing_has_no_figures() {
        assert_eq!(summary(&[]).figures(), Figures::default());
        assert_eq!(summary(&[f64::NAN, f64::INFINITY]).figures(), Figures::default());
    }

    #[test]
    fn names_of_statistics_are_those_of_the_record() {
        let record = serde_json::to_value(summary(&[1.0]).figures()).unwrap();
        let mut names: Vec<_> = record.as_object().unwrap().keys().cloned().collect();
        let mut stated = STATISTICS.map(str::to_owned).to_vec();
        names.sort();
        stated.sort();
        assert_eq!(names, stated);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn percentiles_are_those_of_the_sorted_numbers(mut values in values()) {
            let figures = summary(&values).figures();
            values.sort_by(f64::total_cmp);
            for (quantile, found) in [(0.5, figures.p50), (0.9, figures.p90), (0.95, figures.p95), (0.99, figures.p99)] {
                let rank = (quantile * values.len() as f64).ceil().max(1.0) as usize;
                match values.get(rank - 1) {
                    Some(exact) => prop_assert!((found.unwrap() - exact).abs() <= 0.0011 + exact * 0.001),
                    None => prop_assert_eq!(found, None),
                }
            }
            prop_assert_eq!(figures.max, values.last().map(|max| round(*max)));
            prop_assert_eq!(figures.count, values.len() as u64);
        }

        #[test]
        fn merging_is_associative(a in values(), b in values(), c in values()) {
            let (a, b, c) = (summary(&a), summary(&b), summary(&c));
            let (mut left, mut right, mut bc) = (a.clone(), a, b.clone());
            left.merge(&b);
            left.merge(&c);
            bc.merge(&c);
            right.merge(&bc);
            let (left, right) = (left.figures(), right.figures());
            // Sums of floats may differ in the last bit; everything else is the same.
            prop_assert!((left.sum.unwrap_or(0.0) - right.sum.unwrap_or(0.0)).abs() < 0.01);
            prop_assert_eq!(Figures { sum: None, avg: None, ..left }, Figures { sum: None, avg: None, ..right });
        }
    }
}
