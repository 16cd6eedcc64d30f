//! The figures of what was measured: microseconds in, milliseconds out. Does not know where it was added up.

use std::time::Duration;

use super::results::{HeldFigures, OpFigures, PushFigures};
use crate::format::round;
use crate::measurement::{Basis, HeldStats, OpStats, PushStats};

impl OpStats {
    pub(crate) fn figures(&self, basis: Basis) -> OpFigures {
        let long_polls = self.long_polls.as_ref();
        OpFigures {
            count: self.counts.total(),
            ok: self.counts.ok,
            errors: self.counts.errors,
            denied: self.counts.denied,
            retries: self.retries,
            latency_ms: self.latency.statistics_ms(basis),
            service_ms: self.service.statistics_ms(basis),
            failed_ms: self.failed.statistics_ms(basis),
            waited_ms: long_polls.map(|times| times.waited.statistics_ms(basis)),
            wake_ms: long_polls.map(|times| times.wake_delay.statistics_ms(basis)),
        }
    }
}

impl PushStats {
    pub(crate) fn figures(&self, basis: Basis) -> PushFigures {
        let seconds = self.seconds.map(|(first, last)| (last - first + 1) as f64);
        let rate = |count: u64| seconds.map(|seconds| round(count as f64 / seconds));
        PushFigures {
            frames: self.frames,
            bytes: self.bytes,
            frames_per_s: rate(self.frames),
            bytes_per_s: rate(self.bytes),
            delay_ms: self.delay.statistics_ms(basis),
        }
    }
}

impl HeldStats {
    /// The figures of connections of which so many should be held. The first was due at `from`; the last was open at
    /// `until`, as far as is known.
    pub(crate) fn figures(&self, planned: u64, from: Duration, until: Option<Duration>, basis: Basis) -> HeldFigures {
        let counts = self.counts;
        let until = until.filter(|_| counts.opened_or_kept() >= planned);
        let opening_s = until.map(|until| until.saturating_sub(from).as_secs_f64());
        HeldFigures {
            planned,
            counts,
            lost_after_s: self.lost_after.map(|(first, last)| (first as f64, last as f64 + 1.0)),
            keeps: None,
            from_s: round(from.as_secs_f64()),
            opening_s: opening_s.map(round),
            opened_per_s: opening_s.filter(|took| *took > 0.0).map(|took| round(counts.opened as f64 / took)),
            opening_ms: self.opening.statistics_ms(basis),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::aggregate::Statistics;
    use crate::measurement::{HeldCounts, TimeHistogram, histogram};

    #[test]
    fn an_opening_has_a_length_once_all_are_open() {
        let from = Duration::from_secs(5);
        let mut stats = HeldStats::default();
        stats.count_in_second(
            5,
            HeldCounts { opened: 30, failed: 2, closed: 1, dropped: 3, reopened: 4, ..HeldCounts::default() },
        );
        (0..30).for_each(|opened| stats.opening.record(Duration::from_micros(opened * 10), None));
        let figures = stats.figures(40, from, Some(Duration::from_secs(7)), Basis::Measured);
        assert_eq!((figures.counts.opened, figures.opening_s, figures.opened_per_s), (30, None, None));
        stats.count_in_second(6, HeldCounts { opened: 10, ..HeldCounts::default() });
        let figures = stats.figures(40, from, Some(Duration::from_secs(7)), Basis::Measured);
        assert_eq!((figures.from_s, figures.opening_s, figures.opened_per_s), (5.0, Some(2.0), Some(20.0)));
        let HeldCounts { failed, closed, dropped, reopened, .. } = figures.counts;
        assert_eq!((failed, closed, dropped, reopened), (2, 1, 3, 4));
        assert_eq!((figures.opening_ms.count, figures.opening_ms.max), (30, Some(0.29)));
    }

    #[test]
    fn rates_are_taken_from_the_first_frames_second_to_the_last() {
        let mut all = PushStats::default();
        assert_eq!((all.figures(Basis::Measured).frames_per_s, all.figures(Basis::Measured).delay_ms.count), (None, 0));
        for (second, frames) in [(4, 10), (2, 20), (4, 6)] {
            let mut pushed =
                PushStats { frames, bytes: frames * 100, seconds: Some((second, second)), ..PushStats::default() };
            pushed.delay.record(Duration::from_micros(second * 100), None);
            all.merge(&pushed);
        }
        let figures = all.figures(Basis::Measured);
        assert_eq!((figures.frames, figures.bytes, figures.frames_per_s), (36, 3600, Some(12.0)));
        assert_eq!((figures.bytes_per_s, figures.delay_ms.count, figures.delay_ms.max), (Some(1200.0), 3, Some(0.4)));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn without_generator_delay_each_time_is_shorter_by_its_own_share(
            times in prop::collection::vec((0u64..5_000_000, 0u64..5_000_000, any::<bool>()), 1..60),
            split in 0usize..60,
        ) {
            let us = Duration::from_micros;
            let mut workers = [TimeHistogram::default(), TimeHistogram::default()];
            let (mut measured, mut expected) = (histogram(), histogram());
            for (index, (time_us, own_us, is_own)) in times.iter().enumerate() {
                workers[usize::from(index >= split)].record(us(*time_us), is_own.then_some(us(*own_us)));
                measured.record(*time_us).unwrap();
                expected.record(time_us.saturating_sub(if *is_own { *own_us } else { 0 })).unwrap();
            }
            let [mut all, other] = workers;
            all.merge(&other);
            let of = |times_us| -> Statistics { TimeHistogram::from(times_us).statistics_ms(Basis::Measured) };
            prop_assert_eq!(all.statistics_ms(Basis::Measured), of(measured));
            prop_assert_eq!(all.statistics_ms(Basis::WithoutLab), of(expected));
        }
    }
}
