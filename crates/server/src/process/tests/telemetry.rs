//! A request, the match that it creates, and the calls of its bot: one trace, from the caller's header to the collector.

use super::*;
use http_body_util::BodyExt;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use serde_json::{Value, json};
use settings::{CollectorUrl, HostPort, TraceSampler};
use std::collections::HashSet;
use tokio::net::UdpSocket;

const TOKEN: &str = "0123456789abcdef";
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

/// What arrived at a server that answers every request alike: path, `traceparent`, body.
type Arrived = (String, Option<String>, Vec<u8>);

/// A server that answers all with this JSON, and what arrived.
async fn server(answer: Value) -> (SocketAddr, mpsc::UnboundedReceiver<Arrived>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (arrived, receiver) = mpsc::unbounded_channel();
    let answered = move |request: axum::extract::Request| {
        let (arrived, answer) = (arrived.clone(), answer.clone());
        async move {
            let (parts, body) = request.into_parts();
            let trace = parts.headers.get("traceparent").map(|value| value.to_str().unwrap().to_owned());
            let body = body.collect().await.unwrap().to_bytes().to_vec();
            let _ = arrived.send((parts.uri.path().to_owned(), trace, body));
            axum::Json(answer)
        }
    };
    tokio::spawn(async move { axum::serve(listener, axum::Router::new().fallback(answered)).await });
    (address, receiver)
}

/// The head and the JSON of a response to this request.
async fn post(address: SocketAddr, path: &str, trace: Option<&str>, body: Value) -> (String, Value) {
    let body = body.to_string();
    let trace = trace.map_or_else(String::new, |trace| format!("traceparent: {trace}\r\n"));
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {TOKEN}\r\n{trace}\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut client = TcpStream::connect(address).await.unwrap();
    client.write_all(head.as_bytes()).await.unwrap();
    let mut response = String::new();
    client.read_to_string(&mut response).await.unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    (head.to_lowercase(), serde_json::from_str(body).unwrap())
}

struct Served {
    _folder: Folder,
    address: SocketAddr,
    leave: oneshot::Sender<()>,
    task: JoinHandle<Result<(), ServeError>>,
}

async fn start(name: &str, configure: impl FnOnce(&mut Config)) -> Served {
    let folder = Folder::new(name);
    let listener = listener();
    let address = listener.local_addr().unwrap();
    let mut config = folder.config();
    config.bootstrap_token = Some(Secret::new(TOKEN));
    config.allow_private_bots = true;
    configure(&mut config);
    let (leave, left) = oneshot::channel::<()>();
    let (ready, is_ready) = oneshot::channel();
    let task = tokio::spawn(serve(config, no_trials(), listener, never(), || ready.send(()).unwrap(), async {
        let _ = left.await;
    }));
    is_ready.await.unwrap();
    Served { _folder: folder, address, leave, task }
}

impl Served {
    /// Creates a solo game of a bot, under this trace; the head of the response.
    async fn create_game(&self, bot: SocketAddr, trace: &str) -> String {
        let url = format!("http://{bot}/secret-path");
        let (_, snake) = post(self.address, "/api/snakes", None, json!({ "name": "a", "url": url })).await;
        let game = json!({ "snakes": [snake["id"]], "game_type": "solo", "timeout_ms": 5000 });
        let (head, created) = post(self.address, "/api/games", Some(trace), game).await;
        assert!(created["id"].is_string(), "{head} {created}");
        head
    }

    async fn end(self) {
        self.leave.send(()).unwrap();
        self.task.await.unwrap().unwrap();
    }
}

fn collector(address: SocketAddr) -> Option<CollectorUrl> {
    Some(CollectorUrl { is_tls: false, authority: address.to_string(), path: String::new() })
}

fn spans_of(body: &[u8]) -> Vec<Span> {
    let message = ExportTraceServiceRequest::decode(body).unwrap();
    message.resource_spans.into_iter().flat_map(|of| of.scope_spans).flat_map(|of| of.spans).collect()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[tokio::test]
async fn a_trace_goes_from_the_caller_to_the_bots() {
    let (collector_address, mut collected) = server(json!({})).await;
    let (bot, mut called) = server(json!({ "move": "up" })).await;
    let served = start("traced", |config| {
        config.telemetry_otlp_endpoint = collector(collector_address);
        // An operator's flag alone decides.
        config.telemetry_sampler = TraceSampler::ParentBasedAlwaysOff;
        config.telemetry_metrics_interval = Duration::from_millis(100);
    })
    .await;
    let head = served.create_game(bot, &format!("00-{TRACE}-00f067aa0ba902b7-01")).await;
    assert!(head.contains(&format!("traceresponse: 00-{TRACE}-")), "{head}");

    let (mut spans, mut has_metrics) = (Vec::new(), false);
    while !has_metrics || !spans.iter().any(|span: &Span| span.name == "match") {
        let (path, _, body) = collected.recv().await.unwrap();
        match path.as_str() {
            "/v1/traces" => spans.extend(spans_of(&body)),
            "/v1/metrics" => has_metrics = ExportMetricsServiceRequest::decode(&body[..]).is_ok(),
            other => panic!("{other}"),
        }
    }
    served.end().await;
    let find = |name: &str| spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("{name}: {spans:?}"));
    let (request, of_match) = (find("POST /api/games"), find("match"));
    assert!(spans.iter().all(|span| hexadecimal(&span.trace_id) == TRACE), "the other requests are not traced");
    assert_eq!(hexadecimal(&request.parent_span_id), "00f067aa0ba902b7");
    assert_eq!(of_match.parent_span_id, request.span_id);
    let parents =
        |name: &'static str| spans.iter().filter(move |span| span.name == name).map(|span| &span.parent_span_id);
    let turns: HashSet<_> = spans.iter().filter(|span| span.name == "turn").map(|span| &span.span_id).collect();
    assert!(parents("turn").all(|parent| *parent == of_match.span_id));
    assert!(!turns.is_empty() && parents("POST move").all(|parent| turns.contains(parent)));

    // Each call carries the context of its own span.
    let calls: HashSet<String> = spans
        .iter()
        .filter(|span| span.name.starts_with("POST ") && span.name != request.name)
        .map(|span| format!("00-{TRACE}-{}-01", hexadecimal(&span.span_id)))
        .collect();
    let mut carried = HashSet::new();
    while let Ok((path, trace, _)) = called.try_recv() {
        assert_eq!(trace.is_some(), path != "/secret-path/", "{path}: faces are for many matches");
        carried.extend(trace);
    }
    assert_eq!(carried, calls);
    assert!(!format!("{spans:?}").contains("secret-path") && !format!("{spans:?}").contains(TOKEN));
}

/// A collector that does not answer, or is not there: requests are answered and a match is played to its end while the queue is full.
async fn check_untouched(name: &str, collector_address: SocketAddr) {
    let (bot, mut called) = server(json!({ "move": "up" })).await;
    let served = start(name, |config| {
        config.telemetry_otlp_endpoint = collector(collector_address);
        config.telemetry_sampler = TraceSampler::AlwaysOn;
        config.telemetry_otlp_metrics = false;
    })
    .await;
    served.create_game(bot, &format!("00-{TRACE}-00f067aa0ba902b7-00")).await;
    while called.recv().await.unwrap().0 != "/secret-path/end" {}
    let ready = get(served.address, "/readyz", "").await;
    assert!(ready.starts_with("HTTP/1.1 200"), "{ready}");
    served.end().await;
}

#[tokio::test]
async fn matches_are_played_whatever_the_collector_does() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    check_untouched("silent", silent.local_addr().unwrap()).await;
    let absent = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    check_untouched("absent", absent).await;
}

#[tokio::test]
async fn metrics_are_sent_by_statsd() {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let address = socket.local_addr().unwrap().to_string();
    let served = start("statsd", |config| {
        config.telemetry_statsd_address = Some(HostPort(address));
        config.telemetry_metrics_interval = Duration::from_millis(100);
    })
    .await;
    let mut datagram = [0; 2_048];
    loop {
        let length = socket.recv(&mut datagram).await.unwrap();
        if std::str::from_utf8(&datagram[..length]).unwrap().lines().any(|line| line == "gauntlet_matches.running:0|g")
        {
            break;
        }
    }
    served.end().await;
}
