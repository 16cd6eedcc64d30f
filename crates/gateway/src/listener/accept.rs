//! The accept loop: every connection is accepted, then gets a permit or is refused. Accepts that fail for lack of files are
//! retried with growing pauses.

use super::connection::{Connection, ConnectionPermits, PermitError};
use super::refusal::RefusalSender;
use super::socket::Socket;
use super::{ListenerContext, RequestHandler, Shared};
use rustix::io::Errno;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep};

/// First and longest pause after a connection could not be accepted for lack of files or memory.
const BACKOFF_MIN: Duration = Duration::from_millis(10);
const BACKOFF_MAX: Duration = Duration::from_secs(1);
/// How often at most it is logged that connections are refused or cannot be accepted.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// A source of connections.
pub trait Accept {
    fn accept(&mut self) -> impl Future<Output = io::Result<Accepted>> + Send;
}

/// A connection that was accepted.
pub struct Accepted {
    pub stream: TcpStream,
    /// The client's address: the peer's, or the one that a trusted proxy named before the first byte.
    pub client: SocketAddr,
    /// Whether the client has TLS to that proxy.
    pub is_behind_tls: bool,
}

impl Accept for TcpListener {
    async fn accept(&mut self) -> io::Result<Accepted> {
        let (stream, client) = TcpListener::accept(self).await?;
        Ok(Accepted { stream, client, is_behind_tls: false })
    }
}

/// Accepts connections without end.
pub(super) async fn accept_loop(
    listener: &mut impl Accept,
    context: &Arc<ListenerContext<impl RequestHandler>>,
    permits: &Arc<ConnectionPermits>,
) {
    let (mut back_off, mut refused) = (Backoff::default(), LogThrottle::default());
    let (refusals, mut evict_until) = (RefusalSender::new(), None);
    loop {
        let Accepted { stream, client, is_behind_tls } = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) if is_resource_exhausted(&error) => {
                context.shared.metrics.process.accept_errors.inc();
                sleep(back_off.next_pause(&error)).await;
                continue;
            }
            // The client was gone before it was accepted.
            Err(error) => {
                tracing::debug!(%error, "a connection was not accepted");
                continue;
            }
        };
        back_off.last = None;
        match permits.acquire(client.ip(), &mut evict_until).await {
            Ok(permit) => match context.shared.socket(stream, is_behind_tls) {
                Ok(socket) => {
                    drop(tokio::spawn(context.clone().serve_connection(Connection::new(socket, permit), client)));
                }
                Err(error) => tracing::error!(%error, "a connection gets no TLS, by a defect of this program"),
            },
            Err(error) => {
                context.shared.metrics.http_connection_refused(error.is_full());
                if refused.is_due(Instant::now()) {
                    log_refusal(error, client);
                }
                refusals.refuse(stream, error, &context.handler, context.shared.tls.is_some());
            }
        }
    }
}

impl Shared {
    /// The socket of a new connection, before its handshake.
    fn socket(&self, stream: TcpStream, is_behind_tls: bool) -> io::Result<Socket> {
        let mut socket = match &self.tls {
            Some(tls) => Socket::with_tls(stream, tls.config())?,
            None => stream.into(),
        };
        socket.is_behind_tls = is_behind_tls;
        Ok(socket)
    }
}

fn log_refusal(error: PermitError, client: SocketAddr) {
    match error {
        PermitError::Full => tracing::warn!(
            "connections are refused: as many are open as allowed (http.connections_max), and none of them may be closed"
        ),
        PermitError::Address { max } => tracing::warn!(
            %client,
            max,
            "connections are refused: as many are open from one address as allowed (http.connections_per_address_max)"
        ),
    }
}

/// Whether accepting failed for lack of a resource that closing connections will free.
fn is_resource_exhausted(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM))
}

/// Limits how often a repeating condition is logged.
#[derive(Default)]
pub(super) struct LogThrottle {
    last_logged: Option<Instant>,
}

impl LogThrottle {
    pub(super) fn is_due(&mut self, now: Instant) -> bool {
        let is_due = self.last_logged.is_none_or(|last| now.duration_since(last) >= LOG_INTERVAL);
        if is_due {
            self.last_logged = Some(now);
        }
        is_due
    }
}

/// Pauses that double as long as an episode of failures lasts.
#[derive(Default)]
pub(super) struct Backoff {
    last: Option<Duration>,
    log_throttle: LogThrottle,
}

impl Backoff {
    pub(super) fn next_pause(&mut self, error: &io::Error) -> Duration {
        if self.log_throttle.is_due(Instant::now()) {
            tracing::warn!(%error, "connections cannot be accepted; trying again with growing pauses (is the file limit too low?)");
        }
        let pause = self.last.map_or(BACKOFF_MIN, |last| (last * 2).min(BACKOFF_MAX));
        self.last = Some(pause);
        pause
    }
}
