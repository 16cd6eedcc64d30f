//! Combines rows of operations, one for every load step and operation that ended in a second, to one value a second.
//! Does not know what an operation does.

use std::collections::BTreeMap;

use super::{SeriesClass, Timeline};
use crate::limits::EMPTY_SECONDS_MAX;
use crate::measurement::OutcomeCounts;
use crate::measurement::timeline::{OpRow, Percentiles};

/// For each operation, the second that further rows may belong to.
pub(super) type OpenSeconds = BTreeMap<String, OpSecond>;

/// One second of one operation.
#[derive(Clone, Debug, Default)]
pub(super) struct OpSecond {
    second: u64,
    /// Whether it has a row.
    has_row: bool,
    counts: OutcomeCounts,
    latency_ms: Option<Percentiles>,
    service_ms: Option<Percentiles>,
    wake_ms: Option<Percentiles>,
}

impl OpSecond {
    fn add(&mut self, row: &OpRow) {
        self.has_row = true;
        self.counts += row.counts;
        self.latency_ms = worse_of(self.latency_ms, row.latency_ms);
        self.service_ms = worse_of(self.service_ms, row.service_ms);
        self.wake_ms = worse_of(self.wake_ms, row.wake_ms);
    }
}

/// Percentiles of two load steps do not combine, but those of both together are at most the worse ones.
fn worse_of(a: Option<Percentiles>, b: Option<Percentiles>) -> Option<Percentiles> {
    let (Some(x), Some(y)) = (a, b) else { return a.or(b) };
    Some(Percentiles { p50: x.p50.max(y.p50), p90: x.p90.max(y.p90), p99: x.p99.max(y.p99), max: x.max.max(y.max) })
}

impl Timeline {
    pub(super) fn add_op(&mut self, row: &OpRow) {
        if !row.t_s.is_finite() {
            return;
        }
        let second = row.t_s.max(0.0) as u64;
        self.outages.add_ended(second, row.counts);
        if let Some(open) = self.seconds.get_mut(&row.op) {
            // A late row is counted with the open second: counts must add up.
            if second <= open.second {
                return open.add(row);
            }
            let over = std::mem::replace(open, OpSecond { second, ..OpSecond::default() });
            open.add(row);
            let mut silent_from = over.second;
            if over.has_row {
                self.push_second(&row.op, &over);
                silent_from += 1;
            }
            return self.push_empty_seconds(&row.op, silent_from..second);
        }
        let mut open = OpSecond { second, ..OpSecond::default() };
        open.add(row);
        self.seconds.insert(row.op.clone(), open);
    }

    /// Pushes the seconds before this one: they are complete, even if there are no further rows.
    pub(super) fn push_seconds_before(&mut self, before: u64) {
        let complete = self.seconds.iter_mut().filter(|(_, open)| open.has_row && open.second < before);
        let complete = complete.map(|(op, open)| {
            let next = OpSecond { second: open.second + 1, ..OpSecond::default() };
            (op.clone(), std::mem::replace(open, next))
        });
        for (op, second) in complete.collect::<Vec<_>>() {
            self.push_second(&op, &second);
        }
    }

    pub(super) fn close_seconds(&mut self) {
        for (op, second) in std::mem::take(&mut self.seconds).into_iter().filter(|(_, second)| second.has_row) {
            self.push_second(&op, &second);
        }
    }

    fn push_second(&mut self, op: &str, second: &OpSecond) {
        let (t_s, span) = (second.second as f64, span_of(second.second));
        if !self.unrecorded.requests.contains(t_s) {
            self.push_counts(op, second.second, second.counts);
        }
        let spreads = [("latency", second.latency_ms), ("service", second.service_ms), ("wake", second.wake_ms)];
        for (figure, spread) in spreads.into_iter().filter_map(|(figure, spread)| Some((figure, spread?))) {
            self.push_until(series_class_of(op), &format!("op.{op}.{figure}_p50_ms"), span, spread.p50);
            self.push_until(series_class_of(op), &format!("op.{op}.{figure}_p99_ms"), span, spread.p99);
        }
    }

    /// Seconds in which nothing ended have no rows, and a rate of zero; except those in which the lab did not run, or
    /// in which nothing shows that it did.
    fn push_empty_seconds(&mut self, op: &str, silent: std::ops::Range<u64>) {
        if silent.end.saturating_sub(silent.start) <= EMPTY_SECONDS_MAX {
            for second in silent {
                let (t_s, unknown) = (second as f64, &self.unrecorded);
                if !unknown.requests.contains(t_s) && !unknown.samples.contains(t_s + 0.5) {
                    self.push_counts(op, second, OutcomeCounts::default());
                }
            }
        }
    }

    fn push_counts(&mut self, op: &str, second: u64, counts: OutcomeCounts) {
        for (figure, count) in [("ok", counts.ok), ("errors", counts.errors), ("denied", counts.denied)] {
            self.push_until(series_class_of(op), &format!("op.{op}.{figure}_per_s"), span_of(second), count as f64);
        }
    }
}

fn span_of(second: u64) -> (f64, Option<f64>) {
    (second as f64, Some(second as f64 + 1.0))
}

/// Series of steps are resources, those of their journeys are load.
fn series_class_of(op: &str) -> SeriesClass {
    if op.contains(".steps.") { SeriesClass::Resource } else { SeriesClass::Load }
}
