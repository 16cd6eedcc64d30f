//! Lines of StatsD, as a socket gets them.

use super::*;
use std::time::Duration;

/// Datagrams until one has this line.
async fn received(socket: &UdpSocket, until: &str) -> Vec<String> {
    let (mut lines, mut datagram) = (Vec::new(), [0; 65_536]);
    while !lines.iter().any(|line| line == until) {
        let length = socket.recv(&mut datagram).await.unwrap();
        assert!(length <= DATAGRAM_BYTES_MAX, "{length}");
        lines.extend(std::str::from_utf8(&datagram[..length]).unwrap().lines().map(str::to_owned));
    }
    lines
}

#[tokio::test]
async fn counters_are_sent_as_what_was_added() {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let metrics = Arc::new(Metrics::default());
    let address = socket.local_addr().unwrap().to_string();
    let mut exporter = StatsdExporter::new(address, StatsdTags::None, metrics.clone());
    metrics.matches.turns.add(5);
    metrics.matches.running.set(2);
    metrics.http_answered("/api/games", 201, Duration::from_millis(2));
    // The page ends with it.
    let end = "gauntlet_http_body_bytes:0|g";
    exporter.send(&metrics.page()).await;
    let lines = received(&socket, end).await;
    for want in [
        "gauntlet_turns_total:5|c",
        "gauntlet_matches_running:2|g",
        "gauntlet_http_requests_total._api_games.2xx:1|c",
        "gauntlet_http_request_seconds.count:1|c",
        "gauntlet_http_request_seconds.mean:0.002|g",
        "gauntlet_http_request_seconds.p99:0.0025|g",
    ] {
        assert!(lines.iter().any(|line| line == want), "{want} is not in {lines:?}");
    }
    metrics.matches.turns.add(2);
    exporter.send(&metrics.page()).await;
    let lines = received(&socket, end).await;
    assert!(lines.iter().any(|line| line == "gauntlet_turns_total:2|c"), "{lines:?}");
    assert!(!lines.iter().any(|line| line.starts_with("gauntlet_http_request")), "nothing was added: {lines:?}");
    assert_eq!(metrics.telemetry.statsd_lost.get(), 0);
}

#[tokio::test]
async fn what_cannot_be_sent_is_counted() {
    let metrics = Arc::new(Metrics::default());
    for address in ["127.0.0.1", "127.0.0.1:99999"] {
        let before = metrics.telemetry.statsd_lost.get();
        StatsdExporter::new(address.to_owned(), StatsdTags::None, metrics.clone()).send(&metrics.page()).await;
        assert!(metrics.telemetry.statsd_lost.get() > before, "{address}");
    }
}

/// Checks the lines of one sample with these labels.
#[track_caller]
fn check(tags: StatsdTags, labels: &[(&str, &str)], value: i64, want: &[&str]) {
    let mut page = Page::default();
    page.head("x", "Things.", FamilyKind::Gauge);
    page.sample(labels, value);
    assert_eq!(LineEncoder { tags, before: HashMap::new() }.of(&page), want);
}

#[test]
fn labels_stand_in_the_name_or_in_tags() {
    check(StatsdTags::None, &[], 3, &["x:3|g"]);
    check(StatsdTags::None, &[("route", "/api/a.b"), ("status", "2xx")], 3, &["x._api_a_b.2xx:3|g"]);
    check(StatsdTags::Datadog, &[("route", "/api/a.b"), ("status", "2xx")], 3, &["x:3|g|#route:/api/a.b,status:2xx"]);
    check(StatsdTags::Datadog, &[("of", "a|#b,c:d\ne@f g")], 3, &["x:3|g|#of:a__b_c_d_e_f_g"]);
    // A sign means a change to StatsD.
    check(StatsdTags::None, &[], -3, &["x:0|g", "x:-3|g"]);
}

#[test]
fn a_datagram_has_as_many_lines_as_fit() {
    let long = |length: usize| "x".repeat(length);
    let (datagrams, too_long) = pack(&[long(700), long(731), long(1_432), long(1_433), long(1)]);
    assert_eq!(datagrams.iter().map(String::len).collect::<Vec<_>>(), [1_432, 1_432, 1]);
    assert_eq!(too_long, 1);
}
