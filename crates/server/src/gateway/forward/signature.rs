//! How nodes know each other: a request that was sent on carries a mark, under an authentication code with the key that all nodes of
//! one database share. Whoever bears a good one speaks for a node, which has asked the client for everything that can be asked
//! at a door: where it comes from, whether a page of its own sent it, what it is charged.
//!
//! Anybody may write the header; without a good code it says nothing.

use crate::app::App;
use crate::gateway::guests::GuestTokens;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use engine::limits::FORWARD_MARK_AGE_MAX;
use engine::time::UnixMs;
use std::net::IpAddr;
use store::{Store, StoreError};

/// The header: the time in Unix milliseconds, the client's address or `-`, and the code.
const FORWARDED_HEADER: HeaderName = HeaderName::from_static("x-gauntlet-forwarded");
/// What the authentication code is made for.
const SIGNING_CONTEXT: &[u8] = b"gauntlet forwarded request\0";

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
pub(super) async fn sign(
    app: &App,
    method: &Method,
    uri: &Uri,
    headers: &mut HeaderMap,
    client: Option<IpAddr>,
) -> Result<(), StoreError> {
    let said = payload(app.clock.now(), client);
    let mark = signature_header(&app.guests, &app.store, &said, &signed_bytes(method, uri, headers, &said)).await?;
    headers.insert(FORWARDED_HEADER, mark);
    Ok(())
}

async fn signature_header(
    guests: &GuestTokens,
    store: &Store,
    said: &str,
    signed: &[u8],
) -> Result<HeaderValue, StoreError> {
    let code = BASE64_URL_SAFE_NO_PAD.encode(guests.sign(store, SIGNING_CONTEXT, signed).await?);
    Ok(HeaderValue::try_from(format!("{said} {code}")).expect("digits, an address and base64 are a header"))
}

/// What a node said about this request; `None` if none did, or not just now.
pub(in crate::gateway) async fn verify(app: &App, parts: &Parts) -> Option<Forwarded> {
    if !app.store.is_shared() {
        return None;
    }
    verify_at(&app.guests, &app.store, parts, app.clock.now()).await
}

async fn verify_at(guests: &GuestTokens, store: &Store, parts: &Parts, now: UnixMs) -> Option<Forwarded> {
    let (said, code) = parts.headers.get(FORWARDED_HEADER)?.to_str().ok()?.rsplit_once(' ')?;
    let (at, client) = said.split_once(' ')?;
    let at = UnixMs(at.parse().ok()?);
    let client = if client == "-" { None } else { Some(client.parse().ok()?) };
    let code = BASE64_URL_SAFE_NO_PAD.decode(code).ok()?;
    let signed = signed_bytes(&parts.method, &parts.uri, &parts.headers, said);
    // Without the key nothing is believed.
    let is_good = guests.is_signed_by_node(store, SIGNING_CONTEXT, &signed, &code).await.unwrap_or(false);
    let age_ms = now.0.abs_diff(at.0);
    (is_good && u128::from(age_ms) <= FORWARD_MARK_AGE_MAX.as_millis()).then_some(Forwarded { client })
}

fn payload(at: UnixMs, client: Option<IpAddr>) -> String {
    client.map_or_else(|| format!("{} -", at.0), |client| format!("{} {client}", at.0))
}

/// What the code is made of. No part can hold the zero that ends it.
fn signed_bytes(method: &Method, uri: &Uri, headers: &HeaderMap, said: &str) -> Vec<u8> {
    let path = uri.path_and_query().map_or("", |path| path.as_str());
    let host = headers.get(header::HOST).map_or(&b""[..], HeaderValue::as_bytes);
    [method.as_str().as_bytes(), path.as_bytes(), host, said.as_bytes()].join(&0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metrics;
    use axum::http::Request;
    use std::sync::Arc;
    use store::StoreConfig;
    use store::memory::MemoryDatabase;

    const AT: UnixMs = UnixMs(1_700_000_000_000);

    /// Whether a request is believed that says it was sent on at [`AT`], when it is read so much later.
    #[track_caller]
    fn check(guests: &GuestTokens, store: &Store, age_ms: i64, change: impl FnOnce(&mut Parts), want: bool) {
        let (mut parts, ()) = Request::get("/a?b").header(header::HOST, "c").body(()).unwrap().into_parts();
        let client = Some(IpAddr::from([192, 0, 2, 1]));
        let said = payload(AT, client);
        let signed = signed_bytes(&parts.method, &parts.uri, &parts.headers, &said);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let mark = runtime.block_on(signature_header(guests, store, &said, &signed)).unwrap();
        parts.headers.insert(FORWARDED_HEADER, mark);
        change(&mut parts);
        let have = runtime.block_on(verify_at(guests, store, &parts, UnixMs(AT.0 + age_ms)));
        assert_eq!(have, want.then_some(Forwarded { client }), "{age_ms} ms later: {parts:?}");
    }

    #[test]
    fn a_node_is_believed_for_as_long_as_clocks_may_differ() {
        let database = Arc::new(MemoryDatabase::new());
        let store = Store::open(database, StoreConfig { readers: 1 }, Arc::new(Metrics::default())).unwrap();
        let guests = GuestTokens::default();
        let check = |age_ms, want| check(&guests, &store, age_ms, |_| {}, want);
        let max_ms = FORWARD_MARK_AGE_MAX.as_millis() as i64;
        for age_ms in [0, max_ms, -max_ms] {
            check(age_ms, true);
        }
        // Whoever wrote it down cannot use it for ever.
        for age_ms in [max_ms + 1, -max_ms - 1, i64::MAX - AT.0] {
            check(age_ms, false);
        }
    }

    #[test]
    fn what_was_changed_on_the_way_is_not_believed() {
        let database = Arc::new(MemoryDatabase::new());
        let store = Store::open(database, StoreConfig { readers: 1 }, Arc::new(Metrics::default())).unwrap();
        let (ours, others) = (GuestTokens::default(), GuestTokens::default());
        check(&ours, &store, 0, |parts| parts.uri = Uri::from_static("/a?c"), false);
        check(&ours, &store, 0, |parts| parts.method = Method::POST, false);
        for change in [("192.0.2.1", "192.0.2.2"), ("000 192", "001 192"), ("192.0.2.1", "-")] {
            let forge = |parts: &mut Parts| {
                let mark = parts.headers[FORWARDED_HEADER].to_str().unwrap().replacen(change.0, change.1, 1);
                parts.headers.insert(FORWARDED_HEADER, mark.try_into().unwrap());
            };
            check(&others, &store, 0, forge, false);
        }
        for junk in ["", "1", "1700000000000 192.0.2.1", "1700000000000 192.0.2.1 AAAA", "x 192.0.2.1 AAAA"] {
            check(
                &ours,
                &store,
                0,
                |parts| drop(parts.headers.insert(FORWARDED_HEADER, junk.try_into().unwrap())),
                false,
            );
        }
    }

    #[test]
    fn everything_that_is_said_is_signed() {
        let sign = |method: &Method, path: &'static str, host: &'static str, said: &str| {
            let headers = HeaderMap::from_iter([(header::HOST, HeaderValue::from_static(host))]);
            signed_bytes(method, &Uri::from_static(path), &headers, said)
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
        assert_eq!(payload(UnixMs(7), Some(IpAddr::from([192, 0, 2, 1]))), "7 192.0.2.1");
        assert_eq!(payload(UnixMs(7), None), "7 -");
    }
}
