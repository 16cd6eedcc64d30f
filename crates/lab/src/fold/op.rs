//! One operation, folded: counts and the distributions of its times. Microseconds come in, milliseconds go out.

use hdrhistogram::Histogram;

use super::results::OpFigures;
use super::summary::{Figures, round};
use crate::record::{Cell, histogram};

/// A distribution of times, in microseconds to three significant digits. Its average is as exact as its steps are.
#[derive(Clone, Debug)]
pub(crate) struct Times(Histogram<u64>);

impl Default for Times {
    fn default() -> Self {
        Self(histogram())
    }
}

impl Times {
    /// Takes a histogram of microseconds in.
    pub(crate) fn add(&mut self, other: &Histogram<u64>) {
        // It resizes itself, so the library has no reason to refuse.
        let _ = self.0.add(other);
    }

    /// Takes all of another distribution in.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.add(&other.0);
    }

    /// A copy of the histogram, in microseconds.
    pub(crate) fn histogram(&self) -> Histogram<u64> {
        self.0.clone()
    }

    /// The value below which that share of all lies, in milliseconds; none where there is nothing.
    pub(crate) fn quantile_ms(&self, quantile: f64) -> Option<f64> {
        (!self.0.is_empty()).then(|| round(self.0.value_at_quantile(quantile).min(self.0.max()) as f64 / 1000.0))
    }

    /// The statistics in milliseconds.
    pub(crate) fn figures_ms(&self) -> Figures {
        let times = &self.0;
        let count = times.len();
        if count == 0 {
            return Figures::default();
        }
        let avg = times.mean() / 1000.0;
        Figures {
            count,
            sum: Some(round(avg * count as f64)),
            min: Some(round(times.min() as f64 / 1000.0)),
            avg: Some(round(avg)),
            p50: self.quantile_ms(0.5),
            p90: self.quantile_ms(0.9),
            p95: self.quantile_ms(0.95),
            p99: self.quantile_ms(0.99),
            p999: self.quantile_ms(0.999),
            max: Some(round(times.max() as f64 / 1000.0)),
        }
    }
}

/// One operation: a journey or a step of it, in the whole trial or in a part.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpFold {
    pub(crate) ok: u64,
    pub(crate) denied: u64,
    pub(crate) errors: u64,
    pub(crate) retries: u64,
    pub(crate) latency: Times,
    pub(crate) service: Times,
    pub(crate) failed: Times,
    /// Where answers were waited for.
    pub(crate) waits: Option<Box<WaitFold>>,
}

/// Answers that were waited for.
#[derive(Clone, Debug, Default)]
pub(crate) struct WaitFold {
    pub(crate) waited: Times,
    pub(crate) wake: Times,
}

/// How many ended in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// As hoped for.
    pub ok: u64,
    /// Refused politely.
    pub denied: u64,
    /// Otherwise, or without an answer.
    pub errors: u64,
}

impl Tally {
    /// All of them.
    #[must_use]
    pub fn over(self) -> u64 {
        self.ok + self.denied + self.errors
    }
}

impl OpFold {
    /// Takes a cell in. Only good answers have a latency: a quick refusal would flatter it. What was refused or went
    /// wrong has a distribution of its own, so that a timeout is not forgotten either.
    pub(crate) fn add(&mut self, cell: &Cell) {
        self.ok += cell.ok;
        self.denied += cell.denied;
        self.errors += cell.errors;
        self.retries += cell.retries;
        self.latency.add(&cell.latency_us);
        self.service.add(&cell.service_us);
        self.failed.add(&cell.failed_us);
        if let Some(waits) = &cell.waits {
            let own = self.waits.get_or_insert_default();
            own.waited.add(&waits.waited_us);
            own.wake.add(&waits.wake_us);
        }
    }

    /// Everything that ended.
    pub(crate) fn count(&self) -> u64 {
        self.ok + self.denied + self.errors
    }

    /// Requests of these operations: an answer of every kind, and none.
    pub(crate) fn tally<'a>(ops: impl IntoIterator<Item = &'a Self>) -> Tally {
        ops.into_iter().fold(Tally::default(), |sum, op| Tally {
            ok: sum.ok + op.ok,
            denied: sum.denied + op.denied,
            errors: sum.errors + op.errors,
        })
    }

    /// The figures.
    pub(crate) fn figures(&self) -> OpFigures {
        OpFigures {
            count: self.count(),
            ok: self.ok,
            errors: self.errors,
            denied: self.denied,
            retries: self.retries,
            latency_ms: self.latency.figures_ms(),
            service_ms: self.service.figures_ms(),
            failed_ms: self.failed.figures_ms(),
            waited_ms: self.waits.as_ref().map(|waits| waits.waited.figures_ms()),
            wake_ms: self.waits.as_ref().map(|waits| waits.wake.figures_ms()),
        }
    }
}
