//! The door for connections: accepts no more than may be served, gives every client its time and no more, and empties the
//! house on a drain.
//!
//! Takes the listener, whoever answers, and the signal to leave as arguments. Knows nothing of routes, tokens or matches.

mod accept;
mod connection;
mod head;
mod held;
mod idle;
pub mod park;
mod permits;
mod place;
mod pulse;
mod ranks;
mod reading;
mod refusal;
mod stream;
#[cfg(test)]
mod tests;
mod unreadable;
mod watch;

use super::problem::ApiError;
use crate::config::Config;
use crate::metrics::Metrics;
use crate::socket_budget::SocketBudget;
use bytes::Bytes;
pub use connection::Connection;
pub(in crate::gateway) use connection::ConnectionHandle;
pub use held::Line;
pub use permits::AddressLimit;
pub(in crate::gateway) use permits::{Permits, Share};
pub(in crate::gateway) use ranks::Rank;
pub(crate) use reading::Keeps;
pub use reading::ReadingLimits;

use accept::{Accept, accept_all};
use held::Terms;
use http::{Request, Response, StatusCode};
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::server::conn::http1::UpgradeableConnection;
use hyper::service::{HttpService, service_fn};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use park::Persistence;
use place::{Shared, Ticket};
use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use stream::{TimedBody, Tracked};
use tokio::net::TcpListener;
use tokio::sync::watch as channel;
use tokio::time::{Instant, timeout};
use watch::{Seen, Watch};

/// What clients may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Time from the first byte of a request's head to its last, and from the connection to its first byte.
    pub header_timeout: Duration,
    /// Time for the whole of a body to come, from the moment when it is waited for.
    pub body_timeout: Duration,
    /// Time without a byte between requests, or while an answer is not taken.
    pub idle_timeout: Duration,
    /// How slowly an answer may be taken.
    pub reading: ReadingLimits,
    /// Connections at the same time, upgraded ones included.
    pub connections_max: usize,
    /// Time that requests under way get once the signal to leave has come.
    pub drain_max: Duration,
}

impl Limits {
    /// The limits in force.
    #[must_use]
    pub fn of(config: &Config, drain_max: Duration) -> Self {
        Self {
            header_timeout: config.http_header_timeout,
            body_timeout: config.http_body_timeout,
            idle_timeout: config.http_idle_timeout,
            reading: ReadingLimits {
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
enum Stage {
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
pub trait Answer: Send + Sync + 'static {
    /// The body of an answer.
    type Body: Body<Data = Bytes, Error: Into<axum::BoxError>> + Send + 'static;
    /// A request that is being answered.
    type Answering<B: RequestBody>: Future<Output = Response<Self::Body>> + Send + Unpin + 'static;

    /// Answers a client's request. It cannot fail: what goes wrong is an answer, too.
    fn answer<B: RequestBody>(&self, client: Peer<'_>, request: Request<B>) -> Self::Answering<B>;

    /// Takes a connection over that does not begin with a request of HTTP; gives it back if nobody here speaks anything else.
    fn take_over(&self, line: Line) -> Option<Line> {
        Some(line)
    }

    /// Whether somebody here speaks something else on connections.
    fn takes_over(&self) -> bool {
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
pub struct Shares {
    /// The figures of the process.
    pub metrics: Arc<Metrics>,
    /// Where each takes its socket from, if others need some, too.
    pub sockets: Option<Arc<SocketBudget>>,
    /// How many there may be of one client address, if that is bounded.
    pub address_limit: Option<AddressLimit>,
}

/// Nothing is shared, and one address may have all connections.
impl From<Arc<Metrics>> for Shares {
    fn from(metrics: Arc<Metrics>) -> Self {
        Self { metrics, sockets: None, address_limit: None }
    }
}

/// Serves until `shutdown` comes and then, for at most [`Limits::drain_max`], until the last request under way is answered.
pub async fn serve(
    listener: TcpListener,
    answers: impl Answer,
    limits: Limits,
    shares: impl Into<Shares>,
    shutdown: impl Future<Output = ()>,
) {
    serve_from(listener, answers, limits, shares.into(), shutdown).await;
}

async fn serve_from(
    listener: impl Accept,
    answers: impl Answer,
    limits: Limits,
    shares: Shares,
    shutdown: impl Future<Output = ()>,
) {
    let Shares { metrics, sockets, address_limit } = shares;
    let permits = Permits::new(limits.connections_max, sockets, address_limit, metrics.clone());
    let (stage, watched) = channel::channel(Stage::Open);
    let house = Arc::new(House { answers, limits, metrics, stage: watched });
    tokio::select! {
        () = shutdown => {}
        () = accept_all(listener, &house, &permits) => {}
        () = permits.keep_time() => {}
    }
    // The listener is dropped: who comes now is refused by the kernel and can go elsewhere.
    stage.send_replace(Stage::Draining);
    if timeout(limits.drain_max, permits.empty()).await.is_err() {
        let left = permits.taken();
        tracing::warn!(connections = left, "clients are put out: the time to finish their requests is over");
    }
    stage.send_replace(Stage::Closed);
}

/// What every connection needs.
struct House<A> {
    answers: A,
    limits: Limits,
    metrics: Arc<Metrics>,
    stage: channel::Receiver<Stage>,
}

/// How a connection ended.
enum End {
    /// By itself, or by an upgrade.
    Done,
    /// Its client was too slow.
    TooSlow,
    /// The house closed.
    PutOut,
}

impl<A: Answer> House<A> {
    /// One connection, from its first byte to its last: talks and holds in turn. While it is silent or held, what talking
    /// needs is not there. A block, not a function: a function's future keeps what it is given twice.
    fn receive(self: Arc<Self>, connection: Arc<Connection>, client: SocketAddr) -> impl Future<Output = ()> + Send {
        // Answers are small and whole: waiting to fill a packet would only delay them. Failing costs nothing but that.
        let _ = connection.stream().set_nodelay(true);
        let mut line = Line { connection, ahead: Vec::new() };
        async move {
            let end = 'end: {
                let begun = begun(&line.connection, &mut line.ahead, self.answers.takes_over());
                let begun = match self.silent(self.limits.header_timeout, begun).await {
                    Ok(begun) => begun,
                    Err(end) => break 'end end,
                };
                if begun == Begun::Other {
                    match self.answers.take_over(line) {
                        None => break 'end End::Done,
                        Some(given_back) => line = given_back,
                    }
                }
                loop {
                    let ticket = match Box::pin(self.converse(line, client)).await {
                        Ok((silent, ticket)) => {
                            line = silent;
                            ticket
                        }
                        Err(end) => break end,
                    };
                    let terms = Terms { limits: &self.limits, metrics: &self.metrics, stage: &self.stage };
                    if let Err(end) = line.hold(ticket, terms).await {
                        break end;
                    }
                    if line.ahead.is_empty()
                        && let Err(end) =
                            self.silent(self.limits.idle_timeout, line.connection.stream().readable()).await
                    {
                        break end;
                    }
                }
            };
            if let End::TooSlow = end {
                self.metrics.http_timed_out();
            }
        }
    }

    /// A connection that says nothing costs no buffer: hyper sees it only once there is something to read.
    async fn silent<T>(&self, patience: Duration, said: impl Future<Output = io::Result<T>>) -> Result<T, End> {
        let mut stage = self.stage.clone();
        tokio::select! {
            _ = stage.wait_for(|stage| *stage > Stage::Open) => Err(End::PutOut),
            said = timeout(patience, said) => match said {
                Ok(Ok(said)) => Ok(said),
                Ok(Err(_)) => Err(End::Done),
                Err(_) => Err(End::TooSlow),
            },
        }
    }

    /// Requests and answers until one side has had enough, or a request is to be parked.
    async fn converse(&self, line: Line, client: SocketAddr) -> Result<(Line, Box<Ticket>), End> {
        let shared = Arc::new(Shared::new(Instant::now(), self.limits.reading));
        let noting = &*shared;
        let connection = line.connection.clone();
        let of = &connection;
        let handler = service_fn(move |request: Request<Incoming>| {
            noting.pulse.asked();
            let persistence = Persistence::of(&request);
            let mut request = request.map(|body| TimedBody::new(body, self.limits.body_timeout, self.metrics.clone()));
            if let Some(persistence) = persistence {
                request.extensions_mut().insert(persistence.pass());
            }
            let client = Peer { address: client, connection: Some(of) };
            Noted { answering: self.answers.answer(client, request), shared: noting, connection: of, persistence }
        });
        let io = TokioIo::new(Tracked::new(line, shared.clone()));
        // Whoever ends his side of the connection counts as gone here, as while he waits (docs/decisions/0018).
        let connection = http1::Builder::new()
            .half_close(false)
            .max_buf_size(BUFFER_BYTES_MAX)
            .serve_connection(io, handler)
            .with_upgrades();
        let mut connection = Some(connection);
        let mut watch = Watch::new(self.limits, shared.clone(), self.stage.clone());
        poll_fn(|context| {
            loop {
                let Some(talking) = connection.as_mut() else { return Poll::Ready(Err(End::Done)) };
                // The connection first: the watch must see what it changed.
                // An error is the client's: a broken connection, or something that is not HTTP and was answered with 400.
                if let Poll::Ready(ended) = Pin::new(talking).poll(context) {
                    if let Some(word) = ended.err().as_ref().and_then(unreadable::last_word) {
                        // A client that does not take so little has nothing to wait for.
                        let _ = of.stream().try_write(word.as_bytes());
                    }
                    return Poll::Ready(Err(End::Done));
                }
                if let Some(ticket) = shared.take() {
                    let line = connection.take().and_then(silenced);
                    return Poll::Ready(line.map(|line| (line, ticket)).ok_or(End::Done));
                }
                match ready!(watch.poll(context)) {
                    Seen::TooSlow => return Poll::Ready(Err(End::TooSlow)),
                    Seen::Stage(Stage::Closed) => return Poll::Ready(Err(End::PutOut)),
                    Seen::Stage(Stage::Draining) => {
                        if let Some(talking) = connection.as_mut() {
                            Pin::new(talking).graceful_shutdown();
                        }
                    }
                    Seen::Stage(Stage::Open) => {}
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
pub(super) fn reclaim(upgraded: Upgraded) -> Option<Line> {
    let parts = upgraded.downcast::<TokioIo<Tracked>>().ok()?;
    Some(parts.io.into_inner().into_line(&parts.read_buf))
}

/// The connection without hyper; `None` if it was upgraded and is not ours any more.
fn silenced<S, B>(connection: UpgradeableConnection<TokioIo<Tracked>, S>) -> Option<Line>
where
    S: HttpService<Incoming, ResBody = B>,
    S::Error: Into<axum::BoxError>,
    B: Body<Error: Into<axum::BoxError>> + 'static,
{
    let parts = connection.into_parts()?;
    Some(parts.io.into_inner().into_line(&parts.read_buf))
}

/// A request that is being answered; the pulse hears of the answer. What is no answer yet is parked, and never comes.
struct Noted<'c, F> {
    answering: F,
    shared: &'c Shared,
    connection: &'c Arc<Connection>,
    /// Of a request that may be parked.
    persistence: Option<Persistence>,
}

impl<F: Future<Output = Response<B>> + Unpin, B> Future for Noted<'_, F> {
    type Output = Result<Response<B>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.shared.is_taken() {
            return Poll::Pending;
        }
        let mut answer = ready!(Pin::new(&mut self.answering).poll(context));
        // From here the client owes something: to take what was said before, or to wait.
        self.shared.pulse.answered();
        self.shared.reading.keeps(answer.extensions().get::<Keeps>().map_or(0, |Keeps(bytes)| *bytes));
        if answer.status() == StatusCode::SWITCHING_PROTOCOLS
            && let Some(share) = answer.extensions_mut().remove::<Arc<Share>>()
        {
            self.connection.adopt(&share);
        }
        match self.persistence.and_then(|persistence| Ticket::of(&mut answer, persistence)) {
            Some(ticket) => {
                self.shared.park(ticket);
                Poll::Pending
            }
            None => Poll::Ready(Ok(answer)),
        }
    }
}
