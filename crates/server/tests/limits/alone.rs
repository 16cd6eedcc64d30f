//! A process that serves the rate limiter alone.

use crate::house::{House, Request};
use server::config::Serves;
use std::sync::Arc;
use store::memory::MemoryDatabase;

#[tokio::test]
async fn games_are_not_here() {
    let house = House::open_with("", Arc::new(MemoryDatabase::new()), |config| config.serves = Serves::Limiter).await;
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
        assert_eq!(house.send(&Request::new(line).by_admin()).await.status, status, "{line}");
    }
    let document = house.send(&Request::new("GET /api/openapi.json")).await.body;
    let listed: Vec<_> = document["paths"].as_object().unwrap().keys().map(String::as_str).collect();
    assert!(listed.contains(&"/api/limits/check") && listed.contains(&"/healthz"), "{listed:?}");
    for path in listed {
        let is_here = ["/api/limits/", "/api/admin/", "/api/openapi.json", "/metrics", "/healthz", "/readyz"];
        assert!(is_here.iter().any(|known| path.starts_with(known)), "{path} is listed, and not served");
    }
}
