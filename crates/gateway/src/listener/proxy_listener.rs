//! A listener behind load balancers that pass bytes on: each connection of theirs begins with a header of the PROXY protocol, and counts as
//! its client's from its first byte on. Only then is it accepted: limits, logs and refusals are those of a client that connects directly.
//!
//! Whether a connection has a header is decided by the peer's address, before its first byte, and never guessed. Knows nothing of what
//! comes behind the header.

use super::accept::{Accept, Accepted, LogThrottle};
use super::proxy_header::{Parsed, ProxyHeader, parse};
use crate::client_address::forwarded;
use engine::limits::{PROXY_HEADER_BYTES_MAX, PROXY_HEADERS_AWAITED_MAX};
use metrics::{Metrics, ProxyHeaderOutcome as Outcome};
use settings::Networks;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, timeout};

/// Accepts connections of clients, directly and through trusted proxies.
pub struct ProxyListener {
    listener: TcpListener,
    /// Peers whose connections begin with a header.
    trusted: Networks,
    /// Whether clients on loopback may do no more than others.
    counts_loopback: bool,
    header_timeout: Duration,
    metrics: Arc<Metrics>,
    awaited: JoinSet<Awaited>,
    /// The tasks of `awaited` by their number, the oldest first.
    tasks: BTreeMap<u64, AbortHandle>,
    next_number: u64,
    log_throttle: LogThrottle,
}

/// A connection whose header was awaited.
struct Awaited {
    number: u64,
    stream: TcpStream,
    proxy: SocketAddr,
    read: Read,
}

/// What came of a header.
enum Read {
    Header(ProxyHeader),
    Refused(Outcome, String),
    /// The proxy closed the connection before its first byte: it looked whether the port is open.
    Nothing,
}

impl ProxyListener {
    /// A listener at which these peers, and no others, must begin each connection with a header.
    #[must_use]
    pub fn new(listener: TcpListener, trusted: Networks, header_timeout: Duration, metrics: Arc<Metrics>) -> Self {
        Self {
            listener,
            trusted,
            counts_loopback: false,
            header_timeout,
            metrics,
            awaited: JoinSet::new(),
            tasks: BTreeMap::new(),
            next_number: 0,
            log_throttle: LogThrottle::default(),
        }
    }

    /// With clients that a header places on loopback under these addresses, where loopback may do no more than others.
    #[must_use]
    pub fn counting_loopback(self, counts_loopback: bool) -> Self {
        Self { counts_loopback, ..self }
    }

    /// Begins to wait for the header of this connection. Where too many wait, the one that has waited for longest is closed: a client may be
    /// able to hold its header up, and must not keep others out.
    fn await_header(&mut self, stream: TcpStream, proxy: SocketAddr) {
        if self.tasks.len() >= PROXY_HEADERS_AWAITED_MAX
            && let Some(oldest) = self.tasks.iter().find(|(_, task)| !task.is_finished()).map(|(number, _)| *number)
            && let Some(task) = self.tasks.remove(&oldest)
        {
            task.abort();
            let why = format!("{PROXY_HEADERS_AWAITED_MAX} others wait for theirs");
            self.refuse(proxy, Outcome::Displaced, &why);
        }
        let (number, header_timeout) = (self.next_number, self.header_timeout);
        self.next_number += 1;
        let task = self.awaited.spawn(async move {
            let read = timeout(header_timeout, read_header(&stream)).await.unwrap_or_else(|_| {
                Read::Refused(Outcome::TimedOut, "it did not come in time (http.header_timeout_ms)".to_owned())
            });
            Awaited { number, stream, proxy, read }
        });
        self.tasks.insert(number, task);
    }

    /// The connection of this header, if it is to be accepted.
    fn accept_awaited(&mut self, awaited: Awaited) -> Option<Accepted> {
        let Awaited { number, stream, proxy, read } = awaited;
        // One that was displaced and had its header at the same moment is not accepted any more.
        self.tasks.remove(&number)?;
        match read {
            Read::Header(ProxyHeader { client, has_tls }) => {
                let outcome = if client.is_some() { Outcome::Client } else { Outcome::Local };
                self.metrics.process.proxy_headers.inc(outcome);
                let client =
                    client.map(|client| SocketAddr::new(forwarded(client.ip(), self.counts_loopback), client.port()));
                Some(Accepted { stream, client: client.unwrap_or(proxy), is_behind_tls: has_tls })
            }
            Read::Refused(outcome, why) => {
                self.refuse(proxy, outcome, &why);
                None
            }
            Read::Nothing => None,
        }
    }

    fn refuse(&mut self, proxy: SocketAddr, outcome: Outcome, why: &str) {
        self.metrics.process.proxy_headers.inc(outcome);
        if self.log_throttle.is_due(Instant::now()) {
            tracing::warn!(%proxy, "a connection of a trusted proxy was closed for want of a header of the PROXY protocol: {why}");
        }
    }
}

/// The future may be dropped at any time: what waits stays in the listener.
impl Accept for ProxyListener {
    async fn accept(&mut self) -> io::Result<Accepted> {
        loop {
            tokio::select! {
                biased;
                Some(ended) = self.awaited.join_next() => {
                    // One that was displaced has ended without a result.
                    if let Some(accepted) = ended.ok().and_then(|awaited| self.accept_awaited(awaited)) {
                        return Ok(accepted);
                    }
                }
                accepted = Accept::accept(&mut self.listener) => {
                    let accepted = accepted?;
                    if !self.trusted.contains(accepted.client.ip()) {
                        return Ok(accepted);
                    }
                    self.await_header(accepted.stream, accepted.client);
                }
            }
        }
    }
}

/// Reads a header, and no byte more: what follows may be a handshake of TLS.
async fn read_header(stream: &TcpStream) -> Read {
    let mut bytes = [0; PROXY_HEADER_BYTES_MAX];
    let mut read = 0;
    loop {
        let least = match parse(&bytes[..read]) {
            Ok(Parsed::Incomplete(least)) => least,
            Ok(Parsed::Complete(header, _)) => return Read::Header(header),
            Err(error) => return Read::Refused(error.outcome(), error.to_string()),
        };
        let more = match stream.readable().await {
            Ok(()) => stream.try_read(&mut bytes[read..least]),
            Err(error) => Err(error),
        };
        match more {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Ok(0) | Err(_) if read == 0 => return Read::Nothing,
            Ok(0) | Err(_) => return Read::Refused(Outcome::Incomplete, "the connection ended within it".to_owned()),
            Ok(more) => read += more,
        }
    }
}
