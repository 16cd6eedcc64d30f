//! Which responses a browser may give to pages of other origins: the public reads, and nothing else.
//!
//! They need no token and are the same for every client, so `*` discloses nothing.

use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// The public reads, as their routes are declared.
const PUBLIC_ROUTES: [&str; 3] = ["/api/games/{id}", "/api/games/{id}/frames", "/api/openapi.json"];

const ANY: HeaderValue = HeaderValue::from_static("*");
const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD");
const EXPOSED_HEADERS: HeaderValue =
    HeaderValue::from_static("link, ratelimit, ratelimit-policy, retry-after, x-request-id");
/// How long a browser may cache the preflight: a day.
const MAX_AGE_S: HeaderValue = HeaderValue::from_static("86400");

/// Answers preflights of public reads, and adds the headers to their responses.
pub(super) async fn cors(request: Request, next: Next) -> Response {
    let is_public =
        request.extensions().get::<MatchedPath>().is_some_and(|path| PUBLIC_ROUTES.contains(&path.as_str()));
    if !is_public {
        return next.run(request).await;
    }
    if request.method() == Method::OPTIONS {
        return preflight();
    }
    let mut response = next.run(request).await;
    response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, ANY);
    response.headers_mut().insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
    response
}

fn preflight() -> Response {
    let headers = [
        (header::ALLOW, METHODS),
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, ANY),
        (header::ACCESS_CONTROL_ALLOW_METHODS, METHODS),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, ANY),
        (header::ACCESS_CONTROL_MAX_AGE, MAX_AGE_S),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}
