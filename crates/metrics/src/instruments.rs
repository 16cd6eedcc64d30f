//! The three kinds of metrics: counters, gauges, and histograms of times. Each is a few atomics: recording takes no lock, allocates
//! nothing, and never fails.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// A number of events. Only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub fn inc(&self) {
        self.add(1);
    }

    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Relaxed);
    }

    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// A current number.
#[derive(Debug, Default)]
pub struct Gauge(AtomicI64);

impl Gauge {
    pub fn set(&self, count: u64) {
        self.0.store(i64::try_from(count).unwrap_or(i64::MAX), Relaxed);
    }

    pub fn inc(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    pub fn add(&self, count: u64) {
        self.0.fetch_add(i64::try_from(count).unwrap_or(i64::MAX), Relaxed);
    }

    pub fn dec(&self) {
        self.sub(1);
    }

    pub fn sub(&self, count: usize) {
        self.0.fetch_sub(i64::try_from(count).unwrap_or(i64::MAX), Relaxed);
    }

    /// Replaces one contribution to the sum, `before`, by another, `now`.
    pub fn replace(&self, before: usize, now: usize) {
        self.add(now as u64);
        self.sub(before);
    }

    #[must_use]
    pub fn get(&self) -> i64 {
        self.0.load(Relaxed)
    }
}

const DECADES: usize = 7;
/// Bounds of one decade: the preferred numbers of the R10 series, so that a bucket spans about a quarter of its value.
const STEPS: [u64; 10] = [100, 125, 160, 200, 250, 315, 400, 500, 630, 800];
const BOUNDS: usize = DECADES * STEPS.len() + 1;

/// Upper bounds of the buckets in nanoseconds, from 10 microseconds to 100 seconds; one more bucket takes what is longer.
static BOUNDS_NS: [u64; BOUNDS] = bounds_ns(100);
/// The same for very short times: from 100 nanoseconds to one second.
static FINE_BOUNDS_NS: [u64; BOUNDS] = bounds_ns(1);

/// The shortest bound is `STEPS[0]` times this.
const fn bounds_ns(unit_ns: u64) -> [u64; BOUNDS] {
    let mut bounds = [0; BOUNDS];
    let (mut at, mut scale) = (0, unit_ns);
    while at < BOUNDS {
        bounds[at] = STEPS[at % STEPS.len()] * scale;
        at += 1;
        if at % STEPS.len() == 0 {
            scale *= 10;
        }
    }
    bounds
}

/// Durations, in buckets.
#[derive(Debug)]
pub struct Histogram {
    bounds_ns: &'static [u64; BOUNDS],
    buckets: [AtomicU64; BOUNDS + 1],
    sum_ns: AtomicU64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::with_bounds(&BOUNDS_NS)
    }
}

/// A histogram of durations that are mostly below a microsecond.
#[derive(Debug)]
pub struct FineHistogram(pub Histogram);

impl Default for FineHistogram {
    fn default() -> Self {
        Self(Histogram::with_bounds(&FINE_BOUNDS_NS))
    }
}

impl Histogram {
    fn with_bounds(bounds_ns: &'static [u64; BOUNDS]) -> Self {
        Self { bounds_ns, buckets: std::array::from_fn(|_| AtomicU64::new(0)), sum_ns: AtomicU64::new(0) }
    }

    pub fn observe(&self, took: Duration) {
        let took_ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.buckets[self.bounds_ns.partition_point(|bound| *bound < took_ns)].fetch_add(1, Relaxed);
        self.sum_ns.fetch_add(took_ns, Relaxed);
    }

    /// Records `count` equal durations.
    pub fn observe_many(&self, took: Duration, count: u64) {
        let took_ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.buckets[self.bounds_ns.partition_point(|bound| *bound < took_ns)].fetch_add(count, Relaxed);
        self.sum_ns.fetch_add(took_ns.saturating_mul(count), Relaxed);
    }

    /// The state so far.
    #[must_use]
    pub fn snapshot(&self) -> HistogramSnapshot {
        HistogramSnapshot {
            bounds_ns: self.bounds_ns,
            buckets: std::array::from_fn(|at| self.buckets[at].load(Relaxed)),
            sum_ns: self.sum_ns.load(Relaxed),
        }
    }
}

/// Bounds of the buckets of sizes: powers of four from 1 to a million.
const SIZE_BOUNDS: [u64; 11] = [1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576];

/// Sizes, one for each observation.
#[derive(Debug, Default)]
pub struct SizeHistogram {
    buckets: [AtomicU64; SIZE_BOUNDS.len() + 1],
    sum: AtomicU64,
}

impl SizeHistogram {
    pub fn observe(&self, size: usize) {
        let size = size as u64;
        self.buckets[SIZE_BOUNDS.partition_point(|bound| *bound < size)].fetch_add(1, Relaxed);
        self.sum.fetch_add(size, Relaxed);
    }

    /// The bounds, each with the number of observations up to it; then their number and their sum.
    #[must_use]
    pub fn cumulative(&self) -> (Vec<(u64, u64)>, u64, u64) {
        let mut count = 0;
        let mut below = |bucket: &AtomicU64| {
            count += bucket.load(Relaxed);
            count
        };
        let bounds = SIZE_BOUNDS.iter().zip(&self.buckets).map(|(bound, bucket)| (*bound, below(bucket))).collect();
        let all = below(&self.buckets[SIZE_BOUNDS.len()]);
        (bounds, all, self.sum.load(Relaxed))
    }
}

/// The contents of a histogram at one moment, or the difference between two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistogramSnapshot {
    bounds_ns: &'static [u64; BOUNDS],
    buckets: [u64; BOUNDS + 1],
    sum_ns: u64,
}

impl HistogramSnapshot {
    /// What was recorded since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            bounds_ns: self.bounds_ns,
            buckets: std::array::from_fn(|at| self.buckets[at].saturating_sub(earlier.buckets[at])),
            sum_ns: self.sum_ns.saturating_sub(earlier.sum_ns),
        }
    }

    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// The sum of all durations, in seconds.
    #[must_use]
    pub fn sum_s(&self) -> f64 {
        self.sum_ns as f64 / 1e9
    }

    /// The quantile `q` in milliseconds, interpolated within its bucket; `None` without observations. Durations beyond the last bound count
    /// as that bound.
    #[must_use]
    pub fn quantile_ms(&self, q: f64) -> Option<f64> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let rank = (q * count as f64).clamp(1.0, count as f64);
        let mut below = 0.0;
        for (at, bucket) in self.buckets.iter().enumerate() {
            let in_bucket = *bucket as f64;
            if in_bucket > 0.0 && below + in_bucket >= rank {
                let low = at.checked_sub(1).map_or(0, |at| self.bounds_ns[at]) as f64;
                let high = self.bounds_ns[at.min(BOUNDS - 1)] as f64;
                return Some((low + (high - low) * (rank - below) / in_bucket) / 1e6);
            }
            below += in_bucket;
        }
        None
    }

    /// The bounds in seconds, each with the number of observations up to it: three bounds a decade, for the text format.
    pub fn cumulative(&self) -> impl Iterator<Item = (f64, u64)> {
        let sums = self.buckets.iter().scan(0, |sum, bucket| {
            *sum += bucket;
            Some(*sum)
        });
        let bounds = self.bounds_ns.iter().zip(sums).enumerate();
        bounds.filter(|(at, _)| matches!(STEPS[at % STEPS.len()], 100 | 250 | 500)).map(|(_, (bound_ns, sum))| {
            // Divided, not multiplied by 1e-9: so that 10 microseconds become 0.00001 and not its neighbour.
            (*bound_ns as f64 / 1e9, sum)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks p50 and p99 of `took_us`, in milliseconds.
    #[track_caller]
    fn check(took_us: &[u64], want_p50: Option<f64>, want_p99: Option<f64>) {
        let histogram = Histogram::default();
        took_us.iter().for_each(|us| histogram.observe(Duration::from_micros(*us)));
        let snapshot = histogram.snapshot();
        assert_eq!((snapshot.quantile_ms(0.5), snapshot.quantile_ms(0.99)), (want_p50, want_p99));
    }

    #[test]
    fn quantiles_are_those_of_the_bucket() {
        check(&[], None, None);
        check(&[0], Some(0.01), Some(0.01));
        check(&[10], Some(0.01), Some(0.01));
        check(&[1_000], Some(1.0), Some(1.0));
        check(&[1_000, 1_000, 1_000, 100_000], Some(0.8 + 0.2 * 2.0 / 3.0), Some(80.0 + 20.0 * 0.96));
        check(&[u64::MAX / 1_000], Some(100_000.0), Some(100_000.0));
    }

    #[test]
    fn sizes_fall_into_the_bucket_that_bounds_them() {
        let sizes = SizeHistogram::default();
        [0, 1, 2, 4, 5, 2_000_000].into_iter().for_each(|size| sizes.observe(size));
        let (bounds, count, sum) = sizes.cumulative();
        assert_eq!(
            (&bounds[..3], bounds[10], count, sum),
            ([(1, 2), (4, 4), (16, 5)].as_slice(), (1_048_576, 5), 6, 2_000_012)
        );
    }

    #[test]
    fn bounds_rise_and_end_at_a_hundred_seconds() {
        assert!(BOUNDS_NS.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!((BOUNDS_NS[0], BOUNDS_NS[BOUNDS - 1]), (10_000, 100_000_000_000));
        assert_eq!((FINE_BOUNDS_NS[0], FINE_BOUNDS_NS[BOUNDS - 1]), (100, 1_000_000_000));
    }

    #[test]
    fn a_difference_holds_only_what_came_between() {
        let histogram = Histogram::default();
        histogram.observe(Duration::from_secs(50));
        let before = histogram.snapshot();
        histogram.observe(Duration::from_millis(5));
        let between = histogram.snapshot().since(&before);
        assert_eq!((between.count(), between.quantile_ms(0.5)), (1, Some(5.0)));
        assert!((between.sum_s() - 0.005).abs() < 1e-12);
    }

    #[test]
    fn cumulative_counts_never_fall_and_end_with_all_that_fit() {
        let histogram = Histogram::default();
        [1, 30, 2_000, 999_999, 200_000_000].into_iter().for_each(|us| histogram.observe(Duration::from_micros(us)));
        let rows: Vec<_> = histogram.snapshot().cumulative().collect();
        assert_eq!(rows.len(), 3 * DECADES + 1);
        assert!(rows.windows(2).all(|pair| pair[0].1 <= pair[1].1));
        assert_eq!((rows[0], rows[rows.len() - 1]), ((0.00001, 1), (100.0, 4)));
    }
}
