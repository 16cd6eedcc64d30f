//! Figures that can be computed for any resample of blocks: the ratio of two sums, and a percentile of merged
//! histograms. Both use sums over time, so that a block costs two look-ups, however many values it holds. Does not know
//! what is counted.

use super::blocks::{Block, Blocks};

/// Distinct values of a distribution; beyond that, neighbours are counted as the higher of two. Bounds memory.
const DISTINCT_VALUES_MAX: usize = 4_096;

/// How often each value occurred in one unit of time: values ascending, each once.
pub(crate) type ValueCounts = Vec<(u64, u64)>;

/// A figure of one run, over all its time or over any resample of it.
pub(crate) trait Estimator {
    /// Its units of time.
    fn units(&self) -> usize;
    /// Over a resample of blocks; none if there is no data.
    fn resampled(&self, blocks: &[Block]) -> Option<f64>;
    /// What each unit of time adds to the figure, up to a factor; the sum is zero.
    fn influence(&self) -> Vec<f64>;
    /// Over all of it.
    fn full_sample(&self) -> Option<f64> {
        self.resampled(&[Block { start: 0, length: self.units() }])
    }
}

/// The ratio of two sums: a rate, a share, a mean.
#[derive(Clone, Debug)]
pub(crate) struct Ratio {
    numerator: Vec<f64>,
    denominator: Vec<f64>,
    units: usize,
}

impl Ratio {
    /// From what each unit of time adds to both; missing units add nothing.
    pub(crate) fn new(blocks: &Blocks, top: &[f64], bottom: &[f64]) -> Self {
        let running = |values: &[f64]| {
            let mut values = values.to_vec();
            values.resize(blocks.units(), 0.0);
            blocks.cumulative_sums(&values)
        };
        Self { numerator: running(top), denominator: running(bottom), units: blocks.units() }
    }
}

impl Estimator for Ratio {
    fn units(&self) -> usize {
        self.units
    }

    fn resampled(&self, blocks: &[Block]) -> Option<f64> {
        let sum = |sums: &[f64]| -> f64 {
            blocks.iter().map(|block| sums[block.start + block.length] - sums[block.start]).sum()
        };
        let bottom = sum(&self.denominator);
        (bottom > 0.0).then(|| sum(&self.numerator) / bottom)
    }

    fn influence(&self) -> Vec<f64> {
        let whole = self.full_sample().unwrap_or(0.0);
        let unit = |i: usize| {
            self.numerator[i + 1] - self.numerator[i] - whole * (self.denominator[i + 1] - self.denominator[i])
        };
        (0..self.units).map(unit).collect()
    }
}

/// Histograms of one run over time.
#[derive(Clone, Debug)]
pub(crate) struct Distribution {
    values: Vec<u64>,
    /// For each level: how many values up to it occurred from the beginning to each unit of time.
    cumulative_counts: Vec<u64>,
    stride: usize,
    units: usize,
}

impl Distribution {
    /// From the counts of all units of time; missing ones are empty.
    pub(crate) fn new(blocks: &Blocks, tallies: &[ValueCounts]) -> Self {
        let (units, stride) = (blocks.units(), blocks.units() + blocks.length() + 1);
        let levels = distinct_values(tallies);
        let mut sums = vec![0; levels.len() * stride];
        for unit in 0..stride - 1 {
            let tally = tallies.get(unit % units).map_or(&[][..], Vec::as_slice);
            let (mut counted, mut up_to) = (0, 0);
            for (index, level) in levels.iter().enumerate() {
                while counted < tally.len() && tally[counted].0 <= *level {
                    up_to += tally[counted].1;
                    counted += 1;
                }
                sums[index * stride + unit + 1] = sums[index * stride + unit] + up_to;
            }
        }
        Self { values: levels, cumulative_counts: sums, stride, units }
    }

    /// The total number of values.
    pub(crate) fn count(&self) -> u64 {
        self.count_up_to(self.values.len(), &[Block { start: 0, length: self.units }])
    }

    /// How many values of a resample are in the first `levels` levels.
    fn count_up_to(&self, levels: usize, blocks: &[Block]) -> u64 {
        let Some(index) = levels.checked_sub(1) else { return 0 };
        let sums = &self.cumulative_counts[index * self.stride..][..self.stride];
        blocks.iter().map(|block| sums[block.start + block.length] - sums[block.start]).sum()
    }

    /// The index of the level at which this share of a resample is reached.
    fn quantile_index(&self, quantile: f64, blocks: &[Block]) -> Option<usize> {
        let count = self.count_up_to(self.values.len(), blocks);
        let rank = ((quantile * count as f64).ceil() as u64).max(1);
        let (mut low, mut high) = (0, self.values.len());
        while low < high {
            let middle = low.midpoint(high);
            if self.count_up_to(middle + 1, blocks) < rank { low = middle + 1 } else { high = middle }
        }
        (count > 0).then_some(low)
    }
}

/// Every value that occurs, ascending, thinned out to the allowed number.
fn distinct_values(tallies: &[ValueCounts]) -> Vec<u64> {
    let mut values: Vec<u64> = tallies.iter().flatten().map(|(value, _)| *value).collect();
    // The stable sort merges what is ascending already: the values of each second.
    values.sort();
    values.dedup();
    let step = values.len().div_ceil(DISTINCT_VALUES_MAX).max(1);
    // Counted from the end, so that the highest value is kept.
    let skipped = values.len().saturating_sub(1) % step;
    values.into_iter().skip(skipped).step_by(step).collect()
}

/// A percentile of a distribution, by the nearest rank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantile<'a> {
    distribution: &'a Distribution,
    quantile: f64,
    unit: f64,
}

impl<'a> Quantile<'a> {
    /// The quantile is between 0 and 1: 0.99 for p99. The figure is given in `unit`s of the counted values.
    pub(crate) fn new(distribution: &'a Distribution, quantile: f64, unit: f64) -> Self {
        Self { distribution, quantile, unit }
    }
}

impl Estimator for Quantile<'_> {
    fn units(&self) -> usize {
        self.distribution.units
    }

    fn resampled(&self, blocks: &[Block]) -> Option<f64> {
        let index = self.distribution.quantile_index(self.quantile, blocks)?;
        Some(self.distribution.values[index] as f64 / self.unit)
    }

    /// A percentile rises where fewer than its share are below it.
    fn influence(&self) -> Vec<f64> {
        let all = self.distribution;
        let Some(index) = all.quantile_index(self.quantile, &[Block { start: 0, length: all.units }]) else {
            return vec![0.0; all.units];
        };
        let share = all.count_up_to(index + 1, &[Block { start: 0, length: all.units }]) as f64 / all.count() as f64;
        let unit = |start: usize| {
            let unit = [Block { start, length: 1 }];
            share * all.count_up_to(all.values.len(), &unit) as f64 - all.count_up_to(index + 1, &unit) as f64
        };
        (0..all.units).map(unit).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::blocks::Blocks;
    use super::*;

    fn lane(units: usize) -> Blocks {
        Blocks::new(1, units).unwrap()
    }

    /// The values of a resample, each as often as it occurs.
    fn expanded_values(tallies: &[ValueCounts], blocks: &[Block]) -> Vec<u64> {
        let units = blocks.iter().flat_map(|block| block.start..block.start + block.length);
        let tallies = units.map(|unit| &tallies[unit % tallies.len()]);
        let mut values: Vec<u64> =
            tallies.flatten().flat_map(|(value, count)| std::iter::repeat_n(*value, *count as usize)).collect();
        values.sort_unstable();
        values
    }

    fn value_counts() -> impl Strategy<Value = Vec<ValueCounts>> {
        let tally = prop::collection::btree_map(0u64..50, 1u64..4, 0..6);
        prop::collection::vec(tally.prop_map(|map| map.into_iter().collect()), 30..60)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_percentile_of_a_draw_is_that_of_its_values_written_out(tallies in value_counts(), number in 0usize..1000) {
            let lane = lane(tallies.len());
            let distribution = Distribution::new(&lane, &tallies);
            let mut blocks = Vec::new();
            lane.draw(number, &mut blocks);
            let values = expanded_values(&tallies, &blocks);
            for quantile in [0.5, 0.9, 0.99] {
                let rank = (quantile * values.len() as f64).ceil().max(1.0) as usize;
                let expected = values.get(rank - 1).map(|value| *value as f64);
                prop_assert_eq!(Quantile::new(&distribution, quantile, 1.0).resampled(&blocks), expected);
            }
        }

        #[test]
        fn influences_add_up_to_nothing(tallies in value_counts()) {
            let lane = lane(tallies.len());
            let distribution = Distribution::new(&lane, &tallies);
            let counts: Vec<f64> = tallies.iter().map(|tally| tally.len() as f64).collect();
            let ratio = Ratio::new(&lane, &counts, &vec![2.0; counts.len()]);
            prop_assert!(Quantile::new(&distribution, 0.9, 1.0).influence().iter().sum::<f64>().abs() < 1e-6);
            prop_assert!(ratio.influence().iter().sum::<f64>().abs() < 1e-6);
        }
    }

    #[test]
    fn nothing_has_no_figure() {
        let lane = lane(30);
        let distribution = Distribution::new(&lane, &[]);
        assert_eq!((distribution.count(), Quantile::new(&distribution, 0.5, 1.0).full_sample()), (0, None));
        assert_eq!(Ratio::new(&lane, &[], &[]).full_sample(), None);
    }

    #[test]
    fn missing_units_add_nothing() {
        let lane = lane(40);
        assert_eq!(Ratio::new(&lane, &[6.0, 2.0], &[1.0, 3.0]).full_sample(), Some(2.0));
        assert_eq!(Distribution::new(&lane, &[vec![(7, 2)]]).count(), 2);
    }

    #[test]
    fn many_values_are_thinned_out_upwards() {
        let tally: ValueCounts = (0..10_000).map(|value| (value, 1)).collect();
        let levels = distinct_values(std::slice::from_ref(&tally));
        assert!(levels.len() <= DISTINCT_VALUES_MAX && levels.last() == Some(&9_999));
        let distribution = Distribution::new(&lane(30), &[tally]);
        assert_eq!(distribution.count(), 10_000);
        let median = Quantile::new(&distribution, 0.5, 1.0).full_sample().unwrap();
        assert!((5_000.0..5_003.0).contains(&median), "{median}");
    }
}
