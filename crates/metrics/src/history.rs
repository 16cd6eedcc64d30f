//! The readings of the last day, in memory of fixed size: every second of the last ten minutes, every ten seconds of the last two hours,
//! every minute of the last day. A point is the mean of what was read in its time; where nothing was read there is a gap.
//!
//! Places are counted from the start of the process on its monotonic clock: a clock that is set moves nothing.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The steps between points, in seconds, and how many points of each are kept.
pub const RESOLUTIONS: [(u64, usize); 3] = [(1, 600), (10, 720), (60, 1_440)];

/// What a series is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesKind {
    /// A value that goes up and down: points are what was read.
    Level,
    /// A count that only grows: points are its increase per second.
    Rate,
}

/// Points that follow each other, one for each step.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Points {
    /// When the first one begins, since the start of the process.
    pub begin: Duration,
    /// In the order in which the series were asked for, each as long as the others; `None` is a gap.
    pub values: Vec<Vec<Option<f32>>>,
}

/// The history of a fixed list of series. May be written and read from anywhere.
#[derive(Debug)]
pub struct History {
    kinds: Vec<SeriesKind>,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// The last reading and its time, from which rates are taken.
    before: Option<(Duration, Vec<Option<f64>>)>,
    rings: [Ring; RESOLUTIONS.len()],
}

impl History {
    #[must_use]
    pub fn new(kinds: Vec<SeriesKind>) -> Self {
        let rings = RESOLUTIONS.map(|(step_s, points)| Ring::new(step_s, points, kinds.len()));
        Self { kinds, inner: Mutex::new(Inner { before: None, rings }) }
    }

    /// Records what was read at this time since the start of the process: a value for each series, `None` where it is unknown. A reading
    /// that is not later than the last one is ignored.
    pub fn record(&self, at: Duration, reading: Vec<Option<f64>>) {
        let mut inner = self.lock();
        let before = inner.before.take();
        if before.as_ref().is_some_and(|(earlier, _)| *earlier >= at) {
            inner.before = before;
            return;
        }
        let points = self.kinds.iter().enumerate().map(|(series, kind)| {
            let value = reading.get(series).copied().flatten()?;
            match kind {
                SeriesKind::Level => Some(value),
                SeriesKind::Rate => {
                    let (earlier, values) = before.as_ref()?;
                    let grown = value - values.get(series).copied().flatten()?;
                    (grown >= 0.0).then(|| grown / (at - *earlier).as_secs_f64())
                }
            }
        });
        let points: Vec<_> = points.collect();
        inner.rings.iter_mut().for_each(|ring| ring.add(at, &points));
        inner.before = Some((at, reading));
    }

    /// The points of these series from this time on, in steps of `step_s`: at most as many as are kept. `None` where no such step is kept.
    ///
    /// The newest is that of the last step which is over.
    #[must_use]
    pub fn read(&self, series: &[usize], from: Duration, step_s: u64) -> Option<Points> {
        self.lock().rings.iter().find(|ring| ring.step_s == step_s).map(|ring| ring.read(series, from))
    }

    /// Consistent even if a holder of the lock panicked: a point is unknown at worst.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The points of one resolution: for each step a row with a value for each series, NaN where it is unknown.
#[derive(Debug)]
struct Ring {
    step_s: u64,
    rows_max: usize,
    rows: Vec<f32>,
    /// The step that is being filled, counted from the start of the process.
    step: u64,
    sums: Vec<(f64, u32)>,
}

impl Ring {
    fn new(step_s: u64, rows_max: usize, series: usize) -> Self {
        Self { step_s, rows_max, rows: vec![f32::NAN; rows_max * series], step: 0, sums: vec![(0.0, 0); series] }
    }

    fn add(&mut self, at: Duration, points: &[Option<f64>]) {
        let step = at.as_secs() / self.step_s;
        if step > self.step {
            self.end_steps(step);
        }
        for ((sum, count), point) in self.sums.iter_mut().zip(points) {
            if let Some(point) = point {
                *sum += point;
                *count += 1;
            }
        }
    }

    /// Writes the row of the step that ends, and empties those in which nothing was read.
    fn end_steps(&mut self, next: u64) {
        let means: Vec<_> = self.sums.iter().map(|(sum, count)| (sum / f64::from(*count)) as f32).collect();
        self.sums.fill((0.0, 0));
        let range = self.range(self.step);
        self.rows[range].copy_from_slice(&means);
        let unread = self.step + 1..next;
        for step in unread.rev().take(self.rows_max) {
            let range = self.range(step);
            self.rows[range].fill(f32::NAN);
        }
        self.step = next;
    }

    fn range(&self, step: u64) -> std::ops::Range<usize> {
        let series = self.sums.len();
        let row = (step % self.rows_max as u64) as usize;
        row * series..(row + 1) * series
    }

    fn read(&self, series: &[usize], from: Duration) -> Points {
        let first = (from.as_secs() / self.step_s).max(self.step.saturating_sub(self.rows_max as u64)).min(self.step);
        let value = |step, series: usize| {
            let value = self.rows[self.range(step)].get(series).copied();
            value.filter(|value| !value.is_nan())
        };
        let values = series.iter().map(|series| (first..self.step).map(|step| value(step, *series)).collect());
        Points { begin: Duration::from_secs(first * self.step_s), values: values.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BOTH: [SeriesKind; 2] = [SeriesKind::Level, SeriesKind::Rate];

    fn seconds(at_s: f64) -> Duration {
        Duration::from_secs_f64(at_s)
    }

    /// Readings of a level and of a count at these seconds, and the points from `from_s` on.
    #[track_caller]
    fn check(
        readings: &[(f64, Option<f64>, Option<f64>)],
        from_s: f64,
        step_s: u64,
        want: (u64, &[Option<f32>], &[Option<f32>]),
    ) {
        let history = History::new(BOTH.to_vec());
        readings.iter().for_each(|(at_s, level, count)| history.record(seconds(*at_s), vec![*level, *count]));
        let points = history.read(&[0, 1], seconds(from_s), step_s).unwrap();
        let (begin_s, level, rate) = want;
        assert_eq!(points, Points { begin: Duration::from_secs(begin_s), values: vec![level.to_vec(), rate.to_vec()] });
    }

    #[test]
    fn levels_are_shown_as_read_and_counts_as_their_increase() {
        check(&[], 0.0, 1, (0, &[], &[]));
        let readings = [
            (0.1, Some(4.0), Some(100.0)),
            (1.1, Some(6.0), Some(150.0)),
            (2.1, Some(1.0), Some(150.0)),
            (3.1, None, None),
        ];
        check(&readings, 0.0, 1, (0, &[Some(4.0), Some(6.0), Some(1.0)], &[None, Some(50.0), Some(0.0)]));
        check(&readings, 2.9, 1, (2, &[Some(1.0)], &[Some(0.0)]));
        // What has not happened yet has no point.
        check(&readings, 900.0, 1, (3, &[], &[]));
    }

    #[test]
    fn what_was_not_read_is_a_gap() {
        let readings = [
            (0.0, Some(1.0), Some(0.0)),
            (3.0, Some(2.0), Some(6.0)),
            (4.0, None, None),
            (5.0, Some(3.0), Some(9.0)),
            (6.0, None, None),
        ];
        let (level, rate) =
            ([Some(1.0), None, None, Some(2.0), None, Some(3.0)], [None, None, None, Some(2.0), None, None]);
        check(&readings, 0.0, 1, (0, &level, &rate));
        // A count that went back, and a reading of the past.
        check(
            &[(0.0, None, Some(9.0)), (1.0, None, Some(3.0)), (0.5, None, Some(99.0)), (2.0, None, None)],
            0.0,
            1,
            (0, &[None; 2], &[None; 2]),
        );
    }

    #[test]
    fn a_coarse_point_is_the_mean_of_what_was_read() {
        let readings: Vec<_> =
            (0..=20).map(|at| (f64::from(at), (at != 5).then_some(f64::from(at)), Some(f64::from(at * at)))).collect();
        let mean = |values: &[i32]| Some(values.iter().sum::<i32>() as f32 / values.len() as f32);
        let level = [mean(&[0, 1, 2, 3, 4, 6, 7, 8, 9]), mean(&[10, 11, 12, 13, 14, 15, 16, 17, 18, 19])];
        check(&readings, 0.0, 10, (0, &level, &[Some(9.0), Some(28.0)]));
    }

    #[test]
    fn a_step_that_is_not_kept_is_none() {
        assert_eq!(History::new(BOTH.to_vec()).read(&[0], Duration::ZERO, 5), None);
    }

    proptest! {
        /// Whatever is read when: memory stays, a point lies between the least and the most of what was read, and a step without a
        /// reading is a gap.
        #[test]
        fn points_are_of_their_own_time(waits in prop::collection::vec((1_u32..2_000, prop::option::of(0_u16..1_000)), 1..200)) {
            let history = History::new(vec![SeriesKind::Level]);
            let mut at = 0;
            let mut read = Vec::new();
            for (wait, value) in waits {
                at += u64::from(wait);
                history.record(Duration::from_secs(at), vec![value.map(f64::from)]);
                read.push((at, value));
            }
            for (step_s, points) in RESOLUTIONS {
                let found = history.read(&[0], Duration::ZERO, step_s).unwrap();
                prop_assert!(found.values[0].len() <= points);
                let begin = found.begin.as_secs() / step_s;
                prop_assert_eq!(begin + found.values[0].len() as u64, at / step_s);
                for (step, value) in (begin..).zip(&found.values[0]) {
                    let own: Vec<_> = read.iter().filter(|(at, _)| at / step_s == step).filter_map(|(_, value)| *value).collect();
                    let range = own.iter().min().zip(own.iter().max()).map(|(least, most)| f32::from(*least)..=f32::from(*most));
                    prop_assert_eq!(value.is_some(), range.is_some());
                    prop_assert!(value.zip(range).is_none_or(|(value, range)| range.contains(&value)));
                }
            }
        }
    }
}
