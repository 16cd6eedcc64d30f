//! Aggregates pushed frames of one push: how many, how large, how late. Microseconds in, milliseconds out. Does not
//! know what they contain.

use serde::{Deserialize, Serialize};

use super::op::{Basis, TimeHistogram};
use super::summary::Statistics;
use crate::format::round;
use crate::measurement::PushStats;

#[derive(Clone, Debug, Default)]
pub(crate) struct PushAggregate {
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
    pub(crate) delay: TimeHistogram,
    /// The first and the last second in which any were received.
    seconds: Option<(u64, u64)>,
}

/// Figures of pushed frames.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PushFigures {
    pub frames: u64,
    /// Bytes of their payloads.
    pub bytes: u64,
    /// Frames per second, from the first second in which any were received to the last.
    pub frames_per_s: Option<f64>,
    /// Bytes per second, over the same time.
    pub bytes_per_s: Option<f64>,
    /// From the event in a frame until it was received, in milliseconds, if frames say when their event happened.
    #[serde(default)]
    pub delay_ms: Statistics,
}

impl PushAggregate {
    /// Adds frames of any second.
    pub(crate) fn add(&mut self, pushed: &PushStats) {
        self.frames += pushed.frames;
        self.bytes += pushed.bytes;
        self.delay.add(&pushed.delay_us);
        pushed.generator_delay.iter().for_each(|generator_delay| self.delay.add_generator_delay(generator_delay));
    }

    pub(crate) fn add_second(&mut self, second: u64, pushed: &PushStats) {
        self.add(pushed);
        let (first, last) = self.seconds.unwrap_or((second, second));
        self.seconds = Some((first.min(second), last.max(second)));
    }

    pub(crate) fn figures(&self, basis: Basis) -> PushFigures {
        let seconds = self.seconds.map(|(first, last)| (last - first + 1) as f64);
        let rate = |count: u64| seconds.map(|seconds| round(count as f64 / seconds));
        PushFigures {
            frames: self.frames,
            bytes: self.bytes,
            frames_per_s: rate(self.frames),
            bytes_per_s: rate(self.bytes),
            delay_ms: self.delay.statistics_ms_on(basis),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_taken_from_the_first_frames_second_to_the_last() {
        let mut aggregate = PushAggregate::default();
        assert_eq!(
            (aggregate.figures(Basis::Measured).frames_per_s, aggregate.figures(Basis::Measured).delay_ms.count),
            (None, 0)
        );
        for (second, frames) in [(4, 10), (2, 20), (4, 6)] {
            let mut pushed = PushStats { frames, bytes: frames * 100, ..PushStats::new(0) };
            pushed.delay_us.record(second * 100).unwrap();
            aggregate.add_second(second, &pushed);
        }
        let figures = aggregate.figures(Basis::Measured);
        assert_eq!((figures.frames, figures.bytes, figures.frames_per_s), (36, 3600, Some(12.0)));
        assert_eq!((figures.bytes_per_s, figures.delay_ms.count, figures.delay_ms.max), (Some(1200.0), 3, Some(0.4)));
    }
}
