//! Sends the metrics of the process, read from its page, to a collector. They are totals since the process began: what one message loses the next
//! one has.

use crate::collector::{Collector, CollectorConfig};
use crate::otlp::{ResourceAttributes, Window, metrics_message};
use metrics::{Metrics, Page};
use prost::Message;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

pub struct MetricsExporter {
    collector: Collector,
    resource: ResourceAttributes,
    began_unix_ns: u64,
}

impl MetricsExporter {
    /// To be made when the process begins.
    #[must_use]
    pub fn new(collector: CollectorConfig, resource: ResourceAttributes, metrics: Arc<Metrics>) -> Self {
        Self { collector: Collector::new(collector, metrics), resource, began_unix_ns: now_unix_ns() }
    }

    pub async fn send(&mut self, page: &Page) {
        let window = Window { began_unix_ns: self.began_unix_ns, now_unix_ns: now_unix_ns() };
        let message = metrics_message(&self.resource, page.families(), window).encode_to_vec();
        self.collector.post("metrics", message).await;
    }
}

fn now_unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
