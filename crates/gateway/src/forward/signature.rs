//! How nodes authenticate each other: a forwarded request carries a signature, an authentication code with the key that all nodes of one
//! database share. A valid one proves that a node forwarded the request and has done everything that admission does: it has determined
//! the client's address, checked for cross-site requests, and charged the client.
//!
//! Clients may write the header, too; without a valid code it is ignored.

use crate::app::App;
use crate::guests::GuestTokens;
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
/// The domain separation of the authentication code.
const SIGNING_CONTEXT: &[u8] = b"gauntlet forwarded request\0";

/// In the extensions of a request that another node has forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Forwarded {
    /// The address of its client, as that node saw it.
    pub(crate) client: Option<IpAddr>,
}

/// Signs a request that is forwarded now, in place of any such header of its client. All its other headers must be set.
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
    let payload = payload(app.clock.now(), client);
    let signed = signed_bytes(method, uri, headers, &payload);
    let signature = signature_header(&app.guests, &app.store, &payload, &signed).await?;
    headers.insert(FORWARDED_HEADER, signature);
    Ok(())
}

async fn signature_header(
    guests: &GuestTokens,
    store: &Store,
    payload: &str,
    signed: &[u8],
) -> Result<HeaderValue, StoreError> {
    let mac = BASE64_URL_SAFE_NO_PAD.encode(guests.sign(store, SIGNING_CONTEXT, signed).await?);
    Ok(HeaderValue::try_from(format!("{payload} {mac}")).expect("digits, an address and base64 are a header"))
}

/// Verifies the signature of a request; `None` if there is none, or no recent one.
pub(crate) async fn verify(app: &App, parts: &Parts) -> Option<Forwarded> {
    if !app.store.is_shared() {
        return None;
    }
    verify_at(&app.guests, &app.store, parts, app.clock.now()).await
}

async fn verify_at(guests: &GuestTokens, store: &Store, parts: &Parts, now: UnixMs) -> Option<Forwarded> {
    let (payload, mac) = parts.headers.get(FORWARDED_HEADER)?.to_str().ok()?.rsplit_once(' ')?;
    let (at, client) = payload.split_once(' ')?;
    let at = UnixMs(at.parse().ok()?);
    let client = if client == "-" { None } else { Some(client.parse().ok()?) };
    let mac = BASE64_URL_SAFE_NO_PAD.decode(mac).ok()?;
    let signed = signed_bytes(&parts.method, &parts.uri, &parts.headers, payload);
    // Without the key no signature is valid.
    let is_valid = guests.is_signed_by_node(store, SIGNING_CONTEXT, &signed, &mac).await.unwrap_or(false);
    let age_ms = now.0.abs_diff(at.0);
    (is_valid && u128::from(age_ms) <= FORWARD_MARK_AGE_MAX.as_millis()).then_some(Forwarded { client })
}

fn payload(at: UnixMs, client: Option<IpAddr>) -> String {
    client.map_or_else(|| format!("{} -", at.0), |client| format!("{} {client}", at.0))
}

/// The bytes that are signed. No part can contain the zero that ends it.
fn signed_bytes(method: &Method, uri: &Uri, headers: &HeaderMap, payload: &str) -> Vec<u8> {
    let path = uri.path_and_query().map_or("", |path| path.as_str());
    let host = headers.get(header::HOST).map_or(&b""[..], HeaderValue::as_bytes);
    [method.as_str().as_bytes(), path.as_bytes(), host, payload.as_bytes()].join(&0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::Request;
    use metrics::Metrics;
    use std::sync::Arc;
    use store::StoreConfig;
    use store::testing::MemoryDatabase;

    const AT: UnixMs = UnixMs(1_700_000_000_000);

    /// Whether a request that was forwarded at [`AT`] is accepted so much later.
    #[track_caller]
    fn check(guests: &GuestTokens, store: &Store, age_ms: i64, change: impl FnOnce(&mut Parts), want: bool) {
        let (mut parts, ()) = Request::get("/a?b").header(header::HOST, "c").body(()).unwrap().into_parts();
        let client = Some(IpAddr::from([192, 0, 2, 1]));
        let payload = payload(AT, client);
        let signed = signed_bytes(&parts.method, &parts.uri, &parts.headers, &payload);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let signature = runtime.block_on(signature_header(guests, store, &payload, &signed)).unwrap();
        parts.headers.insert(FORWARDED_HEADER, signature);
        change(&mut parts);
        let have = runtime.block_on(verify_at(guests, store, &parts, UnixMs(AT.0 + age_ms)));
        assert_eq!(have, want.then_some(Forwarded { client }), "{age_ms} ms later: {parts:?}");
    }

    #[test]
    fn a_signature_is_valid_for_as_long_as_clocks_may_differ() {
        let database = Arc::new(MemoryDatabase::new());
        let store = Store::open(database, StoreConfig { readers: 1 }, Arc::new(Metrics::default())).unwrap();
        let guests = GuestTokens::default();
        let check = |age_ms, want| check(&guests, &store, age_ms, |_| {}, want);
        let max_ms = FORWARD_MARK_AGE_MAX.as_millis() as i64;
        for age_ms in [0, max_ms, -max_ms] {
            check(age_ms, true);
        }
        // An old signature cannot be replayed for ever.
        for age_ms in [max_ms + 1, -max_ms - 1, i64::MAX - AT.0] {
            check(age_ms, false);
        }
    }

    #[test]
    fn a_changed_request_is_refused() {
        let database = Arc::new(MemoryDatabase::new());
        let store = Store::open(database, StoreConfig { readers: 1 }, Arc::new(Metrics::default())).unwrap();
        let (guests, other_guests) = (GuestTokens::default(), GuestTokens::default());
        check(&guests, &store, 0, |parts| parts.uri = Uri::from_static("/a?c"), false);
        check(&guests, &store, 0, |parts| parts.method = Method::POST, false);
        for change in [("192.0.2.1", "192.0.2.2"), ("000 192", "001 192"), ("192.0.2.1", "-")] {
            let forge = |parts: &mut Parts| {
                let signature = parts.headers[FORWARDED_HEADER].to_str().unwrap().replacen(change.0, change.1, 1);
                parts.headers.insert(FORWARDED_HEADER, signature.try_into().unwrap());
            };
            check(&other_guests, &store, 0, forge, false);
        }
        for junk in ["", "1", "1700000000000 192.0.2.1", "1700000000000 192.0.2.1 AAAA", "x 192.0.2.1 AAAA"] {
            check(
                &guests,
                &store,
                0,
                |parts| drop(parts.headers.insert(FORWARDED_HEADER, junk.try_into().unwrap())),
                false,
            );
        }
    }

    #[test]
    fn all_parts_are_signed() {
        let sign = |method: &Method, path: &'static str, host: &'static str, payload: &str| {
            let headers = HeaderMap::from_iter([(header::HOST, HeaderValue::from_static(host))]);
            signed_bytes(method, &Uri::from_static(path), &headers, payload)
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
