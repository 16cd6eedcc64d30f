//! What one worker has measured in one second, by load step and operation: the unit in which figures are sent from
//! workers to the recorder, written to disk, and aggregated. Does not know how it was measured.

use std::iter::Sum;
use std::ops::AddAssign;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::sample::ErrorKind;
use super::times::TimeHistogram;
use crate::limits::{ERROR_SAMPLES_MAX, SAMPLE_CHARS_MAX};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct OpId {
    /// The index of the journey in the scenario.
    pub journey: usize,
    /// The step; none for the journey as a whole. A journey of one step has no separate step.
    pub step: Option<usize>,
}

/// An operation in a load step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct OpKey {
    pub load_step: u32,
    pub op: OpId,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Interval {
    /// The second in which the exchanges ended, counted from the start of the plan.
    pub second: u64,
    pub worker: u32,
    /// Operations that ended at least once.
    pub ops: Vec<(OpKey, OpStats)>,
    /// How late arrivals were sent because of the worker.
    pub lag: Option<TimeHistogram>,
    pub errors: Vec<ErrorStats>,
    /// Arrivals that had to wait for a free slot.
    pub waited_for_slot: u64,
    /// Arrivals that had to wait for a slot only because the worker had paused.
    pub waited_behind_pauses: u64,
    /// Pauses of the worker that ended in this second, from the start of the plan.
    pub pauses: Vec<(Duration, Duration)>,
    /// By journey: arrivals that were due and never sent, because their load step was over.
    pub not_sent: Vec<(usize, u64)>,
    /// By journey: those of them that a pause of the worker had held up.
    pub not_sent_behind_pauses: Vec<(usize, u64)>,
    /// Arrivals that were sent and abandoned when the trial was ended.
    pub abandoned: u64,
    pub connects: u64,
    /// Attempts that were repeated because of a step's `retry`.
    pub retried: u64,
    /// Requests that were resent because the server had closed the reused connection.
    pub resent: u64,
    /// Bytes handed to the kernel.
    pub sent_bytes: u64,
    /// Bytes taken from the kernel.
    pub received_bytes: u64,
    /// By the index of the push in the scenario; the number of pushes stands for frames that match none.
    pub pushes: Vec<(usize, PushStats)>,
    /// By load step.
    pub held: Vec<(u32, HeldStats)>,
    /// Complete rows of samples.csv, if they are written.
    pub rows: String,
}

/// How operations ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeCounts {
    /// Expected responses.
    pub ok: u64,
    /// Denials that the scenario allows for.
    pub denied: u64,
    /// Everything else, requests without a response included.
    pub errors: u64,
}

impl OutcomeCounts {
    #[must_use]
    pub fn all_ok(count: u64) -> Self {
        Self { ok: count, ..Self::default() }
    }

    #[must_use]
    pub fn total(self) -> u64 {
        self.ok + self.denied + self.errors
    }
}

impl AddAssign for OutcomeCounts {
    fn add_assign(&mut self, other: Self) {
        self.ok += other.ok;
        self.denied += other.denied;
        self.errors += other.errors;
    }
}

impl Sum for OutcomeCounts {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, counts| {
            sum += counts;
            sum
        })
    }
}

/// One operation, a journey or a step of it: what ended, and how long it took. Only ok responses have a latency: a
/// quick denial would improve it. What was denied or failed has a distribution of its own, so that timeouts are visible
/// as well.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct OpStats {
    pub counts: OutcomeCounts,
    /// Retries after attempts without a response.
    pub retries: u64,
    /// From the intended time to the end of an ok response.
    pub latency: TimeHistogram,
    /// From sending to the end of an ok response.
    pub service: TimeHistogram,
    /// From the intended time to the end of what was denied or failed.
    pub failed: TimeHistogram,
    /// Times of ok responses to long polls; they are in no other histogram.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_polls: Option<Box<LongPollTimes>>,
}

/// Times of responses to long polls.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LongPollTimes {
    /// From sending to the end of the response.
    pub waited: TimeHistogram,
    /// From the event in the response until it was received.
    pub wake_delay: TimeHistogram,
}

impl OpStats {
    pub fn merge(&mut self, other: &Self) {
        self.counts += other.counts;
        self.retries += other.retries;
        self.latency.merge(&other.latency);
        self.service.merge(&other.service);
        self.failed.merge(&other.failed);
        if let Some(other) = &other.long_polls {
            let long_polls = self.long_polls.get_or_insert_default();
            long_polls.waited.merge(&other.waited);
            long_polls.wake_delay.merge(&other.wake_delay);
        }
    }

    /// Empties it; its memory is kept.
    pub fn reset(&mut self) {
        (self.counts, self.retries) = (OutcomeCounts::default(), 0);
        self.latency.reset();
        self.service.reset();
        self.failed.reset();
        // Few operations are long polls; the others must not look as if they were.
        self.long_polls = None;
    }
}

/// How pauses of the generator have changed a load step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseImpact {
    /// By how much longer it took.
    pub extended_by: Duration,
    /// How much of its time was lost: the share of clients that were stopped, multiplied by the time.
    pub lost_time: Duration,
    /// Arrivals that were never sent because of them.
    pub not_sent: u64,
}

/// Pushed frames of one push.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PushStats {
    pub frames: u64,
    /// Bytes of their payloads.
    pub bytes: u64,
    /// From the event in a frame until it was received, if it says when its event happened.
    pub delay: TimeHistogram,
    /// The first and the last second in which any were received.
    pub seconds: Option<(u64, u64)>,
}

impl PushStats {
    pub fn merge(&mut self, other: &Self) {
        self.frames += other.frames;
        self.bytes += other.bytes;
        self.delay.merge(&other.delay);
        self.seconds = merge_spans(self.seconds, other.seconds);
    }

    /// Empties it; its memory is kept.
    pub fn reset(&mut self) {
        (self.frames, self.bytes, self.seconds) = (0, 0, None);
        self.delay.reset();
    }
}

/// What happened to the held connections of one load step: nothing here is a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HeldCounts {
    /// Connections that were open for the first time.
    pub opened: u64,
    /// Connections that were open already, because an earlier load step left them open.
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
    pub left: u64,
    /// Of those: closed by the peer in order before the later one resumed them.
    pub closed_after: u64,
    /// Of those: lost otherwise before that.
    pub dropped_after: u64,
}

impl HeldCounts {
    /// Connections that were left open and lost before a later load step resumed them.
    #[must_use]
    pub fn lost_after(self) -> u64 {
        self.closed_after + self.dropped_after
    }

    #[must_use]
    pub fn opened_or_kept(self) -> u64 {
        self.opened + self.kept
    }
}

impl AddAssign for HeldCounts {
    fn add_assign(&mut self, other: Self) {
        self.opened += other.opened;
        self.kept += other.kept;
        self.reopened += other.reopened;
        self.failed += other.failed;
        self.closed += other.closed;
        self.dropped += other.dropped;
        self.left += other.left;
        self.closed_after += other.closed_after;
        self.dropped_after += other.dropped_after;
    }
}

/// Held connections of one load step.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HeldStats {
    pub counts: HeldCounts,
    /// The first and the last second in which connections were lost after the load step was over.
    pub lost_after: Option<(u64, u64)>,
    /// From the time at which a connection was due until it was open for the first time.
    pub opening: TimeHistogram,
}

impl HeldStats {
    /// Adds what happened in a second, without the times.
    pub fn count_in_second(&mut self, second: u64, counts: HeldCounts) {
        self.counts += counts;
        if counts.lost_after() > 0 {
            self.lost_after = merge_spans(self.lost_after, Some((second, second)));
        }
    }

    /// Merges the same load step's statistics of another worker or second.
    pub fn merge(&mut self, other: &Self) {
        self.counts += other.counts;
        self.lost_after = merge_spans(self.lost_after, other.lost_after);
        self.opening.merge(&other.opening);
    }
}

/// The span that covers both.
fn merge_spans(one: Option<(u64, u64)>, other: Option<(u64, u64)>) -> Option<(u64, u64)> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::histogram;

    #[test]
    fn an_interval_round_trips() {
        let mut times = histogram();
        [1, 1500, 90_000_000].iter().for_each(|value| times.record(*value).unwrap());
        let key = OpKey { load_step: 3, op: OpId { journey: 1, step: Some(2) } };
        let stats = OpStats { latency: TimeHistogram::from(times.clone()), ..OpStats::default() };
        let (lag, rows) = (Some(TimeHistogram::from(times.clone())), "1,2,3\n".to_owned());
        let sent =
            Interval { second: 7, ops: vec![(key, stats)], lag, not_sent: vec![(1, 2)], rows, ..Interval::default() };
        let text = serde_json::to_string(&sent).unwrap();
        let mut found: Interval = serde_json::from_str(&text).unwrap();
        assert_eq!((found.ops[0].0, found.ops[0].1.latency.measured()), (key, &times));
        assert_eq!(found.lag.as_ref().map(TimeHistogram::measured), Some(&times));
        assert_eq!((&found.rows, found.second), (&sent.rows, 7));
        assert_eq!(serde_json::to_string(&found).unwrap(), text);
        // It resizes as before.
        let long = Duration::from_millis(u64::from(u32::MAX));
        found.ops[0].1.latency.record(long, None);
        assert_eq!(found.ops[0].1.latency.measured().len(), 4);
    }
}
