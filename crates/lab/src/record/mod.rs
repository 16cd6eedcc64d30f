//! The recorder: takes intervals from the workers while a trial runs. Figures are aggregated at once, in constant
//! memory; the histograms of every second and the timeline are written to files as they arrive, so that an interrupted
//! run has them too. Does not know which figures are good.

mod files;
pub mod hlog;
mod load_steps;
mod replay;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use files::SampleFile;
pub(crate) use files::TimelineLog;
pub use load_steps::{LoadStepAccumulator, LoadStepSpec};
pub use replay::for_each_row;

use crate::aggregate::Aggregate;
use crate::format::round;
use crate::limits::{UNRECORDED_MIN, UNSAMPLED_MIN};
use crate::measurement::timeline::{HeldRow, LagRow, OpRow, PauseRow, Percentiles, TimelineRow};
use crate::measurement::{
    HeldStats, Interval, OpKey, OpStats, OutcomeCounts, PushStats, SECOND_OPEN_FOR_S, TimeHistogram,
};
use crate::scenario::{Journey, Push};
use hlog::{HistogramKind, Writer};

/// The operation of the generator's schedule lag in intervals.hlog.
const GENERATOR_OP: &str = "generator";

/// The operation of the opening of held connections there.
const CONNECTIONS_OP: &str = "connections";

#[derive(Debug)]
pub struct Recorder(Mutex<Inner>);

#[derive(Debug)]
struct Inner {
    aggregate: Aggregate,
    load_steps: LoadStepAccumulator,
    /// Seconds that are not written yet.
    open_seconds: BTreeMap<u64, SecondAggregate>,
    last_second: LastSecond,
    last_second_number: u64,
    /// Pauses of workers that are in no row yet.
    pauses: Vec<PauseRow>,
    /// When seconds were closed last, and the span in which they were not closed for so long that the lab may not have
    /// run.
    closed_at: Duration,
    unsure: (Duration, Duration),
    /// Schedule lag since it was taken last.
    lag: TimeHistogram,
    hlog: Writer,
    samples: Option<SampleFile>,
}

#[derive(Debug, Default)]
struct SecondAggregate {
    ops: BTreeMap<OpKey, OpStats>,
    pushes: BTreeMap<usize, PushStats>,
    held: BTreeMap<u32, HeldStats>,
    lag: TimeHistogram,
}

/// The last complete second, for live progress.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LastSecond {
    /// Ok responses to requests: to every step, if a journey has several; none if the lab did not run.
    pub ok_per_s: Option<f64>,
    /// The 99th percentile of their latency.
    pub latency_p99_ms: Option<f64>,
}

impl Recorder {
    /// Records figures of these journeys, and rows of samples if there is a file for them.
    #[must_use]
    pub fn new(journeys: &[Journey], pushes: &[Push], hlog: Writer, samples: Option<SampleFile>) -> Self {
        Self(Mutex::new(Inner {
            aggregate: Aggregate::new(journeys).with_pushes(pushes),
            load_steps: LoadStepAccumulator::new(journeys),
            open_seconds: BTreeMap::new(),
            last_second: LastSecond::default(),
            last_second_number: 0,
            pauses: Vec::new(),
            closed_at: Duration::ZERO,
            unsure: (Duration::ZERO, Duration::ZERO),
            lag: TimeHistogram::default(),
            hlog,
            samples,
        }))
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn add_interval(&self, interval: &Interval) {
        let mut inner = self.inner();
        let inner = &mut *inner;
        inner.aggregate.add(interval);
        inner.load_steps.add_interval(interval);
        let long = interval.pauses.iter().filter(|(from, to)| to.saturating_sub(*from) >= UNRECORDED_MIN);
        inner.pauses.extend(long.map(|(from, to)| PauseRow {
            t_s: round(from.as_secs_f64()),
            until_s: round(to.as_secs_f64()),
            worker: interval.worker,
        }));
        let second = inner.open_seconds.entry(interval.second).or_default();
        interval.ops.iter().for_each(|(key, stats)| second.ops.entry(*key).or_default().merge(stats));
        interval.pushes.iter().for_each(|(push, pushed)| second.pushes.entry(*push).or_default().merge(pushed));
        interval.held.iter().for_each(|(load_step, held)| second.held.entry(*load_step).or_default().merge(held));
        if let Some(lag) = &interval.lag {
            second.lag.merge(lag);
            inner.lag.merge(lag);
        }
        if let Some(file) = &mut inner.samples {
            file.append(&interval.rows);
        }
    }

    /// Writes every second to which no worker adds any more; returns its rows of the timeline.
    pub fn close_seconds(&self, now: Duration) -> Vec<TimelineRow> {
        let before = now.as_secs().saturating_sub(SECOND_OPEN_FOR_S);
        {
            let mut inner = self.inner();
            let before = std::mem::replace(&mut inner.closed_at, now);
            if now.saturating_sub(before) > UNSAMPLED_MIN {
                inner.unsure = (before, now);
            }
        }
        self.close_before(before)
    }

    pub fn close_all(&self) -> Vec<TimelineRow> {
        self.close_before(u64::MAX)
    }

    fn close_before(&self, before: u64) -> Vec<TimelineRow> {
        let mut inner = self.inner();
        // Before the rows of the same seconds, so that a reader knows what is missing.
        let pauses = std::mem::take(&mut inner.pauses);
        let mut rows: Vec<TimelineRow> = pauses.iter().copied().map(TimelineRow::Pause).collect();
        while let Some(entry) = inner.open_seconds.first_entry().filter(|entry| *entry.key() < before) {
            let (number, second) = entry.remove_entry();
            inner.write_second(number, &second, &mut rows);
            let now = second.summarize(&inner.aggregate);
            (inner.last_second, inner.last_second_number) =
                (LastSecond { ok_per_s: now.ok_per_s.filter(|_| inner.was_seen(number)), ..now }, number);
        }
        // A second in which nothing ended has no entry.
        if inner.last_second_number + 1 < before {
            let none = inner.was_seen(before - 1).then_some(0.0);
            inner.last_second = LastSecond { ok_per_s: none, ..LastSecond::default() };
        }
        inner.hlog.flush();
        rows
    }

    #[must_use]
    pub fn last_second(&self) -> LastSecond {
        self.inner().last_second
    }

    /// The schedule lag since the last call.
    pub(crate) fn take_lag(&self) -> TimeHistogram {
        std::mem::take(&mut self.inner().lag)
    }

    pub fn with_load_steps<T>(&self, with: impl FnOnce(&mut LoadStepAccumulator) -> T) -> T {
        with(&mut self.inner().load_steps)
    }

    pub fn with_aggregate<T>(&self, with: impl FnOnce(&Aggregate) -> T) -> T {
        with(&self.inner().aggregate)
    }

    /// Writes what is still in memory; returns the errors of the files.
    #[must_use]
    pub fn failures(&self) -> Vec<String> {
        let mut inner = self.inner();
        let hlog = inner.hlog.failure().map(|error| format!("intervals.hlog is not complete: {error}"));
        let samples = inner.samples.as_mut().and_then(SampleFile::close);
        let samples = samples.map(|error| format!("samples.csv is not complete: {error}"));
        hlog.into_iter().chain(samples).collect()
    }
}

impl Inner {
    /// Whether the lab ran during all of a second, as far as is known.
    fn was_seen(&self, second: u64) -> bool {
        let (from, to) = self.unsure;
        Duration::from_secs(second.saturating_add(1)) <= from || Duration::from_secs(second) >= to
    }

    fn write_second(&mut self, second: u64, measured: &SecondAggregate, rows: &mut Vec<TimelineRow>) {
        let t_s = second as f64;
        for (OpKey { load_step, op }, stats) in &measured.ops {
            let (load_step, op) = (*load_step, self.aggregate.op_name(*op));
            let long_polls = stats.long_polls.as_ref();
            let times = [
                (HistogramKind::Latency, Some(&stats.latency)),
                (HistogramKind::Service, Some(&stats.service)),
                (HistogramKind::Failed, Some(&stats.failed)),
                (HistogramKind::Waited, long_polls.map(|times| &times.waited)),
                (HistogramKind::Wake, long_polls.map(|times| &times.wake_delay)),
            ];
            for (figure, times) in times.into_iter().filter_map(|(figure, times)| Some((figure, times?))) {
                self.hlog.write(second, load_step, &op, figure, times.measured());
            }
            rows.push(TimelineRow::Op(OpRow {
                t_s,
                load_step,
                op,
                counts: stats.counts,
                latency_ms: percentiles(&stats.latency),
                service_ms: percentiles(&stats.service),
                wake_ms: long_polls.and_then(|times| percentiles(&times.wake_delay)),
            }));
        }
        for (push, pushed) in &measured.pushes {
            let op = self.aggregate.push_op_name(*push);
            self.hlog.write(second, 0, &op, HistogramKind::Wake, pushed.delay.measured());
            // Pushed frames are rows of operations that have only ok responses.
            let counts = OutcomeCounts::all_ok(pushed.frames);
            let wake_ms = percentiles(&pushed.delay);
            rows.push(TimelineRow::Op(OpRow { t_s, op, counts, wake_ms, ..OpRow::default() }));
        }
        for (load_step, held) in &measured.held {
            let (load_step, counts) = (*load_step, held.counts);
            self.hlog.write(second, load_step, CONNECTIONS_OP, HistogramKind::Opening, held.opening.measured());
            let opening_ms = percentiles(&held.opening);
            rows.push(TimelineRow::Held(HeldRow { t_s, load_step, counts, opening_ms }));
        }
        self.hlog.write(second, 0, GENERATOR_OP, HistogramKind::Lag, measured.lag.measured());
        rows.extend(measured.lag.quantile_ms(0.99).map(|p99_ms| TimelineRow::Lag(LagRow { t_s, p99_ms })));
    }
}

impl SecondAggregate {
    fn summarize(&self, all: &Aggregate) -> LastSecond {
        let mut latency = TimeHistogram::default();
        let mut ok = 0;
        for (_, stats) in self.ops.iter().filter(|(key, _)| all.is_request(key.op)) {
            latency.merge(&stats.latency);
            ok += stats.counts.ok;
        }
        LastSecond { ok_per_s: Some(ok as f64), latency_p99_ms: latency.quantile_ms(0.99) }
    }
}

fn percentiles(times: &TimeHistogram) -> Option<Percentiles> {
    let at = |quantile| times.quantile_ms(quantile);
    Some(Percentiles { p50: at(0.5)?, p90: at(0.9)?, p99: at(0.99)?, max: at(1.0)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::OpId;

    fn recorder() -> Recorder {
        let journey = Journey { name: "get".to_owned(), ..Journey::default() };
        Recorder::new(&[journey], &[], Writer::create(std::path::Path::new("/dev/null"), 0).unwrap(), None)
    }

    /// An interval with one ok response, of a worker that had paused.
    fn interval(second: u64, pauses_ms: &[(u64, u64)]) -> Interval {
        let ms = Duration::from_millis;
        let pauses = pauses_ms.iter().map(|(from, to)| (ms(*from), ms(*to))).collect();
        let key = OpKey { load_step: 0, op: OpId { journey: 0, step: None } };
        let stats = OpStats { counts: OutcomeCounts::all_ok(1), ..OpStats::default() };
        Interval { second, pauses, ops: vec![(key, stats)], ..Interval::default() }
    }

    fn describe(rows: &[TimelineRow]) -> Vec<String> {
        let describe = |row: &TimelineRow| match row {
            TimelineRow::Op(row) => format!("op {}", row.t_s),
            TimelineRow::Pause(row) => format!("pause {} {}", row.t_s, row.until_s),
            TimelineRow::Lag(row) => format!("lag {} {}", row.t_s, row.p99_ms),
            other => format!("{other:?}"),
        };
        rows.iter().map(describe).collect()
    }

    #[test]
    fn a_pause_comes_before_the_rows_read_after_it() {
        let recorder = recorder();
        recorder.add_interval(&interval(5, &[]));
        recorder.add_interval(&interval(8, &[(5_300, 8_300), (8_400, 8_500)]));
        assert_eq!(describe(&recorder.close_all()), ["pause 5.3 8.3", "op 5", "op 8"]);
        assert!(recorder.close_all().is_empty());
    }

    #[test]
    fn lag_is_recorded_at_its_own_second() {
        let recorder = recorder();
        let mut lag = TimeHistogram::default();
        lag.record(Duration::from_millis(507), None);
        recorder.add_interval(&Interval { lag: Some(lag), ..interval(0, &[]) });
        recorder.add_interval(&interval(1, &[]));
        // A second is written when no worker adds to it any more.
        assert!(recorder.close_seconds(Duration::from_secs(2)).is_empty());
        assert_eq!(describe(&recorder.close_seconds(Duration::from_millis(3_600))), ["op 0", "lag 0 507.135"]);
        assert_eq!(describe(&recorder.close_all()), ["op 1"]);
    }

    /// Checks the rate that is shown after closing seconds at these times; one response ended in the first second.
    #[track_caller]
    fn check_now(looks_s: &[f64], expected: Option<f64>) {
        let recorder = recorder();
        recorder.add_interval(&interval(0, &[]));
        for at in looks_s {
            recorder.close_seconds(Duration::from_secs_f64(*at));
        }
        assert_eq!(recorder.last_second().ok_per_s, expected, "{looks_s:?}");
    }

    #[test]
    fn a_second_without_data_is_not_shown_as_a_rate_of_zero() {
        check_now(&[1.0, 2.0, 3.0], Some(1.0));
        // The lab ran, and nothing had ended.
        check_now(&[1.0, 2.0, 3.0, 4.0, 5.0], Some(0.0));
        check_now(&[1.0, 2.0, 3.0, 8.3], None);
        check_now(&[1.0, 2.0, 3.0, 8.3, 9.3, 10.3], None);
        check_now(&[1.0, 2.0, 3.0, 8.3, 9.3, 10.3, 11.3, 12.3], Some(0.0));
        // The second before a pause is incomplete.
        check_now(&[0.5, 3.2], None);
    }
}
