//! A run over time, in the units in which it is compared: what ended in each, how long it took, what the target used.
//! Pure. Does not know which direction is better.

use std::collections::BTreeMap;

use super::stats::ValueCounts;
use crate::aggregate::Spans;
use crate::measurement::timeline::{OpRow, SamplerRow, TimelineRow, WorkRow};
use crate::record::hlog::{Entry, HistogramKind};

/// A pause of at least this length does not belong to the time in which an operation was active.
const PAUSE_S: u64 = 10;

/// The name of the target's process in the timeline.
const SERVER: &str = "server";

/// One run over time.
#[derive(Clone, Debug, Default)]
pub(crate) struct RunSeries {
    /// Seconds in a unit.
    pub(crate) unit_s: u64,
    /// Operations by name.
    pub(crate) ops: BTreeMap<String, OpUnitSeries>,
    work_samples: BTreeMap<String, Vec<WorkSample>>,
    target_samples: Vec<TargetSample>,
    /// Seconds in which a worker of the lab did not run.
    unrecorded: Spans,
}

/// One operation, unit by unit.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpUnitSeries {
    /// What ended.
    pub(crate) counts: Vec<UnitCounts>,
    /// Latencies of successful responses, in microseconds.
    pub(crate) latency_us: Vec<ValueCounts>,
    /// Service times of successful responses, in microseconds.
    pub(crate) service_us: Vec<ValueCounts>,
}

/// What ended in one unit of time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct UnitCounts {
    pub(crate) ok: f64,
    pub(crate) denied: f64,
    pub(crate) errors: f64,
}

/// A rate over time: numerator and denominator of each unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct RateSeries {
    pub(crate) numerator: Vec<f64>,
    pub(crate) denominator: Vec<f64>,
}

/// A kind of work at one moment.
#[derive(Clone, Copy, Debug)]
struct WorkSample {
    t_s: f64,
    created: f64,
    finished: f64,
}

/// The target at one moment.
#[derive(Clone, Copy, Debug)]
struct TargetSample {
    cpu_s: f64,
    ok: f64,
}

impl UnitCounts {
    /// Everything that ended.
    pub(crate) fn total(&self) -> f64 {
        self.ok + self.denied + self.errors
    }
}

impl RateSeries {
    /// Over all the time.
    pub(crate) fn overall(&self) -> Option<f64> {
        let bottom: f64 = self.denominator.iter().sum();
        (bottom > 0.0).then(|| self.numerator.iter().sum::<f64>() / bottom)
    }
}

impl RunSeries {
    /// An empty run, in units of this many seconds.
    pub(crate) fn new(unit_s: u64) -> Self {
        Self { unit_s: unit_s.max(1), ..Self::default() }
    }

    /// Adds a row of the timeline.
    pub(crate) fn add_row(&mut self, row: &TimelineRow) {
        match row {
            TimelineRow::Op(row) => self.add_op(row),
            TimelineRow::Sample(row) => self.add_sampler_row(row),
            TimelineRow::Work(row) => self.add_work(row),
            TimelineRow::Pause(row) => drop(self.unrecorded.add_pause(row)),
            TimelineRow::LoadStep(_)
            | TimelineRow::Lag(_)
            | TimelineRow::Opening(_)
            | TimelineRow::Held(_)
            | TimelineRow::Silence(_)
            | TimelineRow::Fault(_)
            | TimelineRow::Note(_)
            | TimelineRow::Unknown => {}
        }
    }

    /// Adds the histogram of one second.
    pub(crate) fn add_histogram(&mut self, entry: &Entry) {
        let unit = (entry.second / self.unit_s) as usize;
        let value_counts: fn(&mut OpUnitSeries) -> &mut Vec<ValueCounts> = match entry.figure {
            HistogramKind::Latency => |op| &mut op.latency_us,
            HistogramKind::Service => |op| &mut op.service_us,
            HistogramKind::Failed
            | HistogramKind::Waited
            | HistogramKind::Wake
            | HistogramKind::Opening
            | HistogramKind::Lag => return,
        };
        let value_counts = value_counts(self.ops.entry(entry.op.clone()).or_default());
        let values = entry.histogram.iter_recorded();
        let values = values.map(|value| (value.value_iterated_to(), value.count_at_value())).collect();
        let tally = element_mut(value_counts, unit);
        *tally = merge_counts(std::mem::take(tally), values);
    }

    fn add_op(&mut self, row: &OpRow) {
        let unit = (row.t_s.max(0.0) as u64 / self.unit_s) as usize;
        let counts = element_mut(&mut self.ops.entry(row.op.clone()).or_default().counts, unit);
        counts.ok += row.counts.ok as f64;
        counts.denied += row.counts.denied as f64;
        counts.errors += row.counts.errors as f64;
    }

    fn add_sampler_row(&mut self, row: &SamplerRow) {
        let cpu_s = row.processes.get(SERVER).and_then(|process| process.get("cpu_s"));
        self.target_samples.extend(cpu_s.map(|cpu_s| TargetSample { cpu_s: *cpu_s, ok: row.arrivals.ok as f64 }));
    }

    fn add_work(&mut self, row: &WorkRow) {
        let point = &row.point;
        let moment = WorkSample { t_s: point.t_s, created: point.created() as f64, finished: point.finished as f64 };
        self.work_samples.entry(row.work.clone()).or_default().push(moment);
    }

    /// What an operation did while it was active: see `OpUnitSeries::active`.
    pub(crate) fn active(&self, op: &str) -> Option<(OpUnitSeries, Vec<UnitCounts>)> {
        let seconds = |unit: usize| (unit as u64 * self.unit_s..).take(self.unit_s as usize);
        let is_known = |unit: usize| !seconds(unit).any(|second| self.unrecorded.contains(second as f64));
        Some(self.ops.get(op)?.active(self.unit_s, is_known))
    }

    /// Work items that finished, per minute, from the first creation to the last finish.
    pub(crate) fn finished_per_min(&self, work: &str) -> RateSeries {
        let moments = self.work_samples.get(work).map_or(&[][..], Vec::as_slice);
        let Some(first) = moments.iter().find(|moment| moment.created > 0.0) else { return RateSeries::default() };
        let all = moments.last().map_or(0.0, |last| last.finished);
        let last_s = moments.iter().find(|moment| moment.finished >= all).map_or(first.t_s, |moment| moment.t_s);
        let (first_unit, unit_s) = ((first.t_s / self.unit_s as f64).floor(), self.unit_s as f64);
        let units = ((last_s / unit_s).ceil() - first_unit).max(0.0) as usize;
        let edge = |unit: usize| finished_at(moments, (first_unit + unit as f64) * unit_s);
        let top = (0..units).map(|unit| edge(unit + 1) - edge(unit)).collect();
        RateSeries { numerator: top, denominator: vec![unit_s / 60.0; units] }
    }

    /// CPU seconds of the target, per thousand successful responses.
    pub(crate) fn cpu_per_1000(&self) -> RateSeries {
        let kept: Vec<&TargetSample> = self.target_samples.iter().step_by(self.unit_s as usize).collect();
        let pairs = || kept.windows(2).map(|pair| (pair[0], pair[1]));
        RateSeries {
            numerator: pairs().map(|(before, after)| (after.cpu_s - before.cpu_s).max(0.0)).collect(),
            denominator: pairs().map(|(before, after)| (after.ok - before.ok).max(0.0) / 1000.0).collect(),
        }
    }
}

/// Finished work items at a moment between two samples.
fn finished_at(moments: &[WorkSample], t_s: f64) -> f64 {
    let next = moments.partition_point(|moment| moment.t_s < t_s);
    match (next.checked_sub(1).map(|before| moments[before]), moments.get(next)) {
        (Some(before), Some(after)) if after.t_s > before.t_s => {
            let share = (t_s - before.t_s) / (after.t_s - before.t_s);
            before.finished + share * (after.finished - before.finished)
        }
        (_, Some(after)) => after.finished,
        (Some(before), None) => before.finished,
        (None, None) => 0.0,
    }
}

impl OpUnitSeries {
    /// The same without pauses, that is, units in which nothing ended for long enough: first all active sections one
    /// after another, and then the same without the first and last unit of each, which activity covers only in part,
    /// and without those of which the rate is unknown.
    fn active(&self, unit_s: u64, is_known: impl Fn(usize) -> bool) -> (Self, Vec<UnitCounts>) {
        let pause = PAUSE_S.div_ceil(unit_s).max(1) as usize;
        let mut stretches: Vec<std::ops::Range<usize>> = Vec::new();
        for unit in (0..self.counts.len()).filter(|unit| self.counts[*unit].total() > 0.0) {
            match stretches.last_mut() {
                Some(last) if unit - last.end < pause => last.end = unit + 1,
                _ => stretches.push(unit..unit + 1),
            }
        }
        let units = || stretches.iter().cloned().flatten();
        let pick = |value_counts: &[ValueCounts]| {
            units().map(|unit| value_counts.get(unit).cloned().unwrap_or_default()).collect()
        };
        let active = Self {
            counts: units().map(|unit| self.counts[unit]).collect(),
            latency_us: pick(&self.latency_us),
            service_us: pick(&self.service_us),
        };
        let inner = stretches.iter().flat_map(|stretch| stretch.start + 1..stretch.end.max(1) - 1);
        let inner = inner.filter(|unit| is_known(*unit)).map(|unit| self.counts[unit]).collect();
        (active, inner)
    }
}

/// The element at an index; the list grows as needed.
fn element_mut<T: Clone + Default>(list: &mut Vec<T>, index: usize) -> &mut T {
    if list.len() <= index {
        list.resize(index + 1, T::default());
    }
    &mut list[index]
}

/// Adds two counts.
fn merge_counts(one: ValueCounts, other: ValueCounts) -> ValueCounts {
    if one.is_empty() {
        return other;
    }
    let mut all: BTreeMap<u64, u64> = one.into_iter().collect();
    other.into_iter().for_each(|(value, count)| *all.entry(value).or_default() += count);
    all.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::timeline::PauseRow;
    use crate::measurement::{OutcomeCounts, WorkPoint, histogram};

    fn op(t_s: f64, ok: u64) -> TimelineRow {
        TimelineRow::Op(OpRow { t_s, op: "post".to_owned(), counts: OutcomeCounts::all_ok(ok), ..OpRow::default() })
    }

    fn work(t_s: f64, waiting: u64, finished: u64) -> TimelineRow {
        let point = WorkPoint { t_s, waiting, finished, ..WorkPoint::default() };
        TimelineRow::Work(WorkRow { work: "game".to_owned(), point, poll_errors: 0 })
    }

    fn times(unit_s: u64, rows: &[TimelineRow]) -> RunSeries {
        let mut times = RunSeries::new(unit_s);
        rows.iter().for_each(|row| times.add_row(row));
        times
    }

    #[track_caller]
    fn check_active(seconds: &[u64], active: usize, inner: usize) {
        let rows: Vec<TimelineRow> = seconds.iter().map(|second| op(*second as f64, 5)).collect();
        let (found, without_edges) = times(1, &rows).active("post").unwrap();
        assert_eq!((found.counts.len(), without_edges.len()), (active, inner), "{seconds:?}");
        assert_eq!(found.latency_us.len(), active);
    }

    #[test]
    fn pauses_are_no_activity() {
        check_active(&[3, 4, 5], 3, 1);
        check_active(&[3], 1, 0);
        check_active(&[3, 4], 2, 0);
        // Nine seconds without a response belong to slow work, ten are a pause.
        check_active(&[0, 10], 11, 9);
        check_active(&[0, 1, 2, 13, 14, 15], 6, 2);
    }

    /// A second that the lab did not see is not a second without responses.
    #[test]
    fn unknown_seconds_are_in_no_rate() {
        let pause = |t_s: f64, until_s: f64| TimelineRow::Pause(PauseRow { t_s, until_s, worker: 1 });
        let rows = [op(0.0, 5), op(1.0, 5), op(2.0, 2), pause(2.4, 4.6), op(5.0, 5), op(7.0, 5), op(8.0, 5)];
        let inner = |unit_s| times(unit_s, &rows).active("post").unwrap().1;
        let ok: Vec<f64> = inner(1).iter().map(|counts| counts.ok).collect();
        // The second without a row in which the lab ran counts as zero per second.
        assert_eq!(ok, [5.0, 5.0, 0.0, 5.0]);
        let ok: Vec<f64> = inner(2).iter().map(|counts| counts.ok).collect();
        assert_eq!(ok, [5.0]);
    }

    #[test]
    fn parts_of_one_second_add_up_and_units_gather_seconds() {
        let times = times(2, &[op(0.0, 1), op(0.0, 2), op(1.0, 4), op(2.0, 8)]);
        let ok: Vec<f64> = times.ops["post"].counts.iter().map(|counts| counts.ok).collect();
        assert_eq!(ok, [7.0, 8.0]);
    }

    #[test]
    fn histograms_of_a_unit_are_merged() {
        let mut times = RunSeries::new(2);
        for (second, value) in [(2, 7), (3, 5), (3, 7)] {
            let mut histogram = histogram();
            histogram.record(value).unwrap();
            let (op, figure) = ("post".to_owned(), HistogramKind::Service);
            times.add_histogram(&Entry { second, load_step: 0, op, figure, histogram });
        }
        assert_eq!(times.ops["post"].service_us, [vec![], vec![(5, 1), (7, 2)]]);
        assert!(times.ops["post"].latency_us.is_empty());
    }

    #[test]
    fn work_is_counted_from_the_first_creation_to_the_last_finish() {
        let rows = [work(0.5, 0, 0), work(1.5, 9, 0), work(2.5, 6, 3), work(3.5, 0, 9), work(9.5, 0, 9)];
        let rate = times(1, &rows).finished_per_min("game");
        assert_eq!(rate.numerator, [1.5, 4.5, 3.0]);
        assert_eq!(rate.overall(), Some(9.0 / 3.0 * 60.0));
        assert_eq!(times(1, &rows).finished_per_min("table"), RateSeries::default());
    }

    #[test]
    fn cpu_time_is_divided_by_successful_responses() {
        let pulse = |cpu_s: f64, ok: u64| {
            let server = BTreeMap::from([("cpu_s".to_owned(), cpu_s)]);
            TimelineRow::Sample(SamplerRow {
                arrivals: OutcomeCounts::all_ok(ok),
                processes: [(SERVER.to_owned(), server)].into(),
                ..SamplerRow::default()
            })
        };
        let rate = times(1, &[pulse(1.0, 0), pulse(1.5, 100), pulse(2.5, 400)]).cpu_per_1000();
        assert_eq!((rate.numerator.as_slice(), rate.overall()), (&[0.5, 1.0][..], Some(1.5 / 0.4)));
    }
}
