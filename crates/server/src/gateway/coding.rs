//! How the body of a request is framed: by its length, or in chunks. Nothing else is understood here, and what is not understood
//! must not be guessed (RFC 9112, section 6.1): a proxy in front of us that takes `gzip, chunked` for something else than we do
//! would see another body than we see.
//!
//! The connection below decodes chunks, and refuses what does not end in them. Knows no routes.

use super::host::refuse_unnamed;
use super::problem::{ApiError, ApiResult};
use super::site::refuse_foreign_change;
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, header};

/// # Errors
/// [`ApiError::UnknownCoding`] where there is any but `chunked`, [`ApiError::BadFraming`] where that is not there once.
pub(super) fn refuse_other_than_chunked(headers: &HeaderMap) -> ApiResult<()> {
    if !headers.contains_key(header::TRANSFER_ENCODING) {
        return Ok(());
    }
    let lines = headers.get_all(header::TRANSFER_ENCODING).iter();
    let codings = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b',')).map(<[u8]>::trim_ascii);
    let mut chunked = 0;
    for coding in codings.filter(|coding| !coding.is_empty()) {
        if !coding.eq_ignore_ascii_case(b"chunked") {
            return Err(ApiError::UnknownCoding);
        }
        chunked += 1;
    }
    if chunked == 1 { Ok(()) } else { Err(ApiError::BadFraming) }
}

/// A layer for the whole router: what can be told of a request's head alone.
pub(super) async fn refuse(request: Request, next: Next) -> Response {
    let refused = refuse_unnamed(request.extensions())
        .and_then(|()| refuse_other_than_chunked(request.headers()))
        .and_then(|()| refuse_foreign_change(request.extensions()));
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
        let refused = refuse_other_than_chunked(&lines.iter().map(line).collect());
        assert_eq!(refused.map_err(|error| error.kind().0.as_u16()), want, "{lines:?}");
    }

    #[test]
    fn chunks_are_the_only_coding() {
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
