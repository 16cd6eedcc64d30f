//! The listener: accepts no more connections than may be served, enforces time limits on every client, and closes all
//! connections on a drain.
//!
//! Takes the socket, the request handler and the shutdown signal as arguments. Knows nothing of routes, tokens or matches.

mod accept;
mod bad_head;
mod connection;
mod connection_state;
mod eviction;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod idle_queue;
pub mod park;
mod parked;
mod phase;
mod proxy_header;
mod proxy_listener;
mod read_rate;
mod refusal;
mod response_head;
mod socket;
mod stream;
#[cfg(test)]
mod tests;
mod tls;
mod watchdog;

use super::problem::ApiError;
pub use accept::{Accept, Accepted};
use bytes::Bytes;
pub use connection::Connection;
pub(crate) use connection::{ConnectionPermits, ProxiedPermit};
use engine::limits::{DRAIN_ACCEPTS_FOR, DRAIN_FIRST_BYTES_MAX};
pub(crate) use idle_queue::Rank;
use metrics::Metrics;
pub use parked::RawConnection;
pub use proxy_listener::ProxyListener;
use quotas::address_limit::AddressLimit;
use quotas::socket_budget::SocketBudget;
pub(crate) use read_rate::Keeps;
pub use read_rate::ReadRateLimits;
use settings::Config;
pub use socket::Socket;
pub use tls::ServerTls;

use accept::accept_loop;
use connection_state::{ConnectionState, ParkedRequest};
use http::{Request, Response, StatusCode};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::server::conn::http1::UpgradeableConnection;
use hyper::service::{HttpService, service_fn};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use park::Persistence;
use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use stream::{TimedBody, TrackedStream};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use watchdog::{Watchdog, WatchdogEvent};

/// Limits on what clients may use.
#[derive(Clone, Copy, Debug)]
pub struct ListenerConfig {
    /// Time from the first byte of a request's head to its last, and from the connection to its first byte.
    pub header_timeout: Duration,
    /// Time for the whole body to arrive, from the moment when the handler waits for it.
    pub body_timeout: Duration,
    /// Time without a byte between requests, or while the client does not read a response.
    pub idle_timeout: Duration,
    /// How slowly a response may be read.
    pub read_rate: ReadRateLimits,
    /// Connections at the same time, upgraded ones included.
    pub connections_max: usize,
    /// Time that requests in progress get after the shutdown signal.
    pub drain_max: Duration,
}

impl ListenerConfig {
    #[must_use]
    pub fn of(config: &Config, drain_max: Duration) -> Self {
        Self {
            header_timeout: config.http_header_timeout,
            body_timeout: config.http_body_timeout,
            idle_timeout: config.http_idle_timeout,
            read_rate: ReadRateLimits {
                stall_max: config.http_response_stall_max,
                bytes_per_s_min: config.http_response_bytes_per_s_min,
            },
            connections_max: config.client_sockets_max(),
            drain_max,
        }
    }
}

/// Longest head of a request, and most that is buffered of a request's or a response's body, in bytes.
pub(super) const BUFFER_BYTES_MAX: usize = 16 * 1024;
/// How far the process has drained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum DrainPhase {
    /// All connections are served.
    Open,
    /// Requests in progress are finished.
    Draining,
    /// The remaining connections are closed.
    Closed,
}

/// The body of a request.
pub trait RequestBody: Body<Data = Bytes, Error: Into<axum::BoxError>> + Send + Unpin + 'static {}

impl<B: Body<Data = Bytes, Error: Into<axum::BoxError>> + Send + Unpin + 'static> RequestBody for B {}

/// Answers requests.
pub trait RequestHandler: Send + Sync + 'static {
    /// The body of a response.
    type Body: Body<Data = Bytes, Error: Into<axum::BoxError>> + Send + 'static;
    /// A request in progress.
    type ResponseFuture<B: RequestBody>: Future<Output = Response<Self::Body>> + Send + Unpin + 'static;

    /// Answers a client's request. It cannot fail: an error is a response, too.
    fn handle<B: RequestBody>(&self, client: Peer<'_>, request: Request<B>) -> Self::ResponseFuture<B>;

    /// Takes over a connection that does not begin with an HTTP request; returns it if this handler speaks no other protocol.
    fn handle_raw(&self, _client: SocketAddr, connection: RawConnection) -> Option<RawConnection> {
        Some(connection)
    }

    /// Whether this handler speaks another protocol on raw connections.
    fn can_handle_raw(&self) -> bool {
        false
    }

    /// The bytes sent to a refused connection of that protocol.
    fn refusal_frame(&self, _error: &ApiError) -> Vec<u8> {
        Vec::new()
    }
}

/// The origin of a request.
#[derive(Clone, Copy)]
pub struct Peer<'a> {
    /// The address at the other end of the connection, or of the client for which a proxy made it (PROXY protocol).
    pub address: SocketAddr,
    /// The connection; `None` in tests that have none.
    pub connection: Option<&'a Arc<Connection>>,
}

impl From<SocketAddr> for Peer<'_> {
    fn from(address: SocketAddr) -> Self {
        Self { address, connection: None }
    }
}

/// The first byte of a request: a method's, which are letters (RFC 9110, section 9.1, in practice). A connection that begins
/// with a byte that no text contains is not HTTP.
const METHOD_BYTES: RangeInclusive<u8> = b'A'..=0x7f;

/// What the connections of a listener use, besides time.
pub struct ListenerResources {
    /// The metrics of the process.
    pub metrics: Arc<Metrics>,
    /// The budget from which each connection takes its socket, if it is shared with other users.
    pub socket_budget: Option<Arc<SocketBudget>>,
    /// The cap on connections of one client address, if there is one.
    pub address_limit: Option<AddressLimit>,
    /// The certificate of a listener that speaks TLS.
    pub tls: Option<Arc<ServerTls>>,
}

/// Without a shared budget, a cap by address, or TLS.
impl From<Arc<Metrics>> for ListenerResources {
    fn from(metrics: Arc<Metrics>) -> Self {
        Self { metrics, socket_budget: None, address_limit: None, tls: None }
    }
}

/// Serves until `shutdown` completes and then until the last request in progress is answered, for at most
/// [`ListenerConfig::drain_max`].
pub async fn serve(
    mut listener: impl Accept,
    handler: impl RequestHandler,
    config: ListenerConfig,
    resources: impl Into<ListenerResources>,
    shutdown: impl Future<Output = ()>,
) {
    let ListenerResources { metrics, socket_budget, address_limit, tls } = resources.into();
    let permits = ConnectionPermits::new(config.connections_max, socket_budget, address_limit, metrics.clone());
    let (drain_phase, stage) = watch::channel(DrainPhase::Open);
    let context = Arc::new(ListenerContext { handler, shared: Shared { config, metrics, stage, tls } });
    tokio::select! {
        () = shutdown => {}
        () = accept_loop(&mut listener, &context, &permits) => {}
        () = permits.run_clock() => {}
    }
    drain_phase.send_replace(DrainPhase::Draining);
    // Connections that the kernel has made already would be reset, with the requests on them.
    let _ = timeout(DRAIN_ACCEPTS_FOR, accept_loop(&mut listener, &context, &permits)).await;
    // The kernel refuses new connections: their clients can go elsewhere.
    drop(listener);
    if timeout(config.drain_max, permits.wait_until_empty()).await.is_err() {
        let left = permits.in_use();
        tracing::warn!(connections = left, "connections are closed: the time to finish their requests is over");
    }
    drain_phase.send_replace(DrainPhase::Closed);
}

/// Shared by all connections of the listener.
struct ListenerContext<H> {
    handler: H,
    shared: Shared,
}

/// What a connection needs of it besides the handler.
struct Shared {
    config: ListenerConfig,
    metrics: Arc<Metrics>,
    stage: watch::Receiver<DrainPhase>,
    tls: Option<Arc<ServerTls>>,
}

/// How a connection ended.
enum ConnectionEnd {
    /// Normally, or by an upgrade.
    Done,
    /// Its client was too slow.
    TooSlow,
    /// The process drained.
    Closed,
}

impl<H: RequestHandler> ListenerContext<H> {
    /// Serves one connection from its first byte to its last, alternating between serving requests and keeping one parked. While
    /// it is idle or parked, the state for serving requests does not exist. A block, not a function: a function's future keeps its
    /// arguments twice.
    fn serve_connection(
        self: Arc<Self>,
        connection: Arc<Connection>,
        client: SocketAddr,
    ) -> impl Future<Output = ()> + Send {
        // Responses are small and written whole: waiting to fill a packet would only delay them. A failure here costs only that delay.
        let _ = connection.stream().tcp().set_nodelay(true);
        let mut raw = RawConnection { connection, read_ahead: Vec::new() };
        async move {
            let end = 'end: {
                if raw.connection.stream().has_tls() {
                    let handshake = Box::pin(tls::handshake(&raw.connection));
                    let header_timeout = self.shared.config.header_timeout;
                    if let Err(end) = self.wait_for_bytes(header_timeout, DRAIN_FIRST_BYTES_MAX, handshake).await {
                        break 'end end;
                    }
                }
                let protocol = detect_protocol(&raw.connection, &mut raw.read_ahead, self.handler.can_handle_raw());
                let header_timeout = self.shared.config.header_timeout;
                let protocol = match self.wait_for_bytes(header_timeout, DRAIN_FIRST_BYTES_MAX, protocol).await {
                    Ok(protocol) => protocol,
                    Err(end) => break 'end end,
                };
                if protocol == Protocol::Other {
                    match self.handler.handle_raw(client, raw) {
                        None => break 'end ConnectionEnd::Done,
                        Some(returned) => raw = returned,
                    }
                }
                loop {
                    let parked = match Box::pin(self.serve_requests(raw, client)).await {
                        Ok((detached, parked)) => {
                            raw = detached;
                            parked
                        }
                        Err(end) => break end,
                    };
                    if let Err(end) = raw.serve_parked(parked, &self.shared).await {
                        break end;
                    }
                    if raw.read_ahead.is_empty()
                        && let Err(end) = self
                            .wait_for_bytes(
                                self.shared.config.idle_timeout,
                                Duration::ZERO,
                                raw.connection.stream().readable(),
                            )
                            .await
                    {
                        break end;
                    }
                }
            };
            if let ConnectionEnd::TooSlow = end {
                self.shared.metrics.process.http_timeouts.inc();
            }
        }
    }

    /// Waits for the client's next bytes, in a drain for `drain_wait_max` more. An idle connection costs no buffer: hyper gets it only once
    /// there is something to read.
    async fn wait_for_bytes<T>(
        &self,
        wait_max: Duration,
        drain_wait_max: Duration,
        ready: impl Future<Output = io::Result<T>>,
    ) -> Result<T, ConnectionEnd> {
        let mut stage = self.shared.stage.clone();
        let drained = async {
            let _ = stage.wait_for(|stage| *stage > DrainPhase::Open).await;
            if !drain_wait_max.is_zero() {
                sleep(drain_wait_max).await;
            }
        };
        tokio::select! {
            biased;
            result = timeout(wait_max, ready) => match result {
                Ok(Ok(value)) => Ok(value),
                Ok(Err(_)) => Err(ConnectionEnd::Done),
                Err(_) => Err(ConnectionEnd::TooSlow),
            },
            () = drained => Err(ConnectionEnd::Closed),
        }
    }

    /// Serves requests until the connection ends or a request is to be parked.
    async fn serve_requests(
        &self,
        raw: RawConnection,
        client: SocketAddr,
    ) -> Result<(RawConnection, Box<ParkedRequest>), ConnectionEnd> {
        let shared = Arc::new(ConnectionState::new(Instant::now(), self.shared.config.read_rate));
        let state = &*shared;
        let tracked = raw.connection.clone();
        let tracked = &tracked;
        let handler = service_fn(move |request: Request<Incoming>| {
            state.phase.request_started();
            let persistence = Persistence::of(&request);
            let mut request =
                request.map(|body| TimedBody::new(body, self.shared.config.body_timeout, self.shared.metrics.clone()));
            if let Some(persistence) = persistence {
                request.extensions_mut().insert(persistence.park_candidate());
            }
            let client = Peer { address: client, connection: Some(tracked) };
            TrackedResponse { response: self.handler.handle(client, request), state, connection: tracked, persistence }
        });
        let io = TokioIo::new(TrackedStream::new(raw, shared.clone()));
        // A client that closes its side of the connection counts as gone here, as while it waits (docs/decisions/0018).
        let connection = http1::Builder::new()
            .half_close(false)
            .max_buf_size(BUFFER_BYTES_MAX)
            .serve_connection(io, handler)
            .with_upgrades();
        let mut connection = Some(connection);
        let mut watchdog = Watchdog::new(self.shared.config, shared.clone(), self.shared.stage.clone());
        poll_fn(|context| {
            loop {
                let Some(serving) = connection.as_mut() else { return Poll::Ready(Err(ConnectionEnd::Done)) };
                // The connection first: the watchdog must see what it changed.
                // An error is the client's: a broken connection, or something that is not HTTP and was answered with 400.
                if let Poll::Ready(ended) = Pin::new(serving).poll(context) {
                    if let Some(response) = ended.err().as_ref().and_then(bad_head::unsent_response) {
                        // A client that does not take so few bytes gets nothing.
                        let _ = tracked.stream().try_write(response.as_bytes());
                    }
                    return Poll::Ready(Err(ConnectionEnd::Done));
                }
                if let Some(parked) = shared.take_parked() {
                    let raw = connection.take().and_then(detach_from_hyper);
                    return Poll::Ready(raw.map(|raw| (raw, parked)).ok_or(ConnectionEnd::Done));
                }
                match ready!(watchdog.poll(context)) {
                    WatchdogEvent::TooSlow => return Poll::Ready(Err(ConnectionEnd::TooSlow)),
                    WatchdogEvent::Stage(DrainPhase::Closed) => return Poll::Ready(Err(ConnectionEnd::Closed)),
                    WatchdogEvent::Stage(DrainPhase::Draining) => {
                        if let Some(serving) = connection.as_mut() {
                            Pin::new(serving).graceful_shutdown();
                        }
                    }
                    WatchdogEvent::Stage(DrainPhase::Open) => {}
                }
            }
        })
        .await
    }
}

/// The protocol that the first bytes of a connection belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protocol {
    Http,
    Other,
}

/// Waits until the client's first bytes identify the protocol. Bytes that do not yet are read, so that the next can be waited for.
async fn detect_protocol(connection: &Connection, ahead: &mut Vec<u8>, may_be_other: bool) -> io::Result<Protocol> {
    // Peeked, not waited for: the runtime reports a new socket as readable at once.
    let mut first = [0; 3];
    if let Some(plain) = connection.stream().plain() {
        let seen = plain.peek(&mut first).await?;
        if !may_be_other || seen == 0 {
            return Ok(Protocol::Http);
        }
        if let Some(protocol) = identify_protocol(&first[..seen]) {
            return Ok(protocol);
        }
    }
    loop {
        connection.stream().readable().await?;
        let room = first.len() - ahead.len();
        match connection.stream().try_read(&mut first[..room]) {
            // The client closed without sending a request.
            Ok(0) => return Ok(Protocol::Http),
            Ok(read) => ahead.extend_from_slice(&first[..read]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error),
        }
        if let Some(protocol) = identify_protocol(ahead) {
            return Ok(protocol);
        }
    }
}

/// The protocol of these bytes; `None` if it depends on the next one.
fn identify_protocol(first: &[u8]) -> Option<Protocol> {
    let is_request = match *first {
        [] | [b'\r'] | [b'\r', b'\n'] => return None,
        // Empty lines before a request (RFC 9112, section 2.2). No frame: one of 13 bytes holds no member of 13 or of 65.
        [b'\r', b'\n', byte, ..] => byte == b'\r' || METHOD_BYTES.contains(&byte),
        [byte, ..] => METHOD_BYTES.contains(&byte),
    };
    Some(if is_request { Protocol::Http } else { Protocol::Other })
}

/// The raw connection behind an upgrade, without hyper, with the bytes that hyper had read ahead.
pub(super) fn reclaim_connection(upgraded: Upgraded) -> Option<RawConnection> {
    let parts = upgraded.downcast::<TokioIo<TrackedStream>>().ok()?;
    Some(parts.io.into_inner().into_raw(&parts.read_buf))
}

/// The raw connection without hyper; `None` if it was upgraded and belongs to the upgrade's handler.
fn detach_from_hyper<S, B>(connection: UpgradeableConnection<TokioIo<TrackedStream>, S>) -> Option<RawConnection>
where
    S: HttpService<Incoming, ResBody = B>,
    S::Error: Into<axum::BoxError>,
    B: Body<Error: Into<axum::BoxError>> + 'static,
{
    let parts = connection.into_parts()?;
    Some(parts.io.into_inner().into_raw(&parts.read_buf))
}

/// A request in progress; records in the state when the response is ready. A response that marks a parked request is never returned.
struct TrackedResponse<'c, F> {
    response: F,
    state: &'c ConnectionState,
    connection: &'c Arc<Connection>,
    /// Of a request that may be parked.
    persistence: Option<Persistence>,
}

impl<F: Future<Output = Response<B>> + Unpin, B> Future for TrackedResponse<'_, F> {
    type Output = Result<Response<B>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.state.is_parked() {
            return Poll::Pending;
        }
        let mut response = ready!(Pin::new(&mut self.response).poll(context));
        // From here the client has to act: read what was sent before, or wait.
        self.state.phase.response_ready();
        self.state.read_rate.keeps(response.extensions().get::<Keeps>().map_or(0, |Keeps(bytes)| *bytes));
        if response.status() == StatusCode::SWITCHING_PROTOCOLS
            && let Some(permit) = response.extensions_mut().remove::<Arc<ProxiedPermit>>()
        {
            self.connection.adopt_permit(&permit);
        }
        match self.persistence.and_then(|persistence| ParkedRequest::from_response(&mut response, persistence)) {
            Some(parked) => {
                self.state.park(parked);
                Poll::Pending
            }
            None => Poll::Ready(Ok(response)),
        }
    }
}
