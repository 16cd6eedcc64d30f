//! The stream and the request body of a connection, with their progress recorded.

use super::bad_head;
use super::connection::Connection;
use super::connection_state::ConnectionState;
use super::parked::RawConnection;
use super::phase::WriteProgress;
use bytes::{Buf, Bytes};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use metrics::Metrics;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// A socket that records the progress of its bytes in the connection's state.
pub(super) struct TrackedStream {
    connection: Arc<Connection>,
    state: Arc<ConnectionState>,
    /// Bytes that were read before, and are read again first.
    read_ahead: Bytes,
    /// The unsent rest of a refusal that replaces hyper's; empty if there is none.
    refusal: Bytes,
}

impl TrackedStream {
    pub(super) fn new(raw: RawConnection, state: Arc<ConnectionState>) -> Self {
        Self { connection: raw.connection, state, read_ahead: raw.read_ahead.into(), refusal: Bytes::new() }
    }

    /// The raw connection, with the bytes `read` that hyper had read and not used.
    pub(super) fn into_raw(self, read: &[u8]) -> RawConnection {
        RawConnection { connection: self.connection, read_ahead: [read, &self.read_ahead].concat() }
    }

    /// Sends a refusal in place of `bytes`, and reports these as written.
    fn poll_refuse(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        while !self.refusal.is_empty() {
            match ready!(self.connection.poll_write(context, &self.refusal))? {
                0 => return Poll::Ready(Ok(0)),
                sent => self.refusal.advance(sent),
            }
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn record_write(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &written {
            Poll::Ready(Ok(0) | Err(_)) => {}
            Poll::Ready(Ok(bytes)) => {
                self.state.phase.write_attempted(WriteProgress::Advanced);
                self.state.read_rate.bytes_taken(*bytes, Instant::now);
            }
            Poll::Pending => {
                self.state.phase.write_attempted(WriteProgress::Blocked);
                self.state.read_rate.write_blocked(Instant::now);
            }
        }
        written
    }
}

impl AsyncRead for TrackedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if !self.read_ahead.is_empty() {
            let fits = self.read_ahead.len().min(buffer.remaining());
            buffer.put_slice(&self.read_ahead.split_to(fits));
            return Poll::Ready(Ok(()));
        }
        loop {
            ready!(self.connection.stream().poll_read_ready(context))?;
            match self.connection.try_read(buffer) {
                Ok(read) => {
                    if read > 0 {
                        self.state.phase.bytes_read();
                        self.connection.record_read();
                    }
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

/// No vectored writes: hyper sends heads with short bodies here, and chunks no longer than its buffer (see `ResponseBody`), which
/// it copies together rather than keep a list of them.
impl AsyncWrite for TrackedStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        // No request is with a handler: hyper writes this by itself.
        if self.refusal.is_empty() && self.state.phase.is_awaiting_client() {
            self.refusal = bad_head::with_body(bytes).unwrap_or_default();
        }
        if !self.refusal.is_empty() {
            return self.poll_refuse(context, bytes);
        }
        self.record_write(self.connection.poll_write(context, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Nothing is buffered here; hyper flushes only when its own buffer is empty.
        self.state.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.connection.shut_down_writing())
    }
}

/// A request's body that must arrive whole in a certain time.
pub(super) struct TimedBody {
    body: Incoming,
    timeout: Duration,
    /// Only of a body that its reader waits for: most arrive with their head.
    timer: Option<Pin<Box<Sleep>>>,
    metrics: Arc<Metrics>,
}

impl TimedBody {
    pub(super) fn new(body: Incoming, timeout: Duration, metrics: Arc<Metrics>) -> Self {
        Self { body, timeout, timer: None, metrics }
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
        let timeout = self.timeout;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(timeout)));
        ready!(timer.as_mut().poll(context));
        self.metrics.process.http_timeouts.inc();
        let reason = "the body of the request did not come in time (http.body_timeout_ms)";
        Poll::Ready(Some(Err(io::Error::new(io::ErrorKind::TimedOut, reason).into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
