//! The door for gRPC connections: no more than there are seats, and none whose peer has fallen silent.
//!
//! HTTP/2 lives behind it: a peer that speaks is asked for a sign of life by PING. Whoever does not answer those, or
//! never begins to speak, is put out here. Knows nothing of methods and messages.

use crate::metrics::Metrics;
use futures_util::Stream;
use futures_util::stream::unfold;
use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};
use tonic::transport::server::Connected;

/// Pause after a connection could not be accepted for want of files or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Connections as they come, at most `seats` at once, each for as long as its peer is heard of every `silence_max`.
pub(super) fn connections(
    listener: TcpListener,
    seats: usize,
    silence_max: Duration,
    metrics: Arc<Metrics>,
) -> impl Stream<Item = Result<Connection, Infallible>> {
    let door = (listener, Arc::new(Semaphore::new(seats)));
    unfold(door, move |(listener, seats)| {
        let metrics = metrics.clone();
        async move {
            // The seat first: a connection that cannot be served waits in the kernel.
            let seat = seats.clone().acquire_owned().await.ok()?;
            let stream = accepted(&listener, &metrics).await;
            Some((Ok(Connection::new(stream, seat, silence_max)), (listener, seats)))
        }
    })
}

async fn accepted(listener: &TcpListener, metrics: &Metrics) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Answers are small and whole. Failing costs nothing but a delay.
                let _ = stream.set_nodelay(true);
                return stream;
            }
            Err(error) => {
                metrics.accept_failed();
                tracing::warn!(%error, "a gRPC connection was not accepted; trying again");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// A connection that ends when nothing has come for too long.
pub(super) struct Connection {
    stream: TcpStream,
    _seat: OwnedSemaphorePermit,
    silence_max: Duration,
    heard: Instant,
    alarm: Pin<Box<Sleep>>,
}

impl Connection {
    fn new(stream: TcpStream, seat: OwnedSemaphorePermit, silence_max: Duration) -> Self {
        Self { stream, _seat: seat, silence_max, heard: Instant::now(), alarm: Box::pin(sleep(silence_max)) }
    }

    /// Ready when the peer has been silent for too long.
    fn poll_silence(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            ready!(self.alarm.as_mut().poll(context));
            let due = self.heard + self.silence_max;
            if due <= Instant::now() {
                return Poll::Ready(());
            }
            self.alarm.as_mut().reset(due);
        }
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if read.is_ready() {
            self.heard = Instant::now();
            return read;
        }
        ready!(self.poll_silence(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

impl Connected for Connection {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}
