//! Requests about what other nodes have: sent on to the node that has it, once, and its answer passed back as it comes.
//!
//! Tables have one owner, and so has the desk on which tickets lie. Whoever asks the wrong node gets the right answer all the same,
//! a little later; a request that was sent on is marked, and never sent on again. Knows neither: a handler says that what it was
//! asked about is elsewhere, and where.

mod long_lived;
mod permits;
mod signature;
mod socket;

pub use permits::ForwardPermits;

pub(super) use signature::{Forwarded, verify as read_mark};

use super::admission::ClientAddress;
use super::body::{self, Room};
use super::budget::Account;
use super::extract::{body_refusal, longest_body};
use super::hunts::TICKET_ROUTE;
use super::listener::park::{ParkCandidate, ParkMarker, ParkToken, Waited};
use super::problem::{ApiError, Elsewhere};
use super::request_id::REQUEST_ID;
use super::stories::feed::{FEED_ROUTE, is_stream_requested};
use crate::app::App;
use axum::body::Body;
use axum::extract::{MatchedPath, Query, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use engine::limits::{
    FEED_HEARTBEAT_INTERVAL, FORWARD_BODY_BYTES_MAX, FORWARD_CONNECT_TIMEOUT, FORWARD_RESPONSE_TIMEOUT, POLL_WAIT_MAX,
};
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use long_lived::{ForwardedPoll, ForwardedStream};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

/// What a request that may be sent on is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForwardTarget {
    /// A table of stories.
    Tables,
    /// A ticket of somebody who wants to be matched.
    Tickets,
}

impl ForwardTarget {
    /// How the routes begin.
    const ROUTES: [(&str, Self); 2] = [("/api/stories/", Self::Tables), ("/api/hunts/tickets", Self::Tickets)];

    fn of(request: &Request) -> Option<Self> {
        let path = request.extensions().get::<MatchedPath>()?;
        let route = Self::ROUTES.into_iter().find(|(route, _)| path.as_str().starts_with(route));
        route.map(|(_, about)| about)
    }
}

/// Headers that are about one connection (RFC 9110, section 7.6.1), or that a client library sets by itself.
const HOP_BY_HOP: [HeaderName; 6] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Why a request was not answered by the node that it was sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForwardError {
    /// It cannot be reached: nothing was done.
    #[error("the node that has what this is about cannot be reached; nothing was done: try again in a moment")]
    Unreachable,
    /// It was reached, and did not answer.
    #[error(
        "the node that has what this is about did not answer; nobody knows whether this was done: look before trying again"
    )]
    NoResponse,
    /// It went while a request waited there for news.
    #[error("the node that has what this is about went while this request waited: ask again")]
    Interrupted,
    /// Too many requests are on their way to other nodes.
    #[error("too many requests are on their way to other nodes; nothing was done: try again in a moment")]
    TooMany,
    /// Too many from one address wait at other nodes.
    #[error("as many from this address wait at other nodes as may: {max}")]
    TooManyOfAddress {
        /// How many.
        max: usize,
    },
}

impl ForwardError {
    /// Whether the other node was not even asked.
    pub(super) fn is_local(self) -> bool {
        matches!(self, Self::TooMany | Self::TooManyOfAddress { .. })
    }
}

/// Sends a request on when its handler finds what it is about elsewhere. A layer for the whole router.
pub(super) async fn forward(State(app): State<App>, request: Request, next: Next) -> Response {
    let is_sent_on = request.extensions().get::<Forwarded>().is_some();
    let Some(about) = ForwardTarget::of(&request).filter(|_| app.store.is_shared() && !is_sent_on) else {
        return next.run(request).await;
    };
    let (mut parts, body) = request.into_parts();
    let bytes_max = longest_body(&parts.extensions).min(FORWARD_BODY_BYTES_MAX);
    let room = || Room::new(&app.bodies, Account::of(&parts.extensions));
    let (body, _room) = match body::read(&parts.headers, body, bytes_max, room).await {
        Ok(body) => body.into_parts(),
        Err(error) => return body_refusal(error, bytes_max).into_response(),
    };
    let errand = ForwardedRequest::new(&mut parts, about, body.clone());
    let mut response = next.run(Request::from_parts(parts, Body::from(body))).await;
    match response.extensions_mut().remove::<Elsewhere>() {
        Some(Elsewhere { address }) => errand.run(app, address).await,
        None => response,
    }
}

/// How long a request is to be expected to take, and what its client gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ForwardKind {
    /// An answer, soon.
    Plain,
    /// An answer, when there is news.
    Poll,
    /// Events, as long as it likes.
    Stream,
    /// A socket.
    Socket,
}

impl ForwardKind {
    fn of(parts: &Parts, is_upgrade: bool) -> Self {
        let is_at = |route: &str| parts.extensions.get::<MatchedPath>().is_some_and(|path| path.as_str() == route);
        let (is_feed, is_ticket) = (is_at(FEED_ROUTE), is_at(TICKET_ROUTE));
        // Whatever the handler will take for it, however it is written.
        let named = || Query::<Vec<(String, String)>>::try_from_uri(&parts.uri).ok();
        let waits = || named().is_some_and(|Query(named)| named.iter().any(|(name, _)| name == "wait"));
        match () {
            () if is_feed && is_stream_requested(&parts.headers) => Self::Stream,
            () if (is_feed || is_ticket) && waits() => Self::Poll,
            () if !is_feed && is_upgrade => Self::Socket,
            () => Self::Plain,
        }
    }
}

/// A request that is sent on.
struct ForwardedRequest {
    target: ForwardTarget,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
    client: ClientAddress,
    upgrade: Option<OnUpgrade>,
    kind: ForwardKind,
    park_token: Option<ParkToken>,
}

impl ForwardedRequest {
    fn new(parts: &mut Parts, about: ForwardTarget, body: Bytes) -> Self {
        let upgrade: Option<OnUpgrade> = parts.extensions.get().cloned();
        let kind = ForwardKind::of(parts, upgrade.is_some());
        Self {
            target: about,
            method: parts.method.clone(),
            uri: parts.uri.clone(),
            headers: parts.headers.clone(),
            client: parts.extensions.get().copied().unwrap_or(ClientAddress(None)),
            upgrade: upgrade.filter(|_| kind == ForwardKind::Socket),
            kind,
            park_token: parts.extensions.get().and_then(|may_park: &ParkCandidate| may_park.into_token(&body)),
            body,
        }
    }

    /// The answer, or the place where it will come: a poll waits here as it waits there.
    async fn run(self, app: App, address: String) -> Response {
        match self.park_token.filter(|_| self.kind == ForwardKind::Poll) {
            Some(can_park) => {
                let deadline = Instant::now() + POLL_WAIT_MAX + FORWARD_RESPONSE_TIMEOUT;
                ParkMarker::poll(can_park, deadline, ForwardedPoll::new(self.target, self.respond(app, address)))
            }
            None => self.respond(app, address).await,
        }
    }

    async fn respond(self, app: App, address: String) -> Response {
        let (kind, about) = (self.kind, self.target);
        let went = self.send(&app, &address).await;
        app.metrics.forwarded(went.is_ok());
        let mut response = went.unwrap_or_else(|error| {
            if !error.is_local() {
                tracing::warn!(address, %error, "a request about what another node has was not answered there");
            }
            ApiError::Forward(about, error).into_response()
        });
        if kind == ForwardKind::Poll {
            response.extensions_mut().insert(Waited);
        }
        response
    }

    async fn send(mut self, app: &App, address: &str) -> Result<Response, ForwardError> {
        let (kind, can_park, method) = (self.kind, self.park_token, self.method.clone());
        let place = if kind == ForwardKind::Plain {
            app.forwards.try_acquire_action()
        } else {
            app.forwards.try_acquire_wait(self.client.address_key())
        }?;
        let place = place.with_socket(&app.socket_budget)?;
        let upgrade = self.upgrade.take();
        let request = self.build_request(app, address, upgrade.is_some()).await?;
        let (mut sender, connection) = connect(address).await?;
        let parked = kind == ForwardKind::Poll && can_park.is_some();
        let answer_max = FORWARD_RESPONSE_TIMEOUT + if parked { POLL_WAIT_MAX } else { Default::default() };
        // Nothing is done by waiting: what is lost there is asked again.
        let lost = if kind == ForwardKind::Plain { ForwardError::NoResponse } else { ForwardError::Interrupted };
        let answer = timeout(answer_max, sender.send_request(request)).await;
        let mut answer = answer.map_err(|_| lost)?.map_err(|_| lost)?;
        if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
            let there = hyper::upgrade::on(&mut answer);
            tokio::spawn(socket::proxy_upgrade(app.clone(), upgrade.ok_or(lost)?, there, place));
            return Ok(answer.map(|_| Body::empty()));
        }
        let length = answer.headers().get(header::CONTENT_LENGTH).cloned();
        strip_hop_by_hop(answer.headers_mut());
        // The node that the client asked gives its own.
        answer.headers_mut().remove(REQUEST_ID);
        if let Some(length) = length.filter(|_| method == Method::HEAD) {
            answer.headers_mut().insert(header::CONTENT_LENGTH, length);
        }
        match can_park {
            Some(can_park) if kind == ForwardKind::Stream && answer.status() == StatusCode::OK => {
                let (parts, body) = answer.into_parts();
                let passing = ForwardedStream::new(body, connection, place);
                Ok(ParkMarker::stream(can_park, Response::from_parts(parts, ()), FEED_HEARTBEAT_INTERVAL, passing))
            }
            _ => Ok(answer.map(|body| body::holding(body, (connection, place)))),
        }
    }

    /// The request as its client sent it, with a mark; but for what was about the client's own connection.
    async fn build_request(
        self,
        app: &App,
        address: &str,
        is_upgrade: bool,
    ) -> Result<Request<Full<Bytes>>, ForwardError> {
        let Self { method, uri, mut headers, body, client, .. } = self;
        let protocol = headers.get(header::UPGRADE).cloned();
        strip_hop_by_hop(&mut headers);
        if let Some(protocol) = protocol.filter(|_| is_upgrade) {
            headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
            headers.insert(header::UPGRADE, protocol);
        }
        if !headers.contains_key(header::HOST) {
            headers.insert(header::HOST, HeaderValue::from_str(address).map_err(|_| ForwardError::Unreachable)?);
        }
        // Whose page it is was judged here, where scheme and port were the browser's.
        headers.remove(header::ORIGIN);
        signature::sign(app, &method, &uri, &mut headers, client.0).await.map_err(|error| {
            tracing::warn!(%error, "the key with which nodes know each other cannot be read");
            ForwardError::Unreachable
        })?;
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let request = Request::builder().method(method).uri(path).body(Full::new(body));
        let mut request = request.map_err(|_| ForwardError::Unreachable)?;
        *request.headers_mut() = headers;
        Ok(request)
    }
}

fn strip_hop_by_hop(headers: &mut HeaderMap) {
    HOP_BY_HOP.iter().for_each(|name| drop(headers.remove(name)));
}

/// A connection to another node, and the task that drives it.
async fn connect(address: &str) -> Result<(http1::SendRequest<Full<Bytes>>, ConnectionDriver), ForwardError> {
    let connect = async {
        let stream = TcpStream::connect(address).await.map_err(|_| ForwardError::Unreachable)?;
        let _ = stream.set_nodelay(true);
        http1::handshake(TokioIo::new(stream)).await.map_err(|_| ForwardError::Unreachable)
    };
    let (sender, connection) =
        timeout(FORWARD_CONNECT_TIMEOUT, connect).await.map_err(|_| ForwardError::Unreachable)??;
    let driver = tokio::spawn(async move {
        // Why it ended, whoever waits for the answer will see.
        let _ = connection.with_upgrades().await;
    });
    Ok((sender, ConnectionDriver(driver)))
}

/// Drives a connection for as long as somebody wants its answer.
struct ConnectionDriver(JoinHandle<()>);

impl Drop for ConnectionDriver {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::Router;
    use axum::routing::get;
    use tower::ServiceExt;

    /// What a request of this kind is expected to be, asked at the route of feeds or at another.
    async fn check(route: &'static str, query: &str, accept: &str, is_upgrade: bool, want: ForwardKind) {
        let kind = move |request: Request| async move {
            format!("{:?}", ForwardKind::of(&request.into_parts().0, is_upgrade))
        };
        let uri = format!("{}{query}", route.replace("{table}", "t").replace("{id}", "t"));
        let request = Request::get(uri).header(header::ACCEPT, accept).body(Body::empty()).unwrap();
        let response = Router::new().route(route, get(kind)).oneshot(request).await.unwrap();
        let have = axum::body::to_bytes(response.into_body(), 64).await.unwrap();
        assert_eq!(have, format!("{want:?}"), "{route}{query} {accept}");
    }

    #[tokio::test]
    async fn whoever_waits_is_known_however_it_is_written() {
        const OTHER: &str = "/api/stories/tables/{table}";
        check(FEED_ROUTE, "", "*/*", false, ForwardKind::Plain).await;
        check(FEED_ROUTE, "?after=7", "*/*", false, ForwardKind::Plain).await;
        for query in ["?wait=10m", "?after=7&wait=10m", "?%77ait=10m", "?after=7&w%61i%74=10m", "?wait"] {
            check(FEED_ROUTE, query, "*/*", false, ForwardKind::Poll).await;
        }
        check(FEED_ROUTE, "?awaits=10m", "*/*", false, ForwardKind::Plain).await;
        check(FEED_ROUTE, "?wait=10m", "text/event-stream", false, ForwardKind::Stream).await;
        check(FEED_ROUTE, "?wait=10m", "*/*", true, ForwardKind::Poll).await;
        check(OTHER, "?wait=10m", "text/event-stream", false, ForwardKind::Plain).await;
        check(OTHER, "", "*/*", true, ForwardKind::Socket).await;
        check(TICKET_ROUTE, "?wait=10m", "text/event-stream", false, ForwardKind::Poll).await;
        check(TICKET_ROUTE, "", "*/*", false, ForwardKind::Plain).await;
    }
}
