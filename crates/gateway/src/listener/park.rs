//! Parking: what a handler gives to the listener when its request has to wait, which is the wait itself and nothing of the request.
//! The listener then releases everything else of the connection (see `parked`).
//!
//! Knows neither what is waited for nor how the response is sent.

use crate::header_values::has_token;
use axum::body::Body;
use axum::extract::FromRequest;
use axum::response::Response;
use bytes::Bytes;
use engine::limits::POLL_UNPARKED_WAIT_MAX;
use http::{HeaderValue, Request, Version, header};
use http_body_util::BodyExt;
use metrics::ByStatus;
use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// In the extensions of a request that may be parked once its body has ended: a GET. Only the listener creates it, so that no
/// request is parked where nothing would answer it.
#[derive(Clone, Copy, Debug)]
pub struct ParkCandidate(());

impl ParkCandidate {
    /// The right to park a request with this whole body.
    pub fn into_token(self, body: &Bytes) -> Option<ParkToken> {
        body.is_empty().then_some(ParkToken(()))
    }
}

/// The right to park a request: all of it has been read, and it has no body. Unread bytes would be taken for the next request.
#[derive(Clone, Copy, Debug)]
pub struct ParkToken(());

/// Reads the body to find out whether the request can be parked: frames without a byte do not count.
#[derive(Clone, Copy, Debug)]
pub struct MaybePark(pub Option<ParkToken>);

impl<S: Sync> FromRequest<S> for MaybePark {
    type Rejection = Infallible;

    async fn from_request(request: axum::extract::Request, _: &S) -> Result<Self, Infallible> {
        let Some(ParkCandidate(())) = request.extensions().get() else { return Ok(Self(None)) };
        let mut body = request.into_body();
        while let Some(frame) = body.frame().await {
            let is_empty = frame.is_ok_and(|frame| frame.data_ref().is_none_or(Bytes::is_empty));
            if !is_empty {
                return Ok(Self(None));
            }
        }
        Ok(Self(Some(ParkToken(()))))
    }
}

/// Why the listener ends a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitEnd {
    /// The time of the wait is over.
    Deadline,
    /// The process drains: the client should repeat the request, which another process will serve.
    Drain,
}

/// A wait that ends with one response. Dropped at once when its client disconnects.
pub trait LongPoll: Send {
    /// The response, once there is one: a final status with a body (not 1xx, 204 or 304). Not polled again after that.
    fn poll_response(&mut self, context: &mut Context<'_>) -> Poll<Response<Bytes>>;

    /// The response when there was none in time. Not polled after that.
    fn finish(&mut self, end: WaitEnd) -> Response<Bytes>;
}

/// A wait that ends with its client: a response in chunks, each sent as soon as it is ready and the one before was written.
pub trait ChunkStream: Send {
    /// The next chunk, which is not empty; `None` at the end.
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>>;

    /// An empty message, for a connection on which nothing was sent for a while.
    fn heartbeat(&mut self) -> Bytes;

    /// The last chunk before the process stops.
    fn closing_chunk(&mut self) -> Bytes;
}

pub(super) enum ParkedWait {
    Poll { poll: Box<dyn LongPoll>, deadline: Instant },
    Stream { stream: Box<dyn ChunkStream>, heartbeat_every: Duration },
}

/// In the extensions of a response: the request is parked, and this is not yet the response. Layers may add headers to it; the
/// actual response will carry them.
#[derive(Clone)]
pub struct ParkMarker(Arc<ParkSlot>);

struct ParkSlot {
    wait: Mutex<Option<ParkedWait>>,
    counters: OnceLock<Arc<ByStatus>>,
}

impl ParkMarker {
    /// Parks a wait that ends with one response, at `deadline` at the latest.
    pub fn poll(_: ParkToken, deadline: Instant, poll: impl LongPoll + 'static) -> Response {
        Self::with_wait(ParkedWait::Poll { poll: Box::new(poll), deadline }, Response::new(Body::empty()))
    }

    /// Begins a stream with this status and these headers. A heartbeat is sent when nothing else was for so long.
    pub fn stream(
        _: ParkToken,
        head: Response<()>,
        heartbeat_every: Duration,
        stream: impl ChunkStream + 'static,
    ) -> Response {
        Self::with_wait(ParkedWait::Stream { stream: Box::new(stream), heartbeat_every }, head.map(|()| Body::empty()))
    }

    fn with_wait(wait: ParkedWait, mut response: Response) -> Response {
        let slot = ParkSlot { wait: Mutex::new(Some(wait)), counters: OnceLock::new() };
        response.extensions_mut().insert(Self(Arc::new(slot)));
        response
    }

    /// Sets where the response is counted. Only the first call has an effect.
    pub fn set_counters(&self, counters: Arc<ByStatus>) {
        let _ = self.0.counters.set(counters);
    }

    /// The wait and its counters; `None` from a copy of an extension that was taken.
    pub(super) fn take(&self) -> Option<(ParkedWait, Option<Arc<ByStatus>>)> {
        let wait = self.0.wait.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some((wait, self.0.counters.get().cloned()))
    }
}

impl fmt::Debug for ParkMarker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ParkMarker")
    }
}

/// Marks a response that was waited for in its handler, because the request could not be parked: its duration says nothing
/// about the server.
#[derive(Clone, Copy, Debug)]
pub struct Waited;

/// The response to a request that has to wait, parked if possible. A request that cannot be parked waits in its handler, where a
/// disconnect goes unnoticed: for at most [`POLL_UNPARKED_WAIT_MAX`], whatever the client asked for.
pub async fn park_or_wait(
    park_token: Option<ParkToken>,
    deadline: Instant,
    mut poll: impl LongPoll + 'static,
) -> Response {
    if let Some(park_token) = park_token {
        return ParkMarker::poll(park_token, deadline, poll);
    }
    let deadline = deadline.min(Instant::now() + POLL_UNPARKED_WAIT_MAX);
    let response = timeout_at(deadline, poll_fn(|context| poll.poll_response(context))).await;
    let mut response = response.unwrap_or_else(|_| poll.finish(WaitEnd::Deadline)).map(Body::from);
    response.headers_mut().entry(header::CACHE_CONTROL).or_insert(NO_STORE);
    response.extensions_mut().insert(Waited);
    response
}

/// Whether, and how, the connection of a request persists after its response (RFC 9112, section 9.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Persistence {
    /// HTTP/1.1, persistent by default.
    KeepAlive,
    /// HTTP/1.0 whose client asked for keep-alive: the response must confirm it.
    Http10KeepAlive,
    /// HTTP/1.1 whose client will close.
    Close,
    /// HTTP/1.0.
    Http10Close,
}

impl Persistence {
    /// The persistence of a request that can be parked, if it turns out to have no body; `None` of one that cannot. An upgrade that
    /// it offers is ignored while it waits (RFC 9110, section 7.8).
    pub(super) fn of<B>(request: &Request<B>) -> Option<Self> {
        let headers = request.headers();
        if request.method() != http::Method::GET {
            return None;
        }
        let has_option = |option| has_token(headers, &header::CONNECTION, option);
        // A head with both lengths must be the last of its connection (RFC 9112, section 6.1). The parser leaves one of them, so every
        // head with a transfer encoding counts as such: a GET has none.
        let may_have_two_lengths = headers.contains_key(header::TRANSFER_ENCODING);
        match request.version() {
            Version::HTTP_11 if has_option("close") || may_have_two_lengths => Some(Self::Close),
            Version::HTTP_11 => Some(Self::KeepAlive),
            Version::HTTP_10 if has_option("keep-alive") && !has_option("close") => Some(Self::Http10KeepAlive),
            Version::HTTP_10 => Some(Self::Http10Close),
            _ => None,
        }
    }

    pub(super) fn is_keep_alive(self) -> bool {
        matches!(self, Self::KeepAlive | Self::Http10KeepAlive)
    }

    pub(super) fn is_http10(self) -> bool {
        matches!(self, Self::Http10KeepAlive | Self::Http10Close)
    }

    /// The same client, after whose response the connection is closed.
    pub(super) fn closing(self) -> Self {
        if self.is_http10() { Self::Http10Close } else { Self::Close }
    }

    /// The extension for such a request.
    pub(super) fn park_candidate(self) -> ParkCandidate {
        ParkCandidate(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(method: &str, version: Version, headers: &[(&str, &str)], want: Option<Persistence>) {
        let mut request = Request::builder().method(method).version(version);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        assert_eq!(Persistence::of(&request.body(()).unwrap()), want, "{method} {version:?} {headers:?}");
    }

    #[test]
    fn finds_what_can_be_parked_and_how_the_connection_persists() {
        use Persistence::{Close, Http10Close, Http10KeepAlive, KeepAlive};
        let (new, old) = (Version::HTTP_11, Version::HTTP_10);
        check("GET", new, &[], Some(KeepAlive));
        check("GET", new, &[("connection", "keep-alive")], Some(KeepAlive));
        check("GET", new, &[("connection", "Close")], Some(Close));
        check("GET", new, &[("connection", "te, close")], Some(Close));
        check("GET", new, &[("connection", "te"), ("connection", "close")], Some(Close));
        check("GET", new, &[("connection", "closer")], Some(KeepAlive));
        check("GET", new, &[("transfer-encoding", "chunked")], Some(Close));
        check("GET", old, &[], Some(Http10Close));
        check("GET", old, &[("connection", "Keep-Alive")], Some(Http10KeepAlive));
        check("GET", old, &[("connection", "keep-alive, close")], Some(Http10Close));
        check("HEAD", new, &[], None);
        check("POST", new, &[], None);
        check("GET", new, &[("connection", "upgrade"), ("upgrade", "h2c")], Some(KeepAlive));
        check("GET", Version::HTTP_2, &[], None);
    }
}
