//! The rows of timeline.jsonl, one JSON object per line, written as they happen and read back by every report.
//! One clock for all of them: seconds from the start of the plan. Refuses to interpret them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::measurement::WorkPoint;

/// One row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TimelineRow {
    /// What ended in one second, over all workers, by part and operation.
    Op(OpRow),
    /// The load and the machine at one moment.
    #[serde(rename = "sample")]
    Pulse(SamplerRow),
    /// One kind of work, after a round of status requests.
    Work(WorkRow),
    /// A part began or ended.
    #[serde(rename = "load_step")]
    Part(LoadStepRow),
    /// The first connection that a part holds was due, or the last one stood.
    Opening(LoadStepRow),
    /// What became of the connections that a part holds in one second, over all workers.
    Held(HeldRow),
    /// How late the lab itself was, in one second over all workers.
    Lag(LagRow),
    /// A worker of the lab did not run: what ended meanwhile is unknown until it ran again.
    Pause(PauseRow),
    /// Requests were under way and none ended. Told again and again while it goes on: the last row with that beginning counts.
    Silence(SilenceRow),
    /// A fault was carried out.
    Fault(FaultRow),
    /// A note that a reader of the timeline must know.
    Note(NoteRow),
}

/// One operation in one second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OpRow {
    /// The second's beginning.
    pub t_s: f64,
    /// The part.
    #[serde(rename = "load_step")]
    pub part: u32,
    /// The operation: `create_game`, or `create_game.steps.post`.
    pub op: String,
    /// Answers as hoped for.
    pub ok: u64,
    /// Answers that refused politely.
    pub denied: u64,
    /// The others.
    pub errors: u64,
    /// Latency of good answers from the intended moment, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<Percentiles>,
    /// Service time of good answers from sending, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_ms: Option<Percentiles>,
    /// How late answers that were waited for came after what they tell of, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake_ms: Option<Percentiles>,
}

/// Held connections of one part in one second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HeldRow {
    /// The second's beginning.
    pub t_s: f64,
    /// The part.
    #[serde(rename = "load_step")]
    pub part: u32,
    /// Connections that stood for the first time.
    pub opened: u64,
    /// Connections that stood already, because an earlier part has left them.
    pub kept: u64,
    /// Connections that stood again after they had been lost.
    pub reopened: u64,
    /// Tries to open one that came to nothing.
    pub failed: u64,
    /// Connections that the other side ended in order.
    pub closed: u64,
    /// Connections that were lost otherwise.
    pub dropped: u64,
    /// Connections that stood when the part was over, and stayed for a later one.
    #[serde(default)]
    pub left: u64,
    /// Of those: ended by the other side in order before the later one went on with them.
    #[serde(default)]
    pub closed_after: u64,
    /// Of those: lost otherwise before that.
    #[serde(default)]
    pub dropped_after: u64,
    /// From the moment at which one was due to the moment at which it stood for the first time, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opening_ms: Option<Percentiles>,
}

/// A few points of a distribution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
    pub max: f64,
}

/// The load and the machine at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SamplerRow {
    /// The moment.
    pub t_s: f64,
    /// Arrivals under way.
    pub in_flight: u64,
    /// Arrivals that are due and wait in the lab for a free place.
    pub queued: u64,
    /// Connections that the lab holds.
    pub connections: u64,
    /// Requests under way whose answers are waited for.
    #[serde(default)]
    pub waiting: u64,
    /// Arrivals that are over, since the start.
    pub ok: u64,
    /// Of those: denied.
    pub denied: u64,
    /// Of those: errors.
    pub errors: u64,
    /// Requests that are over, since the start.
    #[serde(default)]
    pub requests: u64,
    /// In records of before rows of kind `lag`: the 99th percentile of the lab's schedule lag in a second about three
    /// seconds ago, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lag_p99_ms: Option<f64>,
    /// Every watched process.
    pub processes: BTreeMap<String, BTreeMap<String, f64>>,
    /// The machine.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub machine: BTreeMap<String, f64>,
    /// The target's metrics, by name and labels.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<String, f64>,
    /// Figures of the scenario's observers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub observed: BTreeMap<String, f64>,
}

/// One kind of work after a round of status requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkRow {
    /// The work's name.
    pub work: String,
    /// The counts.
    #[serde(flatten)]
    pub point: WorkPoint,
    /// Status requests of this round that got no good answer.
    pub poll_errors: u64,
}

/// A part of the trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadStepRow {
    /// The moment.
    pub t_s: f64,
    /// Its number.
    #[serde(rename = "load_step")]
    pub part: u32,
    /// The phase that it belongs to.
    pub phase: String,
    /// What it is: `burst 2`, `50 clients`, `1,250/s`.
    pub label: String,
    /// Whether it is over.
    pub over: bool,
}

/// The lab's own schedule lag in one second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LagRow {
    /// The second's beginning.
    pub t_s: f64,
    /// The 99th percentile over the arrivals that were over in it, in milliseconds.
    pub p99_ms: f64,
}

/// A time in which a worker of the lab did not run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PauseRow {
    /// When it began.
    pub t_s: f64,
    /// When it was over.
    pub until_s: f64,
    /// The worker.
    pub worker: u32,
}

/// A time in which requests were under way at the target and none ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SilenceRow {
    /// When it began, to within [`crate::limits::GAUGES_EVERY`].
    pub t_s: f64,
    /// When it was over, or how far it is known.
    pub until_s: f64,
    /// The most requests that were under way at a look.
    pub under_way: u64,
}

/// A fault that was carried out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FaultRow {
    /// When it was carried out; of one that was not, when that was certain.
    pub t_s: f64,
    /// When it should have been.
    pub planned_s: f64,
    /// To which process.
    pub process: String,
    /// What: `kill`, `stop`, `continue`, `term`, `restart`.
    pub act: String,
    /// The process id before, where the process ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid_before: Option<u32>,
    /// The process id after, where the process runs on or again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid_after: Option<u32>,
    /// When the process answered again, where that was awaited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_again_s: Option<f64>,
    /// Why it could not be carried out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

/// A sentence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NoteRow {
    /// The moment.
    pub t_s: f64,
    /// The sentence.
    pub note: String,
}
