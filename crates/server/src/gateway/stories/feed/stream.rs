//! The event stream (Server-Sent Events, HTML Living Standard, section 9.2): a wait after a wait, on one connection.
//!
//! What is not taken is not asked for: behind a slow reader the table's own memory of events is the only buffer, and whoever
//! falls out of it begins again from a view.

use super::{Reader, shape};
use crate::app::App;
use crate::gateway::granted::Granted;
use crate::gateway::listener::park::{CanPark, Park, Streamed};
use crate::gateway::problem::{ApiError, ApiResult};
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
const RETRY: &[u8] = b"retry: 1000\n\n";
/// Comments, which clients ignore.
const HEARTBEAT: &[u8] = b":\n\n";
const FAREWELL: &[u8] = b": this node leaves, connect again\n\n";

/// The cursor with which a stream begins: what the client heard last, or else what its URL says.
pub(super) fn cursor(headers: &HeaderMap, after: Option<u64>) -> ApiResult<Option<u64>> {
    let Some(last) = headers.get(LAST_EVENT_ID) else { return Ok(after) };
    let last = last.to_str().ok().and_then(|text| text.trim().parse().ok());
    let refusal = || ApiError::bad_value("Last-Event-ID", "expected the id of an event of this stream");
    last.ok_or_else(refusal).map(Some)
}

/// Begins a stream after this cursor; without one, with the whole view.
pub(super) async fn begin(
    app: &App,
    reader: Reader,
    granted: Granted,
    after: Option<u64>,
    pass: CanPark,
) -> ApiResult<Response> {
    let (after, first) = match after {
        Some(after) => (after, Bytes::from_static(RETRY)),
        None => {
            let seen = app.tables.view(reader.table, reader.waiter.player).await?;
            let (seq, message) = shape::first(&seen);
            (seq, [RETRY, &event(seq, &message)].concat().into())
        }
    };
    let waiting = app.tables.wait(reader.table, reader.waiter, after).await?;
    let streaming = Streaming { tables: app.tables.clone(), reader, state: State::Says(first, waiting) };
    Ok(Park::stream(pass, head(), FEED_HEARTBEAT_INTERVAL, granted.to(streaming)))
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
struct Streaming {
    tables: Tables,
    reader: Reader,
    state: State,
}

enum State {
    /// This is said first.
    Says(Bytes, FeedWait),
    Waits(FeedWait),
    /// Between two waits, for a moment.
    Begins(BoxFuture<'static, Result<FeedWait, TableError>>),
    /// The table is not here any more: the client connects again, and is sent where it is.
    Over,
}

impl Streamed for Streaming {
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            match std::mem::replace(&mut self.state, State::Over) {
                State::Over => return Poll::Ready(None),
                State::Says(first, waiting) => {
                    self.state = State::Waits(waiting);
                    return Poll::Ready(Some(first));
                }
                State::Begins(mut begins) => match begins.as_mut().poll(context) {
                    Poll::Ready(Ok(waiting)) => self.state = State::Waits(waiting),
                    Poll::Ready(Err(_)) => return Poll::Ready(None),
                    Poll::Pending => {
                        self.state = State::Begins(begins);
                        return Poll::Pending;
                    }
                },
                State::Waits(mut waiting) => match Pin::new(&mut waiting).poll(context) {
                    Poll::Ready(Ok(answer)) => {
                        let (seq, message) = shape::message(self.reader.table, &answer);
                        self.state = State::Begins(self.next(seq));
                        return Poll::Ready(Some(event(seq, &message)));
                    }
                    Poll::Ready(Err(_)) => return Poll::Ready(None),
                    Poll::Pending => {
                        self.state = State::Waits(waiting);
                        return Poll::Pending;
                    }
                },
            }
        }
    }

    fn heartbeat(&mut self) -> Bytes {
        Bytes::from_static(HEARTBEAT)
    }

    fn farewell(&mut self) -> Bytes {
        Bytes::from_static(FAREWELL)
    }
}

impl Streaming {
    fn next(&self, after: u64) -> BoxFuture<'static, Result<FeedWait, TableError>> {
        let (tables, Reader { table, waiter }) = (self.tables.clone(), self.reader);
        Box::pin(async move { tables.wait(table, waiter, after).await })
    }
}
