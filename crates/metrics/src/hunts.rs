//! Metrics of what stands around hunts: the counting of claims, and tickets.

use super::instruments::{Counter, Gauge};
use super::macros::metrics;
use super::text::{Exposed, Page};

metrics! {
    pub HuntMetrics;
    claims_counted: Counter = "gauntlet_hunt_claims_counted_total", "Entries of claim logs that this process has counted.";
    claims_uncounted: Gauge = "gauntlet_hunt_claims_uncounted",
        "Entries of claim logs that no process has counted yet, as of the last check (every ten seconds).";
    notices_lost: Counter = "gauntlet_hunt_notices_lost_total",
        "Notices to the aggregator that were dropped because its queue was full; it finds their claims in the logs.";
    tickets_waiting: Gauge = "gauntlet_hunt_tickets_waiting", "Tickets of parties that wait to be matched.";
    tickets_matched: Counter = "gauntlet_hunt_tickets_matched_total", "Tickets that ended with a hunt.";
    tickets_timed_out: Counter = "gauntlet_hunt_tickets_timed_out_total", "Tickets that timed out.";
    tickets_cancelled: Counter = "gauntlet_hunt_tickets_cancelled_total", "Tickets that were cancelled.";
}
