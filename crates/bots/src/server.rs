//! The accept loop: accepts connections, sends them ticks, closes them. The caller brings the listener and the shutdown
//! signal. Knows nothing of requests.

use std::future::Future;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until, timeout};

use crate::config::Config;
use crate::connection::{Connection, ServerSignal};
use crate::counters::{Counters, count};
use crate::inbox::Inbox;
use crate::limits::{ACCEPT_PAUSE_FIRST, ACCEPT_PAUSE_MAX, BACKLOG, CONNECTIONS_MAX, DRAIN_TIMEOUT, TICK_INTERVAL};
use crate::service::BotService;

/// A listener with a backlog that holds the burst of connections with which many matches begin.
///
/// # Errors
/// The address cannot be bound.
pub fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves bots on `listener` until `shutdown` is ready; then no connection is accepted, idle connections are closed,
/// and pending answers have [`DRAIN_TIMEOUT`] to be sent.
///
/// # Errors
/// The listener is broken. A shortage of descriptors is no error: accepting pauses and continues.
pub async fn serve(listener: TcpListener, config: Config, shutdown: impl Future<Output = ()>) -> io::Result<()> {
    let mut server = Server::new(config);
    let end = tokio::select! {
        end = server.accept_all(&listener) => end,
        () = shutdown => Ok(()),
    };
    drop(listener);
    server.drain().await;
    end
}

/// Failed accepts after which the next one may be well: it was the client's connection that failed.
const CLIENT_FAILURES: [ErrorKind; 8] = [
    ErrorKind::ConnectionAborted,
    ErrorKind::ConnectionReset,
    ErrorKind::ConnectionRefused,
    ErrorKind::HostUnreachable,
    ErrorKind::Interrupted,
    ErrorKind::NetworkDown,
    ErrorKind::NetworkUnreachable,
    ErrorKind::TimedOut,
];

struct Server {
    service: Arc<BotService>,
    signal: watch::Sender<ServerSignal>,
    connections: JoinSet<()>,
    /// The pause after the last failed accept, zero after a successful one; and when it is over.
    accept_pause: Duration,
    accept_after: Instant,
}

impl Server {
    fn new(defaults: Config) -> Server {
        Server {
            service: Arc::new(BotService { defaults, counters: Counters::default() }),
            signal: watch::Sender::new(ServerSignal::Tick(0)),
            connections: JoinSet::new(),
            accept_pause: Duration::ZERO,
            accept_after: Instant::now(),
        }
    }

    async fn accept_all(&mut self, listener: &TcpListener) -> io::Result<()> {
        let mut interval = interval_at(Instant::now() + TICK_INTERVAL, TICK_INTERVAL);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut ticks = 0;
        loop {
            tokio::select! {
                accepted = accept(listener, self.accept_after), if self.connections.len() < CONNECTIONS_MAX => match accepted {
                    Ok(stream) => self.spawn_connection(stream),
                    Err(error) => self.handle_accept_error(error)?,
                },
                Some(left) = self.connections.join_next(), if !self.connections.is_empty() => {
                    count(&self.service.counters.connections_closed);
                    report_panic(left);
                }
                _ = interval.tick() => {
                    ticks += 1;
                    self.signal.send_replace(ServerSignal::Tick(ticks));
                }
            }
        }
    }

    fn spawn_connection(&mut self, stream: TcpStream) {
        self.accept_pause = Duration::ZERO;
        count(&self.service.counters.connections);
        // Without it answers could wait for acknowledgements; should it fail, they are only slower.
        let _ = stream.set_nodelay(true);
        let (service, signal) = (Arc::clone(&self.service), self.signal.subscribe());
        self.connections.spawn(Connection { stream, inbox: Inbox::default(), service, signal }.serve());
    }

    fn handle_accept_error(&mut self, error: io::Error) -> io::Result<()> {
        count(&self.service.counters.accept_errors);
        match error.kind() {
            // The listener itself is broken.
            ErrorKind::InvalidInput => return Err(error),
            kind if CLIENT_FAILURES.contains(&kind) => {}
            // Descriptors or memory are short (EMFILE and the like): accepting again at once would only burn time.
            _ => {
                self.accept_pause = next_pause(self.accept_pause);
                let pause_ms = self.accept_pause.as_millis() as u64;
                tracing::warn!(%error, pause_ms, "accept pauses: too many open files? raise the limit (ulimit -n)");
                self.accept_after = Instant::now() + self.accept_pause;
            }
        }
        Ok(())
    }

    async fn drain(&mut self) {
        self.signal.send_replace(ServerSignal::Closing);
        let all_closed = async {
            while let Some(closed) = self.connections.join_next().await {
                report_panic(closed);
            }
        };
        if timeout(DRAIN_TIMEOUT, all_closed).await.is_err() {
            self.connections.shutdown().await;
        }
    }
}

/// The next connection, not before `rested_at`. Losing the race in a `select!` loses nothing.
async fn accept(listener: &TcpListener, rested_at: Instant) -> io::Result<TcpStream> {
    if Instant::now() < rested_at {
        sleep_until(rested_at).await;
    }
    listener.accept().await.map(|(stream, _)| stream)
}

/// Twice as long after each failure.
fn next_pause(pause: Duration) -> Duration {
    (pause * 2).clamp(ACCEPT_PAUSE_FIRST, ACCEPT_PAUSE_MAX)
}

/// A connection whose task panicked is closed without affecting others, but it is a defect.
fn report_panic(left: Result<(), tokio::task::JoinError>) {
    if let Err(error) = left
        && error.is_panic()
    {
        tracing::error!(%error, "a connection panicked");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ECONNABORTED: i32 = 103;
    const EINVAL: i32 = 22;
    const EMFILE: i32 = 24;
    const ENFILE: i32 = 23;

    /// The pause after these failed accepts; none if the last of them ends the server.
    #[track_caller]
    fn check(server: &mut Server, errors: &[i32], expected: Option<Duration>) {
        let failed = |&code: &i32| server.handle_accept_error(io::Error::from_raw_os_error(code)).is_ok();
        let is_ok = errors.iter().map(failed).collect::<Vec<_>>().pop();
        assert_eq!((is_ok == Some(true)).then_some(server.accept_pause), expected, "{errors:?}");
    }

    #[test]
    fn shortage_pauses_longer_and_longer() {
        let server = || Server::new(Config::default());
        check(&mut server(), &[ECONNABORTED], Some(Duration::ZERO));
        check(&mut server(), &[EINVAL], None);
        check(&mut server(), &[EMFILE], Some(Duration::from_millis(10)));
        check(&mut server(), &[EMFILE, ENFILE, EMFILE], Some(Duration::from_millis(40)));
        check(&mut server(), &[EMFILE; 30], Some(ACCEPT_PAUSE_MAX));
    }

    #[tokio::test]
    async fn success_restores_patience() {
        let mut server = Server::new(Config::default());
        check(&mut server, &[EMFILE, EMFILE], Some(2 * ACCEPT_PAUSE_FIRST));
        let listener = bind(([127, 0, 0, 1], 0).into()).expect("a free port");
        let _client = TcpStream::connect(listener.local_addr().expect("bound")).await.expect("it listens");
        server.spawn_connection(listener.accept().await.expect("a connection waits").0);
        check(&mut server, &[EMFILE], Some(ACCEPT_PAUSE_FIRST));
    }
}
