//! Figures of two runs over time, whose noise resampling shows: rates of any kind, and the figures of an operation in
//! the time in which it was active. Does not know the other figures of a run.

use super::load::RunRecord;
use super::run_series::{OpUnitSeries, RateSeries, UnitCounts};
use super::stats::{
    ComparisonScale, Distribution, Estimator as _, Family, PairResampling, Quantile, Ratio, UndecidedReason,
    ValueCounts,
};
use crate::aggregate::OpFigures;

/// Histograms tell values apart to three significant digits; rates are no better.
pub(super) const RESOLUTION: f64 = 0.001;

/// Responses that must be beyond a percentile before it is meaningful.
const TAIL_COUNT_MIN: f64 = 10.0;

/// Microseconds of a millisecond.
const US_PER_MS: f64 = 1000.0;

/// A percentile of an operation: its name, its quantile, and its location in a run's record.
type ComparedPercentile = (&'static str, f64, fn(&OpFigures) -> Option<f64>);

/// Times of an operation, and the percentiles of them that are compared.
pub(super) struct ComparedTimes {
    value_counts: fn(&OpUnitSeries) -> &[ValueCounts],
    pub(super) percentiles: &'static [ComparedPercentile],
}

pub(super) const TIMES: [ComparedTimes; 2] = [
    ComparedTimes {
        value_counts: |op| &op.latency_us,
        percentiles: &[
            ("latency p50", 0.5, |op| op.latency_ms.p50),
            ("latency p90", 0.9, |op| op.latency_ms.p90),
            ("latency p99", 0.99, |op| op.latency_ms.p99),
        ],
    },
    ComparedTimes {
        value_counts: |op| &op.service_us,
        percentiles: &[("service p50", 0.5, |op| op.service_ms.p50), ("service p99", 0.99, |op| op.service_ms.p99)],
    },
];

/// How two runs are resampled, by what happened in each unit of time. The seeds come from their ids: the same runs are
/// always compared with the same resamples.
pub(super) fn resampling(records: [&RunRecord; 2], events: [&[f64]; 2]) -> Result<PairResampling, UndecidedReason> {
    let seed = |id: &str| id.bytes().fold(0, |seed, byte| crate::scenario::mix(seed, u64::from(byte)));
    PairResampling::new(events[0], events[1], records.map(|record| seed(&record.run.id)))
}

pub(super) fn compare_rate(
    family: &mut Family,
    resampling: Result<PairResampling, UndecidedReason>,
    scale: ComparisonScale,
    [before, after]: &[RateSeries; 2],
    grain: f64,
) {
    match resampling {
        Ok(both) => {
            let first = Ratio::new(&both.before, &before.numerator, &before.denominator);
            let second = Ratio::new(&both.after, &after.numerator, &after.denominator);
            family.add_series(&both, scale, [&first, &second], grain);
        }
        Err(reason) => family.add_undecided(before.overall(), after.overall(), reason),
    }
}

/// An operation of two runs: throughput, shares of errors and denials, percentiles.
///
/// # Errors
/// Why the seconds of these runs cannot be compared.
pub(super) fn compare_op(family: &mut Family, records: [&RunRecord; 2], op: &str) -> Result<(), UndecidedReason> {
    let [Some((before, inner_before)), Some((after, inner_after))] = records.map(|record| record.series.active(op))
    else {
        return Err(UndecidedReason::OneRun);
    };
    let (active, inner) = ([before, after], [inner_before, inner_after]);
    let column = |counts: &[UnitCounts], of: fn(&UnitCounts) -> f64| counts.iter().map(of).collect::<Vec<f64>>();
    let totals = active.each_ref().map(|op| column(&op.counts, UnitCounts::total));
    let whole = resampling(records, totals.each_ref().map(Vec::as_slice))?;
    let inner_totals = inner.each_ref().map(|counts| column(counts, UnitCounts::total));
    let inner_resampling = resampling(records, inner_totals.each_ref().map(Vec::as_slice));
    let unit_s = records[0].series.unit_s as f64;
    let rates = inner.map(|counts| RateSeries {
        numerator: column(&counts, |counts| counts.ok),
        denominator: vec![unit_s; counts.len()],
    });
    compare_rate(family, inner_resampling, ComparisonScale::Ratio, &rates, RESOLUTION);
    for percent in [|counts: &UnitCounts| 100.0 * counts.errors, |counts: &UnitCounts| 100.0 * counts.denied] {
        let shares = [0, 1].map(|side: usize| RateSeries {
            numerator: column(&active[side].counts, percent),
            denominator: totals[side].clone(),
        });
        compare_rate(family, Ok(whole), ComparisonScale::Difference, &shares, 0.0);
    }
    TIMES.iter().for_each(|times| compare_percentiles(family, &whole, &active, times));
    Ok(())
}

/// Percentiles of one distribution, which is built once for all of them.
fn compare_percentiles(
    family: &mut Family,
    resampling: &PairResampling,
    active: &[OpUnitSeries; 2],
    times: &ComparedTimes,
) {
    let before = Distribution::new(&resampling.before, (times.value_counts)(&active[0]));
    let after = Distribution::new(&resampling.after, (times.value_counts)(&active[1]));
    let answers = before.count().min(after.count()) as f64;
    for (_, quantile, _) in times.percentiles {
        let sides = [&before, &after].map(|side| Quantile::new(side, *quantile, US_PER_MS));
        if answers * (1.0 - quantile) < TAIL_COUNT_MIN - 1e-9 {
            let reason = if answers > 0.0 { UndecidedReason::TooFewAnswers } else { UndecidedReason::Missing };
            family.add_undecided(sides[0].full_sample(), sides[1].full_sample(), reason);
        } else {
            family.add_series(resampling, ComparisonScale::Ratio, [&sides[0], &sides[1]], RESOLUTION);
        }
    }
}
