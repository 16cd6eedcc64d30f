//! The figures of a run as they are in `run.json`. Does not assess them.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::gaps::{PauseFigures, Unrecorded};
use super::summary::Statistics;
use crate::cgroup::{LimitStats, LimitsApplied};
use crate::format::round;
use crate::measurement::{HeldCounts, WorkPoint};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Results {
    /// All journeys together, if there were arrivals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Total>,
    /// By journey.
    pub journeys: BTreeMap<String, JourneyFigures>,
    /// By kind of work.
    pub work: BTreeMap<String, WorkFigures>,
    /// By phase: its journeys, and what its levels found.
    #[serde(default)]
    pub phases: BTreeMap<String, PhaseFigures>,
    /// By observer and figure.
    #[serde(default)]
    pub observe: BTreeMap<String, BTreeMap<String, ObservedFigure>>,
    /// Pushed frames, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub push: BTreeMap<String, PushFigures>,
    /// The load generator.
    pub generator: GeneratorFigures,
    /// The service under test.
    pub server: ServerFigures,
    /// Other watched processes.
    pub processes: BTreeMap<String, ProcessFigures>,
}

impl Results {
    /// The tree in which gates look figures up.
    #[must_use]
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).expect("figures are texts, finite numbers and maps with text keys")
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Total {
    /// Arrivals that have ended.
    pub arrivals: u64,
    pub ok: u64,
    pub denied: u64,
    /// Errors; of a journey of several steps that is still in flight, its failed requests.
    pub errors: u64,
    /// Arrivals that were due and never sent.
    pub not_sent: u64,
    /// Attempts that were repeated because of a step's `retry`.
    pub retried: u64,
    /// Requests that were resent because the target had closed the reused connection.
    pub resent: u64,
}

/// A phase: its journeys, and what its levels found.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PhaseFigures {
    /// Its journey, as far as this phase drove it; none if it never started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journey: Option<JourneyFigures>,
    /// Its opening journey.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opening: Option<JourneyFigures>,
    /// The highest throughput of any of its load steps, in ok responses per second.
    pub peak_per_s: Option<f64>,
    /// The highest rate that a search sustained, in arrivals per second.
    pub edge_per_s: Option<f64>,
    /// The connections that it held.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<HeldFigures>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ObservedFigure {
    pub min: f64,
    pub avg: f64,
    pub max: f64,
    pub last: f64,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct JourneyFigures {
    /// The journey as a whole.
    #[serde(flatten)]
    pub op: OpFigures,
    /// Ok journeys per second, over the time in which the journey was driven.
    pub throughput_per_s: Option<f64>,
    /// Requests that have ended, those of journeys in flight included.
    pub requests: u64,
    /// Ok responses to its requests per second, over the same time.
    pub answered_per_s: Option<f64>,
    /// Whether a step pauses, repeats or waits: then the journey's duration is partly planned.
    pub paced: bool,
    /// Arrivals that were due and never sent.
    pub not_sent: u64,
    /// Its steps in the scenario's order, if there is more than one.
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
}

/// An operation. Latency counts from the intended time, service time from the time of sending; both are of ok responses
/// only, in milliseconds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct OpFigures {
    pub count: u64,
    pub ok: u64,
    pub errors: u64,
    pub denied: u64,
    pub retries: u64,
    pub latency_ms: Statistics,
    pub service_ms: Statistics,
    /// From the intended time to the end of what was denied or failed, in milliseconds.
    #[serde(default)]
    pub failed_ms: Statistics,
    /// From sending to the end of an ok response to a long poll, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_ms: Option<Statistics>,
    /// From the event in such a response until it was received, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake_ms: Option<Statistics>,
}

impl OpFigures {
    /// With so many more arrivals that ended well.
    #[must_use]
    pub(crate) fn with_more_ok(self, count: u64) -> Self {
        Self { count: self.count + count, ok: self.ok + count, ..self }
    }
}

/// A load step of the trial: a burst, a level, or a whole phase without any.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LoadStepFigures {
    /// Its number, counted over the whole trial.
    pub load_step: u32,
    pub phase: String,
    /// What it is: `burst 2`, `50 clients`, `1,250/s`.
    pub label: String,
    /// Its start, in seconds from the start of the plan.
    pub start_s: f64,
    /// From its start to the end of its last exchange, in seconds.
    pub length_s: f64,
    /// Arrivals per second that were due, in an open loop with a rate.
    pub offered_per_s: Option<f64>,
    /// Clients, in a closed loop; held connections, if it holds some.
    pub clients: Option<u64>,
    /// Ok journeys per second over its length.
    pub throughput_per_s: Option<f64>,
    /// Arrivals that were due and never sent.
    pub not_sent: u64,
    /// Its journey as a whole.
    #[serde(flatten)]
    pub op: OpFigures,
    /// Why the search assessed it as overloaded, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overload: Option<Vec<String>>,
    /// Why the search could not assess it, if it could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub void: Option<String>,
    /// The connections that it holds: it starts when all of them are open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<HeldFigures>,
}

impl LoadStepFigures {
    /// From its start to its last arrival, in seconds: what comes later was only awaited. `None` without a rate.
    #[must_use]
    pub fn due_s(&self) -> Option<f64> {
        let per_s = self.offered_per_s.filter(|per_s| *per_s > 0.0)?;
        Some((self.op.count + self.not_sent) as f64 / per_s)
    }
}

/// Figures of the connections that a phase holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HeldFigures {
    /// How many should be held.
    pub planned: u64,
    #[serde(flatten)]
    pub counts: HeldCounts,
    /// The phase whose connections it resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keeps: Option<String>,
    /// The start of the first second in which connections that it left open were lost and the end of the last one, in
    /// seconds from the start of the plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_after_s: Option<(f64, f64)>,
    /// When the first was due, in seconds from the start of the plan.
    pub from_s: f64,
    /// From there until the last one was open, in seconds; none if not all were.
    pub opening_s: Option<f64>,
    /// How many were opened per second over that time.
    pub opened_per_s: Option<f64>,
    /// From the time at which a connection was due until it was open, its opening journey included, in milliseconds.
    pub opening_ms: Statistics,
}

/// Figures of pushed frames.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PushFigures {
    pub frames: u64,
    /// Bytes of their payloads.
    pub bytes: u64,
    /// Frames per second, from the first second in which any were received to the last.
    pub frames_per_s: Option<f64>,
    /// Bytes per second, over the same time.
    pub bytes_per_s: Option<f64>,
    /// From the event in a frame until it was received, in milliseconds, if frames say when their event happened.
    pub delay_ms: Statistics,
}

/// One kind of work. Finished, failed, stuck, unknown, waiting and running add up to created.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct WorkFigures {
    /// Items whose creation was answered.
    pub created: u64,
    pub finished: u64,
    pub failed: u64,
    /// Without progress for too long.
    pub stuck: u64,
    /// Of those: by holder, if the scenario says where a status names it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub stuck_by: BTreeMap<String, u64>,
    /// Created, but unknown to the server at the last poll.
    #[serde(default)]
    pub unknown: u64,
    /// The first few of their ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown_ids: Vec<String>,
    /// In the queue when the trial ended.
    pub waiting: u64,
    /// Running when the trial ended.
    pub running: u64,
    /// Ids that the target returned twice.
    pub duplicates: u64,
    /// Finished items per minute, from the first creation to the last finish.
    pub throughput_per_min: Option<f64>,
    /// Seconds from the time the last arrival was due until nothing was left.
    pub drain_s: Option<f64>,
    /// From creation to finish.
    pub completion_s: Statistics,
    /// From creation to start.
    pub queue_wait_s: Statistics,
    /// From start to finish.
    pub run_s: Statistics,
    /// What the scenario keeps from the status of finished items.
    pub figures: BTreeMap<String, Statistics>,
    /// Sums of the progress figures per second, over the same time as the throughput.
    pub progress_per_s: BTreeMap<String, f64>,
    /// Figures that the scenario derives from them.
    #[serde(flatten)]
    pub derived: BTreeMap<String, Statistics>,
    /// The server's own counts of the same time.
    pub totals: Option<TotalsFigures>,
    /// The work over time, thinned out; the timeline file has every row.
    pub drain_curve: Vec<WorkPoint>,
}

/// By how much the server's own totals rose during the trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TotalsFigures {
    pub created: Option<i64>,
    pub finished: Option<i64>,
    pub failed: Option<i64>,
}

/// The load generator.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct GeneratorFigures {
    /// How late arrivals were sent because of the generator.
    pub schedule_lag_ms: Statistics,
    /// The limit of its 99th percentile above which the generator counts as late.
    pub lag_p99_max_ms: f64,
    /// Arrivals that have ended.
    pub arrivals: u64,
    /// Requests that have ended, those of journeys in flight included.
    pub requests: u64,
    /// Arrivals that waited for a free slot: this is due to the target, and part of their latency.
    pub capped: u64,
    /// Arrivals that waited for a slot only because the generator had paused.
    pub behind_pauses: u64,
    /// Times in which the generator did not run, if there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pauses: Option<PauseFigures>,
    /// Times without data, if there were any: figures over time have gaps there, not zeros.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unrecorded: Option<Unrecorded>,
    /// Arrivals that were due and never sent.
    pub not_sent: u64,
    /// Those of them that a pause of the generator had held up.
    pub not_sent_behind_pauses: u64,
    /// Arrivals that were sent and abandoned when the trial was ended.
    pub abandoned: u64,
    pub connects: u64,
    pub sent_bytes: u64,
    pub received_bytes: u64,
    /// Processor time of the lab.
    pub cpu_s: Option<f64>,
    /// Memory of the lab.
    pub rss_bytes: Option<Rss>,
}

impl GeneratorFigures {
    /// Whether the generator was late beyond its limit, or paused for longer than that.
    #[must_use]
    pub fn is_late(&self) -> bool {
        let lag_ms = self.schedule_lag_ms.p99_or_max().unwrap_or(0.0);
        let paused_ms = self.pauses.as_ref().map_or(0.0, |pauses| pauses.longest_s * 1000.0);
        lag_ms.max(paused_ms) > self.lag_p99_max_ms
    }

    /// The same without the generator's delays: nothing was sent late, and what it held up was sent.
    pub(crate) fn without_lab(&self) -> Self {
        let none = |figure: Option<f64>| figure.map(|_| 0.0);
        let Statistics { count, max, .. } = self.schedule_lag_ms;
        let schedule_lag_ms =
            none(max).map_or_else(Statistics::default, |none| Statistics::of(count, [none; 4], |_| none));
        let not_sent = self.not_sent.saturating_sub(self.not_sent_behind_pauses);
        Self { schedule_lag_ms, not_sent, behind_pauses: 0, ..self.clone() }
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ServerFigures {
    /// Its process, if it runs on this machine.
    #[serde(flatten)]
    pub process: ProcessFigures,
    /// Its configuration as it reports it, if the scenario says how to request it.
    pub config: Option<Value>,
    /// The limits that were applied to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<LimitsApplied>,
    /// What the limits did to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits_seen: Option<LimitStats>,
}

/// A process, measured from outside.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessFigures {
    pub rss_bytes: Option<Rss>,
    /// Processor time, user and system, during the trial.
    pub cpu_s: Option<f64>,
}

/// Resident memory over a run, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rss {
    pub first: u64,
    pub peak: u64,
    pub last: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorGroup {
    pub journey: String,
    /// The step, if the journey has more than one.
    pub step: Option<String>,
    pub kind: String,
    pub count: u64,
    /// The first message.
    pub sample: String,
    /// Further messages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub more_samples: Vec<String>,
}
