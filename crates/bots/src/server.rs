//! The accept loop: takes connections in, tells them the time, sees them off. The caller brings the listener and says
//! when it is over. Knows nothing of requests.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until, timeout};

use crate::accept::{Patience, Verdict};
use crate::answer::House;
use crate::config::Config;
use crate::connection::{Connection, Pulse};
use crate::counters::{Counters, Totals, count};
use crate::inbox::Inbox;
use crate::limits::{BACKLOG, BEAT, CONNECTIONS_MAX, DRAIN_TIME_MAX};

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

/// Serves bots on `listener` until `shutdown` is ready; then nobody is let in, idle connections are closed, and
/// answers that are being thought about have [`DRAIN_TIME_MAX`] to go out.
///
/// # Errors
/// The listener is broken. A shortage of descriptors is none: accepting pauses and goes on.
pub async fn serve(listener: TcpListener, config: Config, shutdown: impl Future<Output = ()>) -> io::Result<Totals> {
    let mut server = Server::new(config);
    let end = tokio::select! {
        end = server.accept_all(&listener) => end,
        () = shutdown => Ok(()),
    };
    drop(listener);
    server.drain().await;
    end.map(|()| server.house.counters.totals())
}

struct Server {
    house: Arc<House>,
    pulse: watch::Sender<Pulse>,
    guests: JoinSet<()>,
    patience: Patience,
    /// Accepting rests until then.
    rested_at: Instant,
}

impl Server {
    fn new(defaults: Config) -> Server {
        Server {
            house: Arc::new(House { defaults, counters: Counters::default() }),
            pulse: watch::Sender::new(Pulse::Beat(0)),
            guests: JoinSet::new(),
            patience: Patience::default(),
            rested_at: Instant::now(),
        }
    }

    async fn accept_all(&mut self, listener: &TcpListener) -> io::Result<()> {
        let mut beat = interval_at(Instant::now() + BEAT, BEAT);
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut beats = 0;
        loop {
            tokio::select! {
                accepted = accept(listener, self.rested_at), if self.guests.len() < CONNECTIONS_MAX => match accepted {
                    Ok(stream) => self.welcome(stream),
                    Err(error) => self.note_failure(error)?,
                },
                Some(left) = self.guests.join_next(), if !self.guests.is_empty() => {
                    count(&self.house.counters.connections_closed);
                    report_panic(left);
                }
                _ = beat.tick() => {
                    beats += 1;
                    self.pulse.send_replace(Pulse::Beat(beats));
                }
            }
        }
    }

    fn welcome(&mut self, stream: TcpStream) {
        self.patience.restore();
        count(&self.house.counters.connections);
        // Without it answers could wait for acknowledgements; should it fail, they are only slower.
        let _ = stream.set_nodelay(true);
        let (house, pulse) = (Arc::clone(&self.house), self.pulse.subscribe());
        self.guests.spawn(Connection { stream, inbox: Inbox::default(), house, pulse }.serve());
    }

    fn note_failure(&mut self, error: io::Error) -> io::Result<()> {
        count(&self.house.counters.accept_errors);
        match self.patience.judge(&error) {
            Verdict::GoOn => {}
            Verdict::Pause(pause) => {
                let pause_ms = pause.as_millis() as u64;
                tracing::warn!(%error, pause_ms, "accept pauses: too many open files? raise the limit (ulimit -n)");
                self.rested_at = Instant::now() + pause;
            }
            Verdict::GiveUp => return Err(error),
        }
        Ok(())
    }

    async fn drain(&mut self) {
        self.pulse.send_replace(Pulse::Closing);
        let everybody_left = async {
            while let Some(left) = self.guests.join_next().await {
                report_panic(left);
            }
        };
        if timeout(DRAIN_TIME_MAX, everybody_left).await.is_err() {
            self.guests.shutdown().await;
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

/// A connection whose task panicked is closed and costs nobody else anything, but it is a defect.
fn report_panic(left: Result<(), tokio::task::JoinError>) {
    if let Err(error) = left
        && error.is_panic()
    {
        tracing::error!(%error, "a connection panicked");
    }
}
