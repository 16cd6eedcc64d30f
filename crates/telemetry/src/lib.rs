//! What this process tells collectors: spans of requests, matches and calls of bots, and its metrics; by OpenTelemetry's protocol over HTTP,
//! metrics also by StatsD.
//!
//! Nothing here makes a request or a match wait. A span that ends is put into a bounded queue, or dropped and counted; one task sends what
//! is in it. Where no collector is configured a [`Tracer`] is empty, and what asks it pays one branch (docs/decisions/0090).
//!
//! Knows no settings, no routes and no rules: ids are numbers here.

mod collector;
mod context;
mod exporter;
mod metrics_exporter;
mod otlp;
mod record;
mod recorder;
mod request;
mod sampler;
mod span;
mod statsd;
mod tracer;

pub use collector::CollectorConfig;
pub use context::{TRACE_RESPONSE, TRACEPARENT, TraceContext};
pub use exporter::SpanExporter;
pub use metrics_exporter::MetricsExporter;
pub use otlp::ResourceAttributes;
pub use record::SpanKind;
pub use request::{RequestEnding, RequestSpan, RequestTrace};
pub use sampler::Sampler;
pub use span::Span;
pub use statsd::{StatsdExporter, StatsdTags};
pub use tracer::Tracer;

#[cfg(test)]
mod tests;
