//! Spans and metrics as a collector gets them: over a socket, and decoded with the messages of the public protocol.

use super::*;
use crate::recorder::QUEUE_MAX;
use ::metrics::Metrics;
use http::HeaderMap;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::{metric, number_data_point};
use opentelemetry_proto::tonic::trace::v1::{Span as SentSpan, span::SpanKind as SentKind};
use prost::Message;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

const ALWAYS: f64 = 1.0;
const NEVER: f64 = 0.0;

fn config(address: SocketAddr) -> CollectorConfig {
    CollectorConfig {
        is_tls: false,
        authority: address.to_string(),
        path: "/prefix".to_owned(),
        headers: HeaderMap::from_iter([("api-key".parse().unwrap(), "hunter2".parse().unwrap())]),
        timeout: Duration::from_secs(60),
    }
}

fn resource() -> ResourceAttributes {
    ResourceAttributes(vec![("service.name".to_owned(), "games".to_owned())])
}

fn tracer(ratio: f64, follows_callers: bool, address: SocketAddr) -> (Tracer, SpanExporter, Arc<Metrics>) {
    let metrics = Arc::new(Metrics::default());
    let sampler = Sampler::new(ratio, follows_callers);
    let (tracer, exporter) = SpanExporter::new(sampler, config(address), resource(), metrics.clone());
    (tracer, exporter, metrics)
}

/// An address at which nothing listens.
async fn absent() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap()
}

/// One request: its head in lower case, and its body.
async fn read_request(client: &mut TcpStream) -> (String, Vec<u8>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(client.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap().to_lowercase();
    let length = head.split("content-length: ").nth(1).unwrap().split("\r\n").next().unwrap();
    let mut body = vec![0; length.parse().unwrap()];
    client.read_exact(&mut body).await.unwrap();
    (head, body)
}

async fn answer(client: &mut TcpStream, status: &str, body: &[u8]) {
    let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n", body.len());
    client.write_all(&[head.as_bytes(), body].concat()).await.unwrap();
}

/// Accepts one request, answers it, and gives it back.
async fn collect(listener: TcpListener, status: &'static str, response: &'static [u8]) -> (String, Vec<u8>) {
    let (mut client, _) = listener.accept().await.unwrap();
    let request = read_request(&mut client).await;
    answer(&mut client, status, response).await;
    request
}

async fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

fn text_of(attributes: &[KeyValue], key: &str) -> Option<String> {
    let value = attributes.iter().find(|pair| pair.key == key)?.value.as_ref()?.value.clone()?;
    match value {
        any_value::Value::StringValue(text) => Some(text),
        any_value::Value::IntValue(number) => Some(number.to_string()),
        any_value::Value::BoolValue(is_so) => Some(is_so.to_string()),
        other => panic!("{other:?}"),
    }
}

/// The spans that a collector gets of what this does, by their names.
async fn sent_spans(ratio: f64, follows_callers: bool, work: impl FnOnce(&Tracer)) -> Vec<SentSpan> {
    let (listener, address) = listener().await;
    let (tracer, exporter, metrics) = tracer(ratio, follows_callers, address);
    let collected = tokio::spawn(collect(listener, "200 OK", b""));
    work(&tracer);
    let spans = metrics.telemetry.spans.get();
    exporter.run(async {}).await;
    assert_eq!((metrics.telemetry.spans_dropped.get(), metrics.telemetry.spans_lost.get()), (0, 0));
    if spans == 0 {
        collected.abort();
        return Vec::new();
    }
    let (head, body) = collected.await.unwrap();
    assert!(head.starts_with("post /prefix/v1/traces http/1.1\r\n"), "{head}");
    for line in ["content-type: application/x-protobuf\r\n", "api-key: hunter2\r\n"] {
        assert!(head.contains(line), "{head}");
    }
    let mut sent = ExportTraceServiceRequest::decode(&body[..]).unwrap().resource_spans;
    assert_eq!(text_of(&sent[0].resource.as_ref().unwrap().attributes, "service.name").as_deref(), Some("games"));
    let mut found = sent.remove(0).scope_spans.remove(0).spans;
    found.sort_by(|a, b| a.name.cmp(&b.name));
    assert_eq!(found.len() as u64, spans);
    found
}

const CALLER: TraceContext = TraceContext { trace_id: 0xabc, span_id: 7, is_sampled: true };

fn request(tracer: &Tracer, caller: Option<TraceContext>, is_trusted: bool) -> Option<RequestTrace> {
    let trace = tracer.start_request(caller, is_trusted)?;
    trace.set("gauntlet.account.id", "ann");
    let mut span = trace.span("POST", || "/api/games".to_owned());
    span.ending = RequestEnding::Answered(503);
    drop(span);
    Some(trace)
}

#[tokio::test]
async fn a_request_its_match_and_its_calls_are_one_trace() {
    let spans = sent_spans(NEVER, true, |tracer| {
        let trace = request(tracer, Some(CALLER), true).unwrap();
        trace.remember_matches([42].into_iter());
        let span = tracer.start_match(42).unwrap();
        let turn = span.child("turn", SpanKind::Internal);
        let mut call = turn.child("POST move", SpanKind::Client);
        assert_eq!((call.context().trace_id, call.context().is_sampled), (0xabc, true));
        call.fail("late");
        assert!(tracer.start_match(43).is_none(), "no trace asked for it");
    })
    .await;
    let [request, call, found, turn] = &spans[..] else { panic!("{spans:?}") };
    assert_eq!((request.name.as_str(), call.name.as_str()), ("POST /api/games", "POST move"));
    assert!(spans.iter().all(|span| span.trace_id == 0xabc_u128.to_be_bytes() && span.flags & 1 == 1));
    assert!(
        spans.iter().all(|span| span.start_time_unix_nano > 0 && span.start_time_unix_nano <= span.end_time_unix_nano)
    );
    let parents = [&request.parent_span_id, &found.parent_span_id, &turn.parent_span_id, &call.parent_span_id];
    assert_eq!(parents, [&7_u64.to_be_bytes().to_vec(), &request.span_id, &found.span_id, &turn.span_id]);
    assert_eq!((request.flags, found.flags), (0x301, 0x101), "the caller is of another process");
    let kinds = [request, found, turn, call].map(SentSpan::kind);
    assert_eq!(kinds, [SentKind::Server, SentKind::Internal, SentKind::Internal, SentKind::Client]);
    let of_request = ["http.request.method", "http.route", "http.response.status_code", "gauntlet.account.id"];
    let of_request = of_request.map(|key| text_of(&request.attributes, key).unwrap());
    assert_eq!(of_request, ["POST", "/api/games", "503", "ann"]);
    let failures = [request, call, turn].map(|span| span.status.clone().map(|status| (status.code, status.message)));
    assert_eq!(failures, [Some((2, String::new())), Some((2, "late".to_owned())), None]);
}

/// Whether a request is recorded.
#[track_caller]
fn check_sampled(ratio: f64, follows_callers: bool, caller: Option<bool>, is_trusted: bool, want: Option<bool>) {
    let address = "127.0.0.1:9".parse().unwrap();
    let (tracer, _exporter, _) = tracer(ratio, follows_callers, address);
    let caller = caller.map(|is_sampled| TraceContext { is_sampled, ..CALLER });
    let trace = tracer.start_request(caller, is_trusted);
    assert_eq!(trace.as_ref().map(RequestTrace::is_sampled), want, "{ratio} {follows_callers} {caller:?} {is_trusted}");
    let Some(trace) = trace else { return };
    assert!(caller.is_none_or(|caller| trace.context().trace_id == caller.trace_id));
    // Known later, as of an operator.
    trace.trust_caller();
    let follows = caller.filter(|_| follows_callers).map_or(want, |caller| Some(caller.is_sampled));
    assert_eq!(Some(trace.is_sampled()), follows);
}

#[tokio::test]
async fn only_a_trusted_caller_decides_what_is_recorded() {
    check_sampled(NEVER, true, Some(true), false, Some(false));
    check_sampled(NEVER, true, Some(true), true, Some(true));
    check_sampled(NEVER, true, None, true, Some(false));
    check_sampled(ALWAYS, true, Some(false), false, Some(true));
    check_sampled(ALWAYS, true, Some(false), true, Some(false));
    check_sampled(ALWAYS, false, Some(false), true, Some(true));
    check_sampled(NEVER, false, Some(true), true, None);
}

#[tokio::test]
async fn with_a_ratio_of_zero_nothing_is_sent_and_with_one_all_is() {
    let work = |tracer: &Tracer| {
        (0..20).for_each(|_| drop(request(tracer, None, false)));
        (0..20).for_each(|id| drop(tracer.start_match(id)));
    };
    assert_eq!(sent_spans(NEVER, true, work).await.len(), 0);
    let spans = sent_spans(ALWAYS, true, work).await;
    assert_eq!(spans.len(), 40);
    assert!(spans.iter().all(|span| span.parent_span_id.is_empty()));
    let own: Vec<_> = spans.iter().filter(|span| span.name == "match").map(|span| span.trace_id.clone()).collect();
    assert!((1..20_u128).all(|id| own.contains(&id.to_be_bytes().to_vec())), "the trace of a match has its id");
}

/// All processes draw the same matches.
#[tokio::test]
async fn a_match_that_is_resumed_goes_on_in_its_trace() {
    let address = absent().await;
    let drawn = || {
        let (tracer, exporter, _) = tracer(0.5, true, address);
        let drawn: Vec<u128> = (0..200_u128).filter(|id| tracer.start_match(id * 77).is_some()).collect();
        drop(exporter);
        drawn
    };
    let first = drawn();
    assert_eq!(first, drawn());
    assert!((50..150).contains(&first.len()), "{}", first.len());
}

#[tokio::test]
async fn a_trace_has_some_matches_of_its_request_not_all() {
    let spans = sent_spans(NEVER, true, |tracer| {
        let trace = tracer.start_request(Some(CALLER), true).unwrap();
        trace.remember_matches(0..1_000);
        (0..1_000).for_each(|id| drop(tracer.start_match(id)));
    })
    .await;
    assert_eq!(spans.len(), 16);
}

/// Spans that end while the collector takes none, and what becomes of them: dropped, lost.
async fn check_loss(address: SocketAddr, timeout: Duration, spans: usize, want: (u64, u64)) {
    let metrics = Arc::new(Metrics::default());
    let config = CollectorConfig { timeout, ..config(address) };
    let sampler = Sampler::new(ALWAYS, true);
    let (tracer, exporter) = SpanExporter::new(sampler, config, resource(), metrics.clone());
    (0..spans).for_each(|_| drop(request(&tracer, None, false)));
    exporter.run(async {}).await;
    let figures = &metrics.telemetry;
    assert_eq!((figures.spans_dropped.get(), figures.spans_lost.get()), want);
    assert_eq!(figures.spans.get(), spans as u64);
    assert!(figures.exports_failed.get() > 0);
}

#[tokio::test]
async fn an_absent_collector_costs_the_spans() {
    check_loss(absent().await, Duration::from_secs(60), 3, (0, 3)).await;
    check_loss(absent().await, Duration::from_secs(60), QUEUE_MAX + 5, (5, QUEUE_MAX as u64)).await;
}

#[tokio::test]
async fn a_collector_that_never_answers_costs_the_spans() {
    let (listener, address) = listener().await;
    check_loss(address, Duration::from_millis(1), 3, (0, 3)).await;
    drop(listener);
}

async fn check_refusal(status: &'static str, response: &'static [u8], want_lost: u64, want_failed: u64) {
    let (listener, address) = listener().await;
    let (tracer, exporter, metrics) = tracer(ALWAYS, true, address);
    let collected = tokio::spawn(collect(listener, status, response));
    (0..3).for_each(|_| drop(request(&tracer, None, false)));
    exporter.run(async {}).await;
    collected.await.unwrap();
    let figures = &metrics.telemetry;
    assert_eq!((figures.spans_lost.get(), figures.exports_failed.get()), (want_lost, want_failed), "{status}");
}

#[tokio::test]
async fn what_a_collector_refuses_is_counted() {
    check_refusal("503 Service Unavailable", b"", 3, 1).await;
    check_refusal("301 Moved Permanently", b"", 3, 1).await;
    check_refusal("200 OK", b"not a message", 0, 0).await;
    // partial_success: { rejected_spans: 2 }
    check_refusal("200 OK", &[0x0a, 0x02, 0x08, 0x02], 2, 0).await;
}

#[tokio::test]
async fn a_connection_is_kept_for_the_next_message() {
    let (listener, address) = listener().await;
    let (tracer, exporter, metrics) = tracer(ALWAYS, true, address);
    let (stop, stopped) = oneshot::channel::<()>();
    let exporter = tokio::spawn(exporter.run(async { drop(stopped.await) }));
    request(&tracer, None, false);
    // The only one that is accepted.
    let (mut client, _) = listener.accept().await.unwrap();
    read_request(&mut client).await;
    answer(&mut client, "200 OK", b"").await;
    request(&tracer, None, false);
    read_request(&mut client).await;
    answer(&mut client, "200 OK", b"").await;
    stop.send(()).unwrap();
    exporter.await.unwrap();
    assert_eq!(metrics.telemetry.spans_lost.get(), 0);
}

#[tokio::test]
async fn metrics_are_those_of_the_page() {
    let (listener, address) = listener().await;
    let metrics = Arc::new(Metrics::default());
    metrics.matches.turns.add(3);
    metrics.http_answered("/api/games", 201, Duration::from_millis(2));
    let collected = tokio::spawn(collect(listener, "200 OK", b""));
    MetricsExporter::new(config(address), resource(), metrics.clone()).send(&metrics.page()).await;
    let (head, body) = collected.await.unwrap();
    assert!(head.starts_with("post /prefix/v1/metrics http/1.1\r\n"), "{head}");
    let mut sent = ExportMetricsServiceRequest::decode(&body[..]).unwrap().resource_metrics;
    let sent = sent.remove(0).scope_metrics.remove(0).metrics;
    let page = metrics.page();
    assert_eq!(sent.len(), page.families().iter().filter(|family| !family.samples.is_empty()).count());
    let data = |name: &str| {
        let found = sent.iter().find(|metric| metric.name == name).unwrap();
        (found.unit.as_str(), found.data.clone().unwrap())
    };
    let ("1", metric::Data::Sum(turns)) = data("gauntlet_turns_total") else { panic!("a sum") };
    assert!(turns.is_monotonic && turns.aggregation_temporality == 2, "a total");
    assert_eq!(turns.data_points[0].value, Some(number_data_point::Value::AsInt(3)));
    assert!(turns.data_points[0].start_time_unix_nano <= turns.data_points[0].time_unix_nano);
    let (_, metric::Data::Sum(requests)) = data("gauntlet_http_requests_total") else { panic!("a sum") };
    let labels = &requests.data_points[0].attributes;
    assert_eq!(text_of(labels, "route").zip(text_of(labels, "status")), Some(("/api/games".into(), "2xx".into())));
    let ("1", metric::Data::Gauge(_)) = data("gauntlet_matches_running") else { panic!("a gauge") };
    let ("s", metric::Data::Histogram(took)) = data("gauntlet_http_request_seconds") else { panic!("a histogram") };
    let point = &took.data_points[0];
    assert_eq!((point.count, point.sum, point.bucket_counts.len()), (1, Some(0.002), point.explicit_bounds.len() + 1));
    let bucket = point.bucket_counts.iter().position(|count| *count == 1).unwrap();
    assert_eq!(point.explicit_bounds[bucket], 0.0025);
}
