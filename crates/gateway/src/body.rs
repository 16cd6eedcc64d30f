//! Reading a request's body to its end, up to a limit; and response bodies that keep a guard until they are dropped.

use super::budget::{Budget, BudgetExceeded, BudgetOwner, Reservation};
use super::listener::BUFFER_BYTES_MAX;
use axum::BoxError;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, header};
use http_body_util::BodyExt;
use hyper::body::Body;
use std::io;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// Why a body was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyError {
    /// It is longer than allowed, or declares to be.
    TooLong,
    /// The budget for bodies is used up.
    BudgetExceeded(BudgetExceeded),
    /// It did not arrive in time.
    TooSlow,
    /// The connection broke.
    Broken,
}

/// A whole body, and its reservation.
#[derive(Debug, Default)]
pub(super) struct ReadBody {
    bytes: Bytes,
    reservation: Option<Reservation>,
}

impl ReadBody {
    pub(super) fn into_parts(self) -> (Bytes, Option<Reservation>) {
        (self.bytes, self.reservation)
    }
}

impl Deref for ReadBody {
    type Target = Bytes;

    fn deref(&self) -> &Bytes {
        &self.bytes
    }
}

/// The budget of bodies that do not fit the buffer of their connection.
pub(super) struct BodyBudget {
    pub(super) budget: Arc<Budget>,
    pub(super) owner: BudgetOwner,
    reservation: Option<Reservation>,
}

impl BodyBudget {
    pub(super) fn new(budget: &Arc<Budget>, owner: BudgetOwner) -> Self {
        Self { budget: budget.clone(), owner, reservation: None }
    }

    /// Reserves so many bytes in all.
    fn reserve(&mut self, bytes: usize) -> Result<(), BudgetExceeded> {
        if bytes <= BUFFER_BYTES_MAX {
            return Ok(());
        }
        match &self.reservation {
            Some(reservation) => reservation.grow(bytes),
            None => {
                self.reservation = Some(self.budget.reserve(&self.owner, bytes)?);
                Ok(())
            }
        }
    }
}

/// Reads the whole body of a request with these headers.
pub(super) async fn read<B>(
    headers: &HeaderMap,
    body: B,
    bytes_max: usize,
    budget: impl FnOnce() -> BodyBudget,
) -> Result<ReadBody, BodyError>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    let mut reader = BodyReader::new(headers, body, bytes_max, budget);
    std::future::poll_fn(|context| reader.poll(context)).await
}

/// Reads a body that arrives in frames.
pub(super) struct BodyReader<B> {
    body: B,
    bytes_max: usize,
    is_too_long: bool,
    /// Short bodies come in one chunk, which is then the whole.
    first_chunk: Bytes,
    buffer: BytesMut,
    /// Only for a body that may be longer than the buffer of its connection.
    budget: Option<Box<BodyBudget>>,
}

impl<B> BodyReader<B>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Unpin,
{
    pub(super) fn new(headers: &HeaderMap, body: B, bytes_max: usize, budget: impl FnOnce() -> BodyBudget) -> Self {
        let declared = declared_length(headers);
        let is_too_long = declared.is_some_and(|bytes| bytes > bytes_max as u64);
        let may_be_large = !is_too_long && !body.is_end_stream();
        let may_be_large = may_be_large && declared.is_none_or(|bytes| bytes > BUFFER_BYTES_MAX as u64);
        let budget = may_be_large.then(|| Box::new(budget()));
        Self { body, bytes_max, is_too_long, first_chunk: Bytes::new(), buffer: BytesMut::new(), budget }
    }

    /// The whole body, once it has arrived. Not to be polled again after that.
    pub(super) fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<ReadBody, BodyError>> {
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
            if let Some(budget) = &mut self.budget {
                budget.reserve(bytes).map_err(BodyError::BudgetExceeded)?;
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
        let reservation = self.budget.take().and_then(|budget| budget.reservation);
        Poll::Ready(Ok(ReadBody { bytes: if all.is_empty() { first } else { all.freeze() }, reservation }))
    }
}

fn body_error(error: &BoxError) -> BodyError {
    let is_late = |error: &io::Error| error.kind() == io::ErrorKind::TimedOut;
    if error.downcast_ref().is_some_and(is_late) { BodyError::TooSlow } else { BodyError::Broken }
}

fn declared_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// A body that keeps a guard until it is dropped.
pub(super) fn with_guard<B, G>(body: B, guard: G) -> axum::body::Body
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    G: Send + 'static,
{
    // The function lives as long as the body, and the guard with it.
    axum::body::Body::new(body.map_err(move |error| {
        let _kept = &guard;
        error
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::stream;
    use http_body_util::StreamBody;
    use hyper::body::Frame;

    /// A budget of a megabyte without an owner.
    fn budget() -> BodyBudget {
        let metrics = Arc::new(metrics::Metrics::default());
        let budget = Budget::new(1 << 20, 1 << 20, &metrics, metrics::Metrics::body_budget);
        BodyBudget::new(&budget, BudgetOwner::default())
    }

    /// Checks what is read of these chunks, at most 6 bytes.
    #[track_caller]
    fn check(chunks: &[&'static str], want: Result<&str, BodyError>) {
        let frames = chunks.iter().map(|chunk| match *chunk {
            "late" => Err(io::Error::from(io::ErrorKind::TimedOut)),
            "broken" => Err(io::Error::from(io::ErrorKind::ConnectionReset)),
            chunk => Ok(Frame::data(Bytes::from_static(chunk.as_bytes()))),
        });
        let body = StreamBody::new(stream::iter(frames.collect::<Vec<_>>()));
        let read = futures_util::FutureExt::now_or_never(read(&HeaderMap::new(), body, 6, budget)).unwrap();
        assert_eq!(read.map(|whole| whole.bytes), want.map(|text| text.to_owned().into()), "{chunks:?}");
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
    fn a_guard_is_dropped_with_its_body() {
        let guard = Arc::new(());
        let body = with_guard(axum::body::Body::from("abc"), guard.clone());
        assert_eq!((Body::size_hint(&body).exact(), Body::is_end_stream(&body)), (Some(3), false));
        assert_eq!(Arc::strong_count(&guard), 2);
        let read = futures_util::FutureExt::now_or_never(read(&HeaderMap::new(), body, 6, budget)).unwrap();
        let read = read.map(|whole| whole.bytes);
        assert_eq!((read, Arc::strong_count(&guard)), (Ok(Bytes::from("abc")), 1));
    }

    #[test]
    fn a_body_that_declares_to_be_too_long_is_not_read() {
        let headers = HeaderMap::from_iter([(header::CONTENT_LENGTH, header::HeaderValue::from_static("7"))]);
        let read = futures_util::FutureExt::now_or_never(read(&headers, axum::body::Body::empty(), 6, budget)).unwrap();
        assert_eq!(read.map(drop), Err(BodyError::TooLong));
    }
}
