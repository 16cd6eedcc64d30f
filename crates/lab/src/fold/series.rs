//! A figure over time that never takes more than a stated number of points: when it is full, neighbours are merged
//! in pairs, so that each point is the mean of its stretch beside its lowest and highest value. Refuses to know
//! what the figure means.

use serde::{Deserialize, Serialize};

use crate::limits::SERIES_POINTS_MAX;

/// A stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Stretch {
    /// The first moment in it, in seconds from the start of the plan.
    pub t_s: f64,
    pub mean: f64,
    pub min: f64,
    pub max: f64,
    /// The last value in it: what a counter stood at.
    pub last: f64,
    /// Values in it.
    pub n: u64,
}

/// Values in the order of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Its stretches.
    pub points: Vec<Stretch>,
    /// Values in a full stretch.
    every: u64,
    /// Stretches beyond which neighbours are merged.
    #[serde(skip, default = "points_max")]
    points_max: usize,
}

fn points_max() -> usize {
    SERIES_POINTS_MAX
}

impl Default for Series {
    fn default() -> Self {
        Self::of_at_most(SERIES_POINTS_MAX)
    }
}

impl Series {
    /// An empty one that never has more stretches than the next even number from `points_max`, two at least.
    #[must_use]
    pub fn of_at_most(points_max: usize) -> Self {
        Self { points: Vec::new(), every: 1, points_max: points_max.max(2).next_multiple_of(2) }
    }

    /// Adds the next value. What is not a finite number is left out.
    pub fn push(&mut self, t_s: f64, value: f64) {
        if !value.is_finite() {
            return;
        }
        if let Some(open) = self.points.last_mut().filter(|open| open.n < self.every) {
            open.join(&Stretch::of(t_s, value));
            return;
        }
        if self.points.len() >= self.points_max {
            self.halve();
            return self.push(t_s, value);
        }
        // All of its room at once: it is touched only as it fills, and nothing is left behind by growing.
        self.points.reserve_exact(self.points_max - self.points.len());
        self.points.push(Stretch::of(t_s, value));
    }

    fn halve(&mut self) {
        let merged = self.points.len().div_ceil(2);
        for place in 0..merged {
            let mut pair = self.points[2 * place];
            if let Some(next) = self.points.get(2 * place + 1) {
                pair.join(next);
            }
            self.points[place] = pair;
        }
        self.points.truncate(merged);
        self.every *= 2;
    }

    /// The points as pairs of moment and mean.
    pub fn means(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.points.iter().map(|point| (point.t_s, point.mean))
    }

    /// The highest value, and when.
    #[must_use]
    pub fn peak(&self) -> Option<(f64, f64)> {
        let highest = self.points.iter().max_by(|a, b| a.max.total_cmp(&b.max))?;
        Some((highest.t_s, highest.max))
    }

    /// The first value.
    #[must_use]
    pub fn first(&self) -> Option<f64> {
        // Of the first stretch only the mean is known once it was merged.
        self.points.first().map(|point| if point.n == 1 { point.last } else { point.mean })
    }

    /// The last value.
    #[must_use]
    pub fn last(&self) -> Option<f64> {
        self.points.last().map(|point| point.last)
    }
}

impl Stretch {
    fn of(t_s: f64, value: f64) -> Self {
        Self { t_s, mean: value, min: value, max: value, last: value, n: 1 }
    }

    fn join(&mut self, next: &Self) {
        let n = self.n + next.n;
        self.mean = (self.mean * self.n as f64 + next.mean * next.n as f64) / n as f64;
        self.min = self.min.min(next.min);
        self.max = self.max.max(next.max);
        self.last = next.last;
        self.n = n;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(values: u64, every: u64, points: usize) {
        let mut series = Series::default();
        (0..values).for_each(|t| series.push(t as f64, t as f64));
        assert_eq!((series.every, series.points.len()), (every, points));
        assert_eq!(series.points.iter().map(|point| point.n).sum::<u64>(), values);
        assert_eq!((series.last(), series.peak().map(|peak| peak.1)), (Some(values as f64 - 1.0), series.last()));
        let mean = series.points.iter().map(|point| point.mean * point.n as f64).sum::<f64>() / values as f64;
        assert!((mean - (values as f64 - 1.0) / 2.0).abs() < 1e-6, "{mean}");
    }

    #[test]
    fn series_keep_their_length_and_lose_no_value() {
        check(1, 1, 1);
        check(600, 1, 600);
        check(601, 2, 301);
        check(1200, 2, 600);
        check(1201, 4, 301);
        check(86_400, 256, 338);
    }

    #[test]
    fn a_shorter_one_halves_itself_sooner() {
        let mut series = Series::of_at_most(3);
        (0..9).for_each(|t| series.push(f64::from(t), f64::from(t)));
        let points: Vec<_> = series.points.iter().map(|point| (point.t_s, point.mean, point.n)).collect();
        assert_eq!(points, [(0.0, 1.5, 4), (4.0, 5.5, 4), (8.0, 8.0, 1)]);
        assert_eq!(series.points.capacity(), 4);
    }

    #[test]
    fn what_is_no_number_is_left_out() {
        let mut series = Series::default();
        [f64::NAN, f64::INFINITY].iter().for_each(|value| series.push(0.0, *value));
        assert_eq!(series, Series::default());
    }
}
