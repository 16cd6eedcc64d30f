//! An operation of two runs, second by second: the time in which it was active, and the figures that can be drawn from
//! it again and again. Refuses to know the other figures of a run.

use super::asking::GRAIN;
use super::load::Record;
use super::stats::{Distribution, Estimate, Family, Frame, Quantile, Ratio, Reason, Scale, Tally};
use super::times::{Counts, OpTimes, Rate};
use crate::aggregate::{OpFigures, Statistics};

/// Answers that must lie beyond a percentile before it says anything.
const BEYOND_MIN: f64 = 10.0;

/// Microseconds of a millisecond.
const US_PER_MS: f64 = 1000.0;

/// A percentile of an operation.
pub(super) struct Percentile {
    pub(super) name: &'static str,
    pub(super) quantile: f64,
    /// Where a run's record has it.
    pub(super) of: fn(&OpFigures, f64) -> Option<f64>,
    tallies: fn(&OpTimes) -> &[Tally],
}

/// The percentiles that are compared, those of one distribution together.
pub(super) const PERCENTILES: [Percentile; 5] = [
    Percentile { name: "latency p50", quantile: 0.5, of: latency, tallies: |op| &op.latency_us },
    Percentile { name: "latency p90", quantile: 0.9, of: latency, tallies: |op| &op.latency_us },
    Percentile { name: "latency p99", quantile: 0.99, of: latency, tallies: |op| &op.latency_us },
    Percentile { name: "service p50", quantile: 0.5, of: service, tallies: |op| &op.service_us },
    Percentile { name: "service p99", quantile: 0.99, of: service, tallies: |op| &op.service_us },
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

/// From a run's id: the same runs are always compared with the same draws.
pub(super) fn seed(id: &str) -> u64 {
    id.bytes().fold(0, |seed, byte| crate::scenario::mix(seed, u64::from(byte)))
}

/// An operation of two runs, in the time in which it was active.
pub(super) struct OpLanes {
    frame: Frame,
    active: [OpTimes; 2],
    inner: [Vec<Counts>; 2],
    inner_frame: Result<Frame, Reason>,
    unit_s: f64,
}

impl OpLanes {
    pub(super) fn of(records: [&Record; 2], op: &str) -> Result<Self, Reason> {
        let [Some((before, inner_before)), Some((after, inner_after))] = records.map(|record| record.times.active(op))
        else {
            return Err(Reason::OneRun);
        };
        let unit_s = records[0].times.unit_s;
        let seeds = records.map(|record| seed(&record.run.id));
        let all = |counts: &[Counts]| counts.iter().map(Counts::all).collect::<Vec<f64>>();
        Ok(Self {
            frame: Frame::of(&all(&before.counts), &all(&after.counts), seeds)?,
            inner_frame: Frame::of(&all(&inner_before), &all(&inner_after), seeds),
            active: [before, after],
            inner: [inner_before, inner_after],
            unit_s: unit_s as f64,
        })
    }

    /// In the order of their names.
    pub(super) fn ask(&self, family: &mut Family) {
        self.ask_throughput(family);
        for share in [|counts: &Counts| counts.errors, |counts: &Counts| counts.denied] {
            let lanes = [&self.frame.before, &self.frame.after];
            let [before, after] = [0, 1].map(|side| {
                let counts = &self.active[side].counts;
                let top: Vec<f64> = counts.iter().map(|counts| 100.0 * share(counts)).collect();
                Ratio::new(lanes[side], &top, &counts.iter().map(Counts::all).collect::<Vec<f64>>())
            });
            family.ask_series(&self.frame, Scale::Difference, [&before, &after], 0.0);
        }
        for same in PERCENTILES.chunk_by(|a, b| a.name[..7] == b.name[..7]) {
            self.ask_percentiles(family, same);
        }
    }

    fn ask_throughput(&self, family: &mut Family) {
        let rates = self.inner.each_ref().map(|counts| Rate {
            top: counts.iter().map(|counts| counts.ok).collect(),
            bottom: vec![self.unit_s; counts.len()],
        });
        let [before, after] = &rates;
        match &self.inner_frame {
            Ok(frame) => {
                let first = Ratio::new(&frame.before, &before.top, &before.bottom);
                let second = Ratio::new(&frame.after, &after.top, &after.bottom);
                family.ask_series(frame, Scale::Ratio, [&first, &second], GRAIN);
            }
            Err(reason) => family.ask_nothing(before.whole(), after.whole(), *reason),
        }
    }

    /// Percentiles of one distribution, which is built once for all of them.
    fn ask_percentiles(&self, family: &mut Family, percentiles: &[Percentile]) {
        let Some(first) = percentiles.first() else { return };
        let before = Distribution::new(&self.frame.before, (first.tallies)(&self.active[0]));
        let after = Distribution::new(&self.frame.after, (first.tallies)(&self.active[1]));
        let answers = before.count().min(after.count()) as f64;
        for percentile in percentiles {
            let quantile = percentile.quantile;
            let sides = [&before, &after].map(|side| Quantile::new(side, quantile, US_PER_MS));
            let [before, after] = sides.map(|side| side.whole());
            if answers * (1.0 - quantile) < BEYOND_MIN - 1e-9 {
                let reason = if answers > 0.0 { Reason::TooFewAnswers } else { Reason::Missing };
                family.ask_nothing(before, after, reason);
            } else {
                family.ask_series(&self.frame, Scale::Ratio, [&sides[0], &sides[1]], GRAIN);
            }
        }
    }
}
