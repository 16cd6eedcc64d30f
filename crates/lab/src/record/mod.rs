//! The recorder: takes intervals from the workers while a trial runs. Figures are aggregated at once, in constant
//! memory; the histograms of every second and the timeline are written to files as they arrive, so that an interrupted
//! run has them too. Does not know which figures are good.

mod files;
pub mod hlog;
mod load_steps;
mod replay;
mod timeline_log;

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

pub use files::{JsonLinesFile, SampleFile};
pub use load_steps::{LoadStepAccumulator, LoadStepSpec};
pub use replay::{aggregate_rows, for_each_row, read_timeline};
pub(crate) use timeline_log::TimelineLog;

use crate::aggregate::{Aggregate, OpAggregate, PushAggregate, TimeHistogram};
use crate::format::round;
use crate::limits::{UNRECORDED_MIN, UNSAMPLED_MIN};
use crate::measurement::timeline::{HeldRow, LagRow, OpRow, PauseRow, Percentiles, TimelineRow};
use crate::measurement::{HeldStats, Interval, OpId, SECOND_OPEN_FOR_S};
use crate::scenario::message::OTHER_PUSH;
use crate::scenario::{Journey, Push};
use hlog::{Entry, HistogramKind, Writer};

/// The operation of the generator's schedule lag in intervals.hlog.
const GENERATOR_OP: &str = "generator";

/// The operation of the opening of held connections there.
const CONNECTIONS_OP: &str = "connections";

#[derive(Debug)]
pub struct Recorder(Mutex<Inner>);

#[derive(Debug)]
struct Inner {
    names: Vec<(String, Vec<String>)>,
    pushes: Vec<String>,
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
    ops: BTreeMap<(u32, OpId), OpAggregate>,
    pushes: BTreeMap<usize, PushAggregate>,
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
        let steps = |journey: &Journey| journey.steps.iter().map(|step| step.name.clone()).collect();
        Self(Mutex::new(Inner {
            names: journeys.iter().map(|journey| (journey.name.clone(), steps(journey))).collect(),
            aggregate: Aggregate::new(journeys).with_pushes(pushes),
            pushes: pushes.iter().map(|push| push.name.as_str()).chain([OTHER_PUSH]).map(str::to_owned).collect(),
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
        interval.ops.iter().for_each(|stats| inner.load_steps.add(stats));
        interval.held.iter().for_each(|held| inner.load_steps.add_held(held));
        let long = interval.pauses.iter().filter(|(from, to)| to.saturating_sub(*from) >= UNRECORDED_MIN);
        inner.pauses.extend(long.map(|(from, to)| PauseRow {
            t_s: round(from.as_secs_f64()),
            until_s: round(to.as_secs_f64()),
            worker: interval.worker,
        }));
        let second = inner.open_seconds.entry(interval.second).or_default();
        interval.ops.iter().for_each(|stats| second.ops.entry((stats.load_step, stats.op)).or_default().add(stats));
        interval.pushes.iter().for_each(|pushed| second.pushes.entry(pushed.push_index).or_default().add(pushed));
        for held in &interval.held {
            second.held.entry(held.load_step).or_insert_with(|| HeldStats::new(held.load_step)).merge(held);
        }
        if let Some(lag) = &interval.lag_us {
            second.lag.add(lag);
            inner.lag.add(lag);
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
        let samples = inner.samples.as_mut().and_then(|file| file.close().err());
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

    fn write_second(&mut self, second: u64, second_aggregate: &SecondAggregate, rows: &mut Vec<TimelineRow>) {
        for ((load_step, op), aggregate) in &second_aggregate.ops {
            let name = self.op_name(*op);
            let figures = [
                (HistogramKind::Latency, &aggregate.latency),
                (HistogramKind::Service, &aggregate.service),
                (HistogramKind::Failed, &aggregate.failed),
            ];
            let long_polls = aggregate.long_polls.as_ref();
            let long_polls = long_polls.map(|long_polls| {
                [(HistogramKind::Waited, &long_polls.waited), (HistogramKind::Wake, &long_polls.wake_delay)]
            });
            for (figure, times) in figures.into_iter().chain(long_polls.into_iter().flatten()) {
                self.hlog.write(&Entry {
                    second,
                    load_step: *load_step,
                    op: name.clone(),
                    figure,
                    histogram: times.histogram(),
                });
            }
            rows.push(TimelineRow::Op(op_row(second, *load_step, name, aggregate)));
        }
        for (push, aggregate) in &second_aggregate.pushes {
            let name = self.pushes.get(*push).map_or_else(String::new, |name| format!("push.{name}"));
            let (figure, histogram) = (HistogramKind::Wake, aggregate.delay.histogram());
            self.hlog.write(&Entry { second, load_step: 0, op: name.clone(), figure, histogram });
            rows.push(TimelineRow::Op(pushed_row(second, name, aggregate)));
        }
        for (load_step, held) in &second_aggregate.held {
            let (op, figure, histogram) = (CONNECTIONS_OP.to_owned(), HistogramKind::Opening, held.opening_us.clone());
            self.hlog.write(&Entry { second, load_step: *load_step, op, figure, histogram });
            rows.push(TimelineRow::Held(held_row(second, held)));
        }
        let (op, figure, histogram) = (GENERATOR_OP.to_owned(), HistogramKind::Lag, second_aggregate.lag.histogram());
        self.hlog.write(&Entry { second, load_step: 0, op, figure, histogram });
        rows.extend(
            second_aggregate
                .lag
                .quantile_ms(0.99)
                .map(|p99_ms| TimelineRow::Lag(LagRow { t_s: second as f64, p99_ms })),
        );
    }

    fn op_name(&self, op: OpId) -> String {
        let Some((journey, steps)) = self.names.get(op.journey) else { return String::new() };
        match op.step.and_then(|step| steps.get(step)) {
            None => journey.clone(),
            Some(step) => format!("{journey}.steps.{step}"),
        }
    }
}

impl SecondAggregate {
    fn summarize(&self, all: &Aggregate) -> LastSecond {
        let requests = self.ops.iter().filter(|((_, op), _)| all.is_request(*op)).map(|(_, aggregate)| aggregate);
        let mut latency = TimeHistogram::default();
        let mut ok = 0;
        for aggregate in requests {
            latency.merge(&aggregate.latency);
            ok += aggregate.ok;
        }
        LastSecond { ok_per_s: Some(ok as f64), latency_p99_ms: latency.quantile_ms(0.99) }
    }
}

fn op_row(second: u64, load_step: u32, op: String, aggregate: &OpAggregate) -> OpRow {
    let (ok, denied, errors) = (aggregate.ok, aggregate.denied, aggregate.errors);
    let (latency_ms, service_ms) = (percentiles(&aggregate.latency), percentiles(&aggregate.service));
    let wake_ms = aggregate.long_polls.as_ref().and_then(|long_polls| percentiles(&long_polls.wake_delay));
    OpRow { t_s: second as f64, load_step, op, ok, denied, errors, latency_ms, service_ms, wake_ms }
}

/// Pushed frames are rows of operations that have only ok responses.
fn pushed_row(second: u64, op: String, aggregate: &PushAggregate) -> OpRow {
    let (ok, wake_ms) = (aggregate.frames, percentiles(&aggregate.delay));
    OpRow {
        t_s: second as f64,
        load_step: 0,
        op,
        ok,
        denied: 0,
        errors: 0,
        latency_ms: None,
        service_ms: None,
        wake_ms,
    }
}

fn held_row(second: u64, held: &HeldStats) -> HeldRow {
    let HeldStats {
        load_step, opened, kept, reopened, failed, closed, dropped, left, closed_after, dropped_after, ..
    } = *held;
    let mut opening = TimeHistogram::default();
    opening.add(&held.opening_us);
    let (t_s, opening_ms) = (second as f64, percentiles(&opening));
    HeldRow {
        t_s,
        load_step,
        opened,
        kept,
        reopened,
        failed,
        closed,
        dropped,
        left,
        closed_after,
        dropped_after,
        opening_ms,
    }
}

fn percentiles(times: &TimeHistogram) -> Option<Percentiles> {
    let at = |quantile| times.quantile_ms(quantile);
    Some(Percentiles { p50: at(0.5)?, p90: at(0.9)?, p99: at(0.99)?, max: at(1.0)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::{OpStats, histogram};

    fn recorder() -> Recorder {
        let journey = Journey { name: "get".to_owned(), ..Journey::default() };
        Recorder::new(&[journey], &[], Writer::create(std::path::Path::new("/dev/null"), 0).unwrap(), None)
    }

    /// An interval with one ok response, of a worker that had paused.
    fn interval(second: u64, pauses_ms: &[(u64, u64)]) -> Interval {
        let ms = Duration::from_millis;
        let pauses = pauses_ms.iter().map(|(from, to)| (ms(*from), ms(*to))).collect();
        let stats = OpStats { ok: 1, ..OpStats::new(0, OpId { journey: 0, step: None }) };
        Interval { second, pauses, ops: vec![stats], ..Interval::default() }
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
        let mut lag = histogram();
        lag.record(507_000).unwrap();
        recorder.add_interval(&Interval { lag_us: Some(lag), ..interval(0, &[]) });
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
