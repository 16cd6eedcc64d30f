//! Messages of OpenTelemetry's protocol, as far as they are sent here (`proto/otlp.proto`). Knows no spans and no metrics of this program.

pub use crate::proto::opentelemetry::proto::{
    AggregationTemporality, AnyValue, ExportMetricsServiceRequest, ExportTraceServiceRequest,
    ExportTraceServiceResponse, Gauge, Histogram, HistogramDataPoint, InstrumentationScope, KeyValue, Metric,
    NumberDataPoint, PartialSuccess, Resource, ResourceMetrics, ResourceSpans, ScopeMetrics, ScopeSpans, Span, Status,
    Sum, any_value, metric, number_data_point, span, status,
};
