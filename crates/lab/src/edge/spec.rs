//! The specification of a search, and the levels that it requests. Does not know how a level is driven.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::format::number;
use crate::limits::{EDGE_FLOOR_DIVISOR, EDGE_LEVEL_MIN, EDGE_LEVELS_MAX, WAIT_MAX};

/// How to look for the highest rate that a service sustains.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchSpec {
    /// Requests per second of the first level.
    pub from_per_s: f64,
    /// Requests per second above which nothing is tried.
    pub to_per_s: f64,
    /// By how much the climb multiplies.
    #[serde(default = "default_factor")]
    pub factor: f64,
    /// The bisection ends when the lowest overloaded rate is at most this share above the highest sustained one.
    #[serde(default = "default_precision")]
    pub precision: f64,
    /// How long a level of the climb and of the bisection lasts. It should be many times as long as one request takes.
    #[serde(rename = "level_s", with = "seconds")]
    pub level_duration: Duration,
    /// How long the edge must hold.
    #[serde(rename = "hold_s", with = "seconds")]
    pub hold_duration: Duration,
    /// Levels in all, repetitions included.
    pub levels_max: usize,
    /// What counts as overload.
    pub overload: Overload,
}

fn default_factor() -> f64 {
    2.0
}

fn default_precision() -> f64 {
    0.03
}

/// What counts as overload. Any one that holds is enough.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Overload {
    /// A quantile of latency is above its limit.
    pub latency_ms: Option<LatencyGate>,
    /// More than this share of what was answered was an error.
    pub error_share: Option<f64>,
    /// More than this share of what was answered was denied by a limiter. A service that sheds its load never
    /// grows a backlog: without this a search climbs past it to the ceiling.
    pub denied_share: Option<f64>,
    /// Requests without an answer, or pieces of work in the service's queue, grow for as long as the level lasts.
    pub backlog: bool,
}

/// A limit for one quantile of latency, counted from the intended moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatencyGate {
    /// Between 0 and 1: 0.99 is the 99th percentile.
    pub quantile: f64,
    /// Milliseconds.
    pub limit_ms: f64,
}

impl SearchSpec {
    /// The lowest rate that is tried when the first level is overloaded, in requests per second: a stated part of
    /// the first, and no less than ten requests in a level.
    #[must_use]
    pub fn floor_per_s(&self) -> f64 {
        let countable = 10.0 / self.level_duration.as_secs_f64();
        (self.from_per_s / EDGE_FLOOR_DIVISOR).max(countable).min(self.from_per_s)
    }

    /// Everything that is wrong with it, each in a sentence; nothing when it can be searched.
    #[must_use]
    pub fn validation_errors(&self) -> Vec<String> {
        let mut mistakes = Vec::new();
        let mut expect = |ok: bool, sentence: String| {
            if !ok {
                mistakes.push(sentence);
            }
        };
        let Self { from_per_s, to_per_s, factor, precision, levels_max, .. } = *self;
        let (level_s, hold_s) = (self.level_duration.as_secs_f64(), self.hold_duration.as_secs_f64());
        let (level_min_s, wait_max_s) = (EDGE_LEVEL_MIN.as_secs_f64(), WAIT_MAX.as_secs_f64());
        expect(
            from_per_s.is_finite() && from_per_s > 0.0,
            format!("`from_per_s` is {from_per_s}: the first level needs a rate above 0"),
        );
        expect(
            to_per_s.is_finite() && to_per_s >= from_per_s,
            format!("`to_per_s` is {to_per_s}: the ceiling must be a number and no less than `from_per_s`"),
        );
        expect(
            (1.1..=10.0).contains(&factor),
            format!("`factor` is {factor}: the climb multiplies by something from 1.1 to 10"),
        );
        expect(
            (0.005..=0.5).contains(&precision),
            format!("`precision` is {precision}: it is a share from 0.005 to 0.5"),
        );
        expect(
            (EDGE_LEVEL_MIN..=WAIT_MAX).contains(&self.level_duration),
            format!("`level` lasts {level_s} s: growth shows in a level of {level_min_s} s to {wait_max_s} s"),
        );
        expect(
            (self.level_duration..=WAIT_MAX).contains(&self.hold_duration),
            format!("`hold` lasts {hold_s} s: the edge is held from as long as a level up to {wait_max_s} s"),
        );
        expect(
            (3..=EDGE_LEVELS_MAX).contains(&levels_max),
            format!("`levels_max` is {levels_max}: a search takes from 3 to {EDGE_LEVELS_MAX} levels"),
        );
        mistakes.extend(self.overload.validation_errors());
        mistakes
    }
}

impl Overload {
    fn validation_errors(&self) -> Vec<String> {
        let mut mistakes = Vec::new();
        let Self { latency_ms, error_share, denied_share, backlog } = *self;
        if latency_ms.is_none() && error_share.is_none() && denied_share.is_none() && !backlog {
            mistakes
                .push("`overload` names nothing: give it a latency gate, a share of errors or the backlog".to_owned());
        }
        if let Some(LatencyGate { quantile, limit_ms }) = latency_ms {
            if !(quantile > 0.0 && quantile < 1.0) {
                mistakes.push(format!("`quantile` is {quantile}: it lies between 0 and 1, as in 0.99"));
            }
            if !(limit_ms.is_finite() && limit_ms > 0.0) {
                mistakes.push(format!("`limit_ms` is {limit_ms}: a latency has a limit above 0"));
            }
        }
        for (name, share) in [("error_share", error_share), ("denied_share", denied_share)] {
            if let Some(share) = share.filter(|share| !(0.0..1.0).contains(share)) {
                mistakes.push(format!("`{name}` is {share}: it is a share from 0 to below 1, as in 0.01"));
            }
        }
        mistakes
    }
}

/// One stretch at one rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Its place in the search, counted from 1.
    pub number: usize,
    /// Requests per second, constant, in an open loop.
    pub rate_per_s: f64,
    /// How long.
    #[serde(rename = "lasting_s", with = "seconds")]
    pub duration: Duration,
    /// What the search wants to know from it.
    pub purpose: LevelPurpose,
}

/// What a level is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LevelPurpose {
    /// Upwards, until something is too much.
    Climb,
    /// Downwards, when the first level was too much.
    Descend,
    /// Between what was sustained and what was too much.
    Bisect,
    /// The edge again, for longer.
    Hold,
}

impl Level {
    /// How it stands on a progress line: `bisect 4: 1,414 requests/s for 5 s`.
    #[must_use]
    pub fn title(&self) -> String {
        let purpose = match self.purpose {
            LevelPurpose::Climb => "climb",
            LevelPurpose::Descend => "descend",
            LevelPurpose::Bisect => "bisect",
            LevelPurpose::Hold => "hold",
        };
        let (rate, lasting) = (number(self.rate_per_s), number(self.duration.as_secs_f64()));
        format!("{purpose} {}: {rate} requests/s for {lasting} s", self.number)
    }
}

/// A duration as seconds, so that its unit stands in its name.
mod seconds {
    use std::time::Duration;

    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(duration.as_secs_f64())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        Duration::try_from_secs_f64(f64::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}
