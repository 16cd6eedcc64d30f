//! Requests about tables of other nodes: sent on to the node that owns the table, once, and its answer passed back as it comes.
//!
//! Tables have one owner. Whoever asks the wrong node gets the right answer all the same, a little later; a request that was sent
//! on is marked, and never sent on again. Knows no tables: a handler says that its table is elsewhere, and where.

use super::body;
use super::extract::unread;
use super::listener::park::Waited;
use super::problem::{ApiError, Elsewhere};
use super::stories::feed::FEED;
use crate::app::App;
use axum::body::Body;
use axum::extract::{ConnectInfo, MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use engine::limits::{FORWARD_ANSWER_MAX, FORWARD_BODY_BYTES_MAX, FORWARD_CONNECT_MAX, POLL_WAIT_MAX};
use http_body_util::Full;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::client::conn::http1;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::copy_bidirectional_with_sizes;
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Routes about tables begin so.
const ROUTES: &str = "/api/stories/";
/// Marks a request that another node has sent on.
const FORWARDED: HeaderName = HeaderName::from_static("x-gauntlet-forwarded");
const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
/// Headers that are about one connection (RFC 9110, section 7.6.1), or that a client library sets by itself.
const HOP_BY_HOP: [HeaderName; 7] = [
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::HOST,
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];
/// Memory of a socket that is passed through, in bytes, each way.
const SOCKET_BUFFER_BYTES: usize = 4_096;

/// Why a request was not answered by the node that it was sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ForwardError {
    /// It cannot be reached: nothing was done.
    #[error("the node that owns this table cannot be reached; nothing was done: try again in a moment")]
    Unreachable,
    /// It was reached, and did not answer.
    #[error(
        "the node that owns this table did not answer; nobody knows whether this was done: look at the table before trying again"
    )]
    Silent,
    /// Too many requests are on their way to other nodes.
    #[error("too many requests are on their way to other nodes; nothing was done: try again in a moment")]
    TooMany,
}

/// Sends a request on when its handler finds its table elsewhere. A layer for the whole router.
pub(super) async fn forward(State(app): State<App>, request: Request, next: Next) -> Response {
    if !app.store.is_shared() || !is_about_tables(&request) || request.headers().contains_key(FORWARDED) {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let body = match body::read(&parts.headers, body, FORWARD_BODY_BYTES_MAX).await {
        Ok(body) => body,
        Err(error) => return unread(error, FORWARD_BODY_BYTES_MAX).into_response(),
    };
    let errand = Errand {
        method: parts.method.clone(),
        uri: parts.uri.clone(),
        headers: parts.headers.clone(),
        body: body.clone(),
        client: parts.extensions.get().map(|ConnectInfo(client): &ConnectInfo<SocketAddr>| *client),
        upgrade: parts.extensions.get().cloned(),
        may_wait: parts.extensions.get::<MatchedPath>().is_some_and(|path| path.as_str() == FEED),
    };
    let mut response = next.run(Request::from_parts(parts, Body::from(body))).await;
    match response.extensions_mut().remove::<Elsewhere>() {
        Some(Elsewhere { address }) => errand.run(&app, &address).await,
        None => response,
    }
}

fn is_about_tables(request: &Request) -> bool {
    request.extensions().get::<MatchedPath>().is_some_and(|path| path.as_str().starts_with(ROUTES))
}

/// A request that is sent on.
struct Errand {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
    client: Option<SocketAddr>,
    upgrade: Option<OnUpgrade>,
    /// Whether it may take as long as a poll.
    may_wait: bool,
}

impl Errand {
    async fn run(self, app: &App, address: &str) -> Response {
        let may_wait = self.may_wait;
        let went = self.go(app, address).await;
        app.metrics.forwarded(went.is_ok());
        let mut response = went.unwrap_or_else(|error| {
            tracing::warn!(address, %error, "a request for another node's table was not answered there");
            ApiError::Forward(error).into_response()
        });
        if may_wait {
            response.extensions_mut().insert(Waited);
        }
        response
    }

    async fn go(mut self, app: &App, address: &str) -> Result<Response, ForwardError> {
        let permit = app.forwards.clone().try_acquire_owned().map_err(|_| ForwardError::TooMany)?;
        let (mut sender, connection) = connect(address).await?;
        let answer_max = FORWARD_ANSWER_MAX + if self.may_wait { POLL_WAIT_MAX } else { Default::default() };
        let upgrade = self.upgrade.take();
        let request = self.request(address, upgrade.is_some()).ok_or(ForwardError::Unreachable)?;
        let answer = timeout(answer_max, sender.send_request(request)).await;
        let mut answer = answer.map_err(|_| ForwardError::Silent)?.map_err(|_| ForwardError::Silent)?;
        if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
            let there = hyper::upgrade::on(&mut answer);
            tokio::spawn(pass_through(app.clone(), upgrade.ok_or(ForwardError::Silent)?, there, permit));
            return Ok(answer.map(|_| Body::empty()));
        }
        strip(answer.headers_mut());
        Ok(answer.map(|body| Body::new(PassedBack { body, _connection: connection, _permit: permit })))
    }

    fn request(self, address: &str, is_upgrade: bool) -> Option<Request<Full<Bytes>>> {
        let mut headers = self.headers;
        let protocol = headers.get(header::UPGRADE).cloned();
        strip(&mut headers);
        if let Some(protocol) = protocol.filter(|_| is_upgrade) {
            headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
            headers.insert(header::UPGRADE, protocol);
        }
        headers.insert(header::HOST, HeaderValue::from_str(address).ok()?);
        // Whose page it is was judged here, where the host was still the browser's.
        headers.remove(header::ORIGIN);
        headers.insert(FORWARDED, HeaderValue::from_static("1"));
        if let Some(client) = self.client {
            // Whoever is behind proxies said so before us.
            headers.append(FORWARDED_FOR, HeaderValue::from_str(&client.ip().to_string()).ok()?);
        }
        let path = self.uri.path_and_query()?.as_str();
        let mut request = Request::builder().method(self.method).uri(path).body(Full::new(self.body)).ok()?;
        *request.headers_mut() = headers;
        Some(request)
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
    let (sender, connection) = timeout(FORWARD_CONNECT_MAX, connect).await.map_err(|_| ForwardError::Unreachable)??;
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

/// The body of an answer from another node.
struct PassedBack {
    body: Incoming,
    _connection: Driver,
    _permit: OwnedSemaphorePermit,
}

impl HttpBody for PassedBack {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Passes the bytes of a socket through until one side has had enough, or this process leaves.
async fn pass_through(app: App, here: OnUpgrade, there: OnUpgrade, permit: OwnedSemaphorePermit) {
    let (Ok(here), Ok(there)) = tokio::join!(here, there) else { return };
    let (mut here, mut there) = (TokioIo::new(here), TokioIo::new(there));
    let pass = copy_bidirectional_with_sizes(&mut here, &mut there, SOCKET_BUFFER_BYTES, SOCKET_BUFFER_BYTES);
    tokio::select! {
        _ = pass => {}
        () = app.drain.begun() => {}
    }
    drop(permit);
}
