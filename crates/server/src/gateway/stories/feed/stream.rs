//! The event stream (Server-Sent Events, HTML Living Standard, section 9.2): a wait after a wait, on one connection.
//!
//! What is not taken is not asked for: behind a slow reader the table's own memory of events is the only buffer, and whoever
//! falls out of it begins again from a view.

use super::{FeedReader, messages};
use crate::app::App;
use crate::gateway::listener::park::{ChunkStream, ParkMarker, ParkToken};
use crate::gateway::problem::{ApiError, ApiResult};
use crate::gateway::revocation::RequestGrant;
use crate::tables::{FeedWait, TableError, Tables};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response as Head, header};
use axum::response::Response;
use bytes::Bytes;
use engine::limits::FEED_HEARTBEAT_INTERVAL;
use futures_util::future::BoxFuture;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The media type that asks for a stream.
pub(super) const EVENT_STREAM: &str = "text/event-stream";
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// Tells nginx to pass pieces on as they come.
const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Comes first: after how many milliseconds a client that was cut off connects again.
const RETRY_FIELD: &[u8] = b"retry: 1000\n\n";
/// Comments, which clients ignore.
const HEARTBEAT: &[u8] = b":\n\n";
const CLOSING_COMMENT: &[u8] = b": this node leaves, connect again\n\n";

/// The cursor with which a stream begins: what the client heard last, or else what its URL says.
pub(super) fn cursor(headers: &HeaderMap, after: Option<u64>) -> ApiResult<Option<u64>> {
    let Some(last) = headers.get(LAST_EVENT_ID) else { return Ok(after) };
    let last = last.to_str().ok().and_then(|text| text.trim().parse().ok());
    let refusal = || ApiError::bad_value("Last-Event-ID", "expected the id of an event of this stream");
    last.ok_or_else(refusal).map(Some)
}

/// Begins a stream after this cursor; without one, with the whole view.
pub(super) async fn start(
    app: &App,
    reader: FeedReader,
    granted: RequestGrant,
    after: Option<u64>,
    pass: ParkToken,
) -> ApiResult<Response> {
    let (after, first) = match after {
        Some(after) => (after, Bytes::from_static(RETRY_FIELD)),
        None => {
            let seen = app.tables.view(reader.table, reader.waiter.player).await?;
            let (seq, message) = messages::first_message(&seen);
            (seq, [RETRY_FIELD, &event(seq, &message)].concat().into())
        }
    };
    let waiting = app.tables.wait(reader.table, reader.waiter, after).await?;
    let streaming = FeedStream { tables: app.tables.clone(), reader, state: StreamState::Sending(first, waiting) };
    Ok(ParkMarker::stream(pass, head(), FEED_HEARTBEAT_INTERVAL, granted.until_revoked(streaming)))
}

/// The head of a stream.
pub(super) fn head() -> Head<()> {
    let mut head = Head::new(());
    head.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    head.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    head.headers_mut().insert(ACCEL_BUFFERING, HeaderValue::from_static("no"));
    head
}

/// A message as an event; it has no line breaks.
fn event(seq: u64, message: &[u8]) -> Bytes {
    [format!("id: {seq}\ndata: ").as_bytes(), message, b"\n\n"].concat().into()
}

/// A stream that waits: all that is kept of it.
struct FeedStream {
    tables: Tables,
    reader: FeedReader,
    state: StreamState,
}

enum StreamState {
    /// This is said first.
    Sending(Bytes, FeedWait),
    Waiting(FeedWait),
    /// Between two waits, for a moment.
    Resubscribing(BoxFuture<'static, Result<FeedWait, TableError>>),
    /// The table is not here any more: the client connects again, and is sent where it is.
    Ended,
}

impl ChunkStream for FeedStream {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            match std::mem::replace(&mut self.state, StreamState::Ended) {
                StreamState::Ended => return Poll::Ready(None),
                StreamState::Sending(first, waiting) => {
                    self.state = StreamState::Waiting(waiting);
                    return Poll::Ready(Some(first));
                }
                StreamState::Resubscribing(mut begins) => match begins.as_mut().poll(context) {
                    Poll::Ready(Ok(waiting)) => self.state = StreamState::Waiting(waiting),
                    Poll::Ready(Err(_)) => return Poll::Ready(None),
                    Poll::Pending => {
                        self.state = StreamState::Resubscribing(begins);
                        return Poll::Pending;
                    }
                },
                StreamState::Waiting(mut waiting) => match Pin::new(&mut waiting).poll(context) {
                    Poll::Ready(Ok(answer)) => {
                        let (seq, message) = messages::message(self.reader.table, &answer);
                        self.state = StreamState::Resubscribing(self.next_wait(seq));
                        return Poll::Ready(Some(event(seq, &message)));
                    }
                    Poll::Ready(Err(_)) => return Poll::Ready(None),
                    Poll::Pending => {
                        self.state = StreamState::Waiting(waiting);
                        return Poll::Pending;
                    }
                },
            }
        }
    }

    fn heartbeat(&mut self) -> Bytes {
        Bytes::from_static(HEARTBEAT)
    }

    fn closing_chunk(&mut self) -> Bytes {
        Bytes::from_static(CLOSING_COMMENT)
    }
}

impl FeedStream {
    fn next_wait(&self, after: u64) -> BoxFuture<'static, Result<FeedWait, TableError>> {
        let (tables, FeedReader { table, waiter }) = (self.tables.clone(), self.reader);
        Box::pin(async move { tables.wait(table, waiter, after).await })
    }
}
