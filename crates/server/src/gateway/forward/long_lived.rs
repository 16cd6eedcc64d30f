//! Requests that wait at another node: parked here as they are parked there, so that a client who goes ends both.
//!
//! Knows the shape of an event stream, because only between two events may something else be said.

use super::permits::ForwardPermit;
use super::{ConnectionDriver, ForwardError, ForwardTarget};
use crate::gateway::listener::park::{ChunkStream, LongPoll, WaitEnd};
use crate::gateway::problem::ApiError;
use axum::response::{IntoResponse, Response};
use bytes::{Bytes, BytesMut};
use engine::limits::{FEED_HEARTBEAT_INTERVAL, FORWARD_EVENT_BYTES_MAX};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{BoxStream, StreamExt, unfold};
use http::Response as Whole;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use std::task::{Context, Poll};
use tokio::time::timeout;

/// A poll on its way to another node and back.
pub(super) struct ForwardedPoll {
    target: ForwardTarget,
    response: BoxFuture<'static, Whole<Bytes>>,
}

impl ForwardedPoll {
    pub(super) fn new(about: ForwardTarget, answering: impl Future<Output = Response> + Send + 'static) -> Self {
        Self { target: about, response: answering.then(move |response| collect_response(about, response)).boxed() }
    }
}

impl LongPoll for ForwardedPoll {
    fn poll_response(&mut self, context: &mut Context<'_>) -> Poll<Whole<Bytes>> {
        self.response.as_mut().poll(context)
    }

    /// What there was to tell so far, that node knows: the client asks again.
    fn finish(&mut self, _: WaitEnd) -> Whole<Bytes> {
        let refusal = ApiError::Forward(self.target, ForwardError::Interrupted).into_response();
        // What was made in memory is all there.
        collect_response(self.target, refusal).now_or_never().unwrap_or_default()
    }
}

async fn collect_response(about: ForwardTarget, response: Response) -> Whole<Bytes> {
    let (parts, body) = response.into_parts();
    match body.collect().await {
        Ok(body) => Whole::from_parts(parts, body.to_bytes()),
        Err(_) => {
            let (parts, body) = ApiError::Forward(about, ForwardError::Interrupted).into_response().into_parts();
            let body = body.collect().now_or_never().and_then(Result::ok);
            Whole::from_parts(parts, body.map(http_body_util::Collected::to_bytes).unwrap_or_default())
        }
    }
}

/// An event stream of another node, passed on event by event.
pub(super) struct ForwardedStream(BoxStream<'static, Bytes>);

impl ForwardedStream {
    pub(super) fn new(body: Incoming, connection: ConnectionDriver, place: ForwardPermit) -> Self {
        let state = (body, BytesMut::new(), connection, place);
        let events = unfold(state, |(mut body, mut heard, connection, place)| async move {
            let events = next_events(&mut body, &mut heard).await?;
            Some((events, (body, heard, connection, place)))
        });
        Self(events.boxed())
    }
}

/// The next whole events; `None` when the other node has ended, or has said nothing for so long that it must have.
async fn next_events(body: &mut Incoming, heard: &mut BytesMut) -> Option<Bytes> {
    while heard.len() <= FORWARD_EVENT_BYTES_MAX {
        let frame = timeout(FEED_HEARTBEAT_INTERVAL * 3, body.frame()).await.ok()??.ok()?;
        let Ok(bytes) = frame.into_data() else { continue };
        heard.extend_from_slice(&bytes);
        if let Some(events) = take_whole_events(heard) {
            return Some(events);
        }
    }
    None
}

fn take_whole_events(heard: &mut BytesMut) -> Option<Bytes> {
    let end = heard.windows(2).rposition(|two| two == b"\n\n")? + 2;
    Some(heard.split_to(end).freeze())
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
        let mut heard = BytesMut::new();
        let mut hear = |piece: &str| {
            heard.extend_from_slice(piece.as_bytes());
            take_whole_events(&mut heard).map(|events| String::from_utf8(events.to_vec()).unwrap())
        };
        assert_eq!(hear("id: 1\ndata: {"), None);
        assert_eq!(hear("}\n"), None);
        assert_eq!(hear("\nid: 2\ndata: x\n\nid:").as_deref(), Some("id: 1\ndata: {}\n\nid: 2\ndata: x\n\n"));
        assert_eq!(hear(" 3\n\n").as_deref(), Some("id: 3\n\n"));
    }
}
