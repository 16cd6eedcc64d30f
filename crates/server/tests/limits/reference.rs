//! What the reference limiter promises, over HTTP: the meaning of its own tests, and what its bugs would break.

use crate::test_server::{Client, Request, TestServer};
use serde_json::{Value, json};
use std::time::Duration;

async fn ask(client: &mut Client, id: &str) -> Value {
    let body = json!({"client_id": id, "resource": "api"});
    let reply = client.send(&Request::new("POST /api/v1/ratelimit").json(&body)).await;
    assert_eq!(reply.status, 200, "a denial is a 200, too");
    reply.body
}

async fn configure(client: &mut Client, window_s: u64, limit: u64) {
    let body = json!({"window_seconds": window_s, "request_per_window": limit});
    let reply = client.send(&Request::new("POST /api/v1/configure").json(&body)).await;
    assert_eq!((reply.status, reply.body), (200, config(window_s, limit)));
}

async fn configure_client(client: &mut Client, id: &str, window_s: u64, limit: u64) {
    let body = json!({"client_id": id, "window_seconds": window_s, "request_per_window": limit});
    let reply = client.send(&Request::new("POST /api/v1/configure-client").json(&body)).await;
    assert_eq!((reply.status, reply.body), (200, config(window_s, limit)));
}

async fn config_of(client: &mut Client, id: &str) -> Value {
    client.send(&Request::new(&format!("GET /api/v1/client-config/{id}"))).await.body
}

fn config(window_s: u64, limit: u64) -> Value {
    json!({"window_seconds": window_s, "requests_per_window": limit})
}

fn allowed(remaining: u64) -> Value {
    json!({"allowed": true, "remaining": remaining})
}

fn denied(retry_after: u64) -> Value {
    json!({"allowed": false, "remaining": 0, "retry_after": retry_after})
}

#[tokio::test]
async fn a_hundred_a_minute_unless_configured() {
    let server = TestServer::open("").await;
    let mut client = server.connect().await;
    for left in (0..100).rev() {
        assert_eq!(ask(&mut client, "ann").await, allowed(left));
    }
    assert_eq!(ask(&mut client, "ann").await, denied(60));
    assert_eq!(ask(&mut client, "bob").await, allowed(99), "clients are apart");
    assert_eq!(config_of(&mut client, "ann").await, config(60, 100));
}

#[tokio::test]
async fn all_resources_of_a_client_are_one() {
    let server = TestServer::open("").await;
    let mut client = server.connect().await;
    for (resource, left) in [("a", 99), ("b", 98), ("c", 97)] {
        let body = json!({"client_id": "ann", "resource": resource});
        assert_eq!(client.send(&Request::new("POST /api/v1/ratelimit").json(&body)).await.body, allowed(left));
    }
}

#[tokio::test]
async fn the_window_slides_at_the_millisecond_and_waiting_is_rounded_up() {
    let server = TestServer::open("").await;
    let mut client = server.connect().await;
    configure(&mut client, 2, 2).await;
    let ms = Duration::from_millis;
    assert_eq!(ask(&mut client, "ann").await, allowed(1));
    server.clock.advance(ms(500));
    assert_eq!(ask(&mut client, "ann").await, allowed(0));
    assert_eq!(ask(&mut client, "ann").await, denied(2), "1.5 seconds are 2");
    server.clock.advance(ms(500));
    assert_eq!(ask(&mut client, "ann").await, denied(1));
    server.clock.advance(ms(999));
    assert_eq!(ask(&mut client, "ann").await, denied(1), "a millisecond is a second");
    server.clock.advance(ms(1));
    assert_eq!(ask(&mut client, "ann").await, allowed(0), "exactly a window old is over; denials took nothing");
    assert_eq!(ask(&mut client, "ann").await, denied(1));
}

#[tokio::test]
async fn a_change_keeps_what_was_used() {
    let server = TestServer::open("").await;
    let mut client = server.connect().await;
    configure(&mut client, 60, 3).await;
    for left in [2, 1, 0] {
        assert_eq!(ask(&mut client, "ann").await, allowed(left));
    }
    assert_eq!(ask(&mut client, "ann").await, denied(60));
    configure(&mut client, 60, 5).await;
    assert_eq!(ask(&mut client, "ann").await, allowed(1), "3 of 5 were used");
    configure(&mut client, 60, 2).await;
    server.clock.advance(Duration::from_secs(10));
    assert_eq!(ask(&mut client, "ann").await, denied(50));
    configure(&mut client, 5, 2).await;
    assert_eq!(ask(&mut client, "ann").await, allowed(1), "what is older than the new window is over");
}

/// Where the limit was lowered below what is used, the time to wait is when the caller really may: the reference named the
/// oldest stamp's end, when it still may not.
#[tokio::test]
async fn after_a_lower_limit_the_time_to_wait_is_true() {
    let server = TestServer::open("").await;
    let mut client = server.connect().await;
    configure(&mut client, 60, 3).await;
    for _ in 0..3 {
        ask(&mut client, "ann").await;
        server.clock.advance(Duration::from_secs(10));
    }
    configure(&mut client, 60, 1).await;
    assert_eq!(ask(&mut client, "ann").await, denied(50));
    server.clock.advance(Duration::from_secs(49));
    assert_eq!(ask(&mut client, "ann").await, denied(1));
    server.clock.advance(Duration::from_secs(1));
    assert_eq!(ask(&mut client, "ann").await, allowed(0));
}

#[tokio::test]
async fn a_clients_own_configuration_is_its_own() {
    let server = TestServer::open("").await;
    let mut client = server.connect().await;
    configure(&mut client, 60, 10).await;
    configure_client(&mut client, "vip", 30, 50).await;
    configure_client(&mut client, "restricted", 60, 2).await;
    assert_eq!(ask(&mut client, "vip").await, allowed(49));
    assert_eq!(ask(&mut client, "restricted").await, allowed(1));
    assert_eq!(ask(&mut client, "other").await, allowed(9));
    assert_eq!(config_of(&mut client, "vip").await, config(30, 50));
    assert_eq!(config_of(&mut client, "other").await, config(60, 10));
    configure(&mut client, 60, 20).await;
    assert_eq!((ask(&mut client, "vip").await, ask(&mut client, "other").await), (allowed(48), allowed(18)));
    for _ in 0..2 {
        let reset = client.send(&Request::new("DELETE /api/v1/client-config/vip")).await;
        assert_eq!((reset.status, reset.body), (200, json!({"status": "ok", "message": "Client configuration reset"})));
    }
    assert_eq!(config_of(&mut client, "vip").await, config(60, 20));
    assert_eq!(ask(&mut client, "vip").await, allowed(17));
}

#[tokio::test]
async fn the_client_in_a_path_is_the_text_of_the_path() {
    let server = TestServer::open("").await;
    let mut client = server.connect().await;
    for (id, path) in [
        ("client@example.com", "client@example.com"),
        ("user:123", "user%3A123"),
        ("client/resource", "client%2Fresource"),
        ("client#1", "client%231"),
        ("ä +", "%C3%A4%20+"),
        ("\"quoted\"\n", "%22quoted%22%0A"),
        ("1", "1"),
    ] {
        configure_client(&mut client, id, 7, 7).await;
        assert_eq!(config_of(&mut client, path).await, config(7, 7), "{id}");
    }
    let number = json!({"client_id": 1, "window_seconds": 9, "request_per_window": 9});
    client.send(&Request::new("POST /api/v1/configure-client").json(&number)).await;
    assert_eq!(config_of(&mut client, "1").await, config(7, 7), "a path names texts, not numbers");
}

/// The reference dropped stamps by the global window, and so forgot what clients with a longer one had used.
#[tokio::test]
async fn a_window_of_a_clients_own_outlives_the_sweep() {
    let server = TestServer::open("").await;
    let mut client = server.connect().await;
    configure_client(&mut client, "slow", 600, 1).await;
    configure_client(&mut client, "fast", 1, 3).await;
    assert_eq!((ask(&mut client, "slow").await, ask(&mut client, "fast").await), (allowed(0), allowed(2)));
    server.clock.advance(Duration::from_secs(61));
    server.app.limits.sweep_all();
    assert_eq!((ask(&mut client, "slow").await, ask(&mut client, "fast").await), (denied(539), allowed(2)));
    server.clock.advance(Duration::from_secs(539));
    server.app.limits.sweep_all();
    assert_eq!(server.sample(r#"gauntlet_limiter_keys{policy="reference"}"#).await.as_deref(), Some("0"));
    assert_eq!(ask(&mut client, "slow").await, allowed(0));
}

#[tokio::test]
async fn large_limits_are_exact() {
    let server = TestServer::open("").await;
    let mut client = server.connect().await;
    configure(&mut client, 60, 1_000_000).await;
    assert_eq!(ask(&mut client, "ann").await, allowed(999_999));
    configure_client(&mut client, "max", u64::MAX / 1_000, u64::MAX).await;
    assert_eq!(config_of(&mut client, "max").await, config(u64::MAX / 1_000, u64::MAX));
    assert_eq!(ask(&mut client, "max").await, allowed(u64::MAX - 1));
    assert_eq!(ask(&mut client, "max").await, allowed(u64::MAX - 2));
}

#[tokio::test]
async fn decisions_are_counted_and_requests_by_their_route() {
    let server = TestServer::open("").await;
    let mut client = server.connect().await;
    configure(&mut client, 60, 1).await;
    ask(&mut client, "ann").await;
    ask(&mut client, "ann").await;
    for (outcome, count) in [("allowed", "1"), ("denied", "1")] {
        let labels = format!(r#"{{policy="reference",class="api.v1",outcome="{outcome}"}}"#);
        let sample = server.sample(&format!("gauntlet_limiter_decisions_total{labels}")).await;
        assert_eq!(sample.as_deref(), Some(count), "{outcome}");
    }
    for (route, count) in [("/api/v1/ratelimit", "2"), ("/api/v1/configure", "1")] {
        let labels = format!(r#"{{route="{route}",status="2xx"}}"#);
        let sample = server.sample(&format!("gauntlet_http_requests_total{labels}")).await;
        assert_eq!(sample.as_deref(), Some(count), "{route}");
    }
}
