//! Which responses a browser may give to pages of other origins: the public reads, which are the same for every client, and responses to
//! requests with a bearer token of the page's own.
//!
//! A token in `Authorization` was put there by the page on purpose; a cookie is sent by the browser, whatever page causes the request. So
//! there is never `Access-Control-Allow-Credentials`, without which browsers neither send cookies along with such a header nor let a page
//! read what came of them, and what needs no token is not readable from within a visitor's network.

use super::credentials::has_bearer;
use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

/// The public reads, as their routes are declared.
const PUBLIC_ROUTES: [&str; 24] = [
    "/api/duels/{id}",
    "/api/duels/{id}/games",
    "/api/games/{id}",
    "/api/games/{id}/frames",
    "/api/games/{id}/jsonl",
    "/api/games/{id}/summary",
    "/api/games/live",
    "/api/games/recent",
    "/api/leaderboards",
    "/api/leaderboards/{id}",
    "/api/leaderboards/{id}/entries/{snake}",
    "/api/leaderboards/{id}/entries/{snake}/games",
    "/api/leaderboards/{id}/entries/{snake}/opponents",
    "/api/leaderboards/{id}/games",
    "/api/leaderboards/{id}/rankings",
    "/api/leaderboards/{id}/seasons",
    "/api/leaderboards/{id}/seats",
    "/api/openapi.json",
    "/api/snakes/public",
    "/api/snakes/{id}/games",
    "/api/snakes/{id}/profile",
    "/api/tournaments",
    "/api/tournaments/{id}",
    "/api/tournaments/{id}/feed",
];
/// What is about the browser's cookie is for pages of this site.
const SESSION_ROUTES: [&str; 5] = [
    "/api/session",
    "/api/invites/inspect",
    "/api/invites/redeem",
    "/api/sign-in-links/inspect",
    "/api/sign-in-links/redeem",
];

const ANY: HeaderValue = HeaderValue::from_static("*");
const METHODS: HeaderValue = HeaderValue::from_static("GET, HEAD, POST, PUT, DELETE");
/// `*` does not stand for `Authorization` (Fetch, section 4.8).
const HEADERS: HeaderValue = HeaderValue::from_static("authorization, content-type, idempotency-key, *");
const EXPOSED_HEADERS: HeaderValue =
    HeaderValue::from_static("etag, link, ratelimit, ratelimit-policy, retry-after, x-request-id");
/// How long a browser may cache the preflight: a day.
const MAX_AGE_S: HeaderValue = HeaderValue::from_static("86400");

/// Answers preflights, and adds the headers to the responses that pages may read.
pub(super) async fn cors(request: Request, next: Next) -> Response {
    let (is_public, takes_token) =
        request.extensions().get::<MatchedPath>().map(MatchedPath::as_str).map_or((false, false), route_kinds);
    let is_public = is_public && is_read(&request);
    if request.method() == Method::OPTIONS {
        let is_granted = is_public || takes_token && is_preflight_with_token(request.headers());
        return if is_granted { preflight() } else { next.run(request).await };
    }
    let is_readable = is_public || takes_token && has_bearer(request.headers());
    let mut response = next.run(request).await;
    if is_readable {
        response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, ANY);
        response.headers_mut().insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
    }
    response
}

/// Whether a route is a public read, and whether it takes bearer tokens.
fn route_kinds(route: &str) -> (bool, bool) {
    (PUBLIC_ROUTES.contains(&route), route.starts_with("/api/") && !SESSION_ROUTES.contains(&route))
}

/// Whether it reads, or a preflight asks for that: what changes something at the same path is not public.
fn is_read(request: &Request) -> bool {
    let wanted = match *request.method() {
        Method::OPTIONS => request.headers().get(header::ACCESS_CONTROL_REQUEST_METHOD),
        _ => None,
    };
    wanted.map_or(request.method().is_safe(), |wanted| {
        [Method::GET, Method::HEAD].iter().any(|read| wanted == read.as_str())
    })
}

/// Whether a browser asks for a request that will carry a token. Others with a body of JSON, which no form can send, stay refused.
fn is_preflight_with_token(headers: &HeaderMap) -> bool {
    let wanted = headers.get_all(header::ACCESS_CONTROL_REQUEST_HEADERS).into_iter();
    let mut names = wanted.filter_map(|line| line.to_str().ok()).flat_map(|line| line.split(','));
    headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
        && names.any(|name| name.trim().eq_ignore_ascii_case("authorization"))
}

fn preflight() -> Response {
    let headers = [
        (header::ALLOW, METHODS),
        (header::ACCESS_CONTROL_ALLOW_ORIGIN, ANY),
        (header::ACCESS_CONTROL_ALLOW_METHODS, METHODS),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, HEADERS),
        (header::ACCESS_CONTROL_MAX_AGE, MAX_AGE_S),
    ];
    (StatusCode::NO_CONTENT, headers).into_response()
}
