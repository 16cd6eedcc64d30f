//! The supervisor's own port: which worlds there are and where, whether all shards are up, and the sum of their
//! metrics. Stateless: every request is passed to the shards. Serves no games; players are redirected to a shard.

use super::client;
use super::metrics_sum::sum_metrics;
use super::registry::{Shard, ShardRegistry};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{AppendHeaders, IntoResponse, Redirect, Response};
use axum::routing::get;
use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use gateway::listener::{Peer, RequestBody, RequestHandler};
use lab::machine::{read_pss_bytes, read_usage};
use serde_json::{Value, json};
use std::fmt::Write;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use tower::ServiceExt;

/// The list of a shard in its longest pages.
const WORLDS: &str = "/api/worlds?limit=100";
/// Names the shards whose worlds are missing.
const UNRESPONSIVE_SHARDS: HeaderName = HeaderName::from_static("gauntlet-shards-silent");
const PROBLEM: &str = "application/problem+json";
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The request handler of the supervisor's port.
#[derive(Clone)]
pub(super) struct SupervisorApi(Router);

impl SupervisorApi {
    pub(super) fn new(registry: Arc<ShardRegistry>) -> Self {
        let routes = Router::new()
            .route("/healthz", get(async || "alive\n"))
            .route("/readyz", get(get_readiness))
            .route("/metrics", get(get_metrics))
            .route("/api/worlds", get(get_worlds))
            .route("/", get(redirect_to_shard))
            .route("/world", get(redirect_to_shard))
            .fallback(not_found)
            .with_state(registry);
        Self(routes)
    }
}

impl RequestHandler for SupervisorApi {
    type Body = axum::body::Body;
    type ResponseFuture<B: RequestBody> = Pin<Box<dyn Future<Output = Response> + Send>>;

    fn handle<B: RequestBody>(&self, _client: Peer<'_>, request: axum::http::Request<B>) -> Self::ResponseFuture<B> {
        let routes = self.0.clone();
        Box::pin(async move {
            let request = request.map(axum::body::Body::new);
            routes.oneshot(request).await.unwrap_or_else(|never| match never {})
        })
    }
}

/// Shards that are queried at once: all of fifty would make a queue of fifty in front of every processor, and players
/// would wait in it.
const CONCURRENT_REQUESTS_MAX: usize = 4;

/// Sends the same request to every shard that serves; a failed one gives `None`.
async fn query_all<T>(registry: &ShardRegistry, request: impl AsyncFn(Shard) -> Option<T>) -> Vec<(Shard, Option<T>)> {
    let request = async |shard: Shard| match shard.pid {
        Some(_) => (shard, request(shard).await),
        None => (shard, None),
    };
    let requests = stream::iter(registry.shards().into_iter().map(request)).buffer_unordered(CONCURRENT_REQUESTS_MAX);
    let mut answers: Vec<_> = requests.collect().await;
    answers.sort_unstable_by_key(|(shard, _)| shard.number);
    answers
}

/// Ready means that all shards are: each of them may get clients.
async fn get_readiness(State(registry): State<Arc<ShardRegistry>>) -> Response {
    let silent: Vec<usize> =
        unresponsive(&query_all(&registry, async |shard| client::get(shard.ops_address(), "/readyz").await).await);
    let status = if silent.is_empty() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    let body = json!({ "ready": silent.is_empty(), "shards": registry.shards().len(), "shards_not_ready": silent });
    (status, axum::Json(body)).into_response()
}

fn unresponsive<T>(answers: &[(Shard, Option<T>)]) -> Vec<usize> {
    answers.iter().filter(|(_, answer)| answer.is_none()).map(|(shard, _)| shard.number).collect()
}

/// The worlds of all shards, each with the address of its own. If a shard is missing, a header names it.
async fn get_worlds(State(registry): State<Arc<ShardRegistry>>, headers: HeaderMap) -> Response {
    let answers = query_all(&registry, async |shard| client::get_pages(shard.address, WORLDS).await).await;
    let worlds: Vec<Value> =
        answers.iter().flat_map(|(shard, pages)| worlds_of(shard, pages.iter().flatten(), &headers)).collect();
    let silent: Vec<String> = unresponsive(&answers).iter().map(ToString::to_string).collect();
    let lacks = (!silent.is_empty()).then(|| [(UNRESPONSIVE_SHARDS, silent.join(", "))]);
    (lacks.map(AppendHeaders), axum::Json(worlds)).into_response()
}

fn worlds_of<'a>(shard: &Shard, pages: impl Iterator<Item = &'a Bytes>, headers: &HeaderMap) -> Vec<Value> {
    let worlds = pages.filter_map(|page| serde_json::from_slice::<Vec<Value>>(page).ok()).flatten();
    let address = address_for_client(shard.address, headers);
    let with_address = |world: Value| {
        let Value::Object(mut world) = world else { return world };
        world.extend([("address".to_owned(), json!(address)), ("shard".to_owned(), json!(shard.number))]);
        Value::Object(world)
    };
    worlds.map(with_address).collect()
}

/// The address at which the client reaches a shard: one that listens on all interfaces is at the host of the request.
fn address_for_client(address: SocketAddr, headers: &HeaderMap) -> String {
    let host = || headers.get(header::HOST)?.to_str().ok()?.parse::<axum::http::uri::Authority>().ok();
    match (address.ip().is_unspecified(), host()) {
        (true, Some(host)) => format!("{}:{}", host.host(), address.port()),
        _ => address.to_string(),
    }
}

/// People begin at the first shard that serves.
async fn redirect_to_shard(
    State(registry): State<Arc<ShardRegistry>>,
    headers: HeaderMap,
    request: Request,
) -> Response {
    let shard = registry.shards().into_iter().find(|shard| shard.pid.is_some());
    let Some(shard) = shard else { return (StatusCode::SERVICE_UNAVAILABLE, "no shard serves now\n").into_response() };
    let path = request.uri().path_and_query().map_or("/world", |path| path.as_str());
    Redirect::temporary(&format!("http://{}{path}", address_for_client(shard.address, &headers))).into_response()
}

/// Requests for a server's routes are told where the servers are.
async fn not_found() -> Response {
    let detail =
        "this is the supervisor of shards, and has no games: ask one of the servers that GET /api/worlds names";
    let problem = json!({ "status": 404, "title": "Not Found", "code": "no_such_route", "detail": detail });
    (StatusCode::NOT_FOUND, [(header::CONTENT_TYPE, PROBLEM)], problem.to_string()).into_response()
}

/// The sum of the shards' metrics, and the supervisor's own for each shard.
async fn get_metrics(State(registry): State<Arc<ShardRegistry>>) -> Response {
    let answers = query_all(&registry, async |shard| client::get(shard.ops_address(), "/metrics").await).await;
    let memory = measure_memory(answers.iter().map(|(shard, answer)| (*shard, answer.is_some())).collect()).await;
    let texts = answers.iter().filter_map(|(_, body)| std::str::from_utf8(body.as_ref()?).ok());
    ([(header::CONTENT_TYPE, TEXT)], format!("{}{}", supervisor_metrics(&memory), sum_metrics(texts))).into_response()
}

/// A shard, whether it answers, and its memory in bytes: its share of it (PSS), and what is resident.
type ShardMemory = (Shard, bool, Option<(u64, u64)>);

/// The kernel walks the pages of each process for its share: not on the thread that answers.
async fn measure_memory(shards: Vec<(Shard, bool)>) -> Vec<ShardMemory> {
    let measure = move || {
        let memory = |shard: &Shard| shard.pid.and_then(|pid| Some((read_pss_bytes(pid)?, read_usage(pid)?.rss_bytes)));
        shards.iter().map(|(shard, answers)| (*shard, *answers, memory(shard))).collect()
    };
    tokio::task::spawn_blocking(measure).await.unwrap_or_default()
}

fn supervisor_metrics(shards: &[ShardMemory]) -> String {
    let mut text = String::new();
    let mut family = |name: &str, kind: &str, help: &str, value: fn(&ShardMemory) -> Option<u64>| {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for measured in shards {
            if let Some(value) = value(measured) {
                let _ = writeln!(text, "{name}{{shard=\"{}\"}} {value}", measured.0.number);
            }
        }
    };
    family("gauntlet_shard_up", "gauge", "Whether the shard answers: one that hangs does not.", |(_, answers, _)| {
        Some(u64::from(*answers))
    });
    family("gauntlet_shard_restarts_total", "counter", "Times that the shard was started again.", |(shard, ..)| {
        Some(shard.restarts)
    });
    family(
        "gauntlet_shard_pss_bytes",
        "gauge",
        "Memory of the shard; pages that several processes share are divided among them.",
        |(.., memory)| Some(memory.as_ref()?.0),
    );
    family(
        "gauntlet_shard_rss_bytes",
        "gauge",
        "Resident memory of the shard; pages that several processes share count for each of them.",
        |(.., memory)| Some(memory.as_ref()?.1),
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(address: &str) -> Shard {
        Shard { number: 2, address: address.parse().unwrap(), ops: None, pid: Some(7), restarts: 1 }
    }

    #[track_caller]
    fn check_seen(address: &str, host: Option<&str>, want: &str) {
        let headers = host.map(|host| (header::HOST, host.parse().unwrap())).into_iter().collect();
        assert_eq!(address_for_client(address.parse().unwrap(), &headers), want);
    }

    #[test]
    fn addresses_of_shards_are_reachable_for_the_client() {
        check_seen("127.0.0.1:4001", Some("play.example:4000"), "127.0.0.1:4001");
        check_seen("0.0.0.0:4001", Some("play.example:4000"), "play.example:4001");
        check_seen("[::]:4001", Some("[::1]:4000"), "[::1]:4001");
        check_seen("0.0.0.0:4001", None, "0.0.0.0:4001");
    }

    #[track_caller]
    fn check_worlds(pages: &[&str], want: &Value) {
        let pages: Vec<_> = pages.iter().map(|text| Bytes::copy_from_slice(text.as_bytes())).collect();
        assert_eq!(json!(worlds_of(&shard("127.0.0.1:4002"), pages.iter(), &HeaderMap::new())), *want);
    }

    #[test]
    fn worlds_carry_their_address() {
        let world = |name: &str| json!({"name": name, "movers": 3, "address": "127.0.0.1:4002", "shard": 2});
        let page = |name: &str| format!(r#"[{{"name":"{name}","movers":3,"address":null}}]"#);
        check_worlds(&[&page("plaza")], &json!([world("plaza")]));
        check_worlds(&[&page("pond"), &page("plaza")], &json!([world("pond"), world("plaza")]));
        check_worlds(&[r#"{"worlds":{}}"#, "no json"], &json!([]));
        check_worlds(&[], &json!([]));
    }

    #[test]
    fn figures_name_their_shard() {
        let down = Shard { pid: None, number: 3, ..shard("127.0.0.1:4003") };
        let text = supervisor_metrics(&[(shard("127.0.0.1:4002"), true, Some((5, 9))), (down, false, None)]);
        for line in [
            "gauntlet_shard_up{shard=\"2\"} 1",
            "gauntlet_shard_up{shard=\"3\"} 0",
            "gauntlet_shard_restarts_total{shard=\"2\"} 1",
            "gauntlet_shard_pss_bytes{shard=\"2\"} 5",
            "gauntlet_shard_rss_bytes{shard=\"2\"} 9",
        ] {
            assert!(text.lines().any(|actual| actual == line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("pss_bytes{shard=\"3\"}"));
    }
}
