//! The levels in the order of their load, and what can be asked of any one of them. Does not know the words of a
//! report.

use serde::{Deserialize, Serialize};

use super::format::number;

/// A level with more errors than this is saturated.
pub(super) const ERROR_SHARE_MAX: f64 = 0.01;

/// Throughput of a level beyond the peak that is lower than this share of it has fallen.
const FALLEN_SHARE: f64 = 0.9;

/// How much more than the load latency may have grown within its linear range: what two runs of one level differ by.
const LINEAR_SLACK: f64 = 1.1;

/// The measurements of one level.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LevelPoint {
    /// The level's label in its source.
    pub label: String,
    /// The load step of the trial; carried along.
    pub load_step: u32,
    /// Connections or clients at once.
    pub concurrency: Option<f64>,
    /// Requests per second that were offered.
    pub offered_per_s: Option<f64>,
    /// Ok responses per second.
    pub throughput_per_s: f64,
    /// Errors as a share of all responses.
    pub error_share: f64,
    /// Denials of a limiter as a share of all responses.
    pub denied_share: f64,
    /// Median latency in milliseconds.
    pub latency_p50_ms: Option<f64>,
    pub latency_p95_ms: Option<f64>,
    pub latency_p99_ms: Option<f64>,
    /// Whether the level was assessed as overloaded, if it was assessed.
    pub overloaded: Option<bool>,
}

/// A reference to one of the levels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LevelRef {
    pub label: String,
    /// Its load step.
    pub load_step: u32,
    /// Its load on the axis: connections, or requests offered per second.
    pub load: Option<f64>,
    /// Its ok responses per second.
    pub throughput_per_s: f64,
}

/// What the levels are ordered by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Axis {
    /// Connections or clients at once.
    Concurrency,
    /// Requests per second that were offered.
    OfferedPerS,
    /// Neither stands on every level: the order in which they came.
    Order,
}

impl Axis {
    fn load(self, level: &LevelPoint) -> Option<f64> {
        match self {
            Self::Concurrency => level.concurrency,
            Self::OfferedPerS => level.offered_per_s,
            Self::Order => None,
        }
    }
}

/// Why a level counts as saturated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SaturationSign {
    /// It was judged an overload.
    Overloaded,
    /// More errors than one in a hundred.
    Errors,
    /// Throughput had fallen by a tenth or more from the peak before it.
    ThroughputFell,
}

/// The levels in the order of their load.
pub(super) struct Ladder<'a> {
    pub(super) axis: Axis,
    pub(super) levels: Vec<&'a LevelPoint>,
}

impl<'a> Ladder<'a> {
    pub(super) fn new(levels: Vec<&'a LevelPoint>) -> Self {
        let on_all = |axis: &Axis| levels.iter().all(|level| axis.load(level).is_some());
        let axis = [Axis::Concurrency, Axis::OfferedPerS].into_iter().find(on_all).unwrap_or(Axis::Order);
        let mut ladder = Self { axis, levels };
        if axis != Axis::Order {
            ladder.sort();
        }
        ladder
    }

    fn sort(&mut self) {
        let axis = self.axis;
        let load = |level: &LevelPoint| axis.load(level).unwrap_or(0.0);
        self.levels.sort_by(|a, b| load(a).total_cmp(&load(b)));
        self.levels.reverse();
        self.levels.dedup_by(|earlier, later| load(earlier) == load(later));
        self.levels.reverse();
    }

    pub(super) fn load(&self, i: usize) -> Option<f64> {
        self.axis.load(self.levels[i])
    }

    /// `5,000 connections`, `1,200 requests/s`, or the label.
    pub(super) fn name(&self, i: usize) -> String {
        match (self.axis, self.load(i)) {
            (Axis::Concurrency, Some(1.0)) => "1 connection".to_owned(),
            (Axis::Concurrency, Some(load)) => format!("{} connections", number(load)),
            (Axis::OfferedPerS, Some(load)) => format!("{} requests/s", number(load)),
            _ => self.levels[i].label.clone(),
        }
    }

    pub(super) fn level_ref(&self, i: usize) -> LevelRef {
        let LevelPoint { label, load_step, throughput_per_s, .. } = self.levels[i];
        LevelRef {
            label: label.clone(),
            load_step: *load_step,
            load: self.load(i),
            throughput_per_s: *throughput_per_s,
        }
    }

    pub(super) fn throughput(&self, i: usize) -> f64 {
        self.levels[i].throughput_per_s
    }

    /// The level of the largest throughput; of equals the one with the lowest load.
    pub(super) fn peak(&self) -> Option<usize> {
        self.fastest(|_| true)
    }

    /// The healthy level of the largest throughput.
    pub(super) fn best_healthy(&self) -> Option<usize> {
        self.fastest(|i| self.is_healthy(i))
    }

    fn fastest(&self, fits: impl Fn(usize) -> bool) -> Option<usize> {
        let larger = |best: usize, i: usize| if self.throughput(i) > self.throughput(best) { i } else { best };
        (0..self.levels.len()).filter(|i| self.throughput(*i) > 0.0 && fits(*i)).reduce(larger)
    }

    /// Neither saturated by itself nor slower than its load explains.
    pub(super) fn is_healthy(&self, i: usize) -> bool {
        let level = self.levels[i];
        level.error_share <= ERROR_SHARE_MAX && level.overloaded != Some(true) && self.is_latency_linear(i)
    }

    /// Latency has grown no more than load has, both from the lowest level that has a latency. Always, where the
    /// levels do not say.
    pub(super) fn is_latency_linear(&self, i: usize) -> bool {
        let first = (0..i).find(|k| self.typical_ms(*k).is_some_and(|latency_ms| latency_ms > 0.0));
        let grown = |first: usize| {
            let latency = self.typical_ms(i)? / self.typical_ms(first)?;
            let load = self.load(i)? / self.load(first)?;
            Some(latency <= load * LINEAR_SLACK)
        };
        first.and_then(grown).unwrap_or(true)
    }

    /// Latency of a typical request: the median, or where no level has one, the next quantile.
    pub(super) fn typical_ms(&self, i: usize) -> Option<f64> {
        let quantiles: [fn(&LevelPoint) -> Option<f64>; 3] =
            [|level| level.latency_p50_ms, |level| level.latency_p95_ms, |level| level.latency_p99_ms];
        let known =
            |quantile: &&fn(&LevelPoint) -> Option<f64>| self.levels.iter().any(|level| quantile(level).is_some());
        quantiles.iter().find(known).and_then(|quantile| quantile(self.levels[i]))
    }

    /// The first level that is too much, and what shows it.
    pub(super) fn first_saturated(&self) -> Option<(usize, SaturationSign)> {
        let peak = self.peak();
        let sign = |i: usize| {
            let level = self.levels[i];
            let fell =
                peak.is_some_and(|peak| i > peak && level.throughput_per_s < FALLEN_SHARE * self.throughput(peak));
            match level {
                _ if level.overloaded == Some(true) => Some(SaturationSign::Overloaded),
                _ if level.error_share > ERROR_SHARE_MAX => Some(SaturationSign::Errors),
                _ => fell.then_some(SaturationSign::ThroughputFell),
            }
        };
        (0..self.levels.len()).find_map(|i| sign(i).map(|sign| (i, sign)))
    }
}

/// The highest quantile that both levels have, and what it was at either.
pub(super) fn shared_latency(one: &LevelPoint, other: &LevelPoint) -> Option<(&'static str, f64, f64)> {
    let pairs = [
        ("p99", one.latency_p99_ms, other.latency_p99_ms),
        ("p95", one.latency_p95_ms, other.latency_p95_ms),
        ("p50", one.latency_p50_ms, other.latency_p50_ms),
    ];
    pairs.into_iter().find_map(|(name, one, other)| Some((name, one.filter(|one_ms| *one_ms > 0.0)?, other?)))
}
