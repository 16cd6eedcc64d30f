//! The framing of event streams (Server-Sent Events, HTML Living Standard, section 9.2): head, events, cursor.

use crate::header_values::EVENT_STREAM;
use crate::problem::{ApiError, ApiResult};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use bytes::Bytes;
use std::fmt::Display;
use std::str::FromStr;

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Tells nginx not to buffer the response.
const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Comes first: after how many milliseconds a disconnected client reconnects.
pub(crate) const RETRY_FIELD: &[u8] = b"retry: 1000\n\n";
/// Comments, which clients ignore.
pub(crate) const HEARTBEAT: &[u8] = b":\n\n";
pub(crate) const CLOSING_COMMENT: &[u8] = b": this node leaves, connect again\n\n";

/// The cursor with which a stream begins: the last event that the client received, or else the one in its URL.
pub(crate) fn cursor<C: FromStr>(headers: &HeaderMap, after: Option<C>) -> ApiResult<Option<C>> {
    let Some(last) = headers.get(LAST_EVENT_ID) else { return Ok(after) };
    let last = last.to_str().ok().and_then(|text| text.trim().parse().ok());
    let refusal = || ApiError::bad_value("Last-Event-ID", "expected the id of an event of this stream");
    last.ok_or_else(refusal).map(Some)
}

pub(crate) fn head() -> http::Response<()> {
    let mut head = http::Response::new(());
    head.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    head.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    head.headers_mut().insert(ACCEL_BUFFERING, HeaderValue::from_static("no"));
    head
}

/// A message as an event; it has no line breaks.
pub(crate) fn event(seq: impl Display, message: &[u8]) -> Bytes {
    [format!("id: {seq}\ndata: ").as_bytes(), message, b"\n\n"].concat().into()
}
