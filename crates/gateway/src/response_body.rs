//! The body of every response: of the router, or complete from the beginning.

use super::listener::BUFFER_BYTES_MAX;
use axum::body::Body;
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The body of a response, in chunks no longer than a connection's buffer: the connection copies each chunk behind its pending
/// output, and that buffer lives as long as the connection.
#[derive(Debug)]
pub struct ResponseBody {
    /// The unsent rest of the last frame.
    frame: Bytes,
    /// The router's body; `None` of a response that was complete from the beginning.
    routed: Option<Body>,
}

impl ResponseBody {
    pub(super) fn whole(bytes: Bytes) -> Self {
        Self { frame: bytes, routed: None }
    }

    pub(super) fn routed(body: Body) -> Self {
        Self { frame: Bytes::new(), routed: Some(body) }
    }
}

impl HttpBody for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let Self { frame, routed } = &mut *self;
        if let Some(chunk) = next_chunk(frame) {
            return Poll::Ready(Some(Ok(Frame::data(chunk))));
        }
        let Some(body) = routed else { return Poll::Ready(None) };
        let next = ready!(Pin::new(body).poll_frame(context));
        Poll::Ready(next.map(|next| {
            next.map(|next| {
                next.map_data(|data| {
                    *frame = data;
                    next_chunk(frame).unwrap_or_default()
                })
            })
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.frame.is_empty() && self.routed.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = self.routed.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint);
        let frame_bytes = self.frame.len() as u64;
        if let Some(upper) = hint.upper() {
            hint.set_upper(upper + frame_bytes);
        }
        hint.set_lower(hint.lower() + frame_bytes);
        hint
    }
}

/// The next chunk of the rest, if any is left.
fn next_chunk(left: &mut Bytes) -> Option<Bytes> {
    (!left.is_empty()).then(|| left.split_to(left.len().min(BUFFER_BYTES_MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::{FutureExt, stream};
    use http_body_util::BodyExt;
    use std::convert::Infallible;

    /// Checks the lengths of the chunks of a body, that together they are the whole, and that the size hint holds throughout.
    #[track_caller]
    fn check(body: ResponseBody, bytes: &Bytes, want: &[usize]) {
        let (mut body, mut sent, mut chunks) = (body, Vec::new(), Vec::new());
        while !body.is_end_stream() {
            let hint = body.size_hint();
            assert!(hint.lower() <= (bytes.len() - sent.len()) as u64);
            assert!(hint.upper().is_none_or(|upper| upper == (bytes.len() - sent.len()) as u64));
            let Some(frame) = body.frame().now_or_never().unwrap() else { break };
            let data = frame.unwrap().into_data().unwrap();
            chunks.push(data.len());
            sent.extend_from_slice(&data);
        }
        assert_eq!((sent, &*chunks), (bytes.to_vec(), want));
    }

    #[test]
    fn splits_bodies_into_chunks_that_fit_the_buffer() {
        const MAX: usize = BUFFER_BYTES_MAX;
        let bytes: Bytes = (0..2 * MAX + 7).map(|at| (at % 251) as u8).collect();
        for (length, want) in [(0, vec![]), (1, vec![1]), (MAX, vec![MAX]), (bytes.len(), vec![MAX, MAX, 7])] {
            let bytes = bytes.slice(..length);
            check(ResponseBody::whole(bytes.clone()), &bytes, &want);
            check(ResponseBody::routed(Body::from(bytes.clone())), &bytes, &want);
        }
        let two = [bytes.slice(..MAX + 1), bytes.slice(MAX + 1..)].map(Ok::<_, Infallible>);
        check(ResponseBody::routed(Body::from_stream(stream::iter(two))), &bytes, &[MAX, 1, MAX, 6]);
    }
}
