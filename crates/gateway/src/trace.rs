//! Around every request: an id for its log lines and its response, one log line when it is done, and a guard against panics.
//!
//! The line names the route as it is declared, never the path, the query or a header: secrets stay out of it. Of a request that changes
//! something it says whose it was, by ids.

use super::auth::Principal;
use super::listener::park::ParkMarker;
use super::problem::{ApiError, EarlyRefusal};
use super::request_id::{REQUEST_ID, request_id};
use axum::extract::{MatchedPath, Request};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};
use tracing::field::{Empty, display};
use tracing::{Instrument, Level, Span};

/// The route in logs when none matches: never the path, which the client chose.
const NO_ROUTE: &str = "none";

/// Handles a request under its id.
pub(super) async fn trace(request: Request, next: Next) -> Response {
    let id = request_id(request.headers());
    let span = tracing::info_span!(
        "request",
        request.id = id.to_str().unwrap_or_default(),
        account = Empty,
        token = Empty,
        guest = Empty
    );
    let mut response = observe(request, next).instrument(span).await;
    response.headers_mut().insert(REQUEST_ID, id);
    response
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
    use axum::middleware::from_fn;
    use axum::routing::get;
    use http_body_util::BodyExt;
    use tables::TableError;
    use tower::ServiceExt;

    async fn broken() {
        panic!("a bug");
    }

    #[tokio::test]
    async fn a_panic_is_a_problem_with_a_request_id() {
        let router = Router::new().route("/", get(broken)).layer(from_fn(trace));
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
