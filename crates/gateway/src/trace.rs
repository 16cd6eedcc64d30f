//! Around every request: an id for its log lines and its response, one log line when it is done, and a guard against panics.
//!
//! The line names the route as it is declared, never the path, the query or a header: secrets stay out of it. Of a request that changes
//! something it says whose it was, by ids. Where requests are traced, its lines have the id of its trace, and its span the same route.

use super::auth::Principal;
use super::listener::park::ParkMarker;
use super::problem::{ApiError, EarlyRefusal};
use super::request_id::{REQUEST_ID, request_id};
use crate::app::App;
use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use settings::Config;
use std::any::Any;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};
use telemetry::{RequestEnding, RequestTrace, TRACE_RESPONSE, TRACEPARENT, TraceContext, Tracer};
use tracing::field::{Empty, display};
use tracing::{Instrument, Level, Span};

/// The route in logs when none matches: never the path, which the client chose.
const NO_ROUTE: &str = "none";

/// What is needed to trace requests; empty where they are not.
#[derive(Clone, Default)]
pub(super) struct RequestTracing(Option<Arc<(Tracer, Arc<Config>)>>);

impl RequestTracing {
    pub(super) fn new(app: &App) -> Self {
        Self(app.tracer.is_on().then(|| Arc::new((app.tracer.clone(), app.config.clone()))))
    }

    /// The trace of a request. Whether its caller may decide that it is recorded is known for a proxy now, for others at admission.
    fn start(&self, request: &Request) -> Option<RequestTrace> {
        let (tracer, config) = &**self.0.as_ref()?;
        let peer =
            request.extensions().get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(peer)| peer.ip().to_canonical());
        let is_trusted =
            config.telemetry_trust_proxies && peer.is_some_and(|peer| config.http_trusted_proxies.contains(peer));
        tracer.start_request(caller_context(request.headers()), is_trusted)
    }
}

/// The span of the caller. Of several headers none is believed.
fn caller_context(headers: &HeaderMap) -> Option<TraceContext> {
    let mut lines = headers.get_all(TRACEPARENT).iter();
    let line = lines.next()?;
    if lines.next().is_some() { None } else { TraceContext::parse(line.as_bytes()) }
}

/// Handles a request under its id.
pub(super) async fn trace(State(tracing): State<RequestTracing>, mut request: Request, next: Next) -> Response {
    let id = request_id(request.headers());
    let span = tracing::info_span!(
        "request",
        request.id = id.to_str().unwrap_or_default(),
        trace_id = Empty,
        account = Empty,
        token = Empty,
        guest = Empty
    );
    let mut response = match tracing.start(&request) {
        None => observe(request, next).instrument(span).await,
        Some(trace) => {
            span.record("trace_id", display(format_args!("{:032x}", trace.context().trace_id)));
            request.extensions_mut().insert(trace.clone());
            // On the heap, so that requests that are not traced take no room for it.
            Box::pin(observe_traced(request, next, trace, &id)).instrument(span).await
        }
    };
    response.headers_mut().insert(REQUEST_ID, id);
    response
}

/// Handles a request within its span. One that is recorded says in the response under which ids.
async fn observe_traced(request: Request, next: Next, trace: RequestTrace, id: &HeaderValue) -> Response {
    let route = request.extensions().get::<MatchedPath>().cloned();
    let mut span =
        trace.span(method_name(request.method()), || route.as_ref().map_or(NO_ROUTE, MatchedPath::as_str).to_owned());
    let mut response = observe(request, next).await;
    span.ending = match response.extensions().get::<ParkMarker>() {
        Some(_) => RequestEnding::Parked,
        None => RequestEnding::Answered(response.status().as_u16()),
    };
    trace.set("gauntlet.request.id", id.to_str().unwrap_or_default());
    if trace.is_sampled()
        && let Ok(context) = HeaderValue::try_from(trace.context().to_string())
    {
        response.headers_mut().insert(TRACE_RESPONSE, context);
    }
    response
}

/// Clients may send any word as a method: others than these have one name together, as OpenTelemetry's conventions say.
fn method_name(method: &Method) -> &'static str {
    const KNOWN: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    KNOWN.into_iter().find(|known| method.as_str() == *known).unwrap_or("_OTHER")
}

/// Of the caller of a traced request: whose it is, and whether that caller may decide that it is recorded.
pub(super) fn trace_caller(trace: &RequestTrace, principal: Option<&Principal>, is_node: bool) {
    if is_node || principal.is_some_and(Principal::is_operator) {
        trace.trust_caller();
    }
    match principal {
        Some(Principal::Account(caller)) => trace.set("gauntlet.account.id", caller.account.to_string()),
        Some(Principal::Guest(guest)) => trace.set("gauntlet.guest.id", guest.player.to_string()),
        None => {}
    }
}

/// Adds to the lines of the request whose it is. Reads, of which there are many, are logged only when debugging, and go without.
pub(super) fn record_principal(method: &Method, principal: Option<&Principal>) {
    let Some(principal) = principal.filter(|_| !method.is_safe()) else { return };
    let span = Span::current();
    match principal {
        Principal::Account(caller) => {
            span.record("account", display(caller.account));
            caller.token.map(|token| span.record("token", display(token)));
        }
        Principal::Guest(guest) => {
            span.record("guest", display(guest.player));
        }
    }
}

async fn observe(request: Request, next: Next) -> Response {
    let began = Instant::now();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    // The only shared state is the handles of `App`, whose locks recover from a panic.
    let response = match AssertUnwindSafe(next.run(request)).catch_unwind().await {
        Ok(response) => response,
        Err(panic) => ApiError::Internal(format!("a handler panicked: {}", panic_text(&*panic))).into_response(),
    };
    let route = route.as_ref().map_or(NO_ROUTE, MatchedPath::as_str);
    log(&method, route, &response, began);
    response
}

fn log(method: &Method, route: &str, response: &Response, began: Instant) {
    if response.extensions().get::<ParkMarker>().is_some() {
        return tracing::debug!(%method, route, "request parked");
    }
    let (status, duration_ms) = (response.status().as_u16(), milliseconds(began.elapsed()));
    match level(method, response) {
        Level::WARN => tracing::warn!(%method, route, status, duration_ms, "request failed"),
        Level::INFO => tracing::info!(%method, route, status, duration_ms, "request done"),
        _ => tracing::debug!(%method, route, status, duration_ms, "request done"),
    }
}

/// Requests that change something are worth a line in production; reads, polls and refusals at admission only when debugging.
fn level(method: &Method, response: &Response) -> Level {
    let is_early_refusal = match response.extensions().get::<EarlyRefusal>() {
        Some(EarlyRefusal::Routine) => true,
        Some(EarlyRefusal::Notable) => method.is_safe(),
        None => false,
    };
    if method.is_safe() && !response.status().is_server_error() || is_early_refusal {
        Level::DEBUG
    } else if response.status().is_server_error() {
        Level::WARN
    } else {
        Level::INFO
    }
}

/// To the microsecond: further digits are an artefact of binary fractions.
fn milliseconds(span: Duration) -> f64 {
    (span.as_secs_f64() * 1e6).round() / 1e3
}

pub(super) fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no text")
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::Router;
    use axum::http::StatusCode;
    use axum::middleware::from_fn_with_state;
    use axum::routing::get;
    use http_body_util::BodyExt;
    use tables::TableError;
    use tower::ServiceExt;

    async fn broken() {
        panic!("a bug");
    }

    #[tokio::test]
    async fn a_panic_is_a_problem_with_a_request_id() {
        let router = Router::new().route("/", get(broken)).layer(from_fn_with_state(RequestTracing::default(), trace));
        let request: Request = Request::default();
        let response = router.oneshot(request).await.unwrap();
        assert_eq!(response.status().as_u16(), 500);
        assert_eq!(response.headers()["content-type"], "application/problem+json");
        assert!(response.headers().contains_key(REQUEST_ID));
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let problem: wire::problem::Problem = serde_json::from_slice(&body).unwrap();
        assert_eq!(problem.code, "internal");
        assert!(!problem.detail.contains("a bug"), "what went wrong is for the log only");
    }

    #[track_caller]
    fn check_level(method: &Method, response: impl IntoResponse, want: Level) {
        let response = response.into_response();
        assert_eq!(level(method, &response), want, "{method} {}", response.status());
    }

    #[test]
    fn a_flood_of_refusals_does_not_flood_the_log() {
        check_level(&Method::GET, StatusCode::OK, Level::DEBUG);
        check_level(&Method::POST, StatusCode::CREATED, Level::INFO);
        check_level(&Method::POST, ApiError::NotJson, Level::INFO);
        check_level(&Method::GET, ApiError::Internal(String::new()), Level::WARN);
        check_level(&Method::POST, ApiError::Internal(String::new()), Level::WARN);
        check_level(&Method::POST, ApiError::RateLimited(Box::default()), Level::DEBUG);
        check_level(&Method::POST, ApiError::LimiterFull(Box::default()), Level::DEBUG);
        check_level(&Method::POST, ApiError::Tables(TableError::Busy), Level::DEBUG);
        check_level(&Method::GET, ApiError::Tables(TableError::NotServing), Level::DEBUG);
        check_level(&Method::POST, ApiError::Tables(TableError::NotServing), Level::WARN);
        let lease = Duration::from_secs(5);
        check_level(&Method::POST, ApiError::Tables(TableError::HeldByPreviousProcess { lease }), Level::WARN);
        let overload = metrics::Overload::Queue;
        check_level(&Method::POST, ApiError::Overloaded { overload, retry_after_s: 1 }, Level::DEBUG);
    }

    #[test]
    fn durations_are_logged_to_the_microsecond() {
        let check = |nanos, want: &str| assert_eq!(milliseconds(Duration::from_nanos(nanos)).to_string(), want);
        check(1_318_405, "1.318");
        check(10_005_000, "10.005");
        check(499, "0");
        check(60_000_000_000, "60000");
    }
}
