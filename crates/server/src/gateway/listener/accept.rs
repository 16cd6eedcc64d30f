//! The accept loop: every connection is accepted, gets a permit or is refused, and what fails for want of files is tried again
//! with growing pauses.

use super::connection::Connection;
use super::permits::{Permits, Refused};
use super::refusal::Refusals;
use super::{Answer, House};
use rustix::io::Errno;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep};

/// First and longest pause after a connection could not be accepted for want of files or memory.
const BACK_OFF_MIN: Duration = Duration::from_millis(10);
const BACK_OFF_MAX: Duration = Duration::from_secs(1);
/// How often at most it is logged that connections are refused or cannot be accepted, however often that is found out.
const SAID_EVERY: Duration = Duration::from_secs(10);

/// Where connections come from.
pub(in crate::gateway) trait Accept {
    /// The next connection.
    fn accept(&mut self) -> impl Future<Output = io::Result<(TcpStream, SocketAddr)>> + Send;
}

impl Accept for TcpListener {
    async fn accept(&mut self) -> io::Result<(TcpStream, SocketAddr)> {
        TcpListener::accept(self).await
    }
}

/// Accepts without an end.
pub(super) async fn accept_all(mut listener: impl Accept, house: &Arc<House<impl Answer>>, permits: &Arc<Permits>) {
    let (mut back_off, mut refused) = (BackOff::default(), Seldom::default());
    let (refusals, mut patience) = (Refusals::new(), None);
    loop {
        let (stream, client) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) if is_want_of_room(&error) => {
                house.metrics.accept_failed();
                sleep(back_off.next(&error)).await;
                continue;
            }
            // The client was gone before it was accepted.
            Err(error) => {
                tracing::debug!(%error, "a connection was not accepted");
                continue;
            }
        };
        back_off.last = None;
        match permits.admit(client.ip(), &mut patience).await {
            Ok(permit) => drop(tokio::spawn(house.clone().receive(Connection::new(stream, permit), client))),
            Err(why) => {
                house.metrics.http_connection_refused(why.is_full());
                if refused.may_be_said(Instant::now()) {
                    say_refused(why, client);
                }
                refusals.refuse(stream, why, &house.answers).await;
            }
        }
    }
}

fn say_refused(why: Refused, client: SocketAddr) {
    match why {
        Refused::Full => tracing::warn!(
            "connections are refused: as many are open as may be (http.connections_max), and none of them may be closed"
        ),
        Refused::Address { max } => tracing::warn!(
            %client,
            max,
            "connections are refused: as many of one address are open as may be (http.connections_per_address_max)"
        ),
    }
}

/// Whether accepting failed for want of something that will be there again when connections close.
fn is_want_of_room(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM))
}

/// What is so again and again while a house is full, and is logged now and then.
#[derive(Default)]
pub(super) struct Seldom {
    said: Option<Instant>,
}

impl Seldom {
    pub(super) fn may_be_said(&mut self, now: Instant) -> bool {
        let may = self.said.is_none_or(|said| now.duration_since(said) >= SAID_EVERY);
        if may {
            self.said = Some(now);
        }
        may
    }
}

/// Pauses that double as long as an episode of failures lasts.
#[derive(Default)]
pub(super) struct BackOff {
    last: Option<Duration>,
    wanting: Seldom,
}

impl BackOff {
    pub(super) fn next(&mut self, error: &io::Error) -> Duration {
        if self.wanting.may_be_said(Instant::now()) {
            tracing::warn!(%error, "connections cannot be accepted; trying again with growing pauses (is the file limit too low?)");
        }
        let pause = self.last.map_or(BACK_OFF_MIN, |last| (last * 2).min(BACK_OFF_MAX));
        self.last = Some(pause);
        pause
    }
}
