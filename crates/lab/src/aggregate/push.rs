//! Frames of one kind that a service pushed, folded: how many, how large, how late. Microseconds come in, milliseconds
//! go out. Refuses to know what they told.

use serde::{Deserialize, Serialize};

use super::op::{Basis, TimeHistogram};
use super::summary::{Statistics, round};
use crate::record::PushStats;

/// Frames of one kind.
#[derive(Clone, Debug, Default)]
pub(crate) struct PushAggregate {
    pub(crate) frames: u64,
    pub(crate) bytes: u64,
    pub(crate) delay: TimeHistogram,
    /// The first and the last second in which any came.
    seconds: Option<(u64, u64)>,
}

/// Figures of frames that were pushed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PushFigures {
    /// How many came.
    pub frames: u64,
    /// Bytes of what they held.
    pub bytes: u64,
    /// Frames per second, from the first second in which any came to the last.
    pub frames_per_s: Option<f64>,
    /// Bytes per second, over the same time.
    pub bytes_per_s: Option<f64>,
    /// From what they tell of to their arrival, in milliseconds, where they tell.
    #[serde(default)]
    pub delay_ms: Statistics,
}

impl PushAggregate {
    /// Takes frames of any second in.
    pub(crate) fn add(&mut self, pushed: &PushStats) {
        self.frames += pushed.frames;
        self.bytes += pushed.bytes;
        self.delay.add(&pushed.delay_us);
        pushed.generator_delay.iter().for_each(|own| self.delay.add_generator_delay(own));
    }

    /// Takes frames of a second in.
    pub(crate) fn add_second(&mut self, second: u64, pushed: &PushStats) {
        self.add(pushed);
        let (first, last) = self.seconds.unwrap_or((second, second));
        self.seconds = Some((first.min(second), last.max(second)));
    }

    /// The figures.
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
    fn rates_are_taken_over_the_seconds_between_the_first_frame_and_the_last() {
        let mut fold = PushAggregate::default();
        assert_eq!(
            (fold.figures(Basis::Measured).frames_per_s, fold.figures(Basis::Measured).delay_ms.count),
            (None, 0)
        );
        for (second, frames) in [(4, 10), (2, 20), (4, 6)] {
            let mut pushed = PushStats { frames, bytes: frames * 100, ..PushStats::new(0) };
            pushed.delay_us.record(second * 100).unwrap();
            fold.add_second(second, &pushed);
        }
        let figures = fold.figures(Basis::Measured);
        assert_eq!((figures.frames, figures.bytes, figures.frames_per_s), (36, 3600, Some(12.0)));
        assert_eq!((figures.bytes_per_s, figures.delay_ms.count, figures.delay_ms.max), (Some(1200.0), 3, Some(0.4)));
    }
}
