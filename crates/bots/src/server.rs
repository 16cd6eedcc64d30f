//! The accept loop: accepts connections, sends them ticks, closes them. The caller brings the listener and the shutdown
//! signal. Knows nothing of requests.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until, timeout};

use crate::accept_backoff::{AcceptAction, AcceptBackoff};
use crate::config::Config;
use crate::connection::{Connection, ServerSignal};
use crate::counters::{Counters, Totals, count};
use crate::inbox::Inbox;
use crate::limits::{BACKLOG, CONNECTIONS_MAX, DRAIN_TIMEOUT, TICK_INTERVAL};
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
pub async fn serve(listener: TcpListener, config: Config, shutdown: impl Future<Output = ()>) -> io::Result<Totals> {
    let mut server = Server::new(config);
    let end = tokio::select! {
        end = server.accept_all(&listener) => end,
        () = shutdown => Ok(()),
    };
    drop(listener);
    server.drain().await;
    end.map(|()| server.service.counters.totals())
}

struct Server {
    service: Arc<BotService>,
    signal: watch::Sender<ServerSignal>,
    connections: JoinSet<()>,
    backoff: AcceptBackoff,
    /// Accepting rests until then.
    accept_after: Instant,
}

impl Server {
    fn new(defaults: Config) -> Server {
        Server {
            service: Arc::new(BotService { defaults, counters: Counters::default() }),
            signal: watch::Sender::new(ServerSignal::Tick(0)),
            connections: JoinSet::new(),
            backoff: AcceptBackoff::default(),
            accept_after: Instant::now(),
        }
    }

    async fn accept_all(&mut self, listener: &TcpListener) -> io::Result<()> {
        let mut beat = interval_at(Instant::now() + TICK_INTERVAL, TICK_INTERVAL);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut beats = 0;
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
                _ = beat.tick() => {
                    beats += 1;
                    self.signal.send_replace(ServerSignal::Tick(beats));
                }
            }
        }
    }

    fn spawn_connection(&mut self, stream: TcpStream) {
        self.backoff.reset();
        count(&self.service.counters.connections);
        // Without it answers could wait for acknowledgements; should it fail, they are only slower.
        let _ = stream.set_nodelay(true);
        let (service, signal) = (Arc::clone(&self.service), self.signal.subscribe());
        self.connections.spawn(Connection { stream, inbox: Inbox::default(), service, signal }.serve());
    }

    fn handle_accept_error(&mut self, error: io::Error) -> io::Result<()> {
        count(&self.service.counters.accept_errors);
        match self.backoff.on_error(&error) {
            AcceptAction::Continue => {}
            AcceptAction::Pause(pause) => {
                let pause_ms = pause.as_millis() as u64;
                tracing::warn!(%error, pause_ms, "accept pauses: too many open files? raise the limit (ulimit -n)");
                self.accept_after = Instant::now() + pause;
            }
            AcceptAction::WaitEnd => return Err(error),
        }
        Ok(())
    }

    async fn drain(&mut self) {
        self.signal.send_replace(ServerSignal::Closing);
        let everybody_left = async {
            while let Some(left) = self.connections.join_next().await {
                report_panic(left);
            }
        };
        if timeout(DRAIN_TIMEOUT, everybody_left).await.is_err() {
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

/// A connection whose task panicked is closed without affecting others, but it is a defect.
fn report_panic(left: Result<(), tokio::task::JoinError>) {
    if let Err(error) = left
        && error.is_panic()
    {
        tracing::error!(%error, "a connection panicked");
    }
}
