//! What holds for every route: unknown ones, other methods, request ids, preflights.

use crate::test_server::TestServer;
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
async fn whoever_opens_the_address_is_told_what_is_where() {
    let server = TestServer::open().await;
    let page = server.call("GET /").by("").check("200").await;
    assert_eq!(header(&page.headers, "content-type"), Some("text/html; charset=utf-8"));
    assert!(header(&page.headers, "content-security-policy").unwrap().contains("default-src 'none'"));
    let links = links(&page.bytes);
    for wanted in ["/world", "/api/openapi.json", "/metrics"] {
        assert!(links.iter().any(|link| link == wanted), "{wanted}: {links:?}");
    }
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

#[tokio::test]
async fn pages_of_other_origins_may_read_what_is_public() {
    let server = TestServer::open().await;
    let id = server.game().await;
    for (line, is_public) in [
        (format!("GET /api/games/{id}"), true),
        (format!("GET /api/games/{id}/frames"), true),
        ("GET /api/openapi.json".to_owned(), true),
        (format!("GET /api/games/{id}/details"), false),
        ("GET /api/games".to_owned(), false),
    ] {
        let reply = server.call(&line).header("origin", "https://board.example").check("200").await;
        let origin = header(&reply.headers, "access-control-allow-origin");
        assert_eq!(origin, is_public.then_some("*"), "{line}");
        let preflight = server.call(&line.replace("GET", "OPTIONS")).header("origin", "https://board.example");
        let preflight = preflight.header("access-control-request-method", "GET").send().await;
        assert_eq!(preflight.status.as_u16(), if is_public { 204 } else { 405 }, "{line}");
        assert_eq!(header(&preflight.headers, "access-control-allow-origin"), is_public.then_some("*"), "{line}");
    }
    let missing = server.call("GET /api/games/0190b5a4-7c1e-7000-8000-000000000001").check("404 no_such_game").await;
    assert_eq!(header(&missing.headers, "access-control-allow-origin"), Some("*"), "a page may read the refusal");
}
