//! A process that serves the rate limiter alone.

use crate::test_server::{Request, TOKEN, TestServer};
use serde_json::json;
use settings::{Secret, ServeMode};
use std::sync::Arc;
use store::testing::MemoryDatabase;

#[tokio::test]
async fn games_are_not_here() {
    let server =
        TestServer::open_with("", Arc::new(MemoryDatabase::new()), |config| config.serve_mode = ServeMode::Limiter)
            .await;
    for (line, status) in [
        ("GET /api/games", 404),
        ("POST /api/games", 404),
        ("GET /api/snakes", 404),
        ("GET /api/tokens", 404),
        ("POST /api/admin/tokens", 404),
        ("GET /games/1/events", 404),
        ("GET /api/v1/health", 200),
        ("GET /api/limits/policies", 200),
        ("GET /", 200),
        ("GET /api/openapi.json", 200),
        ("GET /metrics", 200),
        ("GET /healthz", 200),
        ("GET /readyz", 200),
        ("GET /api/admin/config", 200),
    ] {
        assert_eq!(server.send(&Request::new(line).by_admin()).await.status, status, "{line}");
    }
    let document = server.send(&Request::new("GET /api/openapi.json")).await.body;
    let listed: Vec<_> = document["paths"].as_object().unwrap().keys().map(String::as_str).collect();
    assert!(listed.contains(&"/api/limits/check") && listed.contains(&"/healthz"), "{listed:?}");
    for path in listed {
        let is_here = ["/api/limits/", "/api/admin/", "/api/openapi.json", "/metrics", "/health", "/readyz"];
        assert!(is_here.iter().any(|known| path.starts_with(known)), "{path} is listed, and not served");
    }
}

#[tokio::test]
async fn with_a_token_it_answers_the_callers_that_bring_it() {
    let secret = "a service's token";
    let server = TestServer::open_with("", Arc::new(MemoryDatabase::new()), |config| {
        config.serve_mode = ServeMode::Limiter;
        config.limiter_http_token = Some(Secret::new(secret));
    })
    .await;
    let check = async |line: &str, token: Option<&str>, status: u16, code: &str| {
        let request = token
            .into_iter()
            .fold(Request::new(line), |request, token| request.header("authorization", &format!("Bearer {token}")));
        let request = if line.starts_with("POST /api/limits") {
            request.json(&json!({ "key": "k", "class": "c" }))
        } else {
            request
        };
        let reply = server.send(&request).await;
        assert_eq!(
            (reply.status, reply.body["code"].as_str().unwrap_or_default()),
            (status, code),
            "{line} {token:?}: {}",
            reply.text
        );
        assert_eq!(reply.header("www-authenticate"), (status == 401).then_some("Bearer"));
    };
    for line in [
        "POST /api/limits/check",
        "POST /api/v1/ratelimit?client_id=a&resource=r",
        "POST /api/v1/configure?window_seconds=60&request_per_window=7",
        "GET /api/v1/client-config/a",
    ] {
        check(line, None, 401, "token_missing").await;
        check(line, Some("another service's token"), 401, "token_unknown").await;
        check(line, Some(TOKEN), 401, "token_unknown").await;
        check(line, Some(secret), 200, "").await;
    }
    check("POST /api/limits/check/batch", None, 401, "token_missing").await;
    check("GET /api/v1/health", None, 200, "").await;
    check("GET /healthz", None, 200, "").await;
}
