//! The rows of timeline.jsonl, one JSON object per line, written as they happen and read back by every report.
//! One clock for all of them: seconds from the start of the plan. Does not interpret them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{HeldCounts, OutcomeCounts};

/// One row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TimelineRow {
    /// What ended in one second, over all workers, by load step and operation.
    Op(OpRow),
    /// The load and the machine at one moment.
    Sample(SamplerRow),
    /// One kind of work, after a round of status requests.
    Work(WorkRow),
    /// A load step began or ended.
    LoadStep(LoadStepRow),
    /// The first connection that a load step holds was due, or the last one was open.
    Opening(LoadStepRow),
    /// What happened to the connections that a load step holds in one second, over all workers.
    Held(HeldRow),
    /// How late the lab itself was, in one second over all workers.
    Lag(LagRow),
    /// A worker of the lab did not run: what ended meanwhile is unknown until it ran again.
    Pause(PauseRow),
    /// Requests were in flight and none ended. Written repeatedly while it lasts: the last row with the same start counts.
    Silence(SilenceRow),
    /// A fault was carried out.
    Fault(FaultRow),
    /// A note that a reader of the timeline must know.
    Note(NoteRow),
    /// A kind of a later lab; never written.
    #[serde(other)]
    Unknown,
}

/// One operation in one second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OpRow {
    /// The second's beginning.
    pub t_s: f64,
    pub load_step: u32,
    /// The operation: `create_game`, or `create_game.steps.post`.
    pub op: String,
    #[serde(flatten)]
    pub counts: OutcomeCounts,
    /// Latency of ok responses from the intended time, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<Percentiles>,
    /// Service time of ok responses from sending, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_ms: Option<Percentiles>,
    /// From the event in a response to a long poll until it was received, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wake_ms: Option<Percentiles>,
}

/// Held connections of one load step in one second.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HeldRow {
    /// The second's beginning.
    pub t_s: f64,
    pub load_step: u32,
    #[serde(flatten)]
    pub counts: HeldCounts,
    /// From the time at which one was due until it was open for the first time, in milliseconds.
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
    pub t_s: f64,
    /// Arrivals in flight.
    pub in_flight: u64,
    /// Arrivals that are due and wait in the lab for a free slot.
    pub queued: u64,
    /// Connections that the lab holds.
    pub connections: u64,
    /// Long polls in flight.
    pub waiting: u64,
    /// Arrivals that are over, since the start.
    #[serde(flatten)]
    pub arrivals: OutcomeCounts,
    /// Requests that are over, since the start.
    pub requests: u64,
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
    pub work: String,
    #[serde(flatten)]
    pub point: WorkPoint,
    /// Status requests of this round without an ok response.
    pub poll_errors: u64,
}

/// The work of one kind at one moment. The counts add up to what was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WorkPoint {
    /// Seconds from the start of the plan.
    pub t_s: f64,
    /// In the server's queue.
    pub waiting: u64,
    pub running: u64,
    pub finished: u64,
    pub failed: u64,
    /// Not ended, and without progress for too long.
    pub stuck: u64,
    /// Created, but unknown to the server at the last poll.
    pub unknown: u64,
}

impl WorkPoint {
    #[must_use]
    pub fn created(&self) -> u64 {
        self.unfinished() + self.finished + self.failed
    }

    #[must_use]
    pub fn unfinished(&self) -> u64 {
        self.waiting + self.running + self.stuck + self.unknown
    }
}

/// A load step of the trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadStepRow {
    pub t_s: f64,
    pub load_step: u32,
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
    pub worker: u32,
}

/// A time in which requests were in flight at the target and none ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SilenceRow {
    /// When it began, to within [`crate::limits::GAUGES_EVERY`].
    pub t_s: f64,
    /// When it was over, or how far it is known.
    pub until_s: f64,
    /// The most requests that were in flight at a sample.
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
    /// When the process was ready again, if that was awaited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_again_s: Option<f64>,
    /// Why it could not be carried out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
}

impl FaultRow {
    /// Whether it did something to its process: one that was begun and not done in time has, too.
    #[must_use]
    pub fn has_reached(&self) -> bool {
        self.failed.is_none() || self.pid_before.is_some() || self.pid_after.is_some()
    }
}

/// A note.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NoteRow {
    pub t_s: f64,
    pub note: String,
}
