//! Times by second as counts on a grid: a column for a second or several, a row for a range of times, each range a third
//! wider than the one below. Of bounded size: a long run has wider columns. Does not read files.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::format::round;
use crate::limits::{HEATMAP_COLUMNS_MAX, HEATMAPS_MAX};

/// Rows of a factor of ten.
const ROWS_PER_DECADE: f64 = 8.0;

/// From a microsecond to a hundred seconds.
const ROW_COUNT: usize = 64;

const US_PER_MS: f64 = 1000.0;

/// Heatmaps by the name of their operation.
pub(in crate::report) type HeatmapByName = BTreeMap<String, Heatmap>;

/// How many of a column's times lie in each range.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Heatmap {
    pub title: String,
    /// Seconds of a column; the first begins at the start of the plan.
    pub step_s: u64,
    /// The lower ends of the rows in milliseconds from the fastest, and the upper end of the last.
    pub bounds_ms: Vec<f64>,
    /// For each column the rows in which there is something, each followed by how many.
    pub columns: Vec<Vec<u64>>,
}

/// Takes histograms of seconds, in any order.
#[derive(Debug, Default)]
pub(in crate::report) struct HeatmapBuilder {
    grids: BTreeMap<String, Grid>,
}

#[derive(Debug)]
struct Grid {
    step_s: u64,
    columns: Vec<[u64; ROW_COUNT]>,
}

impl Default for Grid {
    fn default() -> Self {
        Self { step_s: 1, columns: Vec::new() }
    }
}

impl HeatmapBuilder {
    /// Adds the times of a second, in microseconds. Operations beyond the first few have no heatmap.
    pub(in crate::report) fn add(&mut self, op: &str, second: u64, times_us: &Histogram<u64>) {
        if !self.grids.contains_key(op) {
            if self.grids.len() >= HEATMAPS_MAX {
                return;
            }
            self.grids.insert(op.to_owned(), Grid::default());
        }
        if let Some(grid) = self.grids.get_mut(op) {
            grid.add(second, times_us);
        }
    }

    pub(in crate::report) fn build(self) -> HeatmapByName {
        self.grids.into_iter().filter_map(|(op, grid)| Some((op, grid.heatmap()?))).collect()
    }
}

impl Grid {
    fn add(&mut self, second: u64, times_us: &Histogram<u64>) {
        while second / self.step_s >= HEATMAP_COLUMNS_MAX as u64 {
            self.halve();
        }
        let column = (second / self.step_s) as usize;
        if self.columns.len() <= column {
            self.columns.resize(column + 1, [0; ROW_COUNT]);
        }
        for value in times_us.iter_recorded() {
            self.columns[column][row(value.value_iterated_to())] += value.count_at_value();
        }
    }

    /// Neighbours become one column.
    fn halve(&mut self) {
        let merged = self.columns.chunks(2).map(|pair| match pair {
            [one, other] => std::array::from_fn(|row| one[row] + other[row]),
            alone => alone[0],
        });
        (self.columns, self.step_s) = (merged.collect(), self.step_s.saturating_mul(2));
    }

    /// None if nothing was counted.
    fn heatmap(&self) -> Option<Heatmap> {
        let is_used = |row: &usize| self.columns.iter().any(|column| column[*row] > 0);
        let (first, last) = ((0..ROW_COUNT).find(is_used)?, (0..ROW_COUNT).rfind(is_used)?);
        let column = |counts: &[u64; ROW_COUNT]| {
            let used = (first..=last).filter(|row| counts[*row] > 0);
            used.flat_map(|row| [(row - first) as u64, counts[row]]).collect()
        };
        Some(Heatmap {
            title: String::new(),
            step_s: self.step_s,
            bounds_ms: (first..=last + 1).map(bound_ms).collect(),
            columns: self.columns.iter().map(column).collect(),
        })
    }
}

fn row(time_us: u64) -> usize {
    ((time_us.max(1) as f64).log10() * ROWS_PER_DECADE + 1e-9).floor().clamp(0.0, (ROW_COUNT - 1) as f64) as usize
}

fn bound_ms(row: usize) -> f64 {
    round(10_f64.powf(row as f64 / ROWS_PER_DECADE) / US_PER_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(values_us: &[u64]) -> Histogram<u64> {
        let mut times = crate::measurement::histogram();
        values_us.iter().for_each(|us| times.record(*us).unwrap());
        times
    }

    /// The heatmap of these seconds: its step, its rows, and how many each column counts.
    #[track_caller]
    fn check(seconds: &[(u64, &[u64])], step_s: u64, bounds_ms: &[f64], counts: &[u64]) {
        let mut builder = HeatmapBuilder::default();
        seconds.iter().for_each(|(second, values)| builder.add("get", *second, &times(values)));
        let built = builder.build();
        let Some(map) = built.get("get") else { return assert!(counts.is_empty()) };
        assert_eq!((map.step_s, map.bounds_ms.as_slice()), (step_s, bounds_ms));
        let sums: Vec<u64> = map.columns.iter().map(|column| column.iter().skip(1).step_by(2).sum()).collect();
        assert_eq!(sums, counts);
    }

    #[test]
    fn seconds_become_columns_and_times_rows() {
        check(&[], 1, &[], &[]);
        check(&[(0, &[])], 1, &[], &[]);
        check(&[(0, &[1000, 1000]), (2, &[1000])], 1, &[1.0, 1.334], &[2, 0, 1]);
        check(&[(0, &[1000, 1700])], 1, &[1.0, 1.334, 1.778], &[2]);
        check(&[(1, &[u64::MAX / 4])], 1, &[74_989.421, 100_000.0], &[0, 1]);
        check(&[(0, &[0])], 1, &[0.001, 0.001], &[1]);
    }

    #[test]
    fn a_long_run_has_wider_columns_and_loses_nothing() {
        let mut builder = HeatmapBuilder::default();
        let seconds = HEATMAP_COLUMNS_MAX as u64 * 3;
        (0..seconds).for_each(|second| builder.add("get", second, &times(&[1000])));
        let map = &builder.build()["get"];
        assert_eq!(map.step_s, 4);
        assert!(map.columns.len() <= HEATMAP_COLUMNS_MAX);
        assert_eq!(map.columns.iter().map(|column| column[1]).sum::<u64>(), seconds);
    }

    #[test]
    fn many_operations_have_a_bounded_number_of_heatmaps() {
        let mut builder = HeatmapBuilder::default();
        (0..2 * HEATMAPS_MAX).for_each(|op| builder.add(&op.to_string(), 0, &times(&[1])));
        assert_eq!(builder.build().len(), HEATMAPS_MAX);
    }
}
