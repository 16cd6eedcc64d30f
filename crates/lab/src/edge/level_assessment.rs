//! Assesses one level: sustained, overloaded and why, or void. Does not know the other levels.

use std::fmt;

use serde::Serialize;

use super::format::{number, percent};
use super::growth::{Growth, Window, growth};
use crate::format::first_few;
use crate::limits::LEVEL_PAUSED_MAX;
use crate::measurement::OutcomeCounts;
use crate::scenario::EdgeSearch;

/// The measurements of one level.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LevelMeasurement {
    /// Seconds from the first request due to the end of the level.
    pub lasting_s: f64,
    /// Requests that were due.
    pub due: u64,
    /// Ok responses that were received while the level lasted.
    pub ok: u64,
    /// Ok responses after its end: not its throughput, but responses of which errors and denials are a share.
    pub ok_late: u64,
    /// Error responses, and requests that failed.
    pub errors: u64,
    /// Denials of a limiter: denied, not failed.
    pub denied: u64,
    /// Latency from the intended time at the gate's quantile, of ok responses, in milliseconds.
    pub latency_gate_ms: Option<f64>,
    /// Its median.
    pub latency_p50_ms: Option<f64>,
    /// Its 99th percentile.
    pub latency_p99_ms: Option<f64>,
    /// Requests due without a response: (seconds from the start of the level, count), about ten a second.
    pub backlog: Vec<(f64, f64)>,
    /// Work items in the service's queue: the same, as often as it can be polled.
    pub work_waiting: Vec<(f64, f64)>,
    /// The generator did not keep its schedule, and the service was not the cause.
    pub generator_behind: bool,
    /// The share of the level in which the generator did not run: an apparent overload may be its own delay.
    pub paused_share: f64,
}

impl LevelMeasurement {
    /// Sets what came of the level's requests in the end, of which `in_level` ended while it lasted.
    pub(crate) fn set_outcomes(&mut self, all: OutcomeCounts, in_level: u64) {
        let in_time = (in_level as f64 / all.total().max(1) as f64).min(1.0);
        self.ok = (all.ok as f64 * in_time).round() as u64;
        self.ok_late = all.ok - self.ok;
        (self.errors, self.denied) = (all.errors, all.denied);
    }

    fn answered(&self) -> u64 {
        self.ok + self.ok_late + self.errors + self.denied
    }

    /// Ok responses per second.
    #[must_use]
    pub fn throughput_per_s(&self) -> f64 {
        if self.lasting_s > 0.0 { self.ok as f64 / self.lasting_s } else { 0.0 }
    }

    /// Errors as a share of all responses; 0 without responses.
    #[must_use]
    pub fn error_share(&self) -> f64 {
        self.errors as f64 / self.answered().max(1) as f64
    }

    /// Denials as a share of all responses; 0 without responses.
    #[must_use]
    pub fn denied_share(&self) -> f64 {
        self.denied as f64 / self.answered().max(1) as f64
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "judged", content = "because")]
pub enum LevelAssessment {
    /// The service kept up.
    Sustained,
    /// It did not, for these reasons.
    Overloaded(Vec<OverloadReason>),
    /// No assessment is possible, for this reason.
    Void(String),
}

impl fmt::Display for LevelAssessment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sustained => f.write_str("sustained"),
            Self::Overloaded(reasons) => write!(f, "overloaded: {}", first_few(reasons, "; ")),
            Self::Void(why) => write!(f, "void: {why}"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "reason")]
pub enum OverloadReason {
    /// A quantile of latency is above its limit.
    Latency { quantile: f64, latency_ms: f64, limit_ms: f64 },
    /// Too many errors.
    Errors { error_share: f64, limit_share: f64 },
    /// Requests without a response pile up.
    Backlog { growth_per_s: f64, due_share: f64 },
    /// Work piles up in the service's queue.
    WorkWaiting { growth_per_s: f64, due_share: f64 },
    /// There was no ok response.
    NothingGood { due: u64 },
}

impl fmt::Display for OverloadReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latency { quantile, latency_ms, limit_ms } => {
                let (latency, limit) = (number(*latency_ms), number(*limit_ms));
                write!(f, "p{} of latency is {latency} ms, above {limit} ms", percentile(*quantile))
            }
            Self::Errors { error_share, limit_share } => {
                write!(f, "{} of the answers are errors, above {}", percent(*error_share), percent(*limit_share))
            }
            Self::Backlog { growth_per_s, due_share } => {
                let (growth, share) = (number(*growth_per_s), percent(*due_share));
                write!(f, "requests without an answer grow by {growth} each second, {share} of what is due")
            }
            Self::WorkWaiting { growth_per_s, due_share } => {
                let (growth, share) = (number(*growth_per_s), percent(*due_share));
                write!(f, "work waiting in the service grows by {growth} each second, {share} of what is due")
            }
            Self::NothingGood { due } => write!(f, "not one of {} requests was answered well", number(*due as f64)),
        }
    }
}

/// 0.99 → `99`, 0.999 → `99.9`.
fn percentile(quantile: f64) -> f64 {
    (quantile * 1e5).round() / 1e3
}

/// An assessment, and whether one level was enough.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Assessment {
    pub(super) level: LevelAssessment,
    /// No short pause of the service or of the machine can have caused this overload.
    pub(super) decisive: bool,
    pub(super) backlog: Option<Growth>,
}

/// Assesses a level by what the scenario calls overload.
pub(super) fn assess(spec: &EdgeSearch, seen: &LevelMeasurement) -> Assessment {
    let window = Window::settled(seen.lasting_s, seen.latency_p50_ms);
    let due_per_s = if seen.lasting_s > 0.0 { seen.due as f64 / seen.lasting_s } else { 0.0 };
    let backlog = growth(&seen.backlog, window, due_per_s);
    let void = |why: String| Assessment { level: LevelAssessment::Void(why), decisive: false, backlog };
    if let Some(why) = void_reason(spec, seen, backlog) {
        return void(why);
    }
    let work = growth(&seen.work_waiting, window, due_per_s);
    let growths = [backlog, work].map(|growth| growth.filter(|growth| growth.grows && spec.backlog));
    let [backlog_share, work_share] =
        growths.map(|growth| growth.map(|growth| (growth.per_s, growth.per_s / due_per_s)));
    let mut reasons = exceeded_limits(spec, seen);
    reasons.extend(backlog_share.map(|(growth_per_s, due_share)| OverloadReason::Backlog { growth_per_s, due_share }));
    reasons.extend(work_share.map(|(growth_per_s, due_share)| OverloadReason::WorkWaiting { growth_per_s, due_share }));
    if !reasons.is_empty() && seen.paused_share > LEVEL_PAUSED_MAX {
        return void(format!("the generator itself paused for {} of the level", percent(seen.paused_share)));
    }
    let decisive = seen.ok == 0 || growths.iter().flatten().any(|growth| growth.decisive);
    let level = if reasons.is_empty() { LevelAssessment::Sustained } else { LevelAssessment::Overloaded(reasons) };
    Assessment { level, decisive, backlog }
}

fn void_reason(spec: &EdgeSearch, seen: &LevelMeasurement, backlog: Option<Growth>) -> Option<String> {
    if seen.generator_behind {
        return Some("the generator was behind its own schedule".to_owned());
    }
    if seen.due == 0 || !(seen.lasting_s.is_finite() && seen.lasting_s > 0.0) {
        return Some("no request was due".to_owned());
    }
    let samples = seen.backlog.len();
    (spec.backlog && backlog.is_none())
        .then(|| format!("the backlog was sampled {samples} times, too seldom to see it grow"))
}

fn exceeded_limits(spec: &EdgeSearch, seen: &LevelMeasurement) -> Vec<OverloadReason> {
    if seen.ok == 0 {
        return vec![OverloadReason::NothingGood { due: seen.due }];
    }
    let latency = spec.latency_ms.zip(seen.latency_gate_ms);
    let latency = latency.filter(|((_, limit_ms), latency_ms)| latency_ms > limit_ms);
    let latency =
        latency.map(|((quantile, limit_ms), latency_ms)| OverloadReason::Latency { quantile, latency_ms, limit_ms });
    let error_share = seen.error_share();
    let errors = spec.error_share.filter(|limit_share| error_share > *limit_share);
    let errors = errors.map(|limit_share| OverloadReason::Errors { error_share, limit_share });
    latency.into_iter().chain(errors).collect()
}
