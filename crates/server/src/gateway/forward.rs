//! Requests about what other nodes have: sent on to the node that has it, once, and its answer passed back as it comes.
//!
//! Tables have one owner, and so has the desk on which tickets lie. Whoever asks the wrong node gets the right answer all the same,
//! a little later; a request that was sent on is marked, and never sent on again. Knows neither: a handler says that what it was
//! asked about is elsewhere, and where.

mod mark;
mod places;
mod socket;
mod wait;

pub use places::Places;

pub(super) use mark::{Forwarded, read as read_mark};

use super::admission::Client;
use super::body::{self, Room};
use super::budget::Account;
use super::extract::{longest_body, unread};
use super::hunts::TICKET;
use super::listener::park::{CanPark, MayPark, Park, Waited};
use super::problem::{ApiError, Elsewhere};
use super::request_id::REQUEST_ID;
use super::stories::feed::{FEED, asks_for_stream};
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
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use wait::{Passing, Polling};

/// What a request that may be sent on is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// A table of stories.
    Tables,
    /// A ticket of somebody who wants to be matched.
    Tickets,
}

impl About {
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
    Silent,
    /// It went while a request waited there for news.
    #[error("the node that has what this is about went while this request waited: ask again")]
    Interrupted,
    /// Too many requests are on their way to other nodes.
    #[error("too many requests are on their way to other nodes; nothing was done: try again in a moment")]
    TooMany,
    /// Too many from one address wait at other nodes.
    #[error("as many from this address wait at other nodes as may: {max}")]
    TooManyOfOne {
        /// How many.
        max: usize,
    },
}

impl ForwardError {
    /// Whether the other node was not even asked.
    pub(super) fn is_ours(self) -> bool {
        matches!(self, Self::TooMany | Self::TooManyOfOne { .. })
    }
}

/// Sends a request on when its handler finds what it is about elsewhere. A layer for the whole router.
pub(super) async fn forward(State(app): State<App>, request: Request, next: Next) -> Response {
    let is_sent_on = request.extensions().get::<Forwarded>().is_some();
    let Some(about) = About::of(&request).filter(|_| app.store.is_shared() && !is_sent_on) else {
        return next.run(request).await;
    };
    let (mut parts, body) = request.into_parts();
    let bytes_max = longest_body(&parts.extensions).min(FORWARD_BODY_BYTES_MAX);
    let room = || Room::new(&app.bodies, Account::of(&parts.extensions));
    let (body, _room) = match body::read(&parts.headers, body, bytes_max, room).await {
        Ok(body) => body.into_parts(),
        Err(error) => return unread(error, bytes_max).into_response(),
    };
    let errand = Errand::new(&mut parts, about, body.clone());
    let mut response = next.run(Request::from_parts(parts, Body::from(body))).await;
    match response.extensions_mut().remove::<Elsewhere>() {
        Some(Elsewhere { address }) => errand.run(app, address).await,
        None => response,
    }
}

/// How long a request is to be expected to take, and what its client gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// An answer, soon.
    Plain,
    /// An answer, when there is news.
    Poll,
    /// Events, as long as it likes.
    Stream,
    /// A socket.
    Socket,
}

impl Kind {
    fn of(parts: &Parts, is_upgrade: bool) -> Self {
        let is_at = |route: &str| parts.extensions.get::<MatchedPath>().is_some_and(|path| path.as_str() == route);
        let (is_feed, is_ticket) = (is_at(FEED), is_at(TICKET));
        // Whatever the handler will take for it, however it is written.
        let named = || Query::<Vec<(String, String)>>::try_from_uri(&parts.uri).ok();
        let waits = || named().is_some_and(|Query(named)| named.iter().any(|(name, _)| name == "wait"));
        match () {
            () if is_feed && asks_for_stream(&parts.headers) => Self::Stream,
            () if (is_feed || is_ticket) && waits() => Self::Poll,
            () if !is_feed && is_upgrade => Self::Socket,
            () => Self::Plain,
        }
    }
}

/// A request that is sent on.
struct Errand {
    about: About,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
    client: Client,
    upgrade: Option<OnUpgrade>,
    kind: Kind,
    can_park: Option<CanPark>,
}

impl Errand {
    fn new(parts: &mut Parts, about: About, body: Bytes) -> Self {
        let upgrade: Option<OnUpgrade> = parts.extensions.get().cloned();
        let kind = Kind::of(parts, upgrade.is_some());
        Self {
            about,
            method: parts.method.clone(),
            uri: parts.uri.clone(),
            headers: parts.headers.clone(),
            client: parts.extensions.get().copied().unwrap_or(Client(None)),
            upgrade: upgrade.filter(|_| kind == Kind::Socket),
            kind,
            can_park: parts.extensions.get().and_then(|may_park: &MayPark| may_park.after(&body)),
            body,
        }
    }

    /// The answer, or the place where it will come: a poll waits here as it waits there.
    async fn run(self, app: App, address: String) -> Response {
        match self.can_park.filter(|_| self.kind == Kind::Poll) {
            Some(can_park) => {
                let deadline = Instant::now() + POLL_WAIT_MAX + FORWARD_RESPONSE_TIMEOUT;
                Park::poll(can_park, deadline, Polling::new(self.about, self.answer(app, address)))
            }
            None => self.answer(app, address).await,
        }
    }

    async fn answer(self, app: App, address: String) -> Response {
        let (kind, about) = (self.kind, self.about);
        let went = self.go(&app, &address).await;
        app.metrics.forwarded(went.is_ok());
        let mut response = went.unwrap_or_else(|error| {
            if !error.is_ours() {
                tracing::warn!(address, %error, "a request about what another node has was not answered there");
            }
            ApiError::Forward(about, error).into_response()
        });
        if kind == Kind::Poll {
            response.extensions_mut().insert(Waited);
        }
        response
    }

    async fn go(mut self, app: &App, address: &str) -> Result<Response, ForwardError> {
        let (kind, can_park, method) = (self.kind, self.can_park, self.method.clone());
        let place =
            if kind == Kind::Plain { app.forwards.act() } else { app.forwards.wait(self.client.address_key()) }?;
        let place = place.over(&app.socket_budget)?;
        let upgrade = self.upgrade.take();
        let request = self.request(app, address, upgrade.is_some()).await?;
        let (mut sender, connection) = connect(address).await?;
        let parked = kind == Kind::Poll && can_park.is_some();
        let answer_max = FORWARD_RESPONSE_TIMEOUT + if parked { POLL_WAIT_MAX } else { Default::default() };
        // Nothing is done by waiting: what is lost there is asked again.
        let lost = if kind == Kind::Plain { ForwardError::Silent } else { ForwardError::Interrupted };
        let answer = timeout(answer_max, sender.send_request(request)).await;
        let mut answer = answer.map_err(|_| lost)?.map_err(|_| lost)?;
        if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
            let there = hyper::upgrade::on(&mut answer);
            tokio::spawn(socket::pass_through(app.clone(), upgrade.ok_or(lost)?, there, place));
            return Ok(answer.map(|_| Body::empty()));
        }
        let length = answer.headers().get(header::CONTENT_LENGTH).cloned();
        strip(answer.headers_mut());
        // The node that the client asked gives its own.
        answer.headers_mut().remove(REQUEST_ID);
        if let Some(length) = length.filter(|_| method == Method::HEAD) {
            answer.headers_mut().insert(header::CONTENT_LENGTH, length);
        }
        match can_park {
            Some(can_park) if kind == Kind::Stream && answer.status() == StatusCode::OK => {
                let (parts, body) = answer.into_parts();
                let passing = Passing::new(body, connection, place);
                Ok(Park::stream(can_park, Response::from_parts(parts, ()), FEED_HEARTBEAT_INTERVAL, passing))
            }
            _ => Ok(answer.map(|body| body::holding(body, (connection, place)))),
        }
    }

    /// The request as its client sent it, with a mark; but for what was about the client's own connection.
    async fn request(self, app: &App, address: &str, is_upgrade: bool) -> Result<Request<Full<Bytes>>, ForwardError> {
        let Self { method, uri, mut headers, body, client, .. } = self;
        let protocol = headers.get(header::UPGRADE).cloned();
        strip(&mut headers);
        if let Some(protocol) = protocol.filter(|_| is_upgrade) {
            headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
            headers.insert(header::UPGRADE, protocol);
        }
        if !headers.contains_key(header::HOST) {
            headers.insert(header::HOST, HeaderValue::from_str(address).map_err(|_| ForwardError::Unreachable)?);
        }
        // Whose page it is was judged here, where scheme and port were the browser's.
        headers.remove(header::ORIGIN);
        mark::put(app, &method, &uri, &mut headers, client.0).await.map_err(|error| {
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

fn strip(headers: &mut HeaderMap) {
    HOP_BY_HOP.iter().for_each(|name| drop(headers.remove(name)));
}

/// A connection to another node, and the task that drives it.
async fn connect(address: &str) -> Result<(http1::SendRequest<Full<Bytes>>, Driver), ForwardError> {
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
    Ok((sender, Driver(driver)))
}

/// Drives a connection for as long as somebody wants its answer.
struct Driver(JoinHandle<()>);

impl Drop for Driver {
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
    async fn check(route: &'static str, query: &str, accept: &str, is_upgrade: bool, want: Kind) {
        let kind =
            move |request: Request| async move { format!("{:?}", Kind::of(&request.into_parts().0, is_upgrade)) };
        let uri = format!("{}{query}", route.replace("{table}", "t").replace("{id}", "t"));
        let request = Request::get(uri).header(header::ACCEPT, accept).body(Body::empty()).unwrap();
        let response = Router::new().route(route, get(kind)).oneshot(request).await.unwrap();
        let have = axum::body::to_bytes(response.into_body(), 64).await.unwrap();
        assert_eq!(have, format!("{want:?}"), "{route}{query} {accept}");
    }

    #[tokio::test]
    async fn whoever_waits_is_known_however_it_is_written() {
        const OTHER: &str = "/api/stories/tables/{table}";
        check(FEED, "", "*/*", false, Kind::Plain).await;
        check(FEED, "?after=7", "*/*", false, Kind::Plain).await;
        for query in ["?wait=10m", "?after=7&wait=10m", "?%77ait=10m", "?after=7&w%61i%74=10m", "?wait"] {
            check(FEED, query, "*/*", false, Kind::Poll).await;
        }
        check(FEED, "?awaits=10m", "*/*", false, Kind::Plain).await;
        check(FEED, "?wait=10m", "text/event-stream", false, Kind::Stream).await;
        check(FEED, "?wait=10m", "*/*", true, Kind::Poll).await;
        check(OTHER, "?wait=10m", "text/event-stream", false, Kind::Plain).await;
        check(OTHER, "", "*/*", true, Kind::Socket).await;
        check(TICKET, "?wait=10m", "text/event-stream", false, Kind::Poll).await;
        check(TICKET, "", "*/*", false, Kind::Plain).await;
    }
}
