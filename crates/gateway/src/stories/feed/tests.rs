//! Tests of the feed's query and headers.

use super::*;

const MAX: Duration = Duration::from_secs(600);

#[track_caller]
fn check(text: Option<&str>, want_ms: Option<u64>) {
    let have = parse_wait(text, MAX).ok().map(|span| span.as_millis() as u64);
    assert_eq!(have, want_ms, "{text:?}");
}

#[test]
fn parses_waits_up_to_the_maximum() {
    check(None, Some(0));
    check(Some("0"), Some(0));
    check(Some("0s"), Some(0));
    check(Some("25s"), Some(25_000));
    check(Some("25"), Some(25_000));
    check(Some("500ms"), Some(500));
    check(Some("2m"), Some(120_000));
    check(Some("10m"), Some(600_000));
    check(Some("601s"), None);
    check(Some("11m"), None);
    check(Some("4294967295m"), None);
    check(Some(""), None);
    check(Some("s"), None);
    check(Some("-1s"), None);
    check(Some("1.5s"), None);
    check(Some("1h"), None);
}

#[track_caller]
fn check_cursor(last: Option<&'static str>, after: Option<u64>, want: Option<Option<u64>>) {
    let header = http::HeaderName::from_static("last-event-id");
    let headers = last.map(|last| (header, last.parse().unwrap()));
    assert_eq!(event_stream::cursor(&headers.into_iter().collect(), after).ok(), want, "{last:?} {after:?}");
}

#[test]
fn the_last_event_id_takes_precedence_over_the_url() {
    check_cursor(None, None, Some(None));
    check_cursor(None, Some(3), Some(Some(3)));
    check_cursor(Some("7"), None, Some(Some(7)));
    check_cursor(Some("7"), Some(3), Some(Some(7)));
    check_cursor(Some("seven"), Some(3), None);
}
