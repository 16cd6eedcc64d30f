//! What holds for every route: unknown ones, other methods, request ids, preflights.

use crate::test_server::{BOBS_PUBLIC, TestServer};
use axum::http::HeaderMap;

#[tokio::test]
async fn unknown_routes_and_methods_are_problems() {
    let server = TestServer::open().await;
    server.call("GET /none").check("404 no_such_route").await;
    server.call("GET /api/leaderboard").check("404 no_such_route").await;
    server.call("POST /api/games/").check("404 no_such_route").await;
    let reply = server.call("PATCH /api/games").check("405 method_not_allowed").await;
    let allowed = reply.headers["allow"].to_str().unwrap();
    assert!(allowed.contains("GET") && allowed.contains("POST"), "{allowed}");
    server.call("GET /api/games/batch").check("405 method_not_allowed").await;
    server.call("OPTIONS /api/snakes").check("405 method_not_allowed").await;
    server.call("HEAD /healthz").check("200").await;
}

/// The paths that a page links.
fn links(page: &[u8]) -> Vec<String> {
    let page = std::str::from_utf8(page).unwrap();
    page.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_client_that_opens_the_address_is_told_what_is_where() {
    let server = TestServer::open().await;
    let page = server.call("GET /").by("").check("200").await;
    assert_eq!(header(&page.headers, "content-type"), Some("text/html; charset=utf-8"));
    assert!(header(&page.headers, "content-security-policy").unwrap().contains("default-src 'none'"));
    let links = links(&page.bytes);
    for wanted in ["/api/summary", "/api/games/live", "/api/openapi.json", "/metrics"] {
        assert!(links.iter().any(|link| link == wanted), "{wanted}: {links:?}");
    }
    // Built with its console, `/` is the console's page: what it links is for those without JavaScript, and the page's own files.
    for link in &links {
        let reply = server.call(&format!("GET {link}")).send().await;
        // A program that was built without its pages says so at /world.
        assert!(reply.status.is_success() || link == "/world" && reply.body.is_null(), "{link}: {}", reply.status);
    }
    server.call("HEAD /").check("200").await;
    server.call("POST /").check("405 method_not_allowed").await;
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

#[tokio::test]
async fn every_answer_carries_its_requests_id() {
    let server = TestServer::open().await;
    for (sent, is_taken_over) in [("abc-1", true), ("", false), ("with space", false)] {
        let reply = server.call("GET /api/none").header("x-request-id", sent).check("404 no_such_route").await;
        let id = header(&reply.headers, "x-request-id").unwrap();
        assert_eq!(id == sent, is_taken_over, "{sent}");
        assert!(!id.is_empty());
    }
}

const PAGE: &str = "https://board.example";

/// A request by a page of another site and what its browser asks before: whether the page may read the response without a token and with
/// one, and whether it may send a request with a token.
async fn check_page(server: &TestServer, line: &str, want: [bool; 3]) {
    let is_readable = async |by: &str| {
        let reply = server.call(line).by(by).header("origin", PAGE).send().await;
        assert!(!reply.headers.contains_key("access-control-allow-credentials"), "{line}");
        header(&reply.headers, "access-control-allow-origin") == Some("*")
    };
    let path = line.split_once(' ').unwrap().1;
    let preflight = server.call(&format!("OPTIONS {path}")).by("").header("origin", PAGE);
    let preflight = preflight.header("access-control-request-method", line.split_once(' ').unwrap().0);
    let preflight = preflight.header("access-control-request-headers", "authorization,content-type").send().await;
    let is_granted = preflight.status == 204;
    if is_granted {
        let allowed = header(&preflight.headers, "access-control-allow-headers").unwrap();
        assert!(allowed.split(", ").any(|name| name == "authorization"), "{line}: {allowed}");
        assert_eq!(header(&preflight.headers, "access-control-allow-origin"), Some("*"), "{line}");
        assert!(!preflight.headers.contains_key("access-control-allow-credentials"), "{line}");
    }
    assert_eq!([is_readable("").await, is_readable("player").await, is_granted], want, "{line}");
}

#[tokio::test]
async fn pages_of_other_origins_may_read_what_is_public_and_what_their_own_token_opens() {
    let server = TestServer::open().await;
    let id = server.game().await;
    let (public, with_token, never) = ([true, true, true], [false, true, true], [false, false, false]);
    for (line, want) in [
        (format!("GET /api/games/{id}"), public),
        (format!("GET /api/games/{id}/frames"), public),
        (format!("GET /api/games/{id}/summary"), public),
        ("GET /api/games/live".to_owned(), public),
        ("GET /api/games/recent".to_owned(), public),
        ("GET /api/openapi.json".to_owned(), public),
        ("GET /api/snakes/public".to_owned(), public),
        (format!("GET /api/snakes/{BOBS_PUBLIC}/games"), public),
        (format!("GET /api/snakes/{BOBS_PUBLIC}/profile"), public),
        ("GET /api/leaderboards".to_owned(), public),
        (format!("GET /api/leaderboards/{id}/entries/{id}/games"), public),
        (format!("GET /api/leaderboards/{id}/games"), public),
        ("GET /api/tournaments".to_owned(), public),
        (format!("GET /api/tournaments/{id}/feed"), public),
        (format!("GET /api/duels/{id}"), public),
        ("GET /api/duels".to_owned(), with_token),
        ("POST /api/leaderboards".to_owned(), with_token),
        (format!("DELETE /api/leaderboards/{id}"), with_token),
        ("POST /api/tournaments".to_owned(), with_token),
        (format!("GET /api/games/{id}/details"), with_token),
        ("GET /api/games".to_owned(), with_token),
        ("POST /api/games".to_owned(), with_token),
        ("PUT /api/snakes/x".to_owned(), with_token),
        ("DELETE /api/tokens/x".to_owned(), with_token),
        ("GET /api/admin/stats".to_owned(), with_token),
        ("GET /api/worlds".to_owned(), with_token),
        ("GET /api/session".to_owned(), never),
        ("POST /api/session".to_owned(), never),
        ("POST /api/invites/redeem".to_owned(), never),
        ("POST /api/sign-in-links/redeem".to_owned(), never),
        ("POST /api/invites/inspect".to_owned(), never),
        ("POST /api/sign-in-links/inspect".to_owned(), never),
        ("GET /metrics".to_owned(), never),
        ("GET /".to_owned(), never),
        ("POST /api/limits/check".to_owned(), never),
        ("GET /api/none".to_owned(), never),
    ] {
        check_page(&server, &line, want).await;
    }
    let missing = server.call("GET /api/games/0190b5a4-7c1e-7000-8000-000000000001").check("404 no_such_game").await;
    assert_eq!(header(&missing.headers, "access-control-allow-origin"), Some("*"), "a page may read the refusal");
    let unknown = server.call("GET /api/games").by("unknown").header("origin", PAGE).check("401 token_unknown").await;
    assert_eq!(header(&unknown.headers, "access-control-allow-origin"), Some("*"), "and that its token is not valid");
}

/// A request with a body of JSON, which no form can send, is asked for before; without a token it is refused as ever.
#[tokio::test]
async fn a_preflight_for_a_request_without_a_token_is_not_granted() {
    let server = TestServer::open().await;
    for names in ["content-type", "x-requested-with", "authorizations", ""] {
        let preflight = server.call("OPTIONS /api/snakes").by("").header("origin", PAGE);
        let preflight = preflight.header("access-control-request-method", "POST");
        preflight.header("access-control-request-headers", names).check("405 method_not_allowed").await;
    }
}
