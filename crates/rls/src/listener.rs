//! The listener for gRPC connections: no more than there are permits, of one address no more than its cap, and none whose peer has
//! been idle for too long.
//!
//! HTTP/2 runs on top: it pings a peer that has begun to send. A peer that does not answer pings, or never sends anything,
//! is disconnected here. Knows nothing of methods and messages.

use futures_util::Stream;
use futures_util::stream::unfold;
use metrics::Metrics;
use quotas::address_key::AddressKey;
use quotas::address_limit::AddressLimit;
use quotas::keyed_permits::{KeyedPermit, KeyedPermits};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, Sleep, sleep};
use tonic::transport::server::Connected;

/// Pause after a connection could not be accepted for lack of files or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The frames sent to a refused connection: empty SETTINGS, and GOAWAY with ENHANCE_YOUR_CALM (RFC 9113, sections 6.5,
/// 6.8 and 7).
const GOAWAY_FRAMES: [u8; 26] = [
    0, 0, 0, 4, 0, 0, 0, 0, 0, // SETTINGS
    0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 11, // GOAWAY of 8 bytes, last stream 0, code 11
];
/// The client's preface and first frames fit.
const PREFACE_BYTES: usize = 1_024;

/// Accepts connections within the caps.
pub(super) struct GrpcListener {
    listener: TcpListener,
    permits: Arc<Semaphore>,
    address_limit: AddressLimit,
    addresses: Arc<KeyedPermits<AddressKey>>,
    idle_timeout: Duration,
    metrics: Arc<Metrics>,
}

/// The right to one connection.
struct GrpcPermit {
    _total: OwnedSemaphorePermit,
    _address: Option<KeyedPermit<AddressKey>>,
}

impl GrpcListener {
    pub(super) fn new(
        listener: TcpListener,
        (connections_max, address_limit): (usize, AddressLimit),
        idle_timeout: Duration,
        metrics: Arc<Metrics>,
    ) -> Self {
        let permits = Arc::new(Semaphore::new(connections_max));
        Self { listener, permits, address_limit, addresses: Arc::default(), idle_timeout, metrics }
    }

    /// Accepted connections, each until its peer has been idle for too long. Those beyond the caps get a GOAWAY, and are
    /// closed.
    pub(super) fn incoming(self) -> impl Stream<Item = Result<GrpcConnection, Infallible>> {
        unfold(self, |listener| async move {
            loop {
                let (stream, peer) = listener.accept().await;
                match listener.try_acquire(peer.ip()) {
                    Ok(permit) => {
                        // Responses are small and written whole. A failure here costs only a delay.
                        let _ = stream.set_nodelay(true);
                        return Some((Ok(GrpcConnection::new(stream, permit, listener.idle_timeout)), listener));
                    }
                    Err(is_full) => {
                        listener.metrics.http_connection_refused(is_full);
                        send_goaway(&stream);
                    }
                }
            }
        })
    }

    async fn accept(&self) -> (TcpStream, SocketAddr) {
        loop {
            match self.listener.accept().await {
                Ok(accepted) => return accepted,
                Err(error) => {
                    self.metrics.process.accept_errors.inc();
                    tracing::warn!(%error, "a gRPC connection was not accepted; trying again");
                    sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    /// A permit; the error says whether all permits are in use, or those of the address.
    fn try_acquire(&self, peer: IpAddr) -> Result<GrpcPermit, bool> {
        let total = self.permits.clone().try_acquire_owned().map_err(|_| true)?;
        let of_address = |key| KeyedPermit::try_acquire(&self.addresses, key, self.address_limit.max).ok_or(false);
        Ok(GrpcPermit { _total: total, _address: self.address_limit.key(peer).map(of_address).transpose()? })
    }
}

/// Does not wait. Input is read first: a reset could overtake the frames.
fn send_goaway(stream: &TcpStream) {
    let _ = recv(stream, &mut [0; PREFACE_BYTES][..], RecvFlags::DONTWAIT);
    let _ = send(stream, &GOAWAY_FRAMES, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
}

/// A connection that ends when its peer has been idle for too long.
pub(super) struct GrpcConnection {
    stream: TcpStream,
    _permit: GrpcPermit,
    idle_timeout: Duration,
    last_read: Instant,
    timer: Pin<Box<Sleep>>,
}

impl GrpcConnection {
    fn new(stream: TcpStream, permit: GrpcPermit, idle_timeout: Duration) -> Self {
        Self { stream, _permit: permit, idle_timeout, last_read: Instant::now(), timer: Box::pin(sleep(idle_timeout)) }
    }

    /// Ready when the peer has been idle for too long.
    fn poll_idle_timeout(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            ready!(self.timer.as_mut().poll(context));
            let due = self.last_read + self.idle_timeout;
            if due <= Instant::now() {
                return Poll::Ready(());
            }
            self.timer.as_mut().reset(due);
        }
    }
}

impl AsyncRead for GrpcConnection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if read.is_ready() {
            self.last_read = Instant::now();
            return read;
        }
        ready!(self.poll_idle_timeout(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncWrite for GrpcConnection {
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

impl Connected for GrpcConnection {
    type ConnectInfo = ();

    fn connect_info(&self) {}
}
