//! The framing of a request's body: by its length, or in chunks. Other transfer codings are refused, and never guessed (RFC 9112,
//! section 6.1): a proxy in front that reads `gzip, chunked` differently would see another body than this server.
//!
//! The connection below decodes chunks, and refuses bodies that do not end in them. Knows no routes.

use super::host::refuse_bad_host;
use super::origin::refuse_cross_site_change;
use super::problem::{ApiError, ApiResult};
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, Method, header};

/// # Errors
/// [`ApiError::UnknownTransferCoding`] for any other coding, [`ApiError::BadFraming`] if `chunked` is not there exactly once.
pub(super) fn require_chunked(headers: &HeaderMap) -> ApiResult<()> {
    if !headers.contains_key(header::TRANSFER_ENCODING) {
        return Ok(());
    }
    let lines = headers.get_all(header::TRANSFER_ENCODING).iter();
    let codings = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b',')).map(<[u8]>::trim_ascii);
    let mut chunked = 0;
    for coding in codings.filter(|coding| !coding.is_empty()) {
        if !coding.eq_ignore_ascii_case(b"chunked") {
            return Err(ApiError::UnknownTransferCoding);
        }
        chunked += 1;
    }
    if chunked == 1 { Ok(()) } else { Err(ApiError::BadFraming) }
}

/// A WebSocket begins with a GET without a body (RFC 6455, section 4.1): behind any other head, the segmentation of the bytes would
/// decide what is body and what is frames.
///
/// # Errors
/// [`ApiError::BadUpgrade`].
fn refuse_upgrade_with_body(method: &Method, headers: &HeaderMap) -> ApiResult<()> {
    let protocols =
        headers.get_all(header::UPGRADE).iter().flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    let is_upgrade = protocols.map(<[u8]>::trim_ascii).any(|protocol| protocol.eq_ignore_ascii_case(b"websocket"));
    let has_body = headers.contains_key(header::TRANSFER_ENCODING)
        || headers.get_all(header::CONTENT_LENGTH).iter().any(|length| length.as_bytes().trim_ascii() != b"0");
    if is_upgrade && (has_body || method != Method::GET) { Err(ApiError::BadUpgrade) } else { Ok(()) }
}

/// A layer for the whole router: checks of a request's head alone.
pub(super) async fn validate_head(request: Request, next: Next) -> Response {
    // Who may ask comes before what was asked.
    let refused = refuse_bad_host(request.extensions())
        .and_then(|()| refuse_cross_site_change(request.extensions()))
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
}
