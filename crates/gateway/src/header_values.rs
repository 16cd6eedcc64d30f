//! What headers of requests say. Knows HTTP, and nothing of this server.

use axum::http::{HeaderMap, HeaderName, header};

/// The media type of an event stream (Server-Sent Events).
pub(super) const EVENT_STREAM: &str = "text/event-stream";

/// The members of a header that is a list (RFC 9110, section 5.6.1).
fn members<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let lines = headers.get_all(name).into_iter().filter_map(|line| line.to_str().ok());
    lines.flat_map(|line| line.split(',')).map(str::trim)
}

/// Whether a list holds this token, in whatever case.
pub(super) fn has_token(headers: &HeaderMap, name: &HeaderName, token: &str) -> bool {
    members(headers, name).any(|member| member.eq_ignore_ascii_case(token))
}

/// Whether a list names this value, and does not exclude it with a weight of 0 (RFC 9110, section 12.4.2).
pub(super) fn accepts(headers: &HeaderMap, name: &HeaderName, value: &str) -> bool {
    members(headers, name).any(|item| {
        let mut parts = item.split(';').map(str::trim);
        let is_named = parts.next().is_some_and(|named| named.eq_ignore_ascii_case(value));
        let weight = parts.find_map(|parameter| parameter.strip_prefix(['q', 'Q'])?.strip_prefix('='));
        is_named && weight.is_none_or(|weight| weight.parse().is_ok_and(|weight: f32| weight > 0.0))
    })
}

/// Whether the client has the version with this tag already: `If-None-Match`, compared weakly (RFC 9110, section 13.1.2).
pub(super) fn is_not_modified(headers: &HeaderMap, tag: &[u8]) -> bool {
    members(headers, &header::IF_NONE_MATCH)
        .any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known).as_bytes() == tag)
}

/// Whether the body is declared as JSON.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let Some(Ok(content_type)) = headers.get(header::CONTENT_TYPE).map(|value| value.to_str()) else {
        return false;
    };
    // The usual value needs no parsing.
    if content_type == "application/json" {
        return true;
    }
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || essence.starts_with("application/") && essence.ends_with("+json")
}

/// Whether the client wants events rather than one response.
pub(super) fn accepts_event_stream(headers: &HeaderMap) -> bool {
    accepts(headers, &header::ACCEPT, EVENT_STREAM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(content_type: &'static str, want: bool) {
        let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, header::HeaderValue::from_static(content_type))]);
        assert_eq!(is_json(&headers), want, "{content_type}");
    }

    #[test]
    fn json_is_recognized_by_its_media_type() {
        check("application/json", true);
        check("Application/JSON; charset=utf-8", true);
        check("application/vnd.api+json", true);
        check("text/json", false);
        check("application/jsonp", false);
        check("", false);
        assert!(!is_json(&HeaderMap::new()));
    }

    #[track_caller]
    fn check_accept(accept: &str, want: bool) {
        let headers = HeaderMap::from_iter([(header::ACCEPT, accept.parse().unwrap())]);
        assert_eq!(accepts_event_stream(&headers), want, "{accept}");
    }

    #[test]
    fn recognizes_requests_for_a_stream() {
        check_accept("text/event-stream", true);
        check_accept("application/json, Text/Event-Stream;q=0.9", true);
        check_accept("text/event-stream;q=0", false);
        check_accept("application/json, text/event-stream ; Q=0.000", false);
        check_accept("text/event-stream;q=0, text/event-stream", true);
        check_accept("*/*", false);
        check_accept("text/event-streams", false);
        assert!(!accepts_event_stream(&HeaderMap::new()));
    }
}
