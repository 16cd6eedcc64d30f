//! How nodes know each other: a request that was sent on carries a mark, under an authentication code with the key that all nodes of
//! one database share. Whoever bears a good one speaks for a node, which has asked the client for everything that can be asked
//! at a door: where it comes from, whether a page of its own sent it, what it is charged.
//!
//! Anybody may write the header; without a good code it says nothing.

use crate::app::App;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use engine::limits::FORWARD_MARK_MAX;
use engine::time::UnixMs;
use std::net::IpAddr;
use store::StoreError;

/// The header: the time in Unix milliseconds, the client's address or `-`, and the code.
const FORWARDED: HeaderName = HeaderName::from_static("x-gauntlet-forwarded");
/// What the authentication code is made for.
const MEANING: &[u8] = b"gauntlet forwarded request\0";

/// Stands in the extensions of a request that another node has sent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::gateway) struct Forwarded {
    /// Where its client is, as that node saw it.
    pub(in crate::gateway) client: Option<IpAddr>,
}

/// Marks a request that is sent on now, in place of whatever its client wrote there. All its other headers must be set.
///
/// # Errors
/// The key cannot be read.
pub(super) async fn put(
    app: &App,
    method: &Method,
    uri: &Uri,
    headers: &mut HeaderMap,
    client: Option<IpAddr>,
) -> Result<(), StoreError> {
    let said = said(app.clock.now(), client);
    let code = app.guests.code(&app.store, MEANING, &signed(method, uri, headers, &said)).await?;
    let mark = format!("{said} {}", BASE64_URL_SAFE_NO_PAD.encode(code));
    headers.insert(FORWARDED, HeaderValue::try_from(mark).expect("digits, an address and base64 are a header"));
    Ok(())
}

/// What a node said about this request; `None` if none did, or not just now.
pub(in crate::gateway) async fn read(app: &App, parts: &Parts) -> Option<Forwarded> {
    if !app.store.is_shared() {
        return None;
    }
    let (said, code) = parts.headers.get(FORWARDED)?.to_str().ok()?.rsplit_once(' ')?;
    let (at, client) = said.split_once(' ')?;
    let at = UnixMs(at.parse().ok()?);
    let client = if client == "-" { None } else { Some(client.parse().ok()?) };
    let code = BASE64_URL_SAFE_NO_PAD.decode(code).ok()?;
    let signed = signed(&parts.method, &parts.uri, &parts.headers, said);
    // Without the key nothing is believed.
    let is_good = app.guests.is_code(&app.store, MEANING, &signed, &code).await.unwrap_or(false);
    let age_ms = app.clock.now().0.abs_diff(at.0);
    (is_good && u128::from(age_ms) <= FORWARD_MARK_MAX.as_millis()).then_some(Forwarded { client })
}

fn said(at: UnixMs, client: Option<IpAddr>) -> String {
    client.map_or_else(|| format!("{} -", at.0), |client| format!("{} {client}", at.0))
}

/// What the code is made of. No part can hold the zero that ends it.
fn signed(method: &Method, uri: &Uri, headers: &HeaderMap, said: &str) -> Vec<u8> {
    let path = uri.path_and_query().map_or("", |path| path.as_str());
    let host = headers.get(header::HOST).map_or(&b""[..], HeaderValue::as_bytes);
    [method.as_str().as_bytes(), path.as_bytes(), host, said.as_bytes()].join(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_said_is_signed() {
        let sign = |method: &Method, path: &'static str, host: &'static str, said: &str| {
            let headers = HeaderMap::from_iter([(header::HOST, HeaderValue::from_static(host))]);
            signed(method, &Uri::from_static(path), &headers, said)
        };
        let one = sign(&Method::GET, "/a?b", "c", "1 -");
        for other in [
            sign(&Method::PUT, "/a?b", "c", "1 -"),
            sign(&Method::GET, "/a?", "c", "1 -"),
            sign(&Method::GET, "/a?b", "d", "1 -"),
            sign(&Method::GET, "/a?b", "c", "2 -"),
            sign(&Method::GET, "/a?b", "c", "1 192.0.2.1"),
        ] {
            assert_ne!(one, other);
        }
        assert_eq!(said(UnixMs(7), Some(IpAddr::from([192, 0, 2, 1]))), "7 192.0.2.1");
        assert_eq!(said(UnixMs(7), None), "7 -");
    }
}
