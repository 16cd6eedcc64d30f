//! How what happens around hunts, and what quotas refuse, is recorded.

use super::Metrics;
use crate::hunts::TicketState;
use crate::quotas::QuotaKind;

/// What happens around hunts.
impl Metrics {
    /// The clients of an address have as much of this as one address may have.
    pub fn quota_exceeded(&self, kind: QuotaKind) {
        self.core.quota_exceeded.inc(kind);
    }

    /// Entries of a log of claims were counted.
    pub fn hunt_claims_counted(&self, entries: usize) {
        self.core.hunt_claims_counted.add(entries as u64);
    }

    /// So many entries of logs of claims are not counted yet.
    pub fn hunt_claims_behind(&self, entries: u64) {
        self.core.hunt_claims_behind.set(entries);
    }

    /// The aggregator's queue was full.
    pub fn hunt_notice_dropped(&self) {
        self.core.hunt_notices_lost.inc();
    }

    /// A party waits.
    pub fn hunt_ticket_submitted(&self) {
        self.core.hunt_tickets_waiting.inc();
    }

    /// A party waits no more.
    pub fn hunt_ticket_ended(&self, state: &TicketState) {
        self.core.hunt_tickets_waiting.dec();
        match state {
            TicketState::Waiting => {}
            TicketState::Matched(_) => self.core.hunt_tickets_matched.inc(),
            TicketState::TimedOut => self.core.hunt_tickets_timed_out.inc(),
            TicketState::Cancelled => self.core.hunt_tickets_cancelled.inc(),
        }
    }
}
