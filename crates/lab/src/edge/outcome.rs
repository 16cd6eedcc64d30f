//! The result of a search, or why there is none: the figures, the sentence, and every level with its assessment. Does
//! not know how the search decides.

use std::time::Duration;

use serde::{Serialize, Serializer};

use super::format::{number, percent};
use super::growth::Growth;
use super::ladder::LevelPoint;
use super::level_assessment::{Assessment, LevelAssessment, LevelMeasurement};
use crate::format::pluralize;
use crate::scenario::EdgeSearch;

/// A time at one rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Level {
    /// Its number in the search, counted from 1.
    pub number: usize,
    /// Requests per second, constant, in an open loop.
    pub rate_per_s: f64,
    #[serde(rename = "lasting_s", serialize_with = "as_seconds")]
    pub duration: Duration,
    /// Why the search needs it.
    pub purpose: LevelPurpose,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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
    /// Its title in a note: `bisect 4: 1,414 requests/s for 5 s`.
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

fn as_seconds<S: Serializer>(duration: &Duration, out: S) -> Result<S::Ok, S::Error> {
    out.serialize_f64(duration.as_secs_f64())
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Ending {
    /// The edge was found, and the hold sustained it.
    Found,
    /// The service sustained the ceiling, for as long as a hold lasts.
    NotFoundBelow { ceiling_per_s: f64 },
    /// It was overloaded at the first level and at every lower one that was tried.
    NoneSustained { floor_per_s: f64 },
    /// Rates that short levels sustained were not sustained for longer, nor were several lower rates.
    NotHeld { holds: usize },
    /// Two void levels in a row.
    Void { why: String },
    /// The maximum number of levels was reached.
    LevelsSpent,
    /// The search was stopped before its end.
    NotEnded,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LevelResult {
    /// The level as requested.
    #[serde(flatten)]
    pub level: Level,
    /// Its assessment.
    #[serde(flatten)]
    pub judged: LevelAssessment,
    /// Whether the search relied on this assessment. It relies neither on a void level, nor on a single overload that
    /// the next level of the same rate did not confirm.
    pub stands: bool,
    /// Ok responses per second.
    pub throughput_per_s: f64,
    /// Errors as a share of all responses.
    pub error_share: f64,
    /// Denials as a share of all responses.
    pub denied_share: f64,
    /// Latency at the gate's quantile, in milliseconds.
    pub latency_gate_ms: Option<f64>,
    /// Median latency in milliseconds.
    pub latency_p50_ms: Option<f64>,
    /// Its 99th percentile.
    pub latency_p99_ms: Option<f64>,
    /// How the requests without a response developed.
    pub backlog: Option<Growth>,
}

impl LevelResult {
    pub(super) fn new(level: Level, seen: &LevelMeasurement, assessment: Assessment, stands: bool) -> Self {
        let finite = |value: Option<f64>| value.filter(|value| value.is_finite());
        Self {
            level,
            judged: assessment.level,
            stands,
            throughput_per_s: Some(seen.throughput_per_s()).filter(|value| value.is_finite()).unwrap_or(0.0),
            error_share: seen.error_share(),
            denied_share: seen.denied_share(),
            latency_gate_ms: finite(seen.latency_gate_ms),
            latency_p50_ms: finite(seen.latency_p50_ms),
            latency_p99_ms: finite(seen.latency_p99_ms),
            backlog: assessment.backlog,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SearchOutcome {
    /// How it ended.
    pub ending: Ending,
    /// The ending in a sentence, with the figures.
    pub reason: String,
    /// The highest sustained rate, in requests per second.
    pub edge_per_s: Option<f64>,
    /// For how many seconds.
    pub held_s: Option<f64>,
    /// The highest rate that a level sustained, short ones included, below the lowest that was overloaded.
    pub sustained_per_s: Option<f64>,
    /// The lowest rate that was overloaded, in requests per second.
    pub overloaded_per_s: Option<f64>,
    /// The levels in the order in which they were driven.
    pub levels: Vec<LevelResult>,
}

impl SearchOutcome {
    pub(super) fn new(spec: &EdgeSearch, ending: Ending, levels: Vec<LevelResult>) -> Self {
        let held = levels.last().filter(|_| matches!(ending, Ending::Found | Ending::NotFoundBelow { .. }));
        let mut outcome = Self {
            ending,
            reason: String::new(),
            edge_per_s: held.map(|tried| tried.level.rate_per_s),
            held_s: held.map(|_| spec.hold_duration.as_secs_f64()),
            sustained_per_s: highest_sustained(&levels),
            overloaded_per_s: lowest_overloaded(&levels),
            levels,
        };
        outcome.reason = outcome.sentence(spec);
        outcome
    }

    /// The levels that the search relied on, for the capacity of the service. Load steps are numbered from
    /// `first_load_step` on.
    #[must_use]
    pub fn points(&self, first_load_step: u32) -> Vec<LevelPoint> {
        let point = |(load_step, tried): (u32, &LevelResult)| LevelPoint {
            label: format!("{}/s", number(tried.level.rate_per_s)),
            load_step,
            concurrency: None,
            offered_per_s: Some(tried.level.rate_per_s),
            throughput_per_s: tried.throughput_per_s,
            error_share: tried.error_share,
            denied_share: tried.denied_share,
            latency_p50_ms: tried.latency_p50_ms,
            latency_p95_ms: None,
            latency_p99_ms: tried.latency_p99_ms,
            overloaded: Some(matches!(tried.judged, LevelAssessment::Overloaded(_))),
        };
        (first_load_step..).zip(&self.levels).filter(|(_, tried)| tried.stands).map(point).collect()
    }

    /// Whether the search found the edge, or that there is none within its bounds.
    #[must_use]
    pub fn has_answer(&self) -> bool {
        !matches!(self.ending, Ending::Void { .. } | Ending::LevelsSpent | Ending::NotEnded)
    }

    /// Whether the generator itself prevented a result.
    #[must_use]
    pub fn is_void(&self) -> bool {
        matches!(self.ending, Ending::Void { .. })
    }

    fn sentence(&self, spec: &EdgeSearch) -> String {
        let known = self.known_sentence();
        let hold_s = number(spec.hold_duration.as_secs_f64());
        match &self.ending {
            Ending::Found => self.found_sentence(spec),
            Ending::NotFoundBelow { ceiling_per_s } => format!(
                "No edge below the ceiling: {} requests/s were sustained for {hold_s} s. Raise the ceiling to find it.",
                number(*ceiling_per_s)
            ),
            Ending::NoneSustained { floor_per_s } => format!(
                "Overloaded at every rate that was tried, down to {} requests/s ({}).",
                number(*floor_per_s),
                self.last_judged()
            ),
            Ending::NotHeld { holds } => format!(
                "No edge: {} of {hold_s} s failed, the last at {} requests/s ({}). Short levels do not show what this \
                 service sustains: make them longer.",
                pluralize(*holds as u64, "hold"),
                self.overloaded_per_s.map_or("unknown".to_owned(), number),
                self.last_judged()
            ),
            Ending::Void { why } => {
                let rate = self.levels.last().map_or("unknown".to_owned(), |tried| number(tried.level.rate_per_s));
                format!("Ended at {rate} requests/s, twice void: {why}. {known}")
            }
            Ending::LevelsSpent => {
                format!(
                    "Ended after {}, as many as were allowed. {known}",
                    pluralize(self.levels.len() as u64, "level")
                )
            }
            Ending::NotEnded => format!("Not ended after {}. {known}", pluralize(self.levels.len() as u64, "level")),
        }
    }

    fn found_sentence(&self, spec: &EdgeSearch) -> String {
        let (Some(edge), Some(over)) = (self.edge_per_s, self.overloaded_per_s) else { return self.known_sentence() };
        let why = self.levels.iter().rev().find(|tried| tried.stands && tried.level.rate_per_s == over);
        let why = why.map_or(String::new(), |tried| format!(" ({})", tried.judged));
        let held_s = number(spec.hold_duration.as_secs_f64());
        let mut sentence =
            format!("{} requests/s were sustained for {held_s} s; {} were too much{why}.", number(edge), number(over));
        if let Some(resolution) = resolution(&self.levels, over).filter(|share| *share > spec.precision) {
            let level_s = number(spec.level_duration.as_secs_f64());
            sentence += &format!(
                " A level of {level_s} s has so few requests that growth below {} of them does not show: the edge is \
                 no sharper than that.",
                percent(resolution)
            );
        }
        sentence
    }

    fn known_sentence(&self) -> String {
        match (self.sustained_per_s, self.overloaded_per_s) {
            (Some(low), Some(high)) => {
                format!("Sustained up to {} requests/s, overloaded from {} on.", number(low), number(high))
            }
            (Some(low), None) => format!("Sustained up to {} requests/s; no rate was too much.", number(low)),
            (None, Some(high)) => format!("Overloaded at {} requests/s; no rate was sustained.", number(high)),
            (None, None) => "Nothing is known about any rate.".to_owned(),
        }
    }

    fn last_judged(&self) -> String {
        self.levels.last().map_or(String::new(), |tried| tried.judged.to_string())
    }
}

/// The lowest rate that was overloaded, by what the search relies on.
pub(super) fn lowest_overloaded(levels: &[LevelResult]) -> Option<f64> {
    let overloaded = |tried: &&LevelResult| tried.stands && tried.judged != LevelAssessment::Sustained;
    levels.iter().filter(overloaded).map(|tried| tried.level.rate_per_s).min_by(f64::total_cmp)
}

/// The highest rate that a level sustained, of those below the lowest overloaded one.
pub(super) fn highest_sustained(levels: &[LevelResult]) -> Option<f64> {
    let sustained = levels.iter().filter(|tried| tried.judged == LevelAssessment::Sustained);
    let (rates, overloaded_per_s) = (sustained.map(|tried| tried.level.rate_per_s), lowest_overloaded(levels));
    rates.filter(|rate| overloaded_per_s.is_none_or(|over| *rate < over)).max_by(f64::total_cmp)
}

/// The smallest growth that a level at this rate could have shown, as a share of what was due.
fn resolution(levels: &[LevelResult], rate_per_s: f64) -> Option<f64> {
    let short = levels
        .iter()
        .find(|tried| tried.level.rate_per_s == rate_per_s && tried.level.purpose != LevelPurpose::Hold)?;
    let growth = short.backlog?;
    Some(growth.material_count / (rate_per_s * growth.window_s)).filter(|share| share.is_finite())
}
