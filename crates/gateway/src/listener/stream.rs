//! The stream and the request body of a connection, with their progress recorded.

use super::bad_head;
use super::connection::Connection;
use super::connection_state::ConnectionState;
use super::parked::RawConnection;
use super::phase::WriteProgress;
use super::socket::Socket;
use bytes::{Buf, Bytes};
use hyper::body::{Body, Frame, Incoming, SizeHint};
use metrics::Metrics;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// Bytes that are decrypted at a time.
const TLS_READ_BYTES: usize = 4 * 1024;

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
            match ready!(poll_write(self.connection.stream(), context, &self.refusal))? {
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
            match try_read(self.connection.stream(), buffer) {
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
        self.record_write(poll_write(self.connection.stream(), context, bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Nothing is buffered here; hyper flushes only when its own buffer is empty.
        self.state.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.connection.stream().shutdown_output())
    }
}

/// Reads once. A socket that returned less than there was room for is empty: reading again would cost a system call for every
/// request. Edge-triggered polling allows that (epoll(7)); later bytes are a new edge.
fn try_read(socket: &Socket, buffer: &mut ReadBuf<'_>) -> io::Result<usize> {
    let Some(stream) = socket.plain() else {
        // Not into the buffer itself, all of which would be zeroed, and so be memory of the process from then on.
        let mut bytes = [0; TLS_READ_BYTES];
        let room = bytes.len().min(buffer.remaining());
        let read = socket.try_read(&mut bytes[..room])?;
        buffer.put_slice(&bytes[..read]);
        return Ok(read);
    };
    let (room, mut read) = (buffer.remaining(), None);
    let result = stream.try_io(Interest::READABLE, || {
        let bytes = stream.try_read_buf(buffer)?;
        read = Some(bytes);
        if bytes > 0 && bytes < room { Err(io::ErrorKind::WouldBlock.into()) } else { Ok(()) }
    });
    match read {
        Some(bytes) => Ok(bytes),
        None => result.map(|()| 0),
    }
}

/// Writes what the socket accepts of these bytes.
fn poll_write(stream: &Socket, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
    loop {
        ready!(stream.poll_write_ready(context))?;
        match stream.try_write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            written => return Poll::Ready(written),
        }
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
