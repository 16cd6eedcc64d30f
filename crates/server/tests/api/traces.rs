//! Whose `traceparent` decides that a request is recorded, and what its response says of it.

use crate::test_server::TestServer;
use settings::{CollectorUrl, Config, Networks, TraceSampler};
use std::sync::Arc;
use store::testing::MemoryDatabase;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const OTHER_TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PROXY: &str = "192.0.2.7";

/// A server that records nothing by itself, and follows those that it trusts.
async fn server(configure: impl FnOnce(&mut Config)) -> TestServer {
    TestServer::open_with(Arc::new(MemoryDatabase::new()), |config| {
        let authority = "127.0.0.1:9".to_owned();
        config.telemetry_otlp_endpoint = Some(CollectorUrl { is_tls: false, authority, path: String::new() });
        config.telemetry_sampler = TraceSampler::ParentBasedAlwaysOff;
        config.http_trusted_proxies = Networks::parse(PROXY).unwrap();
        configure(config);
    })
    .await
}

/// A request with these lines of `traceparent`: of which trace its response says that it is recorded.
async fn check(server: &TestServer, by: &str, from: &str, lines: &[&str], want: Option<&str>) {
    let mut call = server.call("GET /api/games").by(by).from(from);
    for line in lines {
        call = call.header("traceparent", line);
    }
    let reply = call.check("200").await;
    let said = reply.headers.get("traceresponse").map(|value| value.to_str().unwrap().to_owned());
    assert_eq!(said.as_deref().map(|said| &said[3..35]), want, "{by} {from} {lines:?}");
    assert!(said.is_none_or(|said| said.ends_with("-01")));
}

#[tokio::test]
async fn only_operators_decide_that_a_request_is_recorded() {
    let server = server(|_| {}).await;
    let asks = format!("00-{TRACE}-00f067aa0ba902b7-01");
    let declines = format!("00-{TRACE}-00f067aa0ba902b7-00");
    let other = format!("00-{OTHER_TRACE}-00f067aa0ba902b7-01");
    check(&server, "operator", "127.0.0.1", &[&asks], Some(TRACE)).await;
    check(&server, "admin", "127.0.0.1", &[&asks], Some(TRACE)).await;
    check(&server, "operator", "127.0.0.1", &[&declines], None).await;
    check(&server, "operator", "127.0.0.1", &[], None).await;
    check(&server, "player", "127.0.0.1", &[&asks], None).await;
    check(&server, "player", PROXY, &[&asks], None).await;
    // Of two the server does not know which one the caller meant.
    check(&server, "operator", "127.0.0.1", &[&asks, &other], None).await;
    check(&server, "operator", "127.0.0.1", &["00-nonsense"], None).await;
    assert_eq!(server.sample("gauntlet_telemetry_spans_total"), 2);
}

#[tokio::test]
async fn a_proxy_decides_where_that_is_set() {
    let server = server(|config| config.telemetry_trust_proxies = true).await;
    let asks = format!("00-{TRACE}-00f067aa0ba902b7-01");
    check(&server, "player", PROXY, &[&asks], Some(TRACE)).await;
    check(&server, "player", "192.0.2.8", &[&asks], None).await;
}

#[tokio::test]
async fn a_caller_who_declines_does_not_hide_from_the_ratio() {
    let server = server(|config| config.telemetry_sampler = TraceSampler::ParentBasedAlwaysOn).await;
    let declines = format!("00-{TRACE}-00f067aa0ba902b7-00");
    check(&server, "player", "127.0.0.1", &[&declines], Some(TRACE)).await;
    check(&server, "operator", "127.0.0.1", &[&declines], None).await;
}

/// As many as come are answered, though nothing takes the spans.
#[tokio::test]
async fn spans_that_no_exporter_takes_hold_up_no_request() {
    let server = server(|config| config.telemetry_sampler = TraceSampler::AlwaysOn).await;
    for _ in 0..20 {
        server.call("GET /api/games").by("player").check("200").await;
    }
    assert_eq!(server.sample("gauntlet_telemetry_spans_dropped_total"), 20, "its exporter is gone");
}
