//! The state of a bot's health. Pure: evidence, the time and a random number in, the next state out.
//!
//! ```text
//! untested ──passed──► healthy ◄──passed── failing        paused ──2 passed in a row──► healthy
//!     └─────failed────► failing ──3 failed in a row──────► paused
//! ```
//!
//! Evidence is a probe, by the sweep or on request, or a match in which the bot gave no valid move at all. A single late or broken
//! move is none: matches and ratings take care of those. A fault of this server is recorded and counts for nothing.

use super::fault::CallFault;
use crate::limits::{
    HEALTH_FAILURES_TO_PAUSE, HEALTH_INTERVAL, HEALTH_PAUSED_PROBES_FOR, HEALTH_RECORDS_KEPT, HEALTH_RETRY_MAX,
    HEALTH_RETRY_MIN, HEALTH_SUCCESSES_TO_RESUME,
};
use crate::pack::{DecodeError, decode_versioned, encode_versioned, packed, packed_variants};
use crate::time::UnixMs;
use std::time::Duration;

const FORMAT: u8 = 1;
/// A delay is varied by at most this part of it, so that bots that failed together are not probed together for ever.
const JITTER_PARTS: u64 = 5;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HealthStatus {
    /// No evidence yet.
    #[default]
    Untested,
    Healthy,
    /// The last evidence was a failure; it may still play.
    Failing,
    /// Gets no games of ladders; tournaments wait for it.
    Paused,
}

impl HealthStatus {
    pub const ALL: [Self; 4] = [Self::Untested, Self::Healthy, Self::Failing, Self::Paused];

    /// The name on the wire and in the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Untested => "untested",
            Self::Healthy => "healthy",
            Self::Failing => "failing",
            Self::Paused => "paused",
        }
    }

    /// The status of this name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }
}

/// Where evidence comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EvidenceSource {
    /// The regular probe.
    Sweep,
    /// A check that the owner requested.
    Request,
    /// A match.
    Match,
}
packed_variants!(EvidenceSource { 0 => Sweep {}, 1 => Request {}, 2 => Match {} });

impl EvidenceSource {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sweep => "sweep",
            Self::Request => "request",
            Self::Match => "match",
        }
    }
}

/// One piece of evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HealthRecord {
    pub at: UnixMs,
    pub source: EvidenceSource,
    /// `None`: the bot passed.
    pub fault: Option<CallFault>,
    /// How long the call for a move took; 0 where none was answered.
    pub took_ms: u16,
}
packed!(HealthRecord { at, source, fault, took_ms });

/// What a piece of evidence changed for ladders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HealthTransition {
    Unchanged,
    /// It was paused by this evidence.
    Paused,
    /// It was resumed by this evidence.
    Resumed,
}

/// The health of one bot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BotHealth {
    pub status: HealthStatus,
    /// When the status last changed.
    pub since: UnixMs,
    /// Failures in a row, at most 255 of them counted.
    pub failures: u8,
    /// Successes in a row, at most 255 of them counted.
    pub successes: u8,
    /// The last failure, while failing or paused.
    pub reason: Option<CallFault>,
    /// When it is probed next; `None`: only on request.
    pub next_probe_at: Option<UnixMs>,
    /// Until when it is probed regularly, because it plays in competitions.
    pub watched_until: UnixMs,
    /// The latest evidence, oldest first.
    pub records: Vec<HealthRecord>,
}

impl BotHealth {
    /// Whether matchmakers must leave it out.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        self.status == HealthStatus::Paused
    }

    /// The bot plays in competitions, at least until then: it is probed regularly.
    pub fn watch(&mut self, now: UnixMs, until: UnixMs) {
        self.watched_until = self.watched_until.max(until);
        self.next_probe_at = Some(self.next_probe_at.unwrap_or(now));
    }

    /// Takes in a piece of evidence. `jitter` is a uniform random number.
    pub fn apply(&mut self, record: HealthRecord, jitter: u32) -> HealthTransition {
        let before = self.status;
        match record.fault {
            None => self.pass(),
            Some(CallFault::ServerFault) => {}
            Some(fault) => self.fail(fault),
        }
        if self.status != before {
            self.since = record.at;
        }
        self.schedule(record, jitter);
        if self.records.len() >= HEALTH_RECORDS_KEPT {
            self.records.drain(..=self.records.len() - HEALTH_RECORDS_KEPT);
        }
        self.records.push(record);
        match (before == HealthStatus::Paused, self.is_paused()) {
            (false, true) => HealthTransition::Paused,
            (true, false) => HealthTransition::Resumed,
            (true, true) | (false, false) => HealthTransition::Unchanged,
        }
    }

    /// Bytes of [`BotHealth::records`], as they are stored.
    #[must_use]
    pub fn encode_records(&self) -> Vec<u8> {
        encode_versioned(FORMAT, &self.records)
    }

    /// The records of these bytes.
    ///
    /// # Errors
    /// [`DecodeError`], saying what is wrong.
    pub fn decode_records(bytes: &[u8]) -> Result<Vec<HealthRecord>, DecodeError> {
        decode_versioned(FORMAT, bytes)
    }

    fn pass(&mut self) {
        self.failures = 0;
        self.successes = self.successes.saturating_add(1);
        if !self.is_paused() || self.successes >= HEALTH_SUCCESSES_TO_RESUME {
            self.status = HealthStatus::Healthy;
            self.reason = None;
        }
    }

    fn fail(&mut self, fault: CallFault) {
        self.successes = 0;
        self.failures = self.failures.saturating_add(1);
        self.reason = Some(fault);
        if !self.is_paused() {
            self.status = match self.failures {
                HEALTH_FAILURES_TO_PAUSE.. => HealthStatus::Paused,
                _ => HealthStatus::Failing,
            };
        }
    }

    /// Evidence from a match does not postpone the next probe.
    fn schedule(&mut self, record: HealthRecord, jitter: u32) {
        let is_watched = match self.status {
            HealthStatus::Paused => record.at < self.since.plus(HEALTH_PAUSED_PROBES_FOR),
            HealthStatus::Untested | HealthStatus::Healthy | HealthStatus::Failing => record.at < self.watched_until,
        };
        let next = record.at.plus(jittered(self.delay(record.fault), jitter));
        self.next_probe_at = match (record.source, self.next_probe_at) {
            _ if !is_watched => None,
            (EvidenceSource::Match, Some(planned)) => Some(planned.min(next)),
            _ => Some(next),
        };
    }

    fn delay(&self, fault: Option<CallFault>) -> Duration {
        match fault {
            None if self.status == HealthStatus::Healthy => HEALTH_INTERVAL,
            None | Some(CallFault::ServerFault) => HEALTH_RETRY_MIN,
            Some(_) => {
                let doublings = u32::from(self.failures.saturating_sub(1)).min(16);
                HEALTH_RETRY_MIN.saturating_mul(1 << doublings).min(HEALTH_RETRY_MAX)
            }
        }
    }
}

/// A delay, or up to a fifth less.
fn jittered(delay: Duration, jitter: u32) -> Duration {
    let delay_ms = delay.as_millis() as u64;
    let less_ms = (delay_ms / JITTER_PARTS * u64::from(jitter)) >> u32::BITS;
    Duration::from_millis(delay_ms - less_ms)
}

#[cfg(test)]
mod tests;
