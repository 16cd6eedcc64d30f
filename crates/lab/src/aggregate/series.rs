//! Figures over time that never take more than a given number of points: when a series is full, neighbours are merged in
//! pairs, so that each point is the mean of its bucket, with the lowest and highest value. Does not know what the figures
//! mean.

use crate::limits::{CURVE_POINTS_MAX, SERIES_POINTS_MAX};
use crate::measurement::WorkPoint;

/// A bucket of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeriesBucket {
    /// Its start, in seconds from the start of the plan.
    pub t_s: f64,
    pub mean: f64,
    pub min: f64,
    pub max: f64,
    /// The last value in it: for a counter.
    pub last: f64,
    /// The number of values in it.
    pub n: u64,
    /// Until when the last value is known to hold, if that is before the next bucket: what lies between is unknown.
    pub until_s: Option<f64>,
}

/// Values in the order of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    pub points: Vec<SeriesBucket>,
    /// Values in a full bucket.
    every: u64,
    /// The number of buckets beyond which neighbours are merged.
    points_max: usize,
}

impl Default for Series {
    fn default() -> Self {
        Self::with_points_max(SERIES_POINTS_MAX)
    }
}

impl Series {
    /// An empty series that never has more buckets than the next even number from `points_max`, and at least two.
    #[must_use]
    pub fn with_points_max(points_max: usize) -> Self {
        Self { points: Vec::new(), every: 1, points_max: points_max.max(2).next_multiple_of(2) }
    }

    /// Adds the next value, which holds until the one after it. A value that is not finite is omitted.
    pub fn push(&mut self, t_s: f64, value: f64) {
        self.push_until(t_s, None, value);
    }

    /// The same of a value that is known to hold until `until_s` and no longer.
    pub fn push_until(&mut self, t_s: f64, until_s: Option<f64>, value: f64) {
        if !value.is_finite() {
            return;
        }
        let next = SeriesBucket { until_s, ..SeriesBucket::of(t_s, value) };
        let every = self.every;
        if let Some(open) = self.points.last_mut().filter(|open| open.takes(&next, every)) {
            open.merge(&next);
            return;
        }
        if self.points.len() >= self.points_max {
            self.halve();
            return self.push_until(t_s, until_s, value);
        }
        // All of its capacity at once: pages are touched only as it fills, and growing leaves no garbage.
        self.points.reserve_exact(self.points_max - self.points.len());
        self.points.push(next);
    }

    /// Removes what is known of a time: values in it are dropped, and the one before holds until its start. A bucket of
    /// several values stays.
    pub(super) fn forget(&mut self, from_s: f64, to_s: f64) {
        self.points.retain(|point| point.n > 1 || point.t_s < from_s || point.t_s >= to_s);
        self.end_at(from_s);
    }

    /// The last value before this time holds only until then.
    pub(super) fn end_at(&mut self, from_s: f64) {
        let next = self.points.partition_point(|point| point.t_s < from_s);
        if let Some(before) = next.checked_sub(1).and_then(|index| self.points.get_mut(index)) {
            before.until_s = Some(before.until_s.map_or(from_s, |until_s| until_s.min(from_s)));
        }
    }

    /// Gaps longer than a bucket stay between buckets, unless there are so many of them that too little room is left.
    fn halve(&mut self) {
        self.every *= 2;
        let every = self.every;
        self.merge(|one, next| one.takes(next, every));
        if self.points.len() > self.points_max / 4 * 3 {
            self.merge(|one, next| one.n + next.n <= every);
        }
    }

    fn merge(&mut self, joins: impl Fn(&SeriesBucket, &SeriesBucket) -> bool) {
        let mut kept: usize = 0;
        for index in 0..self.points.len() {
            let next = self.points[index];
            match kept.checked_sub(1).filter(|last| joins(&self.points[*last], &next)) {
                Some(last) => self.points[last].merge(&next),
                None => {
                    self.points[kept] = next;
                    kept += 1;
                }
            }
        }
        self.points.truncate(kept);
    }

    /// The highest value, and when.
    #[must_use]
    pub fn peak(&self) -> Option<(f64, f64)> {
        let highest = self.points.iter().max_by(|a, b| a.max.total_cmp(&b.max))?;
        Some((highest.t_s, highest.max))
    }

    #[must_use]
    pub fn first(&self) -> Option<f64> {
        // Of a merged bucket only the mean is known.
        self.points.first().map(|point| if point.n == 1 { point.last } else { point.mean })
    }

    #[must_use]
    pub fn last(&self) -> Option<f64> {
        self.points.last().map(|point| point.last)
    }
}

impl SeriesBucket {
    fn of(t_s: f64, value: f64) -> Self {
        Self { t_s, mean: value, min: value, max: value, last: value, n: 1, until_s: None }
    }

    /// Whether the next value belongs to the same bucket of at most `every` values.
    fn takes(&self, next: &Self, every: u64) -> bool {
        self.n + next.n <= every && !self.is_before_gap(next, every)
    }

    /// Whether nothing is known for longer than a bucket before the next one. Values come once a second.
    fn is_before_gap(&self, next: &Self, every: u64) -> bool {
        self.until_s.is_some_and(|until_s| next.t_s - until_s > every as f64)
    }

    fn merge(&mut self, next: &Self) {
        let n = self.n + next.n;
        self.mean = (self.mean * self.n as f64 + next.mean * next.n as f64) / n as f64;
        self.min = self.min.min(next.min);
        self.max = self.max.max(next.max);
        (self.last, self.until_s, self.n) = (next.last, next.until_s, n);
    }
}

/// Work over time: when it is full, every second point is dropped and the distance doubles. Its last point is always the
/// latest.
#[derive(Clone, Debug)]
pub struct DrainCurve {
    points: Vec<WorkPoint>,
    last: Option<WorkPoint>,
    stride: u64,
    seen: u64,
}

impl Default for DrainCurve {
    fn default() -> Self {
        Self { points: Vec::new(), last: None, stride: 1, seen: 0 }
    }
}

impl DrainCurve {
    pub fn push(&mut self, point: WorkPoint) {
        if self.seen.is_multiple_of(self.stride) {
            if self.points.len() == CURVE_POINTS_MAX {
                let mut keep = [false, true].into_iter().cycle();
                self.points.retain(|_| !keep.next().unwrap_or(false));
                self.stride *= 2;
            }
            if self.seen.is_multiple_of(self.stride) {
                self.points.push(point);
            }
        }
        self.seen += 1;
        self.last = Some(point);
    }

    /// The kept points, and the latest.
    #[must_use]
    pub fn points(&self) -> Vec<WorkPoint> {
        let mut points = self.points.clone();
        points.extend(self.last.filter(|last| points.last() != Some(last)));
        points
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
    fn a_series_with_fewer_points_merges_sooner() {
        let mut series = Series::with_points_max(3);
        (0..9).for_each(|t| series.push(f64::from(t), f64::from(t)));
        let points: Vec<_> = series.points.iter().map(|point| (point.t_s, point.mean, point.n)).collect();
        assert_eq!(points, [(0.0, 1.5, 4), (4.0, 5.5, 4), (8.0, 8.0, 1)]);
        assert_eq!(series.points.capacity(), 4);
    }

    /// Checks the gaps between buckets, as starts and ends, for one value a second except in these seconds.
    #[track_caller]
    fn check_gaps(seconds: u64, unknown: &[(u64, u64)], expected: &[(f64, f64)]) {
        let mut series = Series::default();
        let known = (0..seconds).filter(|second| !unknown.iter().any(|(from, to)| (from..to).contains(&second)));
        known.for_each(|second| series.push_until(second as f64, Some(second as f64 + 1.0), 1.0));
        let gaps = series.points.windows(2).map(|pair| (pair[0].until_s.unwrap(), pair[1].t_s));
        let gaps: Vec<(f64, f64)> = gaps.filter(|(until_s, next_s)| until_s < next_s).collect();
        assert_eq!(gaps, expected);
        assert!(series.points.len() <= 600);
    }

    #[test]
    fn gaps_longer_than_a_bucket_survive_merging() {
        check_gaps(9, &[], &[]);
        check_gaps(9, &[(5, 6)], &[(5.0, 6.0)]);
        check_gaps(7200, &[(3001, 3071)], &[(3001.0, 3071.0)]);
        // Very many gaps are not kept at the cost of room.
        let many: Vec<_> = (0..3000).map(|n| n * 40..n * 40 + 39).collect();
        let mut series = Series::default();
        (0..120_000).filter(|s| !many.iter().any(|gap| gap.contains(s))).for_each(|second| {
            series.push_until(second as f64, Some(second as f64 + 1.0), 1.0);
        });
        assert!(series.points.len() <= 600 && series.points.iter().map(|point| point.n).sum::<u64>() == 3000);
    }

    #[test]
    fn what_is_forgotten_is_a_gap() {
        let mut series = Series::default();
        (0..6).for_each(|t| series.push(f64::from(t), 1.0));
        series.forget(2.0, 4.0);
        let points: Vec<_> = series.points.iter().map(|point| (point.t_s, point.until_s)).collect();
        assert_eq!(points, [(0.0, None), (1.0, Some(2.0)), (4.0, None), (5.0, None)]);
    }

    #[test]
    fn values_that_are_not_finite_are_omitted() {
        let mut series = Series::default();
        [f64::NAN, f64::INFINITY].iter().for_each(|value| series.push(0.0, *value));
        assert_eq!(series, Series::default());
    }

    #[track_caller]
    fn check_curve(pushed: u64, first: &[f64], last: f64) {
        let mut curve = DrainCurve::default();
        (0..pushed).for_each(|t| curve.push(WorkPoint { t_s: t as f64, ..WorkPoint::default() }));
        let moments: Vec<f64> = curve.points().iter().map(|point| point.t_s).collect();
        assert_eq!(&moments[..first.len()], first);
        assert_eq!(moments.last(), Some(&last));
        assert!(moments.len() <= CURVE_POINTS_MAX + 1 && moments.is_sorted());
    }

    #[test]
    fn curves_keep_their_length() {
        check_curve(1, &[0.0], 0.0);
        check_curve(64, &[0.0, 1.0, 2.0], 63.0);
        check_curve(65, &[0.0, 2.0, 4.0], 64.0);
        check_curve(66, &[0.0, 2.0, 4.0], 65.0);
        check_curve(200, &[0.0, 4.0, 8.0], 199.0);
        check_curve(7200, &[0.0, 128.0, 256.0], 7199.0);
    }
}
