//! The figures of a run as they stand in `run.json`. Refuses to judge them.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::covered_s;
use super::drain_curve::WorkPoint;
use super::gaps::Unrecorded;
use super::held::HeldFigures;
use super::pauses::PauseFigures;
use super::phase::PhaseJourneyFigures;
use super::push::PushFigures;
use super::series::Series;
use super::summary::{Statistics, round};
use super::timeline::Timeline;
use crate::cgroup::{LimitStats, LimitsApplied};

/// Names that no journey, work, phase and process may have: figures of the run itself are found under them.
pub const RESERVED_NAMES: [&str; 5] = ["generator", "observe", "push", "server", "total"];

/// What is told of a figure that an observer reads.
pub(super) const OBSERVED_STATISTICS: [&str; 4] = ["min", "avg", "max", "last"];

/// Names that no derived figure may have: a work's own figures, and behind them what a phase of its name has.
pub const WORK_FIGURES: [&str; 22] = [
    "created",
    "finished",
    "failed",
    "stuck",
    "unknown",
    "waiting",
    "running",
    "duplicates",
    "throughput_per_min",
    "drain_s",
    "completion_s",
    "queue_wait_s",
    "run_s",
    "figures",
    "progress_per_s",
    "totals",
    "drain_curve",
    "stuck_by",
    "unknown_ids",
    "connections",
    "journey",
    "opening",
];

/// Everything that was measured.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Results {
    /// All journeys together; none in records of before it was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Total>,
    /// By journey.
    pub journeys: BTreeMap<String, JourneyFigures>,
    /// By kind of work.
    pub work: BTreeMap<String, WorkFigures>,
    /// By phase: what it asked, and what its levels found.
    #[serde(default)]
    pub phases: BTreeMap<String, PhaseFigures>,
    /// By observer and figure.
    #[serde(default)]
    pub observe: BTreeMap<String, BTreeMap<String, ObservedFigure>>,
    /// Frames that were pushed, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub push: BTreeMap<String, PushFigures>,
    /// The lab itself.
    pub generator: GeneratorFigures,
    /// The service under test.
    pub server: ServerFigures,
    /// Processes beside it.
    pub processes: BTreeMap<String, ProcessFigures>,
}

impl Results {
    /// The tree in which gates look figures up.
    #[must_use]
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("figures are texts, finite numbers and maps with text keys")
    }
}

/// All journeys of the run together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Total {
    /// Arrivals that are over.
    pub arrivals: u64,
    /// As hoped for.
    pub ok: u64,
    /// Refused politely.
    pub denied: u64,
    /// Otherwise; of a journey of several steps that is still under way, requests of it that failed.
    pub errors: u64,
    /// Arrivals whose time had come but that were never sent.
    pub not_sent: u64,
    /// Tries that were repeated because a step's `retry` says so.
    pub retried: u64,
    /// Requests that were sent again because the target had closed the connection that was kept for them.
    pub resent: u64,
}

/// A phase: what it asked, and what its levels found.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PhaseFigures {
    /// Its journey, as far as this phase drove it; none where it never began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journey: Option<JourneyFigures>,
    /// What its connections said first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opening: Option<JourneyFigures>,
    /// The highest throughput of any of its parts, in good answers per second.
    pub peak_per_s: Option<f64>,
    /// The highest rate that a search held, in arrivals per second.
    pub edge_per_s: Option<f64>,
    /// The connections that it held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<HeldFigures>,
}

/// A figure that an observer read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct ObservedFigure {
    pub min: f64,
    pub avg: f64,
    pub max: f64,
    pub last: f64,
}

/// Figures of the observers over the whole run.
#[must_use]
pub fn observer_figures(timeline: &Timeline) -> BTreeMap<String, BTreeMap<String, ObservedFigure>> {
    let mut all: BTreeMap<String, BTreeMap<String, ObservedFigure>> = BTreeMap::new();
    for (name, series) in &timeline.series {
        let Some((observer, figure)) = name.strip_prefix("observe.").and_then(|rest| rest.split_once('.')) else {
            continue;
        };
        if let Some(found) = ObservedFigure::from_series(series) {
            all.entry(observer.to_owned()).or_default().insert(figure.to_owned(), found);
        }
    }
    all
}

impl ObservedFigure {
    /// The statistics of a series; none of an empty one.
    #[must_use]
    pub fn from_series(series: &Series) -> Option<Self> {
        let count: u64 = series.points.iter().map(|point| point.n).sum();
        let sum: f64 = series.points.iter().map(|point| point.mean * point.n as f64).sum();
        Some(Self {
            min: series.points.iter().map(|point| point.min).min_by(f64::total_cmp)?,
            avg: round(sum / count as f64),
            max: series.peak()?.1,
            last: series.last()?,
        })
    }
}

/// A journey.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct JourneyFigures {
    /// The journey as a whole.
    #[serde(flatten)]
    pub op: OpFigures,
    /// Good answers per second, over the time in which the journey was driven.
    #[serde(default)]
    pub throughput_per_s: Option<f64>,
    /// Requests that are over, those of journeys under way among them.
    #[serde(default)]
    pub requests: u64,
    /// Good answers to its requests per second, over the same time.
    #[serde(default)]
    pub answered_per_s: Option<f64>,
    /// Whether a step pauses, repeats or waits: then how long the journey takes is in part its own doing.
    #[serde(default)]
    pub paced: bool,
    /// Arrivals whose time had come but that were never sent.
    pub not_sent: u64,
    /// Its steps, where there is more than one, in the order in which they are played.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub steps: IndexMap<String, OpFigures>,
}

impl JourneyFigures {
    /// With its rates, over the seconds in which it was driven.
    pub(crate) fn with_rates(self, active_s: Option<f64>) -> Self {
        let answered = if self.steps.is_empty() { self.op.ok } else { self.steps.values().map(|step| step.ok).sum() };
        let per_s = |count: u64| active_s.filter(|s| *s > 0.0).map(|s| round(count as f64 / s));
        Self { throughput_per_s: per_s(self.op.ok), answered_per_s: per_s(answered), ..self }
    }

    /// Requests that are over. A record of before they were counted has those of its steps.
    #[must_use]
    pub fn requests(&self) -> u64 {
        let of_steps = self.steps.values().map(|step| step.count).sum();
        [self.requests, of_steps, self.op.count].into_iter().find(|count| *count > 0).unwrap_or(0)
    }
}

/// An operation. Latency counts from the intended moment, service time from the moment of sending; both are of
/// good answers only, in milliseconds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct OpFigures {
    pub count: u64,
    pub ok: u64,
    pub errors: u64,
    pub denied: u64,
    pub retries: u64,
    pub latency_ms: Statistics,
    pub service_ms: Statistics,
    /// From the intended moment to the end of what was denied or went wrong, in milliseconds.
    #[serde(default)]
    pub failed_ms: Statistics,
    /// From sending to the end of a good answer that was waited for, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_ms: Option<Statistics>,
    /// From what such an answer tells of to its arrival, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake_ms: Option<Statistics>,
}

/// One part of the trial: a burst, a level, or a whole phase without any.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LoadStepFigures {
    /// Its number, counted over the whole trial.
    pub part: u32,
    /// The phase that it belongs to.
    pub phase: String,
    /// What it is: `burst 2`, `50 clients`, `1,250/s`.
    pub label: String,
    /// The first moment of it, in seconds from the start of the plan.
    pub start_s: f64,
    /// From its first moment to the end of its last exchange, in seconds.
    pub length_s: f64,
    /// Arrivals per second that were due, in an open loop with a rate.
    pub offered_per_s: Option<f64>,
    /// Clients, in a closed loop; held connections, where it holds some.
    pub clients: Option<u64>,
    /// Good answers per second over its length.
    pub throughput_per_s: Option<f64>,
    /// Arrivals whose time had come but that were never sent.
    pub not_sent: u64,
    /// Its journey as a whole.
    #[serde(flatten)]
    pub op: OpFigures,
    /// Whether the search for the edge called it overloaded, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overload: Option<Vec<String>>,
    /// Why the search for the edge could not judge it, where it could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub void: Option<String>,
    /// The connections that it holds: it begins when all of them are open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<HeldFigures>,
}

/// One kind of work. Finished, failed, stuck, unknown, waiting and running add up to created.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct WorkFigures {
    /// Pieces whose creation was answered.
    pub created: u64,
    /// Ended as they should.
    pub finished: u64,
    /// Ended otherwise.
    pub failed: u64,
    /// Without progress for too long.
    pub stuck: u64,
    /// Of those: by who held them, where the scenario says how to see it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stuck_by: BTreeMap<String, u64>,
    /// Created, and at the last look unknown to the server.
    #[serde(default)]
    pub unknown: u64,
    /// The first few of their ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_ids: Vec<String>,
    /// In the queue when the trial ended.
    pub waiting: u64,
    /// Under way when the trial ended.
    pub running: u64,
    /// Ids that the target gave out a second time.
    pub duplicates: u64,
    /// Finished pieces per minute, from the first creation to the last finish.
    pub throughput_per_min: Option<f64>,
    /// Seconds from the moment the last arrival was due until nothing was left.
    pub drain_s: Option<f64>,
    /// From creation to finish.
    pub completion_s: Statistics,
    /// From creation to start.
    pub queue_wait_s: Statistics,
    /// From start to finish.
    pub run_s: Statistics,
    /// Whatever the scenario keeps from the status of finished pieces.
    pub figures: BTreeMap<String, Statistics>,
    /// Sums of the progress figures per second, over the time that the throughput is taken over.
    pub progress_per_s: BTreeMap<String, f64>,
    /// Figures that the scenario derives from them.
    #[serde(flatten)]
    pub derived: BTreeMap<String, Statistics>,
    /// What the server itself counted meanwhile.
    pub totals: Option<TotalsFigures>,
    /// The work over time, thinned out; the timeline file has every row.
    pub drain_curve: Vec<WorkPoint>,
}

/// What the server's own totals rose by between the start of the trial and its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TotalsFigures {
    /// Created.
    pub created: Option<i64>,
    /// Finished.
    pub finished: Option<i64>,
    /// Failed.
    pub failed: Option<i64>,
}

/// The lab itself.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct GeneratorFigures {
    /// How late arrivals left through the lab's own doing.
    pub schedule_lag_ms: Statistics,
    /// The bound on its 99th percentile beyond which the lab counts as late.
    pub lag_p99_max_ms: f64,
    /// Arrivals that are over.
    pub arrivals: u64,
    /// Requests that are over, those of journeys under way among them.
    #[serde(default)]
    pub requests: u64,
    /// Arrivals that waited for a free place in flight: the target's doing, and part of their latency.
    pub capped: u64,
    /// Arrivals that waited for one only because the lab had paused.
    #[serde(default)]
    pub behind_pauses: u64,
    /// Times in which the lab did not run, where there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pauses: Option<PauseFigures>,
    /// Times of which nothing is known, where there were any: figures over time have gaps there, not zeros.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unrecorded: Option<Unrecorded>,
    /// Arrivals whose time had come but that were never sent.
    pub not_sent: u64,
    /// Those of them that a pause of the lab had held up.
    #[serde(default)]
    pub not_sent_behind_pauses: u64,
    /// Arrivals that were sent and given up when the trial was ended.
    pub abandoned: u64,
    /// Connections that were opened.
    #[serde(default)]
    pub connects: u64,
    /// Bytes sent.
    #[serde(default)]
    pub sent_bytes: u64,
    /// Bytes received.
    #[serde(default)]
    pub received_bytes: u64,
    /// Processor time of the lab.
    pub cpu_s: Option<f64>,
    /// Memory of the lab.
    pub rss_bytes: Option<Rss>,
}

impl GeneratorFigures {
    /// Whether the lab was late beyond its bound, or paused for longer than that.
    #[must_use]
    pub fn is_late(&self) -> bool {
        let lag_ms = self.schedule_lag_ms.p99_or_max().unwrap_or(0.0);
        let paused_ms = self.pauses.as_ref().map_or(0.0, |pauses| pauses.longest_s * 1000.0);
        lag_ms.max(paused_ms) > self.lag_p99_max_ms
    }

    /// The same without what the lab itself added: nothing left late, and what it held up was sent.
    pub(crate) fn without_lab(&self) -> Self {
        let none = |figure: Option<f64>| figure.map(|_| 0.0);
        let Statistics { count, max, .. } = self.schedule_lag_ms;
        let schedule_lag_ms =
            none(max).map_or_else(Statistics::default, |none| Statistics::of(count, [none; 4], |_| none));
        let not_sent = self.not_sent.saturating_sub(self.not_sent_behind_pauses);
        Self { schedule_lag_ms, not_sent, behind_pauses: 0, ..self.clone() }
    }
}

/// The service under test.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ServerFigures {
    /// Its process, where it runs on this machine.
    #[serde(flatten)]
    pub process: ProcessFigures,
    /// Its configuration in its own words, where the scenario says how to ask.
    pub config: Option<Value>,
    /// The limits that it was held within.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<LimitsApplied>,
    /// What they did to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits_seen: Option<LimitStats>,
}

/// A process, watched from outside.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessFigures {
    /// Resident memory.
    pub rss_bytes: Option<Rss>,
    /// Processor time, user and system, during the trial.
    pub cpu_s: Option<f64>,
}

/// Resident memory over a run, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct Rss {
    pub first: u64,
    pub peak: u64,
    pub last: u64,
}

/// Errors of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorGroup {
    /// The journey.
    pub journey: String,
    /// The step, where the journey has more than one.
    pub step: Option<String>,
    /// What kind.
    pub kind: String,
    /// How many.
    pub count: u64,
    /// The first message.
    pub sample: String,
    /// A few others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more_samples: Vec<String>,
}

impl PhaseFigures {
    /// The figures of a phase of these parts, which asked so much; a search has found `edge_per_s`.
    pub(crate) fn from_steps(
        parts: &[&LoadStepFigures],
        edge_per_s: Option<f64>,
        asked: Option<PhaseJourneyFigures>,
    ) -> Self {
        let connections = parts.iter().find_map(|part| part.connections.clone());
        let driven = parts.iter().map(|part| (part.start_s, part.start_s + part.length_s));
        let (journey, opening) = asked.map_or((None, None), |asked| (Some(asked.journey), asked.opening));
        Self {
            journey: journey.map(|journey| JourneyFigures {
                not_sent: parts.iter().map(|part| part.not_sent).sum(),
                ..journey.with_rates(covered_s(driven.collect()))
            }),
            opening: opening.map(|opening| opening.with_rates(connections.as_ref().and_then(|held| held.opening_s))),
            peak_per_s: parts.iter().filter_map(|part| part.throughput_per_s).max_by(f64::total_cmp),
            edge_per_s,
            connections,
        }
    }
}
