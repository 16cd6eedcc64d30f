//! Whether a count grows over its window, by how much, and whether that is more than noise. Does not know what is
//! counted.
//!
//! How much: the median of the slopes between all pairs of samples (Sen 1968, "Estimates of the regression
//! coefficient based on Kendall's tau", JASA 63). Up to 29 % of the samples may be anything without moving it far:
//! a pause of the service that is worked off again is not growth.
//!
//! More than noise: the Mann-Kendall test (Mann 1945, Econometrica 13; Kendall 1975), which asks only how many
//! pairs rise, so that growth need not be a straight line. Successive counts of one queue are not independent; the
//! variance of the statistic is therefore multiplied by `n / n_effective` with
//! `n_effective = n (1 - r) / (1 + r)` and `r` the lag-1 autocorrelation of the detrended samples (Yue and Wang
//! 2004, "The Mann-Kendall test modified by effective sample size", Water Resources Management 18).

use std::cmp::Ordering;

use serde::Serialize;

use crate::statistics::{mean, median, sum_of_squares};

/// Growth below this share of what was due meanwhile is not material.
const MATERIAL_SHARE: f64 = 0.01;

/// Nor is growth below this count: a count of requests and responses is off by one at either end.
const MATERIAL_COUNT: f64 = 2.0;

/// The normal deviate that one series in twenty without growth exceeds.
const Z_MIN: f64 = 1.645;

/// Growth of so many times what is material, and material in either half, is no accident.
const DECISIVE_TIMES: f64 = 4.0;

/// Fewer samples order themselves too easily: six rise in every pair by chance once in 720.
const SAMPLES_MIN: usize = 6;

/// Longer series are averaged down to this many bins: the pairs grow with the square.
const BINS_MAX: usize = 120;

/// A detrended series that only drifts still holds this many independent ones: below it the estimate of the
/// autocorrelation says more about the series' length than about the service.
const EFFECTIVE_MIN: f64 = 3.0;

/// The stretch of a level in which growth is looked for, in seconds from its start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// From here on.
    pub from_s: f64,
    /// To here.
    pub to_s: f64,
}

impl Window {
    /// The later part of a level that lasts `lasting_s`. While the first requests are under way every queue grows:
    /// a third of the level goes, or twice the median latency, where that is longer, but never more than half.
    #[must_use]
    pub fn settled(lasting_s: f64, latency_p50_ms: Option<f64>) -> Self {
        let filling_s = latency_p50_ms.map_or(0.0, |p50_ms| 2.0 * p50_ms / 1000.0);
        Self { from_s: filling_s.max(lasting_s / 3.0).min(lasting_s / 2.0), to_s: lasting_s }
    }

    fn length_s(self) -> f64 {
        self.to_s - self.from_s
    }
}

/// How a count developed within its window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Growth {
    /// Length of the window in seconds.
    pub window_s: f64,
    /// By how much it grew over the window.
    pub count: f64,
    /// By how much it grew each second.
    pub per_s: f64,
    /// Growth over the window from which on it is material.
    pub material_count: f64,
    /// The standardised statistic of the Mann-Kendall test.
    pub z: f64,
    /// It grows: material, and more than noise.
    pub grows: bool,
    /// It grows so much and so steadily that one look is enough.
    pub decisive: bool,
}

/// Looks for growth of `samples` (seconds, count) within the window, while `due_per_s` requests per second came.
/// Nothing when there are too few finite samples to say.
#[must_use]
pub fn growth(samples: &[(f64, f64)], window: Window, due_per_s: f64) -> Option<Growth> {
    let inside = |(t_s, count): &(f64, f64)| *t_s >= window.from_s && *t_s <= window.to_s && count.is_finite();
    let inside: Vec<(f64, f64)> = samples.iter().copied().filter(inside).collect();
    if inside.len() < SAMPLES_MIN || !(due_per_s.is_finite() && window.length_s() > 0.0) {
        return None;
    }
    let series = bin_means(&inside);
    let per_s = sen_slope(&series)?;
    let window_s = window.length_s();
    let count = per_s * window_s;
    let material_count = (MATERIAL_SHARE * due_per_s * window_s).max(MATERIAL_COUNT);
    let z = kendall_z(&series, per_s);
    let grows = count >= material_count && z >= Z_MIN;
    let (early, late) = series.split_at(series.len() / 2);
    let steady =
        [early, late].iter().all(|half| sen_slope(half).is_some_and(|per_s| per_s * window_s >= material_count));
    let decisive = grows && steady && count >= DECISIVE_TIMES * material_count;
    Some(Growth { window_s, count, per_s, material_count, z, grows, decisive })
}

/// Means of successive samples, so that there are at most `BINS_MAX`.
fn bin_means(samples: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let size = samples.len().div_ceil(BINS_MAX);
    let mean = |bin: &[(f64, f64)]| {
        let (t, count) = bin.iter().fold((0.0, 0.0), |sum, sample| (sum.0 + sample.0, sum.1 + sample.1));
        (t / bin.len() as f64, count / bin.len() as f64)
    };
    samples.chunks(size).map(mean).collect()
}

/// Every pair of samples, the earlier one first.
fn pairs(series: &[(f64, f64)]) -> impl Iterator<Item = ((f64, f64), (f64, f64))> {
    series.iter().enumerate().flat_map(|(i, early)| series[i + 1..].iter().map(|late| (*early, *late)))
}

/// The median of the slopes between all pairs.
fn sen_slope(series: &[(f64, f64)]) -> Option<f64> {
    let slope = |(early, late): ((f64, f64), (f64, f64))| (late.1 - early.1) / (late.0 - early.0);
    let slopes = pairs(series).filter(|(early, late)| late.0 > early.0).map(slope).collect();
    median(slopes)
}

/// The Mann-Kendall statistic, standardised with ties and autocorrelation taken into account.
fn kendall_z(series: &[(f64, f64)], per_s: f64) -> f64 {
    let rises = pairs(series).map(|(early, late)| match late.1.partial_cmp(&early.1) {
        Some(Ordering::Greater) => 1.0,
        Some(Ordering::Less) => -1.0,
        _ => 0.0,
    });
    let statistic: f64 = rises.sum();
    let n = series.len() as f64;
    let variance = variance_with_ties(series) * n / effective_samples(series, per_s);
    if variance <= 0.0 || statistic == 0.0 {
        return 0.0;
    }
    (statistic - statistic.signum()) / variance.sqrt()
}

fn variance_with_ties(series: &[(f64, f64)]) -> f64 {
    let term = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let mut counts: Vec<f64> = series.iter().map(|sample| sample.1).collect();
    counts.sort_unstable_by(f64::total_cmp);
    let ties: f64 = counts.chunk_by(|a, b| a == b).map(|tied| term(tied.len() as f64)).sum();
    (term(series.len() as f64) - ties) / 18.0
}

/// How many independent samples the series is worth.
fn effective_samples(series: &[(f64, f64)], per_s: f64) -> f64 {
    let n = series.len() as f64;
    let detrended: Vec<f64> = series.iter().map(|(t_s, count)| count - per_s * t_s).collect();
    let (mean, variance) = (mean(&detrended), sum_of_squares(&detrended));
    if variance <= f64::EPSILON * n {
        return n;
    }
    let lagged: f64 = detrended.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
    let r = (lagged / variance).clamp(0.0, 1.0);
    (n * (1.0 - r) / (1.0 + r)).max(EFFECTIVE_MIN)
}
