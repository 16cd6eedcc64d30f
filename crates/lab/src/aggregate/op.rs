//! One operation, folded: counts and the distributions of its times. Microseconds come in, milliseconds go out.

use hdrhistogram::Histogram;

use super::results::OpFigures;
use super::summary::{Statistics, round};
use crate::record::{GeneratorDelay, OpStats, histogram};

/// What figures are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// As they were measured.
    Measured,
    /// Each without what the lab itself added to it: it was late, starved or stopped.
    WithoutLab,
}

/// A distribution of times, in microseconds to three significant digits. Its average is as exact as its steps are.
#[derive(Clone, Debug)]
pub(crate) struct TimeHistogram {
    all: Histogram<u64>,
    /// Those of them that the lab made longer.
    generator_delay: Option<Box<GeneratorDelay>>,
}

impl Default for TimeHistogram {
    fn default() -> Self {
        Self { all: histogram(), generator_delay: None }
    }
}

impl TimeHistogram {
    /// Takes a histogram of microseconds in.
    pub(crate) fn add(&mut self, other: &Histogram<u64>) {
        // It resizes itself, so the library has no reason to refuse.
        let _ = self.all.add(other);
    }

    /// Takes in what the lab made longer of what was added.
    pub(crate) fn add_generator_delay(&mut self, own: &GeneratorDelay) {
        if !own.measured_us.is_empty() {
            self.generator_delay.get_or_insert_default().merge(own);
        }
    }

    /// The same times without what the lab itself added to them.
    fn without_lab(&self) -> Option<Self> {
        let own = self.generator_delay.as_ref()?;
        let mut all = self.all.clone();
        all.subtract(&own.measured_us).ok()?;
        all.add(&own.corrected_us).ok()?;
        Some(Self { all, generator_delay: None })
    }

    /// The statistics in milliseconds, on one basis.
    pub(crate) fn statistics_ms_on(&self, basis: Basis) -> Statistics {
        let without = if basis == Basis::WithoutLab { self.without_lab() } else { None };
        without.as_ref().unwrap_or(self).statistics_ms()
    }

    /// Takes all of another distribution in.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.add(&other.all);
        other.generator_delay.iter().for_each(|own| self.add_generator_delay(own));
    }

    /// A copy of the histogram, in microseconds.
    pub(crate) fn histogram(&self) -> Histogram<u64> {
        self.all.clone()
    }

    /// The value below which that share of all lies, in milliseconds; none where there is nothing.
    pub(crate) fn quantile_ms(&self, quantile: f64) -> Option<f64> {
        (!self.all.is_empty()).then(|| round(self.all.value_at_quantile(quantile).min(self.all.max()) as f64 / 1000.0))
    }

    /// The statistics in milliseconds.
    pub(crate) fn statistics_ms(&self) -> Statistics {
        let times = &self.all;
        let count = times.len();
        if count == 0 {
            return Statistics::default();
        }
        let [avg, min, max] = [times.mean(), times.min() as f64, times.max() as f64].map(|us| us / 1000.0);
        Statistics::of(count, [avg * count as f64, min, avg, max], |quantile| self.quantile_ms(quantile).unwrap_or(max))
    }
}

/// One operation: a journey or a step of it, in the whole trial or in a part.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpAggregate {
    pub(crate) ok: u64,
    pub(crate) denied: u64,
    pub(crate) errors: u64,
    pub(crate) retries: u64,
    pub(crate) latency: TimeHistogram,
    pub(crate) service: TimeHistogram,
    pub(crate) failed: TimeHistogram,
    /// Where answers were waited for.
    pub(crate) long_polls: Option<Box<LongPollAggregate>>,
}

/// Answers that were waited for.
#[derive(Clone, Debug, Default)]
pub(crate) struct LongPollAggregate {
    pub(crate) waited: TimeHistogram,
    pub(crate) wake_delay: TimeHistogram,
}

/// How many ended in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutcomeCounts {
    /// As hoped for.
    pub ok: u64,
    /// Refused politely.
    pub denied: u64,
    /// Otherwise, or without an answer.
    pub errors: u64,
}

impl OutcomeCounts {
    /// All of them.
    #[must_use]
    pub fn total(self) -> u64 {
        self.ok + self.denied + self.errors
    }
}

impl OpAggregate {
    /// Takes a cell in. Only good answers have a latency: a quick refusal would flatter it. What was refused or went
    /// wrong has a distribution of its own, so that a timeout is not forgotten either.
    pub(crate) fn add(&mut self, cell: &OpStats) {
        self.ok += cell.ok;
        self.denied += cell.denied;
        self.errors += cell.errors;
        self.retries += cell.retries;
        self.latency.add(&cell.latency_us);
        self.service.add(&cell.service_us);
        self.failed.add(&cell.failed_us);
        if let Some(own) = &cell.generator_delays {
            self.latency.add_generator_delay(&own.latency);
            self.service.add_generator_delay(&own.service);
            self.failed.add_generator_delay(&own.failed);
        }
        if let Some(waits) = &cell.long_polls {
            let own = self.long_polls.get_or_insert_default();
            own.waited.add(&waits.response_us);
            own.wake_delay.add(&waits.wake_delay_us);
            if let Some(shares) = &cell.generator_delays {
                own.waited.add_generator_delay(&shares.waited);
                own.wake_delay.add_generator_delay(&shares.wake_delay);
            }
        }
    }

    /// Everything that ended.
    pub(crate) fn count(&self) -> u64 {
        self.ok + self.denied + self.errors
    }

    /// Requests of these operations: an answer of every kind, and none.
    pub(crate) fn outcome_counts<'a>(ops: impl IntoIterator<Item = &'a Self>) -> OutcomeCounts {
        ops.into_iter().fold(OutcomeCounts::default(), |sum, op| OutcomeCounts {
            ok: sum.ok + op.ok,
            denied: sum.denied + op.denied,
            errors: sum.errors + op.errors,
        })
    }

    /// The figures.
    pub(crate) fn figures(&self, basis: Basis) -> OpFigures {
        OpFigures {
            count: self.count(),
            ok: self.ok,
            errors: self.errors,
            denied: self.denied,
            retries: self.retries,
            latency_ms: self.latency.statistics_ms_on(basis),
            service_ms: self.service.statistics_ms_on(basis),
            failed_ms: self.failed.statistics_ms_on(basis),
            waited_ms: self.long_polls.as_ref().map(|waits| waits.waited.statistics_ms_on(basis)),
            wake_ms: self.long_polls.as_ref().map(|waits| waits.wake_delay.statistics_ms_on(basis)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn without_the_lab_each_time_is_shorter_by_its_own_share(
            times in prop::collection::vec((0u64..5_000_000, 0u64..5_000_000, any::<bool>()), 1..60),
            split in 0usize..60,
        ) {
            let (mut parts, mut expected) = ([TimeHistogram::default(), TimeHistogram::default()], histogram());
            let mut measured = histogram();
            for (place, (us, own_us, is_own)) in times.iter().enumerate() {
                let own_us = if *is_own { *own_us } else { 0 };
                let mut one = histogram();
                one.record(*us).unwrap();
                measured.record(*us).unwrap();
                let part = &mut parts[usize::from(place >= split)];
                part.add(&one);
                if *is_own {
                    let mut share = GeneratorDelay::default();
                    share.record(Duration::from_micros(*us), Duration::from_micros(own_us));
                    part.add_generator_delay(&share);
                }
                expected.record(us.saturating_sub(own_us)).unwrap();
            }
            let [mut all, other] = parts;
            all.merge(&other);
            let of = |histogram: Histogram<u64>| TimeHistogram { all: histogram, generator_delay: None }.statistics_ms();
            prop_assert_eq!(all.statistics_ms_on(Basis::Measured), of(measured));
            prop_assert_eq!(all.statistics_ms_on(Basis::WithoutLab), of(expected));
        }
    }
}
