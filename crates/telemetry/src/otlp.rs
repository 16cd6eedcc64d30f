//! Spans and metrics as messages of OpenTelemetry's protocol.

use crate::record::{Attribute, AttributeValue, SpanKind, SpanRecord};
use metrics::{Buckets, Family, FamilyKind, Number, Sample, SampleValue};
use wire::otlp::{
    AggregationTemporality, AnyValue, ExportMetricsServiceRequest, ExportTraceServiceRequest, Gauge, Histogram,
    HistogramDataPoint, InstrumentationScope, KeyValue, Metric, NumberDataPoint, Resource, ResourceMetrics,
    ResourceSpans, ScopeMetrics, ScopeSpans, Span, Status, Sum, any_value, metric, number_data_point, span, status,
};

/// What is said about this process with everything that it sends.
#[derive(Clone, Debug, Default)]
pub struct ResourceAttributes(pub Vec<(String, String)>);

impl ResourceAttributes {
    fn message(&self) -> Resource {
        let attributes = self.0.iter().map(|(key, value)| key_value(key, text(value)));
        Resource { attributes: attributes.collect() }
    }
}

/// The parent's process is known, and whether it is another one.
const HAS_REMOTE_PARENT_KNOWN: u32 = 0x100;
const HAS_REMOTE_PARENT: u32 = 0x200;
const SAMPLED: u32 = 1;

pub(crate) fn spans_message(resource: &ResourceAttributes, spans: &[SpanRecord]) -> ExportTraceServiceRequest {
    let spans = spans.iter().map(span_message).collect();
    let scope_spans = vec![ScopeSpans { scope: Some(scope()), spans }];
    ExportTraceServiceRequest {
        resource_spans: vec![ResourceSpans { resource: Some(resource.message()), scope_spans }],
    }
}

fn span_message(record: &SpanRecord) -> Span {
    let position = &record.position;
    let kind = match record.kind {
        SpanKind::Internal => span::SpanKind::Internal,
        SpanKind::Server => span::SpanKind::Server,
        SpanKind::Client => span::SpanKind::Client,
    };
    let failed = |message: &String| Status { message: message.clone(), code: status::StatusCode::Error.into() };
    let remote = if position.has_remote_parent { HAS_REMOTE_PARENT } else { 0 };
    Span {
        trace_id: position.trace_id.to_be_bytes().to_vec(),
        span_id: position.span_id.to_be_bytes().to_vec(),
        parent_span_id: position.parent_id.map(|id| id.to_be_bytes().to_vec()).unwrap_or_default(),
        name: record.name.clone(),
        kind: kind.into(),
        start_time_unix_nano: record.began_unix_ns,
        end_time_unix_nano: record.ended_unix_ns,
        attributes: record.attributes.iter().map(attribute).collect(),
        status: record.failure.as_ref().map(failed),
        flags: SAMPLED | HAS_REMOTE_PARENT_KNOWN | remote,
    }
}

fn attribute((key, value): &Attribute) -> KeyValue {
    let value = match value {
        AttributeValue::Text(value) => text(value),
        AttributeValue::Number(value) => any_value::Value::IntValue(*value),
        AttributeValue::Bool(value) => any_value::Value::BoolValue(*value),
    };
    key_value(key, value)
}

fn text(value: &str) -> any_value::Value {
    any_value::Value::StringValue(value.to_owned())
}

fn key_value(key: &str, value: any_value::Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }) }
}

fn scope() -> InstrumentationScope {
    InstrumentationScope { name: "gauntlet".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }
}

/// When a process began and when its metrics were read, in nanoseconds since 1970.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) began_unix_ns: u64,
    pub(crate) now_unix_ns: u64,
}

pub(crate) fn metrics_message(
    resource: &ResourceAttributes,
    families: &[Family],
    window: Window,
) -> ExportMetricsServiceRequest {
    let metrics = families.iter().filter(|family| !family.samples.is_empty());
    let metrics = metrics.map(|family| metric_message(family, window)).collect();
    let scope_metrics = vec![ScopeMetrics { scope: Some(scope()), metrics }];
    ExportMetricsServiceRequest {
        resource_metrics: vec![ResourceMetrics { resource: Some(resource.message()), scope_metrics }],
    }
}

fn metric_message(family: &Family, window: Window) -> Metric {
    let aggregation_temporality = AggregationTemporality::Cumulative.into();
    let data = match family.kind {
        FamilyKind::Counter => {
            let data_points = numbers(family, window);
            metric::Data::Sum(Sum { data_points, aggregation_temporality, is_monotonic: true })
        }
        FamilyKind::Gauge => metric::Data::Gauge(Gauge { data_points: numbers(family, window) }),
        FamilyKind::Histogram => {
            metric::Data::Histogram(Histogram { data_points: histograms(family, window), aggregation_temporality })
        }
    };
    let (name, description) = (family.name.to_string(), family.help.to_string());
    Metric { unit: unit(&name).to_owned(), name, description, data: Some(data) }
}

/// The unit as UCUM has it, from the name, which always says it.
fn unit(name: &str) -> &'static str {
    let stem = name.strip_suffix("_total").unwrap_or(name);
    match () {
        () if stem.ends_with("_seconds") => "s",
        () if stem.ends_with("_ms") => "ms",
        () if stem.ends_with("_bytes") => "By",
        () => "1",
    }
}

fn numbers(family: &Family, window: Window) -> Vec<NumberDataPoint> {
    let points = family.samples.iter().filter_map(|sample| {
        let value = match sample.value {
            SampleValue::Number(Number::Unsigned(value)) => {
                number_data_point::Value::AsInt(i64::try_from(value).unwrap_or(i64::MAX))
            }
            SampleValue::Number(Number::Signed(value)) => number_data_point::Value::AsInt(value),
            SampleValue::Number(Number::Float(value)) => number_data_point::Value::AsDouble(value),
            SampleValue::Buckets(_) => return None,
        };
        Some(NumberDataPoint {
            start_time_unix_nano: window.began_unix_ns,
            time_unix_nano: window.now_unix_ns,
            value: Some(value),
            attributes: labels(sample),
        })
    });
    points.collect()
}

/// The counts of observations up to a bound become those between two bounds.
fn histograms(family: &Family, window: Window) -> Vec<HistogramDataPoint> {
    let points = family.samples.iter().filter_map(|sample| {
        let SampleValue::Buckets(Buckets { cumulative, count, sum }) = &sample.value else { return None };
        let sums = cumulative.iter().map(|(_, count)| *count).chain([*count]);
        let counts = sums.scan(0, |below, sum| Some(sum.saturating_sub(std::mem::replace(below, sum))));
        Some(HistogramDataPoint {
            start_time_unix_nano: window.began_unix_ns,
            time_unix_nano: window.now_unix_ns,
            count: *count,
            sum: Some(*sum),
            bucket_counts: counts.collect(),
            explicit_bounds: cumulative.iter().map(|(bound, _)| *bound).collect(),
            attributes: labels(sample),
        })
    });
    points.collect()
}

fn labels(sample: &Sample) -> Vec<KeyValue> {
    sample.labels.iter().map(|(label, value)| key_value(label, text(value))).collect()
}
