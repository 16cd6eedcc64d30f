//! Forwarded requests that wait at another node: parked here as they are parked there, so that a client's disconnect ends both.
//!
//! Knows the format of an event stream, because heartbeats may only be sent between two events.

use super::ConnectionDriver;
use crate::forward_permits::ForwardPermit;
use crate::listener::park::{ChunkStream, LongPoll, WaitEnd};
use crate::problem::{ApiError, ForwardError, ForwardTarget};
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use engine::limits::{FEED_HEARTBEAT_INTERVAL, FORWARD_EVENT_BYTES_MAX};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{BoxStream, StreamExt, unfold};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use std::task::{Context, Poll};
use tokio::time::timeout;

/// A poll that is forwarded.
pub(super) struct ForwardedPoll {
    target: ForwardTarget,
    response: BoxFuture<'static, http::Response<Bytes>>,
}

impl ForwardedPoll {
    pub(super) fn new(target: ForwardTarget, response: impl Future<Output = Response> + Send + 'static) -> Self {
        Self { target, response: response.then(move |response| collect_response(target, response)).boxed() }
    }
}

impl LongPoll for ForwardedPoll {
    fn poll_response(&mut self, context: &mut Context<'_>) -> Poll<http::Response<Bytes>> {
        self.response.as_mut().poll(context)
    }

    /// The other node knows what happened so far: the client repeats the poll.
    fn finish(&mut self, _: WaitEnd) -> http::Response<Bytes> {
        ApiError::Forward(self.target, ForwardError::Interrupted).into_complete_response()
    }
}

async fn collect_response(target: ForwardTarget, response: Response) -> http::Response<Bytes> {
    let (parts, body) = response.into_parts();
    match body.collect().await {
        Ok(body) => http::Response::from_parts(parts, body.to_bytes()),
        Err(_) => ApiError::Forward(target, ForwardError::Interrupted).into_complete_response(),
    }
}

/// An event stream of another node, passed on event by event.
pub(super) struct ForwardedStream(BoxStream<'static, Bytes>);

impl ForwardedStream {
    pub(super) fn new(body: Incoming, connection: ConnectionDriver, permit: ForwardPermit) -> Self {
        let state = (body, BytesMut::new(), connection, permit);
        let events = unfold(state, |(mut body, mut received, connection, permit)| async move {
            let events = next_events(&mut body, &mut received).await?;
            Some((events, (body, received, connection, permit)))
        });
        Self(events.boxed())
    }
}

/// The next complete events; `None` when the other node has closed, or has sent nothing for so long that it must have.
async fn next_events(body: &mut Incoming, received: &mut BytesMut) -> Option<Bytes> {
    while received.len() <= FORWARD_EVENT_BYTES_MAX {
        let frame = timeout(FEED_HEARTBEAT_INTERVAL * 3, body.frame()).await.ok()??.ok()?;
        let Ok(bytes) = frame.into_data() else { continue };
        received.extend_from_slice(&bytes);
        if let Some(events) = take_whole_events(received) {
            return Some(events);
        }
    }
    None
}

fn take_whole_events(received: &mut BytesMut) -> Option<Bytes> {
    let end = received.windows(2).rposition(|two| two == b"\n\n")? + 2;
    Some(received.split_to(end).freeze())
}

impl ChunkStream for ForwardedStream {
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        self.0.poll_next_unpin(context)
    }

    fn heartbeat(&mut self) -> Bytes {
        Bytes::from_static(b":\n\n")
    }

    fn closing_chunk(&mut self) -> Bytes {
        Bytes::from_static(b": this node leaves, connect again\n\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_events_are_passed_on() {
        let mut received = BytesMut::new();
        let mut receive = |chunk: &str| {
            received.extend_from_slice(chunk.as_bytes());
            take_whole_events(&mut received).map(|events| String::from_utf8(events.to_vec()).unwrap())
        };
        assert_eq!(receive("id: 1\ndata: {"), None);
        assert_eq!(receive("}\n"), None);
        assert_eq!(receive("\nid: 2\ndata: x\n\nid:").as_deref(), Some("id: 1\ndata: {}\n\nid: 2\ndata: x\n\n"));
        assert_eq!(receive(" 3\n\n").as_deref(), Some("id: 3\n\n"));
    }
}
