//! Sends spans that have ended: some hundred in a message, or those of one second.

use crate::collector::{Collector, CollectorConfig};
use crate::otlp::{ResourceAttributes, spans_message};
use crate::record::SpanRecord;
use crate::sampler::Sampler;
use crate::tracer::Tracer;
use metrics::Metrics;
use prost::Message;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use wire::otlp::ExportTraceServiceResponse;

/// Spans of one message at most.
const BATCH_MAX: usize = 512;
/// How long a span waits for others at most.
const BATCH_WAIT: Duration = Duration::from_secs(1);

pub struct SpanExporter {
    spans: mpsc::Receiver<SpanRecord>,
    collector: Collector,
    resource: ResourceAttributes,
    metrics: Arc<Metrics>,
}

impl SpanExporter {
    /// An exporter, and the tracer whose spans it sends.
    #[must_use]
    pub fn new(
        sampler: Sampler,
        collector: CollectorConfig,
        resource: ResourceAttributes,
        metrics: Arc<Metrics>,
    ) -> (Tracer, Self) {
        let (tracer, spans) = Tracer::new(sampler, metrics.clone());
        (tracer, Self { spans, collector: Collector::new(collector, metrics.clone()), resource, metrics })
    }

    /// Sends until `stop` completes, and then what has ended until then.
    pub async fn run(mut self, stop: impl Future<Output = ()>) {
        let mut stop = pin!(stop);
        let mut batch = Vec::new();
        let mut is_stopping = false;
        while !is_stopping {
            is_stopping = self.fill(&mut batch, stop.as_mut()).await;
            self.send(&mut batch).await;
        }
        while self.spans.try_recv().map(|span| batch.push(span)).is_ok() {
            if batch.len() == BATCH_MAX {
                self.send(&mut batch).await;
            }
        }
        self.send(&mut batch).await;
    }

    /// Takes the spans of a message. Returns whether this was the last one.
    async fn fill(
        &mut self,
        batch: &mut Vec<SpanRecord>,
        mut stop: std::pin::Pin<&mut impl Future<Output = ()>>,
    ) -> bool {
        let mut due = None;
        while batch.len() < BATCH_MAX {
            tokio::select! {
                biased;
                () = stop.as_mut() => return true,
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => return false,
                taken = self.spans.recv_many(batch, BATCH_MAX - batch.len()) => {
                    if taken == 0 {
                        // There is no tracer any more.
                        return true;
                    }
                    due = due.or_else(|| Some(Instant::now() + BATCH_WAIT));
                }
            }
        }
        false
    }

    async fn send(&mut self, batch: &mut Vec<SpanRecord>) {
        if batch.is_empty() {
            return;
        }
        let message = spans_message(&self.resource, batch).encode_to_vec();
        let lost = match self.collector.post("traces", message).await {
            Some(response) => not_taken(&response),
            None => batch.len() as u64,
        };
        self.metrics.telemetry.spans_lost.add(lost);
        batch.clear();
    }
}

/// How many spans the collector says that it did not take.
fn not_taken(response: &[u8]) -> u64 {
    let response = ExportTraceServiceResponse::decode(response).unwrap_or_default();
    response.partial_success.map_or(0, |partial| u64::try_from(partial.rejected).unwrap_or_default())
}
