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
pub enum ResponseBody {
    /// The unsent rest of a body that was complete from the beginning.
    Whole(Bytes),
    /// The router's body.
    Routed {
        /// The part that has not been polled yet.
        body: Body,
        /// The unsent rest of the last frame.
        given: Bytes,
    },
}

impl ResponseBody {
    pub(super) fn routed(body: Body) -> Self {
        Self::Routed { body, given: Bytes::new() }
    }
}

impl HttpBody for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match &mut *self {
            Self::Whole(left) => Poll::Ready(next_chunk(left).map(|chunk| Ok(Frame::data(chunk)))),
            Self::Routed { body, given } => {
                if let Some(chunk) = next_chunk(given) {
                    return Poll::Ready(Some(Ok(Frame::data(chunk))));
                }
                let frame = ready!(Pin::new(body).poll_frame(context));
                Poll::Ready(frame.map(|frame| {
                    frame.map(|frame| {
                        frame.map_data(|data| {
                            *given = data;
                            next_chunk(given).unwrap_or_default()
                        })
                    })
                }))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(left) => left.is_empty(),
            Self::Routed { body, given } => given.is_empty() && body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(left) => SizeHint::with_exact(left.len() as u64),
            Self::Routed { body, given } => {
                let (of_body, given) = (body.size_hint(), given.len() as u64);
                let mut hint = SizeHint::new();
                hint.set_lower(of_body.lower() + given);
                if let Some(upper) = of_body.upper() {
                    hint.set_upper(upper + given);
                }
                hint
            }
        }
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
            check(ResponseBody::Whole(bytes.clone()), &bytes, &want);
            check(ResponseBody::routed(Body::from(bytes.clone())), &bytes, &want);
        }
        let two = [bytes.slice(..MAX + 1), bytes.slice(MAX + 1..)].map(Ok::<_, Infallible>);
        check(ResponseBody::routed(Body::from_stream(stream::iter(two))), &bytes, &[MAX, 1, MAX, 6]);
    }
}
