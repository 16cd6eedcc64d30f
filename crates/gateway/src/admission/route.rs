//! The class of a request by its route and method: the part of a rate limit's class that says what is done.

use crate::header_values::accepts_event_stream;
use axum::extract::MatchedPath;
use axum::http::Method;
use axum::http::request::Parts;

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RouteClass {
    /// Starts games: work that outlives its request.
    Create,
    /// Changes something.
    Write,
    /// Reads.
    Read,
    /// Keeps a connection open for events.
    Watch,
}

/// Routes about the state of the server: never limited, so that an overload can be told apart from an outage.
const UNLIMITED_ROUTES: [&str; 4] = ["/metrics", "/healthz", "/health", "/readyz"];
const CREATE_ROUTES: [&str; 6] =
    ["/api/duels", "/api/games", "/api/games/batch", "/api/stories/games", "/api/hunts", "/api/tournaments"];
/// Sent by POST because the query is long.
const READ_ROUTES_BY_POST: [&str; 1] = ["/api/games/status"];
const WATCH_ROUTES: [&str; 8] = [
    "/api/games/{id}/events",
    "/api/stories/tables/{table}/feed",
    "/api/stories/tables/{table}/socket",
    "/api/hunts/tickets/{id}",
    "/api/summary/feed",
    "/api/tournaments/{id}/feed",
    "/api/tournaments/{id}/socket",
    "/api/worlds/{world}/socket",
];

/// Of these the ones that also answer one poll after the other, which keeps nothing open beyond the next event.
const POLL_ROUTES: [&str; 3] =
    ["/api/stories/tables/{table}/feed", "/api/hunts/tickets/{id}", "/api/tournaments/{id}/feed"];

/// Whether a request to watch is a poll, and no stream of events.
pub(super) fn is_poll(parts: &Parts) -> bool {
    let route = parts.extensions.get::<MatchedPath>().map(MatchedPath::as_str);
    route.is_some_and(|route| POLL_ROUTES.contains(&route)) && !accepts_event_stream(&parts.headers)
}

impl RouteClass {
    /// The class of a request whose path matched this pattern (`None`: no route at all); `None` if it is never limited.
    pub(super) fn of(method: &Method, route: Option<&str>) -> Option<Self> {
        let is_one_of = |routes: &[&str]| route.is_some_and(|route| routes.contains(&route));
        if is_one_of(&UNLIMITED_ROUTES) {
            return None;
        }
        let is_post = *method == Method::POST;
        Some(if is_post && is_one_of(&CREATE_ROUTES) {
            Self::Create
        } else if is_one_of(&WATCH_ROUTES) && *method == Method::GET {
            Self::Watch
        } else if method.is_safe() || is_post && is_one_of(&READ_ROUTES_BY_POST) {
            Self::Read
        } else {
            Self::Write
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(method: &str, route: Option<&str>, want: Option<RouteClass>) {
        assert_eq!(RouteClass::of(&method.parse().unwrap(), route), want, "{method} {route:?}");
    }

    #[test]
    fn routes_have_classes() {
        check("POST", Some("/api/games"), Some(RouteClass::Create));
        check("POST", Some("/api/games/batch"), Some(RouteClass::Create));
        check("GET", Some("/api/games"), Some(RouteClass::Read));
        check("HEAD", Some("/api/games"), Some(RouteClass::Read));
        check("POST", Some("/api/games/status"), Some(RouteClass::Read));
        check("PUT", Some("/api/games/status"), Some(RouteClass::Write));
        check("POST", Some("/api/snakes"), Some(RouteClass::Write));
        check("DELETE", Some("/api/tokens/{id}"), Some(RouteClass::Write));
        check("POST", Some("/api/games/{id}/cancel"), Some(RouteClass::Write));
        check("GET", Some("/api/games/{id}/events"), Some(RouteClass::Watch));
        check("POST", Some("/api/games/{id}/events"), Some(RouteClass::Write));
        check("POST", Some("/api/stories/games"), Some(RouteClass::Create));
        check("POST", Some("/api/stories/guests"), Some(RouteClass::Write));
        check("POST", Some("/api/stories/games/{game}/vote"), Some(RouteClass::Write));
        check("GET", Some("/api/stories/games/{game}"), Some(RouteClass::Read));
        check("GET", Some("/api/stories/tables/{table}/feed"), Some(RouteClass::Watch));
        check("GET", Some("/api/stories/tables/{table}/socket"), Some(RouteClass::Watch));
        check("GET", Some("/api/stories/tables/{table}/feed"), Some(RouteClass::Watch));
        check("POST", Some("/api/hunts"), Some(RouteClass::Create));
        check("GET", Some("/api/hunts"), Some(RouteClass::Read));
        check("POST", Some("/api/hunts/tickets"), Some(RouteClass::Write));
        check("GET", Some("/api/hunts/tickets/{id}"), Some(RouteClass::Watch));
        check("DELETE", Some("/api/hunts/tickets/{id}"), Some(RouteClass::Write));
        check("POST", Some("/api/tournaments"), Some(RouteClass::Create));
        check("POST", Some("/api/tournaments/{id}/entries"), Some(RouteClass::Write));
        check("GET", Some("/api/tournaments/{id}/feed"), Some(RouteClass::Watch));
        check("GET", Some("/api/summary"), Some(RouteClass::Read));
        check("GET", Some("/api/summary/feed"), Some(RouteClass::Watch));
        check("GET", Some("/api/admin/stats"), Some(RouteClass::Read));
        check("GET", None, Some(RouteClass::Read));
        check("POST", None, Some(RouteClass::Write));
        for route in UNLIMITED_ROUTES {
            check("GET", Some(route), None);
            check("POST", Some(route), None);
        }
    }
}
