//! The event stream: consecutive waits on one connection.
//!
//! Events are fetched only when the client has read the last: behind a slow reader the table's own event buffer is the only buffer, and a
//! reader that falls out of it starts again from a view.

use super::{FeedReader, messages};
use crate::app::App;
use crate::event_stream::{CLOSING_COMMENT, HEARTBEAT, RETRY_FIELD, event, head};
use crate::listener::park::{ChunkStream, ParkMarker, ParkToken};
use crate::problem::ApiResult;
use crate::revocation::RequestGrant;
use axum::response::Response;
use bytes::Bytes;
use engine::limits::FEED_HEARTBEAT_INTERVAL;
use futures_util::future::BoxFuture;
use std::pin::Pin;
use std::task::{Context, Poll};
use tables::{FeedWait, TableError, Tables};

/// Begins a stream after this cursor; without one, with the whole view.
pub(super) async fn start(
    app: &App,
    reader: FeedReader,
    grant: RequestGrant,
    after: Option<u64>,
    park_token: ParkToken,
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
    let stream = FeedStream { tables: app.tables.clone(), reader, state: StreamState::Sending(first, waiting) };
    Ok(ParkMarker::stream(park_token, head(), FEED_HEARTBEAT_INTERVAL, grant.until_revoked(stream)))
}

/// A waiting stream: all that is kept of it.
struct FeedStream {
    tables: Tables,
    reader: FeedReader,
    state: StreamState,
}

enum StreamState {
    /// These bytes are sent first.
    Sending(Bytes, FeedWait),
    Waiting(FeedWait),
    /// Between two waits, for a moment.
    Resubscribing(BoxFuture<'static, Result<FeedWait, TableError>>),
    /// The table is not here any more: the client reconnects, and is directed to its node.
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
                StreamState::Resubscribing(mut subscription) => match subscription.as_mut().poll(context) {
                    Poll::Ready(Ok(waiting)) => self.state = StreamState::Waiting(waiting),
                    Poll::Ready(Err(_)) => return Poll::Ready(None),
                    Poll::Pending => {
                        self.state = StreamState::Resubscribing(subscription);
                        return Poll::Pending;
                    }
                },
                StreamState::Waiting(mut waiting) => match Pin::new(&mut waiting).poll(context) {
                    Poll::Ready(Ok(response)) => {
                        let (seq, message) = messages::message(self.reader.table, &response);
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
