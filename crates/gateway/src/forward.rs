//! Forwards a request about a table, a ticket or a mover of a hunt to the node that has it, once, and passes its response back as it comes.
//!
//! Tables and hunts have one owner, and so has the matchmaking queue. A client of the wrong node gets the right response all the same, a
//! little later; a forwarded request is signed, and never forwarded again. Knows none of them: a handler reports that the resource is
//! elsewhere, and where.

mod long_lived;
mod signature;
mod socket;

pub(super) use signature::{Forwarded, verify as verify_forwarded};

use super::body::{self, BodyBudget};
use super::budget::BudgetOwner;
use super::client_address::ClientAddress;
use super::extract::{body_refusal, longest_body};
use super::header_values::accepts_event_stream;
use super::listener::park::{ParkCandidate, ParkMarker, ParkToken, Waited};
use super::problem::{ApiError, Elsewhere, ForwardError, ForwardTarget};
use super::request_id::REQUEST_ID;
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
use telemetry::{RequestTrace, TRACE_RESPONSE, TRACEPARENT};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

/// The feed of a table, on which requests may wait.
pub(crate) const FEED_ROUTE: &str = "/api/stories/tables/{table}/feed";
/// A ticket, for whose end requests may wait.
pub(crate) const TICKET_ROUTE: &str = "/api/hunts/tickets/{id}";
/// The prefixes of the routes that are forwarded.
const ROUTES: [(&str, ForwardTarget); 3] = [
    ("/api/stories/", ForwardTarget::Tables),
    ("/api/hunts/tickets", ForwardTarget::Tickets),
    ("/api/hunts/{name}/leave", ForwardTarget::Hunts),
];

fn target_of(request: &Request) -> Option<ForwardTarget> {
    let path = request.extensions().get::<MatchedPath>()?;
    let route = ROUTES.into_iter().find(|(route, _)| path.as_str().starts_with(route));
    route.map(|(_, target)| target)
}

/// Headers of one connection (RFC 9110, section 7.6.1), and those that the client library sets by itself.
const HOP_BY_HOP: [HeaderName; 6] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Forwards a request when its handler reports that the resource is elsewhere. A layer for the whole router.
pub(super) async fn forward(State(app): State<App>, request: Request, next: Next) -> Response {
    let is_forwarded = request.extensions().get::<Forwarded>().is_some();
    let Some(target) = target_of(&request).filter(|_| app.node.store.is_shared() && !is_forwarded) else {
        return next.run(request).await;
    };
    let (mut parts, body) = request.into_parts();
    let bytes_max = longest_body(&parts.extensions).min(FORWARD_BODY_BYTES_MAX);
    let budget = || BodyBudget::new(&app.bodies, BudgetOwner::of(&parts.extensions));
    let (body, _reservation) = match body::read(&parts.headers, body, bytes_max, budget).await {
        Ok(body) => body.into_parts(),
        Err(error) => return body_refusal(error, bytes_max).into_response(),
    };
    let forwarded = ForwardedRequest::new(&mut parts, target, body.clone());
    let mut response = next.run(Request::from_parts(parts, Body::from(body))).await;
    match response.extensions_mut().remove::<Elsewhere>() {
        Some(Elsewhere { address }) => forwarded.run(app, address).await,
        None => response,
    }
}

/// How long the response of a request takes, and what its client gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ForwardKind {
    /// A response, soon.
    Plain,
    /// A response, when there is an event.
    Poll,
    /// Events without end.
    Stream,
    Socket,
}

impl ForwardKind {
    fn of(parts: &Parts, is_upgrade: bool) -> Self {
        let is_at = |route: &str| parts.extensions.get::<MatchedPath>().is_some_and(|path| path.as_str() == route);
        let (is_feed, is_ticket) = (is_at(FEED_ROUTE), is_at(TICKET_ROUTE));
        // Parsed as the handler will parse it, however the query is encoded.
        let query = || Query::<Vec<(String, String)>>::try_from_uri(&parts.uri).ok();
        let is_waiting = || query().is_some_and(|Query(pairs)| pairs.iter().any(|(name, _)| name == "wait"));
        match () {
            () if is_feed && accepts_event_stream(&parts.headers) => Self::Stream,
            () if (is_feed || is_ticket) && is_waiting() => Self::Poll,
            () if !is_feed && is_upgrade => Self::Socket,
            () => Self::Plain,
        }
    }
}

/// A request that is forwarded.
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
    fn new(parts: &mut Parts, target: ForwardTarget, body: Bytes) -> Self {
        let upgrade: Option<OnUpgrade> = parts.extensions.get().cloned();
        let kind = ForwardKind::of(parts, upgrade.is_some());
        let mut headers = parts.headers.clone();
        // The other node goes on from the span here, and believes it: what the client sent stays here.
        headers.remove(TRACEPARENT);
        if let Some(trace) = parts.extensions.get::<RequestTrace>()
            && let Ok(context) = HeaderValue::try_from(trace.context().to_string())
        {
            headers.insert(TRACEPARENT, context);
        }
        Self {
            target,
            method: parts.method.clone(),
            uri: parts.uri.clone(),
            headers,
            client: parts.extensions.get().copied().unwrap_or(ClientAddress(None)),
            upgrade: upgrade.filter(|_| kind == ForwardKind::Socket),
            kind,
            park_token: parts.extensions.get().and_then(|candidate: &ParkCandidate| candidate.into_token(&body)),
            body,
        }
    }

    /// The response, or a parked poll: it waits here as it waits at the other node.
    async fn run(self, app: App, address: String) -> Response {
        match self.park_token.filter(|_| self.kind == ForwardKind::Poll) {
            Some(park_token) => {
                let deadline = Instant::now() + POLL_WAIT_MAX + FORWARD_RESPONSE_TIMEOUT;
                ParkMarker::poll(park_token, deadline, ForwardedPoll::new(self.target, self.respond(app, address)))
            }
            None => self.respond(app, address).await,
        }
    }

    async fn respond(self, app: App, address: String) -> Response {
        let (kind, target) = (self.kind, self.target);
        let result = self.send(&app, &address).await;
        app.metrics.forwarded(result.is_ok());
        let mut response = result.unwrap_or_else(|error| {
            if !error.is_local() {
                tracing::warn!(address, %error, "a forwarded request was not answered by its node");
            }
            ApiError::Forward(target, error).into_response()
        });
        if kind == ForwardKind::Poll {
            response.extensions_mut().insert(Waited);
        }
        response
    }

    async fn send(mut self, app: &App, address: &str) -> Result<Response, ForwardError> {
        let (kind, park_token, method) = (self.kind, self.park_token, self.method.clone());
        let permit = if kind == ForwardKind::Plain {
            app.forwards.try_acquire_action()
        } else {
            app.forwards.try_acquire_wait(self.client.address_key())
        }?;
        let permit = permit.with_socket(&app.socket_budget)?;
        let upgrade = self.upgrade.take();
        let request = self.build_request(app, address, upgrade.is_some()).await?;
        let (mut sender, connection) = connect(address).await?;
        let is_parked = kind == ForwardKind::Poll && park_token.is_some();
        let response_max = FORWARD_RESPONSE_TIMEOUT + if is_parked { POLL_WAIT_MAX } else { Default::default() };
        // A wait changes nothing: when it is lost, the client repeats it.
        let lost = if kind == ForwardKind::Plain { ForwardError::NoResponse } else { ForwardError::Interrupted };
        let response = timeout(response_max, sender.send_request(request)).await;
        let mut response = response.map_err(|_| lost)?.map_err(|_| lost)?;
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            let there = hyper::upgrade::on(&mut response);
            tokio::spawn(socket::proxy_upgrade(app.clone(), upgrade.ok_or(lost)?, there, permit));
            return Ok(response.map(|_| Body::empty()));
        }
        let length = response.headers().get(header::CONTENT_LENGTH).cloned();
        strip_hop_by_hop(response.headers_mut());
        // The node that the client is connected to sets its own.
        response.headers_mut().remove(REQUEST_ID);
        response.headers_mut().remove(TRACE_RESPONSE);
        if let Some(length) = length.filter(|_| method == Method::HEAD) {
            response.headers_mut().insert(header::CONTENT_LENGTH, length);
        }
        match park_token {
            Some(park_token) if kind == ForwardKind::Stream && response.status() == StatusCode::OK => {
                let (parts, body) = response.into_parts();
                let stream = ForwardedStream::new(body, connection, permit);
                Ok(ParkMarker::stream(park_token, Response::from_parts(parts, ()), FEED_HEARTBEAT_INTERVAL, stream))
            }
            _ => Ok(response.map(|body| body::with_guard(body, (connection, permit)))),
        }
    }

    /// The request as its client sent it, signed, without the headers of the client's own connection.
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
        // The origin was checked here, where scheme and port are those that the browser sees.
        headers.remove(header::ORIGIN);
        signature::sign(&app.guests, app.node.clock.now(), (&method, &uri, &mut headers), client.0).await.map_err(
            |error| {
                tracing::warn!(%error, "the key that authenticates nodes cannot be read");
                ForwardError::Unreachable
            },
        )?;
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
        let stream = names::connect(address).await.map_err(|_| ForwardError::Unreachable)?;
        let _ = stream.set_nodelay(true);
        http1::handshake(TokioIo::new(stream)).await.map_err(|_| ForwardError::Unreachable)
    };
    let (sender, connection) =
        timeout(FORWARD_CONNECT_TIMEOUT, connect).await.map_err(|_| ForwardError::Unreachable)??;
    let driver = tokio::spawn(async move {
        // The reader of the response sees the error.
        let _ = connection.with_upgrades().await;
    });
    Ok((sender, ConnectionDriver(driver)))
}

/// Drives a connection until its response is no longer needed.
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

    /// Checks the kind of a request to this route.
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
    async fn a_wait_is_recognized_however_the_query_is_encoded() {
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
