//! The parts of a connection that something must be known of: its seat, its bytes, and the body of its request.

use super::pulse::Pulse;
use crate::metrics::Metrics;
use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep, sleep_until};

/// A connection's seat: taken as long as the socket is open, also after an upgrade.
pub(super) struct Seat {
    _permit: OwnedSemaphorePermit,
    metrics: Arc<Metrics>,
}

impl Seat {
    pub(super) fn new(permit: OwnedSemaphorePermit, metrics: Arc<Metrics>) -> Self {
        metrics.http_connection_opened();
        Self { _permit: permit, metrics }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.metrics.http_connection_closed();
    }
}

/// A socket whose bytes are felt in the pulse.
pub(super) struct Tracked {
    stream: TcpStream,
    pulse: Arc<Pulse>,
    _seat: Seat,
}

impl Tracked {
    pub(super) fn new(stream: TcpStream, pulse: Arc<Pulse>, seat: Seat) -> Self {
        Self { stream, pulse, _seat: seat }
    }

    fn felt(&self, wrote: io::Result<usize>) -> Poll<io::Result<usize>> {
        if matches!(wrote, Ok(1..)) {
            self.pulse.wrote(Instant::now());
        }
        Poll::Ready(wrote)
    }
}

impl AsyncRead for Tracked {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.stream).poll_read(context, buffer));
        if buffer.filled().len() > before {
            self.pulse.read(Instant::now());
        }
        Poll::Ready(read)
    }
}

impl AsyncWrite for Tracked {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let wrote = ready!(Pin::new(&mut self.stream).poll_write(context, bytes));
        self.felt(wrote)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wrote = ready!(Pin::new(&mut self.stream).poll_write_vectored(context, parts));
        self.felt(wrote)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// A request's body that must have come whole by a certain time.
pub(super) struct TimedBody {
    body: Incoming,
    until: Instant,
    /// Only of a body that keeps its reader waiting.
    alarm: Option<Pin<Box<Sleep>>>,
    metrics: Arc<Metrics>,
}

impl TimedBody {
    pub(super) fn new(body: Incoming, until: Instant, metrics: Arc<Metrics>) -> Self {
        Self { body, until, alarm: None, metrics }
    }
}

impl Body for TimedBody {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(context) {
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let until = self.until;
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(sleep_until(until)));
        ready!(alarm.as_mut().poll(context));
        self.metrics.http_timed_out();
        let why = "the body of the request did not come in time (http.body_timeout_ms)";
        Poll::Ready(Some(Err(io::Error::new(io::ErrorKind::TimedOut, why).into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
