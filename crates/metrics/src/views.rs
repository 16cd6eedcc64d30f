//! Metrics of rendered pages that are kept for all who ask.

use super::instruments::{Counter, Gauge};
use super::macros::metrics;
use super::text::{Exposed, Page};

metrics! {
    pub ViewMetrics;
    rendered: Counter = "gauntlet_views_rendered_total",
        "Pages of competitions that this process rendered: one for each version that somebody asked for.";
    cached_bytes: Gauge = "gauntlet_views_cached_bytes", "Rendered pages of competitions in memory.";
}
