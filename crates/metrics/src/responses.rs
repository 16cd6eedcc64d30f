//! Metrics of responses and bodies: replays of matches for viewers, and large responses and bodies in flight.

use super::instruments::{Counter, Gauge, Histogram};
use super::macros::metrics;
use super::text::{Exposed, Page};
use ::store::Observer;
use std::time::Duration;

metrics! {
    pub BodyFigures;
    bytes: Gauge = "gauntlet_http_body_bytes", "Bytes of large bodies in flight, of http.bodies_bytes_max.";
    refused: Counter = "gauntlet_http_bodies_refused_total", "Large bodies that were refused because too many bytes were in flight.";
    evicted: Counter = "gauntlet_http_bodies_evicted_total", "Connections with a large body that were evicted for an address that had less.";
}

/// Metrics of one budget of bytes.
pub struct BudgetFigures<'a> {
    pub bytes: &'a Gauge,
    pub refused: &'a Counter,
    pub evicted: &'a Counter,
}

metrics! {
    pub ResponseMetrics;
    bytes: Gauge = "gauntlet_http_response_bytes", "Bytes of large responses in flight, of http.response_bytes_max.";
    refused: Counter = "gauntlet_http_responses_refused_total", "Large responses that were refused because too many bytes were in flight.";
    evicted: Counter = "gauntlet_http_responses_evicted_total", "Connections with a large response that were evicted for an address that had less.";
    replay_wait: Histogram = "gauntlet_replay_wait_seconds", "Time that a slice of a replay waited for its turn, in seconds.";
    replay_slice: Histogram = "gauntlet_replay_slice_seconds", "Time that a slice of a replay took, reading its log included, in seconds.";
    replay_slices_failed: Counter = "gauntlet_replay_slices_failed_total", "Slices of replays that failed.";
    replay_entries: Counter = "gauntlet_replay_entries_total", "Entries of logs that were replayed.";
    replay_cache_bytes: Gauge = "gauntlet_replay_cache_bytes", "States of matches in memory to replay from, in bytes.";
    replay_cache_evictions: Counter = "gauntlet_replay_cache_evictions_total", "Matches whose states were evicted from memory for others.";
}

/// Metrics of the readers of replays.
impl Observer for ResponseMetrics {
    fn committed(&self, _: usize, _: Duration, _: Duration, _: bool) {}

    /// These readers are used in turn: their wait is measured by [`ResponseMetrics::replay_wait`].
    fn read(&self, _: Duration, took: Duration, is_ok: bool) {
        self.replay_slice.observe(took);
        self.replay_slices_failed.add(u64::from(!is_ok));
    }
}
