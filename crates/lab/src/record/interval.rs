//! What one worker saw in one second, by part of the trial and operation: the unit in which figures travel from
//! worker to record, onto the disk, and into the fold. Refuses to know how it was measured.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::portable;
use super::sample::ErrorKind;
use crate::limits::{ERROR_SAMPLES_MAX, SAMPLE_CHARS_MAX};

/// An operation: a journey as a whole, or one of its steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct OpId {
    /// The journey, by its place in the scenario.
    pub journey: usize,
    /// The step; none for the journey as a whole. A journey of one step has no step of its own.
    pub step: Option<usize>,
}

/// Everything that one worker has to say about one second.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Interval {
    /// The second, counted from the start of the plan: exchanges that ended in it.
    pub second: u64,
    /// The worker.
    pub worker: u32,
    /// Figures of every operation that ended at least once.
    pub ops: Vec<OpStats>,
    /// How late arrivals left through the worker's own doing, in microseconds.
    #[serde(with = "portable::maybe")]
    pub lag_us: Option<Histogram<u64>>,
    /// Errors by kind.
    pub errors: Vec<ErrorStats>,
    /// Arrivals that had to wait for a free place in flight.
    pub waited_for_slot: u64,
    /// Arrivals that had to wait for one only because the worker had paused.
    #[serde(default)]
    pub waited_behind_pauses: u64,
    /// Pauses of the worker that ended in this second, from the start of the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<(Duration, Duration)>,
    /// By journey: arrivals whose time had come and that were never sent, because their part was over.
    pub not_sent: Vec<(usize, u64)>,
    /// By journey: those of them that a pause of the worker had held up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_sent_behind_pauses: Vec<(usize, u64)>,
    /// Arrivals that were sent and given up when the trial was ended.
    pub abandoned: u64,
    /// Connections that were opened.
    pub connects: u64,
    /// Tries that were repeated because a step's `retry` says so.
    #[serde(default)]
    pub retried: u64,
    /// Requests that were sent again because the other side had closed the connection that was kept for them.
    #[serde(default)]
    pub resent: u64,
    /// Bytes handed to the kernel.
    pub sent_bytes: u64,
    /// Bytes taken from the kernel.
    pub received_bytes: u64,
    /// Frames that were pushed, by kind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pushes: Vec<PushStats>,
    /// What became of held connections, by part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<HeldStats>,
    /// Rows of samples.csv, complete lines, where somebody wants them.
    #[serde(with = "portable::lines")]
    pub rows: Vec<u8>,
}

/// One operation in one part of the trial.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OpStats {
    /// The part: a burst, a level, or a whole phase without any.
    pub load_step: u32,
    /// The operation.
    pub op: OpId,
    /// Answers as hoped for.
    pub ok: u64,
    /// Answers that refused politely.
    pub denied: u64,
    /// The others.
    pub errors: u64,
    /// Repeats after tries that got no answer.
    pub retries: u64,
    /// From the intended moment to the end of a good answer, in microseconds.
    #[serde(with = "portable::histogram")]
    pub latency_us: Histogram<u64>,
    /// From sending to the end of a good answer, in microseconds.
    #[serde(with = "portable::histogram")]
    pub service_us: Histogram<u64>,
    /// From the intended moment to the end of what was denied or went wrong, in microseconds.
    #[serde(with = "portable::histogram")]
    pub failed_us: Histogram<u64>,
    /// The times of good answers that were waited for, where they were; they stand nowhere else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_polls: Option<Box<LongPollTimes>>,
    /// What of these times was the lab's own doing, where anything was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator_delays: Option<Box<GeneratorDelays>>,
}

/// What pauses of the lab did to the length of a part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseImpact {
    /// How much longer it took.
    pub extended_by: Duration,
    /// How much of its time was lost: the share of clients that could not go on, over how long.
    pub lost_time: Duration,
}

/// Times of an operation with a share of the lab's own.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct GeneratorDelays {
    pub latency: GeneratorDelay,
    pub service: GeneratorDelay,
    pub failed: GeneratorDelay,
    pub waited: GeneratorDelay,
    pub wake_delay: GeneratorDelay,
}

/// Times that were longer through the lab's own doing, in microseconds: as they were, and as they would have been.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GeneratorDelay {
    /// As they were measured: they stand among all others as well.
    #[serde(with = "portable::histogram")]
    pub measured_us: Histogram<u64>,
    /// The same ones without the lab's own share.
    #[serde(with = "portable::histogram")]
    pub corrected_us: Histogram<u64>,
}

impl Default for GeneratorDelay {
    fn default() -> Self {
        Self { measured_us: histogram(), corrected_us: histogram() }
    }
}

impl GeneratorDelay {
    /// Notes a time, and how much of it was the lab's own doing.
    pub fn record(&mut self, time: Duration, own: Duration) {
        let us = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        // They resize themselves, so the library has no reason to refuse.
        let _ = self.measured_us.record(us(time));
        let _ = self.corrected_us.record(us(time.saturating_sub(own)));
    }

    /// Takes another worker's in.
    pub fn merge(&mut self, other: &Self) {
        let _ = self.measured_us.add(&other.measured_us);
        let _ = self.corrected_us.add(&other.corrected_us);
    }
}

/// The times of answers that were waited for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LongPollTimes {
    /// From sending to the end of the answer, in microseconds.
    #[serde(with = "portable::histogram")]
    pub response_us: Histogram<u64>,
    /// From what the answer tells of to its arrival, in microseconds.
    #[serde(with = "portable::histogram")]
    pub wake_delay_us: Histogram<u64>,
}

impl Default for LongPollTimes {
    fn default() -> Self {
        Self { response_us: histogram(), wake_delay_us: histogram() }
    }
}

/// Frames of one kind that were pushed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PushStats {
    /// The kind, by its place in the scenario; behind the last of them those that have no name.
    pub push_index: usize,
    /// How many.
    pub frames: u64,
    /// Bytes of what they hold.
    pub bytes: u64,
    /// From what they tell of to their arrival, in microseconds.
    #[serde(with = "portable::histogram")]
    pub delay_us: Histogram<u64>,
    /// What of these times was the lab's own doing, where anything was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator_delay: Option<Box<GeneratorDelay>>,
}

impl PushStats {
    /// None yet.
    #[must_use]
    pub fn new(push: usize) -> Self {
        Self { push_index: push, frames: 0, bytes: 0, delay_us: histogram(), generator_delay: None }
    }
}

/// Held connections of one part: none of what befalls them is a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HeldStats {
    /// The part.
    pub load_step: u32,
    /// Connections that stood for the first time.
    pub opened: u64,
    /// Connections that stood already, because an earlier part has left them.
    #[serde(default)]
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
    /// The first and the last second in which any of those were lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_after: Option<(u64, u64)>,
    /// From the moment at which a connection was due to the moment at which it stood for the first time, in microseconds.
    #[serde(with = "portable::histogram")]
    pub opening_us: Histogram<u64>,
    /// What of these times was the lab's own doing, where anything was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator_delay: Option<Box<GeneratorDelay>>,
}

impl HeldStats {
    /// Nothing yet.
    #[must_use]
    pub fn new(part: u32) -> Self {
        Self {
            load_step: part,
            opened: 0,
            kept: 0,
            reopened: 0,
            failed: 0,
            closed: 0,
            dropped: 0,
            left: 0,
            closed_after: 0,
            dropped_after: 0,
            lost_after: None,
            opening_us: histogram(),
            generator_delay: None,
        }
    }

    /// Counts connections that were lost in a second after the part was over: ended in order, and otherwise.
    pub fn count_loss_after(&mut self, second: u64, closed: u64, dropped: u64) {
        self.closed_after += closed;
        self.dropped_after += dropped;
        if closed + dropped > 0 {
            self.lost_after = merge_spans(self.lost_after, Some((second, second)));
        }
    }

    /// Takes what another worker saw of the same part in.
    pub fn merge(&mut self, other: &Self) {
        self.opened += other.opened;
        self.kept += other.kept;
        self.reopened += other.reopened;
        self.failed += other.failed;
        self.closed += other.closed;
        self.dropped += other.dropped;
        self.left += other.left;
        self.closed_after += other.closed_after;
        self.dropped_after += other.dropped_after;
        self.lost_after = merge_spans(self.lost_after, other.lost_after);
        // It resizes itself, so the library has no reason to refuse.
        let _ = self.opening_us.add(&other.opening_us);
        if let Some(own) = &other.generator_delay {
            self.generator_delay.get_or_insert_default().merge(own);
        }
    }
}

/// The span that covers both, where there are two.
pub(crate) fn merge_spans(one: Option<(u64, u64)>, other: Option<(u64, u64)>) -> Option<(u64, u64)> {
    match (one, other) {
        (Some(one), Some(other)) => Some((one.0.min(other.0), one.1.max(other.1))),
        (one, other) => one.or(other),
    }
}

/// Errors of one kind in one interval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorStats {
    /// The journey.
    pub journey: usize,
    /// The step.
    pub step: usize,
    /// The kind.
    pub kind: ErrorKind,
    /// How many.
    pub count: u64,
    /// The first few messages that differ.
    pub samples: Vec<String>,
}

/// Keeps a message among those of its kind, where it is one of the first few that differ.
pub(crate) fn keep_sample(samples: &mut Vec<String>, message: &str) {
    if samples.len() < ERROR_SAMPLES_MAX {
        let sample: String = message.chars().take(SAMPLE_CHARS_MAX).collect();
        if !samples.contains(&sample) {
            samples.push(sample);
        }
    }
}

/// Steps of a duration in histograms: microseconds to three significant digits, growing as needed.
#[must_use]
pub fn histogram() -> Histogram<u64> {
    Histogram::new(3).expect("three significant digits are within the library's range of 0 to 5")
}

impl OpStats {
    /// An empty one.
    #[must_use]
    pub fn new(part: u32, op: OpId) -> Self {
        let (latency_us, service_us, failed_us) = (histogram(), histogram(), histogram());
        let (waits, own) = (None, None);
        Self {
            load_step: part,
            op,
            ok: 0,
            denied: 0,
            errors: 0,
            retries: 0,
            latency_us,
            service_us,
            failed_us,
            long_polls: waits,
            generator_delays: own,
        }
    }

    /// Everything that ended.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.ok + self.denied + self.errors
    }
}
