//! How nodes authenticate each other: a forwarded request carries a signature, an authentication code with the key that all nodes of one
//! database share. A valid one proves that a node forwarded the request and has done everything that admission does: it has determined
//! the client's address, checked for cross-site requests, and charged the client.
//!
//! Clients may write the header, too; without a valid code it is ignored.

use crate::guests::GuestTokens;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, header};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use engine::limits::FORWARD_MARK_AGE_MAX;
use engine::time::UnixMs;
use std::net::IpAddr;
use store::StoreError;

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
    guests: &GuestTokens,
    now: UnixMs,
    parts: (&Method, &Uri, &mut HeaderMap),
    client: Option<IpAddr>,
) -> Result<(), StoreError> {
    let ((method, uri, headers), payload) = (parts, payload(now, client));
    let signed = signed_bytes(method, uri, headers, &payload);
    let mac = BASE64_URL_SAFE_NO_PAD.encode(guests.sign(SIGNING_CONTEXT, &signed).await?);
    let signature = HeaderValue::try_from(format!("{payload} {mac}"));
    headers.insert(FORWARDED_HEADER, signature.expect("digits, an address and base64 are a header"));
    Ok(())
}

/// Verifies the signature of a request; `None` if there is none, or no recent one.
pub(crate) async fn verify(guests: &GuestTokens, now: UnixMs, parts: &Parts) -> Option<Forwarded> {
    let (payload, mac) = parts.headers.get(FORWARDED_HEADER)?.to_str().ok()?.rsplit_once(' ')?;
    let (at, client) = payload.split_once(' ')?;
    let at = UnixMs(at.parse().ok()?);
    let client = if client == "-" { None } else { Some(client.parse().ok()?) };
    let mac = BASE64_URL_SAFE_NO_PAD.decode(mac).ok()?;
    let signed = signed_bytes(&parts.method, &parts.uri, &parts.headers, payload);
    // Without the key no signature is valid.
    let is_valid = guests.is_signed_by_node(SIGNING_CONTEXT, &signed, &mac).await.unwrap_or(false);
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
    use store::testing::MemoryDatabase;
    use store::{Store, StoreConfig};

    const AT: UnixMs = UnixMs(1_700_000_000_000);

    fn guests() -> GuestTokens {
        let database = Arc::new(MemoryDatabase::new());
        GuestTokens::new(Store::open(database, StoreConfig { readers: 1 }, Arc::new(Metrics::default())).unwrap())
    }

    /// Whether a request that was forwarded at [`AT`] is accepted so much later.
    #[track_caller]
    fn check(guests: &GuestTokens, age_ms: i64, change: impl FnOnce(&mut Parts), want: bool) {
        let (mut parts, ()) = Request::get("/a?b").header(header::HOST, "c").body(()).unwrap().into_parts();
        let client = Some(IpAddr::from([192, 0, 2, 1]));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let signed = (&parts.method, &parts.uri, &mut parts.headers);
        runtime.block_on(sign(guests, AT, signed, client)).unwrap();
        change(&mut parts);
        let have = runtime.block_on(verify(guests, UnixMs(AT.0 + age_ms), &parts));
        assert_eq!(have, want.then_some(Forwarded { client }), "{age_ms} ms later: {parts:?}");
    }

    #[test]
    fn a_signature_is_valid_for_as_long_as_clocks_may_differ() {
        let guests = guests();
        let check = |age_ms, want| check(&guests, age_ms, |_| {}, want);
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
        let guests = guests();
        check(&guests, 0, |parts| parts.uri = Uri::from_static("/a?c"), false);
        check(&guests, 0, |parts| parts.method = Method::POST, false);
        for change in [("192.0.2.1", "192.0.2.2"), ("000 192", "001 192"), ("192.0.2.1", "-")] {
            let forge = |parts: &mut Parts| {
                let signature = parts.headers[FORWARDED_HEADER].to_str().unwrap().replacen(change.0, change.1, 1);
                parts.headers.insert(FORWARDED_HEADER, signature.try_into().unwrap());
            };
            check(&guests, 0, forge, false);
        }
        for junk in ["", "1", "1700000000000 192.0.2.1", "1700000000000 192.0.2.1 AAAA", "x 192.0.2.1 AAAA"] {
            check(&guests, 0, |parts| drop(parts.headers.insert(FORWARDED_HEADER, junk.try_into().unwrap())), false);
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
