//! What the fuzzer reads with parsers that are private otherwise (`crates/fuzz`). Nothing else uses it.

pub use crate::listener::fuzzing::{HttpConnections, read_proxy_header};

use crate::client_address::client_address;
use crate::credentials::{SECRET_BYTES_MAX, cookies, parse_bearer};
use crate::header_values::{accepts_event_stream, is_json};
use crate::origin::RequestSource;
use crate::{bot_url, extract, games, idempotency, rate_limit, request_head};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Request};
use settings::{Config, Networks};
use std::net::IpAddr;
use std::sync::OnceLock;
use wire::api::CreateGame;

/// A head from lines: method and target, then headers as `name: value`. `None`: there is no such request.
fn head_of(text: &str) -> Option<Parts> {
    let mut lines = text.lines();
    let (method, target) = lines.next()?.split_once(' ')?;
    let mut request = Request::builder().method(method).uri(target).body(()).ok()?;
    for line in lines {
        let (name, value) = line.split_once(':')?;
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        request.headers_mut().append(name, HeaderValue::from_bytes(value.trim().as_bytes()).ok()?);
    }
    Some(request.into_parts().0)
}

/// Everything that is read out of a head by hand.
pub fn read_head(text: &str) {
    static CONFIG: OnceLock<Config> = OnceLock::new();
    let Some(parts) = head_of(text) else { return };
    let headers = &parts.headers;
    for secret in cookies(headers) {
        assert!(!secret.is_empty() && !secret.contains(';'), "a cookie of {secret:?}");
    }
    if let crate::credentials::Bearer::Secret(secret) = parse_bearer(headers) {
        assert!(!secret.is_empty() && secret.len() <= SECRET_BYTES_MAX, "a secret of {} bytes", secret.len());
    }
    let peer = IpAddr::from([10, 0, 0, 1]);
    let far = Networks::parse("192.0.2.0/24").expect("a network");
    assert_eq!(client_address(peer, headers, &far, false), Ok(peer), "a client's own address, whatever it says");
    let near = Networks::parse("10.0.0.0/8, 2001:db8::/32").expect("networks");
    let _ = client_address(peer, headers, &near, false);
    let source = RequestSource::of(&parts, CONFIG.get_or_init(Config::default));
    let _ = (source.is_cross_site(), source.is_fetch_cross_site(), is_json(headers), accepts_event_stream(headers));
    let _ = (idempotency::key_of(headers), request_head::require_chunked(headers));
    let _ = request_head::refuse_upgrade_with_body(&parts.method, headers);
    let _ = request_head::names_one_host(&Request::from_parts(parts, ()));
}

/// A request to the reference API of the limiter: its head, an empty line, its body.
pub fn read_reference_request(bytes: &[u8]) {
    let Some(at) = bytes.windows(2).position(|pair| pair == b"\n\n") else { return };
    let (head, body) = (str::from_utf8(&bytes[..at]).ok(), &bytes[at + 2..]);
    if let Some(parts) = head.and_then(head_of) {
        rate_limit::read_reference_request(&parts, body);
    }
}

/// A game as a client creates it.
pub fn read_new_game(body: &[u8]) {
    if let Ok(wanted) = extract::parse::<CreateGame>(body) {
        games::read_new_game(&wanted);
    }
}

/// A URL under which a bot is registered: what is taken where private addresses are refused is taken where they are not.
pub fn read_bot_url(url: &str) {
    if bot_url::check(url, false).is_ok() {
        assert!(bot_url::check(url, true).is_ok(), "{url:?}");
        assert!(bot_client::canonical_host(url).is_some(), "a bot at {url:?} is registered, and cannot be called");
    }
}
