//! Metrics of hunts, and of quotas.

use super::Metrics;
use super::QuotaKind;

/// Metrics around hunts.
impl Metrics {
    /// The clients of an address have reached this quota.
    pub fn quota_exceeded(&self, kind: QuotaKind) {
        self.core.quota_exceeded.inc(kind);
    }

    /// Entries of a claim log were counted.
    pub fn hunt_claims_counted(&self, entries: usize) {
        self.core.hunt_claims_counted.add(entries as u64);
    }

    /// The number of entries of claim logs that are not counted yet.
    pub fn hunt_claims_uncounted(&self, entries: u64) {
        self.core.hunt_claims_uncounted.set(entries);
    }

    /// The aggregator's queue was full.
    pub fn hunt_notice_dropped(&self) {
        self.core.hunt_notices_lost.inc();
    }

    pub fn hunt_ticket_submitted(&self) {
        self.core.hunt_tickets_waiting.inc();
    }

    /// A ticket waits no longer: it was matched, timed out, or was cancelled.
    pub fn hunt_ticket_matched(&self) {
        self.core.hunt_tickets_waiting.dec();
        self.core.hunt_tickets_matched.inc();
    }

    pub fn hunt_ticket_timed_out(&self) {
        self.core.hunt_tickets_waiting.dec();
        self.core.hunt_tickets_timed_out.inc();
    }

    pub fn hunt_ticket_cancelled(&self) {
        self.core.hunt_tickets_waiting.dec();
        self.core.hunt_tickets_cancelled.inc();
    }
}
