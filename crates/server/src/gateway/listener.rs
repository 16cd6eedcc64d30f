//! The door for connections: accepts no more than may be served, gives every client its time and no more, and empties the
//! house on a drain.
//!
//! Takes the listener, whoever answers, and the signal to leave as arguments. Knows nothing of routes, tokens or matches.

mod accept;
mod bad_head;
mod connection;
mod connection_state;
mod eviction;
pub mod park;
mod parked;
mod permits;
mod phase;
mod ranks;
mod read_rate;
mod refusal;
mod response_head;
mod stream;
#[cfg(test)]
mod tests;
mod watchdog;

use super::problem::ApiError;
use crate::config::Config;
use crate::metrics::Metrics;
use crate::socket_budget::SocketBudget;
use bytes::Bytes;
pub use connection::Connection;
pub(in crate::gateway) use connection::ConnectionHandle;
pub use parked::RawConnection;
pub use permits::AddressLimit;
pub(in crate::gateway) use permits::{ConnectionPermits, ProxiedPermit};
pub(in crate::gateway) use ranks::Rank;
pub(crate) use read_rate::Keeps;
pub use read_rate::ReadRateLimits;

use accept::{Accept, accept_loop};
use connection_state::{ConnectionState, ParkedRequest};
use http::{Request, Response, StatusCode};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::server::conn::http1::UpgradeableConnection;
use hyper::service::{HttpService, service_fn};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use park::Persistence;
use parked::ParkContext;
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
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use watchdog::{Watchdog, WatchdogEvent};

/// What clients may take.
#[derive(Clone, Copy, Debug)]
pub struct ListenerConfig {
    /// Time from the first byte of a request's head to its last, and from the connection to its first byte.
    pub header_timeout: Duration,
    /// Time for the whole of a body to come, from the moment when it is waited for.
    pub body_timeout: Duration,
    /// Time without a byte between requests, or while an answer is not taken.
    pub idle_timeout: Duration,
    /// How slowly an answer may be taken.
    pub read_rate: ReadRateLimits,
    /// Connections at the same time, upgraded ones included.
    pub connections_max: usize,
    /// Time that requests under way get once the signal to leave has come.
    pub drain_max: Duration,
}

impl ListenerConfig {
    /// The limits in force.
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

/// Longest head of a request, and most that is buffered of a body or an answer, in bytes.
pub(super) const BUFFER_BYTES_MAX: usize = 16 * 1024;
/// How far the house is on its way out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum DrainStage {
    /// Everybody is served.
    Open,
    /// Requests under way are finished.
    Draining,
    /// Whoever is still here is put out.
    Closed,
}

/// The body of a request.
pub trait RequestBody: Body<Data = Bytes, Error: Into<axum::BoxError>> + Send + Unpin + 'static {}

impl<B: Body<Data = Bytes, Error: Into<axum::BoxError>> + Send + Unpin + 'static> RequestBody for B {}

/// Whoever answers requests.
pub trait RequestHandler: Send + Sync + 'static {
    /// The body of an answer.
    type Body: Body<Data = Bytes, Error: Into<axum::BoxError>> + Send + 'static;
    /// A request that is being answered.
    type ResponseFuture<B: RequestBody>: Future<Output = Response<Self::Body>> + Send + Unpin + 'static;

    /// Answers a client's request. It cannot fail: what goes wrong is an answer, too.
    fn handle<B: RequestBody>(&self, client: Peer<'_>, request: Request<B>) -> Self::ResponseFuture<B>;

    /// Takes a connection over that does not begin with a request of HTTP; gives it back if nobody here speaks anything else.
    fn handle_raw(&self, line: RawConnection) -> Option<RawConnection> {
        Some(line)
    }

    /// Whether somebody here speaks something else on connections.
    fn can_handle_raw(&self) -> bool {
        false
    }

    /// What a connection of those is told that is refused.
    fn refusal_frame(&self, _why: &ApiError) -> Vec<u8> {
        Vec::new()
    }
}

/// Where a request comes from.
#[derive(Clone, Copy)]
pub struct Peer<'a> {
    /// The address at the other end of the connection.
    pub address: SocketAddr,
    /// The connection; `None` in tests that have none.
    pub connection: Option<&'a Arc<Connection>>,
}

impl From<SocketAddr> for Peer<'_> {
    fn from(address: SocketAddr) -> Self {
        Self { address, connection: None }
    }
}

/// The first byte of a request: a method's, which are letters (RFC 9110, section 9.1, in practice). Who begins with a byte that
/// no text has is not meant to be spoken to in HTTP either.
const METHOD_BYTES: RangeInclusive<u8> = b'A'..=0x7f;

/// What the connections of a listener take, beside time.
pub struct ListenerResources {
    /// The figures of the process.
    pub metrics: Arc<Metrics>,
    /// Where each takes its socket from, if others need some, too.
    pub socket_budget: Option<Arc<SocketBudget>>,
    /// How many there may be of one client address, if that is bounded.
    pub address_limit: Option<AddressLimit>,
}

/// Nothing is shared, and one address may have all connections.
impl From<Arc<Metrics>> for ListenerResources {
    fn from(metrics: Arc<Metrics>) -> Self {
        Self { metrics, socket_budget: None, address_limit: None }
    }
}

/// Serves until `shutdown` comes and then, for at most [`Limits::drain_max`], until the last request under way is answered.
pub async fn serve(
    listener: TcpListener,
    answers: impl RequestHandler,
    limits: ListenerConfig,
    shares: impl Into<ListenerResources>,
    shutdown: impl Future<Output = ()>,
) {
    serve_from(listener, answers, limits, shares.into(), shutdown).await;
}

async fn serve_from(
    listener: impl Accept,
    answers: impl RequestHandler,
    limits: ListenerConfig,
    shares: ListenerResources,
    shutdown: impl Future<Output = ()>,
) {
    let ListenerResources { metrics, socket_budget: sockets, address_limit } = shares;
    let permits = ConnectionPermits::new(limits.connections_max, sockets, address_limit, metrics.clone());
    let (stage, watched) = watch::channel(DrainStage::Open);
    let house = Arc::new(ListenerContext { handler: answers, config: limits, metrics, stage: watched });
    tokio::select! {
        () = shutdown => {}
        () = accept_loop(listener, &house, &permits) => {}
        () = permits.run_clock() => {}
    }
    // The listener is dropped: who comes now is refused by the kernel and can go elsewhere.
    stage.send_replace(DrainStage::Draining);
    if timeout(limits.drain_max, permits.wait_until_empty()).await.is_err() {
        let left = permits.in_use();
        tracing::warn!(connections = left, "clients are put out: the time to finish their requests is over");
    }
    stage.send_replace(DrainStage::Closed);
}

/// What every connection needs.
struct ListenerContext<A> {
    handler: A,
    config: ListenerConfig,
    metrics: Arc<Metrics>,
    stage: watch::Receiver<DrainStage>,
}

/// How a connection ended.
enum ConnectionEnd {
    /// By itself, or by an upgrade.
    Done,
    /// Its client was too slow.
    TooSlow,
    /// The house closed.
    Closed,
}

impl<A: RequestHandler> ListenerContext<A> {
    /// One connection, from its first byte to its last: talks and holds in turn. While it is silent or held, what talking
    /// needs is not there. A block, not a function: a function's future keeps what it is given twice.
    fn serve_connection(
        self: Arc<Self>,
        connection: Arc<Connection>,
        client: SocketAddr,
    ) -> impl Future<Output = ()> + Send {
        // Answers are small and whole: waiting to fill a packet would only delay them. Failing costs nothing but that.
        let _ = connection.stream().set_nodelay(true);
        let mut line = RawConnection { connection, read_ahead: Vec::new() };
        async move {
            let end = 'end: {
                let begun = begun(&line.connection, &mut line.read_ahead, self.handler.can_handle_raw());
                let begun = match self.wait_for_bytes(self.config.header_timeout, begun).await {
                    Ok(begun) => begun,
                    Err(end) => break 'end end,
                };
                if begun == Begun::Other {
                    match self.handler.handle_raw(line) {
                        None => break 'end ConnectionEnd::Done,
                        Some(given_back) => line = given_back,
                    }
                }
                loop {
                    let ticket = match Box::pin(self.serve_requests(line, client)).await {
                        Ok((silent, ticket)) => {
                            line = silent;
                            ticket
                        }
                        Err(end) => break end,
                    };
                    let terms = ParkContext { config: &self.config, metrics: &self.metrics, stage: &self.stage };
                    if let Err(end) = line.serve_parked(ticket, terms).await {
                        break end;
                    }
                    if line.read_ahead.is_empty()
                        && let Err(end) =
                            self.wait_for_bytes(self.config.idle_timeout, line.connection.stream().readable()).await
                    {
                        break end;
                    }
                }
            };
            if let ConnectionEnd::TooSlow = end {
                self.metrics.http_timed_out();
            }
        }
    }

    /// A connection that says nothing costs no buffer: hyper sees it only once there is something to read.
    async fn wait_for_bytes<T>(
        &self,
        patience: Duration,
        said: impl Future<Output = io::Result<T>>,
    ) -> Result<T, ConnectionEnd> {
        let mut stage = self.stage.clone();
        tokio::select! {
            _ = stage.wait_for(|stage| *stage > DrainStage::Open) => Err(ConnectionEnd::Closed),
            said = timeout(patience, said) => match said {
                Ok(Ok(said)) => Ok(said),
                Ok(Err(_)) => Err(ConnectionEnd::Done),
                Err(_) => Err(ConnectionEnd::TooSlow),
            },
        }
    }

    /// Requests and answers until one side has had enough, or a request is to be parked.
    async fn serve_requests(
        &self,
        line: RawConnection,
        client: SocketAddr,
    ) -> Result<(RawConnection, Box<ParkedRequest>), ConnectionEnd> {
        let shared = Arc::new(ConnectionState::new(Instant::now(), self.config.read_rate));
        let noting = &*shared;
        let connection = line.connection.clone();
        let of = &connection;
        let handler = service_fn(move |request: Request<Incoming>| {
            noting.phase.request_started();
            let persistence = Persistence::of(&request);
            let mut request = request.map(|body| TimedBody::new(body, self.config.body_timeout, self.metrics.clone()));
            if let Some(persistence) = persistence {
                request.extensions_mut().insert(persistence.park_candidate());
            }
            let client = Peer { address: client, connection: Some(of) };
            TrackedResponse {
                response: self.handler.handle(client, request),
                shared: noting,
                connection: of,
                persistence,
            }
        });
        let io = TokioIo::new(TrackedStream::new(line, shared.clone()));
        // Whoever ends his side of the connection counts as gone here, as while he waits (docs/decisions/0018).
        let connection = http1::Builder::new()
            .half_close(false)
            .max_buf_size(BUFFER_BYTES_MAX)
            .serve_connection(io, handler)
            .with_upgrades();
        let mut connection = Some(connection);
        let mut watch = Watchdog::new(self.config, shared.clone(), self.stage.clone());
        poll_fn(|context| {
            loop {
                let Some(talking) = connection.as_mut() else { return Poll::Ready(Err(ConnectionEnd::Done)) };
                // The connection first: the watch must see what it changed.
                // An error is the client's: a broken connection, or something that is not HTTP and was answered with 400.
                if let Poll::Ready(ended) = Pin::new(talking).poll(context) {
                    if let Some(word) = ended.err().as_ref().and_then(bad_head::last_word) {
                        // A client that does not take so little has nothing to wait for.
                        let _ = of.stream().try_write(word.as_bytes());
                    }
                    return Poll::Ready(Err(ConnectionEnd::Done));
                }
                if let Some(ticket) = shared.take_parked() {
                    let line = connection.take().and_then(detach_from_hyper);
                    return Poll::Ready(line.map(|line| (line, ticket)).ok_or(ConnectionEnd::Done));
                }
                match ready!(watch.poll(context)) {
                    WatchdogEvent::TooSlow => return Poll::Ready(Err(ConnectionEnd::TooSlow)),
                    WatchdogEvent::Stage(DrainStage::Closed) => return Poll::Ready(Err(ConnectionEnd::Closed)),
                    WatchdogEvent::Stage(DrainStage::Draining) => {
                        if let Some(talking) = connection.as_mut() {
                            Pin::new(talking).graceful_shutdown();
                        }
                    }
                    WatchdogEvent::Stage(DrainStage::Open) => {}
                }
            }
        })
        .await
    }
}

/// What the first bytes of a connection begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begun {
    Request,
    Other,
}

/// Waits until the client has said what it begins. Bytes that do not say it are read, so that those behind them can be waited for.
async fn begun(connection: &Connection, ahead: &mut Vec<u8>, may_be_other: bool) -> io::Result<Begun> {
    // Looked at, not waited for: of a new socket the runtime says at once that it may be read.
    let mut first = [0; 3];
    let seen = connection.stream().peek(&mut first).await?;
    if !may_be_other || seen == 0 {
        return Ok(Begun::Request);
    }
    if let Some(begun) = what_begins(&first[..seen]) {
        return Ok(begun);
    }
    loop {
        connection.stream().readable().await?;
        let room = first.len() - ahead.len();
        match connection.stream().try_read(&mut first[..room]) {
            // The end: nobody asks for anything.
            Ok(0) => return Ok(Begun::Request),
            Ok(read) => ahead.extend_from_slice(&first[..read]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error),
        }
        if let Some(begun) = what_begins(ahead) {
            return Ok(begun);
        }
    }
}

/// What these bytes begin; `None` when that is for the next one to say.
fn what_begins(first: &[u8]) -> Option<Begun> {
    let is_request = match *first {
        [] | [b'\r'] | [b'\r', b'\n'] => return None,
        // Empty lines before a request (RFC 9112, section 2.2). No frame: one of 13 bytes holds no member of 13 or of 65.
        [b'\r', b'\n', byte, ..] => byte == b'\r' || METHOD_BYTES.contains(&byte),
        [byte, ..] => METHOD_BYTES.contains(&byte),
    };
    Some(if is_request { Begun::Request } else { Begun::Other })
}

/// The connection behind an upgrade, without the library that it was made with, and with what that had read ahead.
pub(super) fn reclaim_connection(upgraded: Upgraded) -> Option<RawConnection> {
    let parts = upgraded.downcast::<TokioIo<TrackedStream>>().ok()?;
    Some(parts.io.into_inner().into_raw(&parts.read_buf))
}

/// The connection without hyper; `None` if it was upgraded and is not ours any more.
fn detach_from_hyper<S, B>(connection: UpgradeableConnection<TokioIo<TrackedStream>, S>) -> Option<RawConnection>
where
    S: HttpService<Incoming, ResBody = B>,
    S::Error: Into<axum::BoxError>,
    B: Body<Error: Into<axum::BoxError>> + 'static,
{
    let parts = connection.into_parts()?;
    Some(parts.io.into_inner().into_raw(&parts.read_buf))
}

/// A request that is being answered; the pulse hears of the answer. What is no answer yet is parked, and never comes.
struct TrackedResponse<'c, F> {
    response: F,
    shared: &'c ConnectionState,
    connection: &'c Arc<Connection>,
    /// Of a request that may be parked.
    persistence: Option<Persistence>,
}

impl<F: Future<Output = Response<B>> + Unpin, B> Future for TrackedResponse<'_, F> {
    type Output = Result<Response<B>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.shared.is_parked() {
            return Poll::Pending;
        }
        let mut answer = ready!(Pin::new(&mut self.response).poll(context));
        // From here the client owes something: to take what was said before, or to wait.
        self.shared.phase.response_ready();
        self.shared.read_rate.keeps(answer.extensions().get::<Keeps>().map_or(0, |Keeps(bytes)| *bytes));
        if answer.status() == StatusCode::SWITCHING_PROTOCOLS
            && let Some(share) = answer.extensions_mut().remove::<Arc<ProxiedPermit>>()
        {
            self.connection.adopt_permit(&share);
        }
        match self.persistence.and_then(|persistence| ParkedRequest::from_response(&mut answer, persistence)) {
            Some(ticket) => {
                self.shared.park(ticket);
                Poll::Pending
            }
            None => Poll::Ready(Ok(answer)),
        }
    }
}
