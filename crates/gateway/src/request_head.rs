//! Checks of a request's head alone: its host, its site, and the framing of its body.
//!
//! One of HTTP/1.1 names its host, and once (RFC 9112, section 3.2): a proxy in front that reads the first of two names, where this server
//! reads the second, would route for another site. A body comes by its length, or in chunks; other transfer codings are refused, and never
//! guessed (RFC 9112, section 6.1): a proxy in front that reads `gzip, chunked` differently would see another body than this server.
//!
//! The connection below decodes chunks, and refuses bodies that do not end in them. Knows no routes and no sites.

use super::problem::{ApiError, ApiResult, HttpRefusal};
use axum::extract;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, Method, Request, Version, header};

/// In the extensions of a request that was found unfit where connections come in: the router refuses it, so that the refusal is the same
/// everywhere. Requests within the process need no host.
#[derive(Clone, Copy, Debug)]
pub(super) enum Unfit {
    /// It does not name exactly one host.
    Host,
    /// It changes something, and a page of another site may have sent it.
    CrossSiteChange,
}

impl From<Unfit> for ApiError {
    fn from(unfit: Unfit) -> Self {
        match unfit {
            Unfit::Host => HttpRefusal::BadHost.into(),
            Unfit::CrossSiteChange => Self::CrossSite,
        }
    }
}

/// Whether the request names exactly one host; one of HTTP/1.0 may name none.
pub(super) fn names_one_host<B>(request: &Request<B>) -> bool {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let (is_named, is_named_again) = (hosts.next().is_some(), hosts.next().is_some());
    !is_named_again && (is_named || request.version() < Version::HTTP_11)
}

/// # Errors
/// [`HttpRefusal::UnknownTransferCoding`] for any other coding, [`HttpRefusal::BadFraming`] if `chunked` is not there exactly once.
pub(super) fn require_chunked(headers: &HeaderMap) -> ApiResult<()> {
    if !headers.contains_key(header::TRANSFER_ENCODING) {
        return Ok(());
    }
    let lines = headers.get_all(header::TRANSFER_ENCODING).iter();
    let codings = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b',')).map(<[u8]>::trim_ascii);
    let mut chunked = 0;
    for coding in codings.filter(|coding| !coding.is_empty()) {
        if !coding.eq_ignore_ascii_case(b"chunked") {
            return Err(HttpRefusal::UnknownTransferCoding.into());
        }
        chunked += 1;
    }
    if chunked == 1 { Ok(()) } else { Err(HttpRefusal::BadFraming.into()) }
}

/// A WebSocket begins with a GET without a body (RFC 6455, section 4.1): behind any other head, the segmentation of the bytes would
/// decide what is body and what is frames.
///
/// # Errors
/// [`HttpRefusal::BadUpgrade`].
pub(super) fn refuse_upgrade_with_body(method: &Method, headers: &HeaderMap) -> ApiResult<()> {
    let protocols =
        headers.get_all(header::UPGRADE).iter().flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    let is_upgrade = protocols.map(<[u8]>::trim_ascii).any(|protocol| protocol.eq_ignore_ascii_case(b"websocket"));
    let has_body = headers.contains_key(header::TRANSFER_ENCODING)
        || headers.get_all(header::CONTENT_LENGTH).iter().any(|length| length.as_bytes().trim_ascii() != b"0");
    if is_upgrade && (has_body || method != Method::GET) { Err(HttpRefusal::BadUpgrade.into()) } else { Ok(()) }
}

/// A layer for the whole router.
pub(super) async fn validate_head(request: extract::Request, next: Next) -> Response {
    // Who may ask comes before what was asked.
    let unfit = request.extensions().get().map_or(Ok(()), |unfit: &Unfit| Err(ApiError::from(*unfit)));
    let refused = unfit
        .and_then(|()| require_chunked(request.headers()))
        .and_then(|()| refuse_upgrade_with_body(request.method(), request.headers()));
    match refused {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(lines: &[&'static str], want: Result<(), u16>) {
        let line = |line: &&'static str| (header::TRANSFER_ENCODING, header::HeaderValue::from_static(line));
        let refused = require_chunked(&lines.iter().map(line).collect());
        assert_eq!(refused.map_err(|error| error.status_and_code().0.as_u16()), want, "{lines:?}");
    }

    #[test]
    fn an_upgrade_has_no_body() {
        #[track_caller]
        fn check(method: &Method, lines: &[(header::HeaderName, &'static str)], is_accepted: bool) {
            let line = |(name, value): &(header::HeaderName, &'static str)| {
                (name.clone(), header::HeaderValue::from_static(value))
            };
            let refused = refuse_upgrade_with_body(method, &lines.iter().map(line).collect());
            assert_eq!(refused.is_ok(), is_accepted, "{method} {lines:?}");
        }
        let (upgrade, length) = (|| (header::UPGRADE, "h2c, WebSocket"), |value| (header::CONTENT_LENGTH, value));
        check(&Method::GET, &[upgrade()], true);
        check(&Method::GET, &[upgrade(), length("0")], true);
        check(&Method::GET, &[upgrade(), length("5")], false);
        check(&Method::GET, &[upgrade(), length("0"), length("5")], false);
        check(&Method::GET, &[upgrade(), (header::TRANSFER_ENCODING, "chunked")], false);
        check(&Method::HEAD, &[upgrade()], false);
        check(&Method::POST, &[upgrade()], false);
        check(&Method::POST, &[(header::UPGRADE, "h2c"), length("5")], true);
        check(&Method::HEAD, &[length("5")], true);
    }

    #[test]
    fn chunked_is_the_only_coding() {
        check(&[], Ok(()));
        check(&["chunked"], Ok(()));
        check(&[" Chunked ,"], Ok(()));
        check(&["gzip, chunked"], Err(501));
        check(&["gzip", "chunked"], Err(501));
        check(&["chunked", "gzip"], Err(501));
        check(&["identity, chunked"], Err(501));
        check(&["chunked;q=1"], Err(501));
        check(&["\"chunked\""], Err(501));
        check(&["chunked, chunked"], Err(400));
        check(&["chunked", "chunked"], Err(400));
        check(&[""], Err(400));
    }

    #[track_caller]
    fn check_host(version: Version, hosts: &[&str], want: bool) {
        let mut request = Request::builder().version(version);
        for host in hosts {
            request = request.header(header::HOST, *host);
        }
        assert_eq!(names_one_host(&request.body(()).unwrap()), want, "{version:?} {hosts:?}");
    }

    #[test]
    fn requires_one_host_header() {
        check_host(Version::HTTP_11, &["play.example:4000"], true);
        check_host(Version::HTTP_11, &[""], true);
        check_host(Version::HTTP_11, &[], false);
        check_host(Version::HTTP_11, &["a", "b"], false);
        check_host(Version::HTTP_11, &["a", "a"], false);
        check_host(Version::HTTP_10, &[], true);
        check_host(Version::HTTP_10, &["a"], true);
        check_host(Version::HTTP_10, &["a", "b"], false);
    }
}
