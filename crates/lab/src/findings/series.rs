//! Figures over time as steps: a value holds from its moment to the next one. Computes sums and means over time ranges,
//! and when a value was above a threshold. Does not know what the figures measure.

use crate::aggregate::{Series, SeriesBucket};

/// Time ranges in seconds from the start of the plan: ordered, disjoint, none empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TimeRanges(Vec<(f64, f64)>);

impl TimeRanges {
    /// Sorts and merges the ranges.
    pub(super) fn new(ranges: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let mut all: Vec<(f64, f64)> = ranges.into_iter().filter(|(from, to)| from < to).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut joined: Vec<(f64, f64)> = Vec::with_capacity(all.len());
        for (from, to) in all {
            match joined.last_mut().filter(|last| last.1 >= from) {
                Some(last) => last.1 = last.1.max(to),
                None => joined.push((from, to)),
            }
        }
        Self(joined)
    }

    pub(super) fn total_s(&self) -> f64 {
        self.0.iter().map(|(from, to)| to - from).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn first_s(&self) -> Option<f64> {
        self.0.first().map(|(from, _)| *from)
    }

    pub(super) fn last_s(&self) -> Option<f64> {
        self.0.last().map(|(_, to)| *to)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.0.iter().copied()
    }

    pub(super) fn union(&self, other: &Self) -> Self {
        Self::new(self.0.iter().chain(&other.0).copied())
    }

    /// Each range extended by this much on both sides.
    pub(super) fn widened(&self, by_s: f64) -> Self {
        Self::new(self.0.iter().map(|(from, to)| (from - by_s, to + by_s)))
    }

    /// The times that are in these ranges and not in the others.
    pub(super) fn difference(&self, others: &Self) -> Self {
        let mut left = self.0.clone();
        for (from, to) in &others.0 {
            left =
                left.iter().flat_map(|(a, b)| [(*a, b.min(*from)), (a.max(*to), *b)]).filter(|(a, b)| a < b).collect();
        }
        Self::new(left)
    }

    pub(super) fn contains(&self, t_s: f64) -> bool {
        self.0.iter().any(|(from, to)| (*from..*to).contains(&t_s))
    }

    /// How much of a range lies in these times, in seconds.
    pub(super) fn overlap_s(&self, (from, to): (f64, f64)) -> f64 {
        // Ranges are ordered: those that end before it and those that begin after it are skipped.
        let first = self.0.partition_point(|(_, end)| *end <= from);
        let inside = self.0[first..].iter().take_while(|(begin, _)| *begin < to);
        inside.map(|(begin, end)| end.min(to) - begin.max(from)).sum()
    }
}

/// A step of a series, with its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct SeriesStep {
    pub(super) from_s: f64,
    pub(super) to_s: f64,
    pub(super) value: SeriesBucket,
}

/// The steps of a series, each until the next one, or as long as its value is known to hold. The last one lasts as long
/// as the one before it, or a second.
pub(super) fn steps(series: &Series) -> impl Iterator<Item = SeriesStep> + '_ {
    let points = &series.points;
    let usual_s = match points.as_slice() {
        [.., before, last] => (last.t_s - before.t_s).max(0.0),
        _ => 1.0,
    };
    points.iter().enumerate().map(move |(index, point)| {
        let next_s = points.get(index + 1).map(|next| next.t_s);
        let to_s = next_s.unwrap_or(point.until_s.unwrap_or(point.t_s + usual_s));
        let to_s = point.until_s.map_or(to_s, |until_s| until_s.min(to_s));
        SeriesStep { from_s: point.t_s, to_s: to_s.max(point.t_s), value: *point }
    })
}

/// The sum of value times seconds over these times, and the seconds for which it was known.
pub(super) fn area(series: &Series, times: &TimeRanges) -> (f64, f64) {
    steps(series).fold((0.0, 0.0), |(area, known_s), step| {
        let overlap_s = times.overlap_s((step.from_s, step.to_s));
        (area + overlap_s * step.value.mean, known_s + overlap_s)
    })
}

/// The mean over these times; none if a number cannot hold it.
pub(super) fn mean(series: &Series, times: &TimeRanges) -> Option<f64> {
    let (area, known_s) = area(series, times);
    (known_s > 0.0).then(|| area / known_s).filter(|mean| mean.is_finite())
}

/// The value that held at a moment, if it is known.
pub(super) fn value_at(series: &Series, t_s: f64) -> Option<f64> {
    let next = series.points.partition_point(|point| point.t_s <= t_s);
    let point = series.points.get(next.checked_sub(1)?)?;
    point.until_s.is_none_or(|until_s| t_s < until_s).then_some(point.mean)
}

/// The end of the last time within these bounds in which the value was above zero.
pub(super) fn last_above_zero(series: &Series, (from_s, to_s): (f64, f64)) -> Option<f64> {
    let within = steps(series).filter(|step| step.from_s < to_s && step.to_s > from_s && step.value.mean > 0.0);
    within.last().map(|step| step.to_s)
}

/// The times in which the value met a condition.
pub(super) fn times_when(series: &Series, is_so: impl Fn(f64) -> bool) -> TimeRanges {
    TimeRanges::new(steps(series).filter(|step| is_so(step.value.mean)).map(|step| (step.from_s, step.to_s)))
}

/// How much of `times` the value met a condition, in seconds.
pub(super) fn time_when_s(series: &Series, times: &TimeRanges, is_so: impl Fn(f64) -> bool) -> f64 {
    let so = steps(series).filter(|step| is_so(step.value.mean));
    so.map(|step| times.overlap_s((step.from_s, step.to_s))).sum()
}

/// The value that is reached or exceeded for a tenth of the known time: a peak that a single spike cannot move.
pub(super) fn usual_peak(steps: &[(f64, f64)]) -> f64 {
    let mut some: Vec<(f64, f64)> = steps.iter().copied().filter(|(value, _)| *value > 0.0).collect();
    some.sort_by(|a, b| b.0.total_cmp(&a.0));
    let tenth_s = some.iter().map(|(_, lasting_s)| lasting_s).sum::<f64>() / 10.0;
    let mut passed_s = 0.0;
    let reached = some.iter().find(|(_, lasting_s)| {
        passed_s += lasting_s;
        passed_s >= tenth_s
    });
    reached.map_or(0.0, |(value, _)| *value)
}

/// The sum of a figure that every sample counts anew.
pub(super) fn sum_of_counts(series: &Series) -> f64 {
    sum_at(series, |_| true)
}

/// The same over the samples at selected moments, in seconds.
pub(super) fn sum_at(series: &Series, is_asked: impl Fn(f64) -> bool) -> f64 {
    series.points.iter().filter(|point| is_asked(point.t_s)).map(|point| point.mean * point.n as f64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(values: &[(f64, f64)]) -> Series {
        let mut series = Series::default();
        values.iter().for_each(|(t_s, value)| series.push(*t_s, *value));
        series
    }

    #[track_caller]
    fn check_times(times: &TimeRanges, expected: &[(f64, f64)]) {
        assert_eq!(times.0, expected);
    }

    #[test]
    fn times_are_joined_and_cut() {
        let times = TimeRanges::new([(5.0, 7.0), (0.0, 2.0), (1.0, 3.0), (9.0, 9.0), (3.0, 4.0)]);
        check_times(&times, &[(0.0, 4.0), (5.0, 7.0)]);
        check_times(
            &times.difference(&TimeRanges::new([(1.0, 2.0), (6.0, 9.0)])),
            &[(0.0, 1.0), (2.0, 4.0), (5.0, 6.0)],
        );
        check_times(&times.difference(&TimeRanges::new([(0.0, 9.0)])), &[]);
        check_times(&times.union(&TimeRanges::new([(4.0, 5.0)])), &[(0.0, 7.0)]);
        assert_eq!((times.total_s(), times.first_s(), times.last_s()), (6.0, Some(0.0), Some(7.0)));
        assert_eq!(
            [times.overlap_s((3.5, 5.5)), times.overlap_s((4.0, 5.0)), times.overlap_s((-1.0, 9.0))],
            [1.0, 0.0, 6.0]
        );
    }

    #[test]
    fn values_hold_until_the_next_one() {
        let series = series(&[(0.0, 10.0), (1.0, 20.0), (3.0, 0.0)]);
        assert_eq!(area(&series, &TimeRanges::new([(0.5, 2.0)])), (5.0 + 20.0, 1.5));
        assert_eq!(mean(&series, &TimeRanges::new([(0.0, 5.0)])), Some(50.0 / 5.0));
        assert_eq!(mean(&series, &TimeRanges::new([(7.0, 8.0)])), None);
        assert_eq!(
            [value_at(&series, 0.9), value_at(&series, 1.0), value_at(&series, 99.0), value_at(&series, -1.0)],
            [Some(10.0), Some(20.0), Some(0.0), None]
        );
        check_times(&times_when(&series, |value| value > 5.0), &[(0.0, 3.0)]);
        assert_eq!(time_when_s(&series, &TimeRanges::new([(2.0, 9.0)]), |value| value > 5.0), 1.0);
    }

    #[test]
    fn unknown_times_are_not_counted() {
        let mut series = Series::default();
        for t in [0, 1, 2, 6, 7] {
            series.push_until(f64::from(t), Some(f64::from(t) + 1.0), 10.0);
        }
        let all = TimeRanges::new([(0.0, 8.0)]);
        assert_eq!((area(&series, &all), mean(&series, &all)), ((50.0, 5.0), Some(10.0)));
        assert_eq!(
            [value_at(&series, 2.9), value_at(&series, 3.0), value_at(&series, 6.0)],
            [Some(10.0), None, Some(10.0)]
        );
        check_times(&times_when(&series, |value| value > 0.0), &[(0.0, 3.0), (6.0, 8.0)]);
    }

    #[test]
    fn a_spike_is_no_peak() {
        assert_eq!(usual_peak(&[(500.0, 1.0), (50.0, 60.0), (0.0, 600.0)]), 50.0);
        assert_eq!(usual_peak(&[(100.0, 3.0), (0.0, 77.0)]), 100.0);
        assert_eq!(usual_peak(&[]), 0.0);
    }
}
