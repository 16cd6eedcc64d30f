//! An operation of two runs, second by second: the time in which it was active, and the figures that can be resampled
//! from it. Does not know the other figures of a run.

use super::load::RunRecord;
use super::run_series::{OpUnitSeries, RateSeries, UnitCounts};
use super::stats::{
    ComparisonScale, Distribution, Estimator, Family, PairResampling, Quantile, Ratio, UndecidedReason, ValueCounts,
};
use crate::aggregate::{OpFigures, Statistics};

/// Histograms tell values apart to three significant digits; rates are no better.
pub(super) const RESOLUTION: f64 = 0.001;

/// Responses that must be beyond a percentile before it is meaningful.
const TAIL_COUNT_MIN: f64 = 10.0;

/// Microseconds of a millisecond.
const US_PER_MS: f64 = 1000.0;

/// A percentile of an operation.
pub(super) struct ComparedPercentile {
    pub(super) name: &'static str,
    pub(super) quantile: f64,
    /// Its location in a run's record.
    pub(super) figure: fn(&OpFigures, f64) -> Option<f64>,
    value_counts: fn(&OpUnitSeries) -> &[ValueCounts],
}

/// The percentiles that are compared, those of one distribution together.
pub(super) const PERCENTILES: [ComparedPercentile; 5] = [
    ComparedPercentile { name: "latency p50", quantile: 0.5, figure: latency, value_counts: |op| &op.latency_us },
    ComparedPercentile { name: "latency p90", quantile: 0.9, figure: latency, value_counts: |op| &op.latency_us },
    ComparedPercentile { name: "latency p99", quantile: 0.99, figure: latency, value_counts: |op| &op.latency_us },
    ComparedPercentile { name: "service p50", quantile: 0.5, figure: service, value_counts: |op| &op.service_us },
    ComparedPercentile { name: "service p99", quantile: 0.99, figure: service, value_counts: |op| &op.service_us },
];

fn latency(op: &OpFigures, quantile: f64) -> Option<f64> {
    percentile(&op.latency_ms, quantile)
}

fn service(op: &OpFigures, quantile: f64) -> Option<f64> {
    percentile(&op.service_ms, quantile)
}

fn percentile(figures: &Statistics, quantile: f64) -> Option<f64> {
    match quantile {
        0.5 => figures.p50,
        0.9 => figures.p90,
        _ => figures.p99,
    }
}

/// From a run's id: the same runs are always compared with the same resamples.
pub(super) fn seed_from_id(id: &str) -> u64 {
    id.bytes().fold(0, |seed, byte| crate::scenario::mix(seed, u64::from(byte)))
}

/// An operation of two runs, in the time in which it was active.
pub(super) struct OpComparison {
    resampling: PairResampling,
    active: [OpUnitSeries; 2],
    inner_counts: [Vec<UnitCounts>; 2],
    inner_resampling: Result<PairResampling, UndecidedReason>,
    unit_s: f64,
}

impl OpComparison {
    pub(super) fn new(records: [&RunRecord; 2], op: &str) -> Result<Self, UndecidedReason> {
        let [Some((before, inner_before)), Some((after, inner_after))] = records.map(|record| record.series.active(op))
        else {
            return Err(UndecidedReason::OneRun);
        };
        let unit_s = records[0].series.unit_s;
        let seeds = records.map(|record| seed_from_id(&record.run.id));
        let all = |counts: &[UnitCounts]| counts.iter().map(UnitCounts::total).collect::<Vec<f64>>();
        Ok(Self {
            resampling: PairResampling::new(&all(&before.counts), &all(&after.counts), seeds)?,
            inner_resampling: PairResampling::new(&all(&inner_before), &all(&inner_after), seeds),
            active: [before, after],
            inner_counts: [inner_before, inner_after],
            unit_s: unit_s as f64,
        })
    }

    /// In the order of their names.
    pub(super) fn compare(&self, family: &mut Family) {
        self.compare_throughput(family);
        for share in [|counts: &UnitCounts| counts.errors, |counts: &UnitCounts| counts.denied] {
            let resamplings = [&self.resampling.before, &self.resampling.after];
            let [before, after] = [0, 1].map(|side| {
                let counts = &self.active[side].counts;
                let top: Vec<f64> = counts.iter().map(|counts| 100.0 * share(counts)).collect();
                Ratio::new(resamplings[side], &top, &counts.iter().map(UnitCounts::total).collect::<Vec<f64>>())
            });
            family.add_series(&self.resampling, ComparisonScale::Difference, [&before, &after], 0.0);
        }
        for same in PERCENTILES.chunk_by(|a, b| a.name[..7] == b.name[..7]) {
            self.compare_percentiles(family, same);
        }
    }

    fn compare_throughput(&self, family: &mut Family) {
        let rates = self.inner_counts.each_ref().map(|counts| RateSeries {
            numerator: counts.iter().map(|counts| counts.ok).collect(),
            denominator: vec![self.unit_s; counts.len()],
        });
        let [before, after] = &rates;
        match &self.inner_resampling {
            Ok(frame) => {
                let first = Ratio::new(&frame.before, &before.numerator, &before.denominator);
                let second = Ratio::new(&frame.after, &after.numerator, &after.denominator);
                family.add_series(frame, ComparisonScale::Ratio, [&first, &second], RESOLUTION);
            }
            Err(reason) => family.add_undecided(before.overall(), after.overall(), *reason),
        }
    }

    /// Percentiles of one distribution, which is built once for all of them.
    fn compare_percentiles(&self, family: &mut Family, percentiles: &[ComparedPercentile]) {
        let Some(first) = percentiles.first() else { return };
        let before = Distribution::new(&self.resampling.before, (first.value_counts)(&self.active[0]));
        let after = Distribution::new(&self.resampling.after, (first.value_counts)(&self.active[1]));
        let answers = before.count().min(after.count()) as f64;
        for percentile in percentiles {
            let quantile = percentile.quantile;
            let sides = [&before, &after].map(|side| Quantile::new(side, quantile, US_PER_MS));
            let [before, after] = sides.map(|side| side.full_sample());
            if answers * (1.0 - quantile) < TAIL_COUNT_MIN - 1e-9 {
                let reason = if answers > 0.0 { UndecidedReason::TooFewAnswers } else { UndecidedReason::Missing };
                family.add_undecided(before, after, reason);
            } else {
                family.add_series(&self.resampling, ComparisonScale::Ratio, [&sides[0], &sides[1]], RESOLUTION);
            }
        }
    }
}
