//! Aggregates one operation: counts and the distributions of its times. Microseconds in, milliseconds out.

use hdrhistogram::Histogram;

use super::results::OpFigures;
use super::summary::Statistics;
use crate::format::round;
use crate::measurement::{GeneratorDelay, OpStats, histogram};

/// What figures are computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Times as they were measured.
    Measured,
    /// Each time without the generator's own share: the generator was late, starved or stopped.
    WithoutLab,
}

/// A distribution of times, in microseconds with three significant digits. Its average is as exact as its steps.
#[derive(Clone, Debug)]
pub(crate) struct TimeHistogram {
    all: Histogram<u64>,
    /// Those of them that the generator has lengthened.
    generator_delay: Option<Box<GeneratorDelay>>,
}

impl Default for TimeHistogram {
    fn default() -> Self {
        Self { all: histogram(), generator_delay: None }
    }
}

impl TimeHistogram {
    pub(crate) fn add(&mut self, other: &Histogram<u64>) {
        // It resizes itself, so the library has no reason to refuse.
        let _ = self.all.add(other);
    }

    /// Adds which of the added times the generator has lengthened, and by how much.
    pub(crate) fn add_generator_delay(&mut self, generator_delay: &GeneratorDelay) {
        if !generator_delay.measured_us.is_empty() {
            self.generator_delay.get_or_insert_default().merge(generator_delay);
        }
    }

    /// The same times without the generator's own share.
    fn without_lab(&self) -> Option<Self> {
        let delays = self.generator_delay.as_ref()?;
        let mut all = self.all.clone();
        all.subtract(&delays.measured_us).ok()?;
        all.add(&delays.corrected_us).ok()?;
        Some(Self { all, generator_delay: None })
    }

    /// The statistics in milliseconds, on one basis.
    pub(crate) fn statistics_ms_on(&self, basis: Basis) -> Statistics {
        let without = if basis == Basis::WithoutLab { self.without_lab() } else { None };
        without.as_ref().unwrap_or(self).statistics_ms()
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.add(&other.all);
        other.generator_delay.iter().for_each(|generator_delay| self.add_generator_delay(generator_delay));
    }

    /// A copy of the histogram, in microseconds.
    pub(crate) fn histogram(&self) -> Histogram<u64> {
        self.all.clone()
    }

    /// A quantile in milliseconds; none of an empty distribution.
    pub(crate) fn quantile_ms(&self, quantile: f64) -> Option<f64> {
        (!self.all.is_empty()).then(|| round(self.all.value_at_quantile(quantile).min(self.all.max()) as f64 / 1000.0))
    }

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

/// One operation: a journey or a step of it, in the whole trial or in a load step.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpAggregate {
    pub(crate) ok: u64,
    pub(crate) denied: u64,
    pub(crate) errors: u64,
    pub(crate) retries: u64,
    pub(crate) latency: TimeHistogram,
    pub(crate) service: TimeHistogram,
    pub(crate) failed: TimeHistogram,
    /// Times of long polls.
    pub(crate) long_polls: Option<Box<LongPollAggregate>>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct LongPollAggregate {
    pub(crate) waited: TimeHistogram,
    pub(crate) wake_delay: TimeHistogram,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OutcomeCounts {
    pub ok: u64,
    pub denied: u64,
    /// Errors, and requests without a response.
    pub errors: u64,
}

impl OutcomeCounts {
    #[must_use]
    pub fn total(self) -> u64 {
        self.ok + self.denied + self.errors
    }
}

impl OpAggregate {
    /// Only ok responses have a latency: a quick denial would improve it. What was denied or failed has a distribution
    /// of its own, so that timeouts are visible as well.
    pub(crate) fn add(&mut self, stats: &OpStats) {
        self.ok += stats.ok;
        self.denied += stats.denied;
        self.errors += stats.errors;
        self.retries += stats.retries;
        self.latency.add(&stats.latency_us);
        self.service.add(&stats.service_us);
        self.failed.add(&stats.failed_us);
        if let Some(delays) = &stats.generator_delays {
            self.latency.add_generator_delay(&delays.latency);
            self.service.add_generator_delay(&delays.service);
            self.failed.add_generator_delay(&delays.failed);
        }
        if let Some(long_polls) = &stats.long_polls {
            let times = self.long_polls.get_or_insert_default();
            times.waited.add(&long_polls.response_us);
            times.wake_delay.add(&long_polls.wake_delay_us);
            if let Some(delays) = &stats.generator_delays {
                times.waited.add_generator_delay(&delays.waited);
                times.wake_delay.add_generator_delay(&delays.wake_delay);
            }
        }
    }

    /// Everything that ended.
    pub(crate) fn count(&self) -> u64 {
        self.ok + self.denied + self.errors
    }

    /// Requests of these operations, with and without a response.
    pub(crate) fn outcome_counts<'a>(ops: impl IntoIterator<Item = &'a Self>) -> OutcomeCounts {
        ops.into_iter().fold(OutcomeCounts::default(), |sum, op| OutcomeCounts {
            ok: sum.ok + op.ok,
            denied: sum.denied + op.denied,
            errors: sum.errors + op.errors,
        })
    }

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
            waited_ms: self.long_polls.as_ref().map(|long_polls| long_polls.waited.statistics_ms_on(basis)),
            wake_ms: self.long_polls.as_ref().map(|long_polls| long_polls.wake_delay.statistics_ms_on(basis)),
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
        fn without_generator_delay_each_time_is_shorter_by_its_own_share(
            times in prop::collection::vec((0u64..5_000_000, 0u64..5_000_000, any::<bool>()), 1..60),
            split in 0usize..60,
        ) {
            let (mut load_steps, mut expected) = ([TimeHistogram::default(), TimeHistogram::default()], histogram());
            let mut measured = histogram();
            for (index, (us, own_us, is_own)) in times.iter().enumerate() {
                let own_us = if *is_own { *own_us } else { 0 };
                let mut one = histogram();
                one.record(*us).unwrap();
                measured.record(*us).unwrap();
                let load_step = &mut load_steps[usize::from(index >= split)];
                load_step.add(&one);
                if *is_own {
                    let mut share = GeneratorDelay::default();
                    share.record(Duration::from_micros(*us), Duration::from_micros(own_us));
                    load_step.add_generator_delay(&share);
                }
                expected.record(us.saturating_sub(own_us)).unwrap();
            }
            let [mut all, other] = load_steps;
            all.merge(&other);
            let of = |histogram: Histogram<u64>| TimeHistogram { all: histogram, generator_delay: None }.statistics_ms();
            prop_assert_eq!(all.statistics_ms_on(Basis::Measured), of(measured));
            prop_assert_eq!(all.statistics_ms_on(Basis::WithoutLab), of(expected));
        }
    }
}
