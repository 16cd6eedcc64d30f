//! Metrics of what this process sends to collectors: what was sent, and what was lost on the way.

use super::instruments::Counter;
use super::macros::metrics;
use super::text::{Exposed, Page};

metrics! {
    pub TelemetryMetrics;
    spans: Counter = "gauntlet_telemetry_spans_total", "Spans that ended and were sampled.";
    spans_dropped: Counter = "gauntlet_telemetry_spans_dropped_total",
        "Spans that were dropped because too many waited for the collector.";
    spans_lost: Counter = "gauntlet_telemetry_spans_lost_total", "Spans that the collector did not take.";
    exports_failed: Counter = "gauntlet_telemetry_exports_failed_total",
        "Requests with spans or metrics that the collector did not take.";
    statsd_lost: Counter = "gauntlet_telemetry_statsd_lost_total",
        "Datagrams of metrics that could not be sent, and lines that fit into none.";
}
