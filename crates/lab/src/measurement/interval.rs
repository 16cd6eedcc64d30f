//! What one worker has measured in one second, by load step and operation: the unit in which figures are sent from
//! workers to the recorder, written to disk, and aggregated. Does not know how it was measured.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::portable;
use super::sample::ErrorKind;
use crate::limits::{ERROR_SAMPLES_MAX, SAMPLE_CHARS_MAX};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct OpId {
    /// The index of the journey in the scenario.
    pub journey: usize,
    /// The step; none for the journey as a whole. A journey of one step has no separate step.
    pub step: Option<usize>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Interval {
    /// The second in which the exchanges ended, counted from the start of the plan.
    pub second: u64,
    pub worker: u32,
    /// Operations that ended at least once.
    pub ops: Vec<OpStats>,
    /// How late arrivals were sent because of the worker, in microseconds.
    #[serde(with = "portable::maybe")]
    pub lag_us: Option<Histogram<u64>>,
    pub errors: Vec<ErrorStats>,
    /// Arrivals that had to wait for a free slot.
    pub waited_for_slot: u64,
    /// Arrivals that had to wait for a slot only because the worker had paused.
    #[serde(default)]
    pub waited_behind_pauses: u64,
    /// Pauses of the worker that ended in this second, from the start of the plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pauses: Vec<(Duration, Duration)>,
    /// By journey: arrivals that were due and never sent, because their load step was over.
    pub not_sent: Vec<(usize, u64)>,
    /// By journey: those of them that a pause of the worker had held up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_sent_behind_pauses: Vec<(usize, u64)>,
    /// Arrivals that were sent and abandoned when the trial was ended.
    pub abandoned: u64,
    pub connects: u64,
    /// Attempts that were repeated because of a step's `retry`.
    #[serde(default)]
    pub retried: u64,
    /// Requests that were resent because the server had closed the reused connection.
    #[serde(default)]
    pub resent: u64,
    /// Bytes handed to the kernel.
    pub sent_bytes: u64,
    /// Bytes taken from the kernel.
    pub received_bytes: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pushes: Vec<PushStats>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<HeldStats>,
    /// Complete rows of samples.csv, if they are written.
    #[serde(with = "portable::lines")]
    pub rows: Vec<u8>,
}

/// One operation in one load step.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OpStats {
    pub load_step: u32,
    pub op: OpId,
    /// Expected responses.
    pub ok: u64,
    pub denied: u64,
    /// Everything else.
    pub errors: u64,
    /// Retries after attempts without a response.
    pub retries: u64,
    /// From the intended time to the end of an ok response, in microseconds.
    #[serde(with = "portable::histogram")]
    pub latency_us: Histogram<u64>,
    /// From sending to the end of an ok response, in microseconds.
    #[serde(with = "portable::histogram")]
    pub service_us: Histogram<u64>,
    /// From the intended time to the end of what was denied or failed, in microseconds.
    #[serde(with = "portable::histogram")]
    pub failed_us: Histogram<u64>,
    /// Times of ok responses to long polls; they are in no other histogram.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_polls: Option<Box<LongPollTimes>>,
    /// The generator's own share of these times, if there is any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator_delays: Option<Box<GeneratorDelays>>,
}

/// How pauses of the generator have changed the length of a load step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseImpact {
    /// By how much longer it took.
    pub extended_by: Duration,
    /// How much of its time was lost: the share of clients that were stopped, multiplied by the time.
    pub lost_time: Duration,
}

/// Times of an operation that the generator has lengthened.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct GeneratorDelays {
    pub latency: GeneratorDelay,
    pub service: GeneratorDelay,
    pub failed: GeneratorDelay,
    pub waited: GeneratorDelay,
    pub wake_delay: GeneratorDelay,
}

/// Times that the generator has lengthened, in microseconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GeneratorDelay {
    /// As they were measured; they are in the histogram of all times as well.
    #[serde(with = "portable::histogram")]
    pub measured_us: Histogram<u64>,
    /// The same times without the generator's own share.
    #[serde(with = "portable::histogram")]
    pub corrected_us: Histogram<u64>,
}

impl Default for GeneratorDelay {
    fn default() -> Self {
        Self { measured_us: histogram(), corrected_us: histogram() }
    }
}

impl GeneratorDelay {
    /// Records a time, and the generator's own share of it.
    pub fn record(&mut self, time: Duration, generator_delay: Duration) {
        let us = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        // They resize themselves, so the library has no reason to refuse.
        let _ = self.measured_us.record(us(time));
        let _ = self.corrected_us.record(us(time.saturating_sub(generator_delay)));
    }

    pub fn merge(&mut self, other: &Self) {
        let _ = self.measured_us.add(&other.measured_us);
        let _ = self.corrected_us.add(&other.corrected_us);
    }
}

/// Times of responses to long polls.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LongPollTimes {
    /// From sending to the end of the response, in microseconds.
    #[serde(with = "portable::histogram")]
    pub response_us: Histogram<u64>,
    /// From the event in the response until it was received, in microseconds.
    #[serde(with = "portable::histogram")]
    pub wake_delay_us: Histogram<u64>,
}

impl Default for LongPollTimes {
    fn default() -> Self {
        Self { response_us: histogram(), wake_delay_us: histogram() }
    }
}

/// Pushed frames of one push.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PushStats {
    /// The index of the push in the scenario; the number of pushes stands for frames that match none.
    pub push_index: usize,
    pub frames: u64,
    /// Bytes of their payloads.
    pub bytes: u64,
    /// From the event in a frame until it was received, in microseconds.
    #[serde(with = "portable::histogram")]
    pub delay_us: Histogram<u64>,
    /// The generator's own share of these times, if there is any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator_delay: Option<Box<GeneratorDelay>>,
}

impl PushStats {
    #[must_use]
    pub fn new(push: usize) -> Self {
        Self { push_index: push, frames: 0, bytes: 0, delay_us: histogram(), generator_delay: None }
    }
}

/// Held connections of one load step: nothing here is a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HeldStats {
    pub load_step: u32,
    /// Connections that were open for the first time.
    pub opened: u64,
    /// Connections that were open already, because an earlier load step left them open.
    #[serde(default)]
    pub kept: u64,
    /// Connections that were open again after they had been lost.
    pub reopened: u64,
    /// Failed attempts to open one.
    pub failed: u64,
    /// Connections that the peer closed in order.
    pub closed: u64,
    /// Connections that were lost otherwise.
    pub dropped: u64,
    /// Connections that were open when the load step was over, and stayed open for a later one.
    #[serde(default)]
    pub left: u64,
    /// Of those: closed by the peer in order before the later one resumed them.
    #[serde(default)]
    pub closed_after: u64,
    /// Of those: lost otherwise before that.
    #[serde(default)]
    pub dropped_after: u64,
    /// The first and the last second in which any of those were lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_after: Option<(u64, u64)>,
    /// From the time at which a connection was due until it was open for the first time, in microseconds.
    #[serde(with = "portable::histogram")]
    pub opening_us: Histogram<u64>,
    /// The generator's own share of these times, if there is any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator_delay: Option<Box<GeneratorDelay>>,
}

impl HeldStats {
    #[must_use]
    pub fn new(load_step: u32) -> Self {
        Self {
            load_step,
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

    /// Counts connections that were lost after the load step was over.
    pub fn count_loss_after(&mut self, second: u64, closed: u64, dropped: u64) {
        self.closed_after += closed;
        self.dropped_after += dropped;
        if closed + dropped > 0 {
            self.lost_after = merge_spans(self.lost_after, Some((second, second)));
        }
    }

    /// Merges the same load step's statistics of another worker or second.
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
        if let Some(generator_delay) = &other.generator_delay {
            self.generator_delay.get_or_insert_default().merge(generator_delay);
        }
    }
}

/// The span that covers both.
pub(crate) fn merge_spans(one: Option<(u64, u64)>, other: Option<(u64, u64)>) -> Option<(u64, u64)> {
    match (one, other) {
        (Some(one), Some(other)) => Some((one.0.min(other.0), one.1.max(other.1))),
        (one, other) => one.or(other),
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorStats {
    pub journey: usize,
    pub step: usize,
    pub kind: ErrorKind,
    pub count: u64,
    /// The first few distinct messages.
    pub samples: Vec<String>,
}

/// Keeps a message if it is one of the first few distinct ones of its kind.
pub(crate) fn keep_sample(samples: &mut Vec<String>, message: &str) {
    if samples.len() < ERROR_SAMPLES_MAX {
        let sample: String = message.chars().take(SAMPLE_CHARS_MAX).collect();
        if !samples.contains(&sample) {
            samples.push(sample);
        }
    }
}

/// A histogram of microseconds with three significant digits, growing as needed.
#[must_use]
pub fn histogram() -> Histogram<u64> {
    Histogram::new(3).expect("three significant digits are within the library's range of 0 to 5")
}

impl OpStats {
    #[must_use]
    pub fn new(load_step: u32, op: OpId) -> Self {
        let (latency_us, service_us, failed_us) = (histogram(), histogram(), histogram());
        let (long_polls, generator_delay) = (None, None);
        Self {
            load_step,
            op,
            ok: 0,
            denied: 0,
            errors: 0,
            retries: 0,
            latency_us,
            service_us,
            failed_us,
            long_polls,
            generator_delays: generator_delay,
        }
    }

    /// Everything that ended.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.ok + self.denied + self.errors
    }
}
