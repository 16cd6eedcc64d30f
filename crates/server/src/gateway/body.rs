//! Reading a request's body to its end, and no further than it may be long; and an answer's body with what is held as long as it lasts.

use super::budget::{Account, Budget, NoRoom, Reservation};
use super::listener::BUFFER_BYTES_MAX;
use axum::BoxError;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, header};
use hyper::body::{Body, Frame, SizeHint};
use std::io;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// Why a body was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyError {
    /// It is, or says that it is, longer than it may be.
    TooLong,
    /// There is no room for it beside others.
    NoRoom(NoRoom),
    /// It did not come in its time.
    TooSlow,
    /// The connection broke.
    Broken,
}

/// A body, whole, and the room that it takes.
#[derive(Debug, Default)]
pub(super) struct Whole {
    bytes: Bytes,
    room: Option<Reservation>,
}

impl Whole {
    pub(super) fn into_parts(self) -> (Bytes, Option<Reservation>) {
        (self.bytes, self.room)
    }
}

impl Deref for Whole {
    type Target = Bytes;

    fn deref(&self) -> &Bytes {
        &self.bytes
    }
}

/// Where bodies that do not fit the buffer of their connection find room.
pub(super) struct Room {
    pub(super) budget: Arc<Budget>,
    pub(super) account: Account,
    taken: Option<Reservation>,
}

impl Room {
    pub(super) fn new(budget: &Arc<Budget>, account: Account) -> Self {
        Self { budget: budget.clone(), account, taken: None }
    }

    /// Room for so many bytes altogether.
    fn take(&mut self, bytes: usize) -> Result<(), NoRoom> {
        if bytes <= BUFFER_BYTES_MAX {
            return Ok(());
        }
        match &self.taken {
            Some(taken) => taken.grow(bytes),
            None => {
                self.taken = Some(self.budget.reserve(&self.account, bytes)?);
                Ok(())
            }
        }
    }
}

/// The whole body of a request with these headers.
pub(super) async fn read<B>(
    headers: &HeaderMap,
    body: B,
    bytes_max: usize,
    room: impl FnOnce() -> Room,
) -> Result<Whole, BodyError>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    let mut reading = BodyReader::new(headers, body, bytes_max, room);
    std::future::poll_fn(|context| reading.poll(context)).await
}

/// A body on its way.
pub(super) struct BodyReader<B> {
    body: B,
    bytes_max: usize,
    is_too_long: bool,
    /// Short bodies come in one piece, which is then the whole.
    first_chunk: Bytes,
    buffer: BytesMut,
    /// Only of a body that may be longer than the buffer of its connection.
    room: Option<Box<Room>>,
}

impl<B> BodyReader<B>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    pub(super) fn new(headers: &HeaderMap, body: B, bytes_max: usize, room: impl FnOnce() -> Room) -> Self {
        let declared = declared_length(headers);
        let is_too_long = declared.is_some_and(|bytes| bytes > bytes_max as u64);
        let may_be_large = !is_too_long && !body.is_end_stream();
        let may_be_large = may_be_large && declared.is_none_or(|bytes| bytes > BUFFER_BYTES_MAX as u64);
        let room = may_be_large.then(|| Box::new(room()));
        Self { body, bytes_max, is_too_long, first_chunk: Bytes::new(), buffer: BytesMut::new(), room }
    }

    /// The whole of it, once it is here. Not to be asked again after that.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<Whole, BodyError>> {
        if self.is_too_long {
            return Poll::Ready(Err(BodyError::TooLong));
        }
        while let Some(frame) = ready!(Pin::new(&mut self.body).poll_frame(context)) {
            let frame = frame.map_err(|error| body_error(&error.into()))?;
            let Ok(data) = frame.into_data() else { continue };
            let bytes = self.first_chunk.len() + self.buffer.len() + data.len();
            if bytes > self.bytes_max {
                return Poll::Ready(Err(BodyError::TooLong));
            }
            if let Some(room) = &mut self.room {
                room.take(bytes).map_err(BodyError::NoRoom)?;
            }
            if self.first_chunk.is_empty() && self.buffer.is_empty() {
                self.first_chunk = data;
            } else {
                self.buffer.extend_from_slice(&std::mem::take(&mut self.first_chunk));
                self.buffer.extend_from_slice(&data);
            }
            if self.body.is_end_stream() {
                break;
            }
        }
        let (first, all) = (std::mem::take(&mut self.first_chunk), std::mem::take(&mut self.buffer));
        let room = self.room.take().and_then(|room| room.taken);
        Poll::Ready(Ok(Whole { bytes: if all.is_empty() { first } else { all.freeze() }, room }))
    }
}

fn body_error(error: &BoxError) -> BodyError {
    let is_late = |error: &io::Error| error.kind() == io::ErrorKind::TimedOut;
    if error.downcast_ref().is_some_and(is_late) { BodyError::TooSlow } else { BodyError::Broken }
}

fn declared_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// A body that holds something until it is dropped.
pub(super) fn holding<B, H>(body: B, held: H) -> axum::body::Body
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
    H: Send + Unpin + 'static,
{
    axum::body::Body::new(Holding { body, _held: held })
}

struct Holding<B, H> {
    body: B,
    _held: H,
}

impl<B: Body + Unpin, H: Unpin> Body for Holding<B, H> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::stream;
    use http_body_util::StreamBody;

    /// Nobody's, of a megabyte.
    fn room() -> Room {
        let metrics = Arc::new(crate::metrics::Metrics::default());
        Room::new(&Budget::new(1 << 20, 1 << 20, &metrics, crate::metrics::Metrics::body_budget), Account::default())
    }

    /// What is read of these pieces, at most 6 bytes.
    #[track_caller]
    fn check(pieces: &[&'static str], want: Result<&str, BodyError>) {
        let frames = pieces.iter().map(|piece| match *piece {
            "late" => Err(io::Error::from(io::ErrorKind::TimedOut)),
            "broken" => Err(io::Error::from(io::ErrorKind::ConnectionReset)),
            piece => Ok(Frame::data(Bytes::from_static(piece.as_bytes()))),
        });
        let body = StreamBody::new(stream::iter(frames.collect::<Vec<_>>()));
        let read = futures_util::FutureExt::now_or_never(read(&HeaderMap::new(), body, 6, room)).unwrap();
        assert_eq!(read.map(|whole| whole.bytes), want.map(|text| text.to_owned().into()), "{pieces:?}");
    }

    #[test]
    fn bodies_are_read_whole_or_not_at_all() {
        check(&[], Ok(""));
        check(&["abc"], Ok("abc"));
        check(&["ab", "", "cd", "ef"], Ok("abcdef"));
        check(&["abcdefg"], Err(BodyError::TooLong));
        check(&["ab", "cd", "efg"], Err(BodyError::TooLong));
        check(&["ab", "late"], Err(BodyError::TooSlow));
        check(&["ab", "broken"], Err(BodyError::Broken));
    }

    #[test]
    fn what_is_held_is_let_go_with_the_body() {
        let held = Arc::new(());
        let body = holding(axum::body::Body::from("abc"), held.clone());
        assert_eq!((Body::size_hint(&body).exact(), Body::is_end_stream(&body)), (Some(3), false));
        assert_eq!(Arc::strong_count(&held), 2);
        let read = futures_util::FutureExt::now_or_never(read(&HeaderMap::new(), body, 6, room)).unwrap();
        let read = read.map(|whole| whole.bytes);
        assert_eq!((read, Arc::strong_count(&held)), (Ok(Bytes::from("abc")), 1));
    }

    #[test]
    fn what_says_that_it_is_too_long_is_not_read() {
        let headers = HeaderMap::from_iter([(header::CONTENT_LENGTH, header::HeaderValue::from_static("7"))]);
        let read = futures_util::FutureExt::now_or_never(read(&headers, axum::body::Body::empty(), 6, room)).unwrap();
        assert_eq!(read.map(drop), Err(BodyError::TooLong));
    }
}
