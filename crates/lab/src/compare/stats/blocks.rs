//! Blocks of consecutive seconds: how long they are, how they are drawn, and how their small number affects the result.
//! Does not know what happened in the seconds.

use crate::scenario::mix;

/// Fewer units of time than this say nothing about their noise: they would make fewer than four blocks.
pub(crate) const UNITS_MIN: usize = 30;

/// Length of a block over the square root of the number of units (Lazarus, Lewis, Stock & Watson 2018): longer than the
/// best estimate of the noise requires, because a test suffers more from noise that it overlooks.
const LENGTH_FACTOR: f64 = 1.3;

/// Consecutive units of time, which wrap around at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(super) start: usize,
    pub(super) length: usize,
}

/// The time of one run in units, cut into blocks, and the seed of its draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blocks {
    seed: u64,
    unit_count: usize,
    block_length: usize,
}

impl Blocks {
    /// None for too few units.
    pub(super) fn new(seed: u64, units: usize) -> Option<Self> {
        let block_length = (LENGTH_FACTOR * (units as f64).sqrt()).ceil() as usize;
        (units >= UNITS_MIN).then_some(Self { seed, unit_count: units, block_length })
    }

    pub(super) fn units(&self) -> usize {
        self.unit_count
    }

    pub(super) fn length(&self) -> usize {
        self.block_length
    }

    fn block_share(&self) -> f64 {
        self.block_length as f64 / self.unit_count as f64
    }

    /// The divisor of the variance over resamples. The mean is taken from the same data as the variance, which removes
    /// the zero frequency: of the circular Bartlett window, the share of one block in the whole.
    pub(super) fn variance_factor(&self) -> f64 {
        1.0 - self.block_share()
    }

    /// Degrees of freedom of that variance: twice the squared mean over the variance of a weighted sum of chi-squares,
    /// whose weights are the window's at the other frequencies. Their sum is 1 - b and the sum of their squares 2b/3 -
    /// b^2, with b the share of a block. It agrees with the fixed-b tables of Kiefer & Vogelsang (2005).
    pub(super) fn degrees_of_freedom(&self) -> f64 {
        let b = self.block_share();
        (1.0 - b).powi(2) / (2.0 * b / 3.0 - b * b)
    }

    /// Fills `blocks` with the draw of this number. Every unit of time is equally likely.
    pub(super) fn draw(&self, number: usize, blocks: &mut Vec<Block>) {
        blocks.clear();
        let seed = mix(self.seed, number as u64);
        let mut left = self.unit_count;
        while left > 0 {
            let random = mix(seed, blocks.len() as u64);
            let start = ((u128::from(random) * self.unit_count as u128) >> 64) as usize;
            let length = self.block_length.min(left);
            blocks.push(Block { start, length });
            left -= length;
        }
    }

    /// The variance over all possible draws of the sum of these values, which have mean zero. Exact, without drawing.
    pub(super) fn variance_of_sum(&self, values: &[f64]) -> f64 {
        let sums = self.cumulative_sums(values);
        let squares: f64 =
            (0..self.unit_count).map(|start| (sums[start + self.block_length] - sums[start]).powi(2)).sum();
        squares / self.block_length as f64
    }

    /// Cumulative sums, one block beyond the end, so that the sum of any block is a difference of two.
    pub(super) fn cumulative_sums(&self, values: &[f64]) -> Vec<f64> {
        let around = values.iter().chain(&values[..self.block_length]);
        let sums = around.scan(0.0, |sum, value| {
            *sum += value;
            Some(*sum)
        });
        [0.0].into_iter().chain(sums).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::critical_value;

    #[test]
    fn lengths() {
        let length = |units| Blocks::new(1, units).map(|blocks| blocks.length());
        assert_eq!([0, 29, 30, 60, 300, 600].map(length), [None, None, Some(8), Some(11), Some(23), Some(32)]);
    }

    /// The critical values of Kiefer & Vogelsang (2005), table 1, Bartlett window: a cubic in the share of a block, by
    /// the two-sided level. Theirs is not circular, so the two diverge as the share grows; ours is never the smaller.
    #[track_caller]
    fn check(units: usize, length: usize, p: f64, cubic: [f64; 4]) {
        let blocks = Blocks { seed: 1, unit_count: units, block_length: length };
        let b = blocks.block_share();
        let published = cubic[0] + cubic[1] * b + cubic[2] * b * b + cubic[3] * b * b * b;
        let found = critical_value(p, blocks.degrees_of_freedom()) / blocks.variance_factor().sqrt();
        assert!((-0.01..0.02 + 0.2 * b).contains(&(found / published - 1.0)), "{found} for {published}");
    }

    #[test]
    fn few_blocks_agree_with_the_published_tables() {
        for (p, cubic) in [
            (0.10, [1.6449, 2.1859, 0.3142, -0.3427]),
            (0.05, [1.9600, 2.9694, 0.4160, -0.5324]),
            (0.02, [2.3263, 4.1618, 0.5368, -0.9060]),
        ] {
            check(1000, 20, p, cubic);
            check(300, 23, p, cubic);
            check(100, 13, p, cubic);
            check(60, 11, p, cubic);
        }
    }

    #[test]
    fn a_draw_has_as_many_units_as_the_run_and_is_the_same_again() {
        let blocks = Blocks::new(7, 100).unwrap();
        let (mut first, mut again, mut other) = (Vec::new(), Vec::new(), Vec::new());
        blocks.draw(3, &mut first);
        blocks.draw(3, &mut again);
        blocks.draw(4, &mut other);
        assert_eq!(first.iter().map(|block| block.length).sum::<usize>(), 100);
        assert!(first.iter().all(|block| block.start < 100));
        assert_eq!(first, again);
        assert_ne!(first, other);
    }

    #[test]
    fn the_exact_variance_is_that_of_many_draws() {
        // Five whole blocks of nine.
        let blocks = Blocks::new(1, 45).unwrap();
        let values: Vec<f64> = (0..45).map(|i| f64::from(i % 7) + f64::from(i % 16)).collect();
        let mean = values.iter().sum::<f64>() / 45.0;
        let values: Vec<f64> = values.iter().map(|value| value - mean).collect();
        let sums = blocks.cumulative_sums(&values);
        let mut drawn = Vec::new();
        let squares: f64 = (0..20_000)
            .map(|number| {
                blocks.draw(number, &mut drawn);
                drawn.iter().map(|block| sums[block.start + block.length] - sums[block.start]).sum::<f64>().powi(2)
            })
            .sum();
        let exact = blocks.variance_of_sum(&values);
        assert!((squares / 20_000.0 / exact - 1.0).abs() < 0.05, "{} for {exact}", squares / 20_000.0);
    }
}
