//! What a handler hands to the listener when its request has to wait: the wait itself, and nothing of the request. The listener
//! then lets everything else of the connection go (see `held`).
//!
//! Knows neither what is waited for nor how the answer travels.

use crate::metrics::ByStatus;
use axum::body::Body;
use axum::extract::FromRequest;
use axum::response::Response;
use bytes::Bytes;
use engine::limits::POLL_UNPARKED_WAIT_MAX;
use http::{HeaderValue, Request, Version, header};
use http_body_util::BodyExt;
use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

const NO_STORE: HeaderValue = HeaderValue::from_static("no-store");

/// Stands in the extensions of a request that may be parked once its body is at its end: one by GET. Only the listener makes
/// it, so that nothing is parked where nobody would answer it.
#[derive(Clone, Copy, Debug)]
pub struct ParkCandidate(());

impl ParkCandidate {
    /// The right to park a request whose whole body was this.
    pub fn into_token(self, body: &Bytes) -> Option<ParkToken> {
        body.is_empty().then_some(ParkToken(()))
    }
}

/// The right to park a request: all of it has been read, and it has no body. What is still on the way would be taken for the
/// next request.
#[derive(Clone, Copy, Debug)]
pub struct ParkToken(());

/// Reads what there is of a body to find out whether a request can be parked: frames without a byte are none.
#[derive(Clone, Copy, Debug)]
pub struct MaybePark(pub Option<ParkToken>);

impl<S: Sync> FromRequest<S> for MaybePark {
    type Rejection = Infallible;

    async fn from_request(request: axum::extract::Request, _: &S) -> Result<Self, Infallible> {
        let Some(ParkCandidate(())) = request.extensions().get() else { return Ok(Self(None)) };
        let mut body = request.into_body();
        while let Some(frame) = body.frame().await {
            let is_nothing = frame.is_ok_and(|frame| frame.data_ref().is_none_or(Bytes::is_empty));
            if !is_nothing {
                return Ok(Self(None));
            }
        }
        Ok(Self(Some(ParkToken(()))))
    }
}

/// Why the listener waits no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitEnd {
    /// The time of the wait is over.
    Deadline,
    /// The process leaves: the client should ask again, of whoever serves then.
    Drain,
}

/// A wait that ends with one answer. Dropped at once when its client goes.
pub trait LongPoll: Send {
    /// The answer, once there is one: a final status with a body (not 1xx, 204 or 304). Not asked again after that.
    fn poll_response(&mut self, context: &mut Context<'_>) -> Poll<Response<Bytes>>;

    /// The answer when there was none in time. Nothing is asked after that.
    fn finish(&mut self, why: WaitEnd) -> Response<Bytes>;
}

/// A wait that ends with its client: an answer in pieces, each sent as soon as it is there and the one before was taken.
pub trait ChunkStream: Send {
    /// The next piece, which is not empty; `None` at the end.
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>>;

    /// A piece that says nothing, for a connection on which nothing was sent for a while.
    fn heartbeat(&mut self) -> Bytes;

    /// The last piece before the process leaves.
    fn closing_chunk(&mut self) -> Bytes;
}

/// What is parked.
pub(super) enum ParkedWait {
    Poll { parked: Box<dyn LongPoll>, deadline: Instant },
    Stream { streamed: Box<dyn ChunkStream>, heartbeat_every: Duration },
}

/// In the extensions of a response: that this is not yet the answer. Layers may add headers to it; they will go with the
/// answer.
#[derive(Clone)]
pub struct ParkMarker(Arc<ParkSlot>);

struct ParkSlot {
    wait: Mutex<Option<ParkedWait>>,
    counters: OnceLock<Arc<ByStatus>>,
}

impl ParkMarker {
    /// Parks a wait that ends with one answer, at `deadline` at the latest.
    pub fn poll(_: ParkToken, deadline: Instant, parked: impl LongPoll + 'static) -> Response {
        Self::with_wait(ParkedWait::Poll { parked: Box::new(parked), deadline }, Response::new(Body::empty()))
    }

    /// Begins an answer in pieces with this status and these headers. A heartbeat is sent when nothing else was for so long.
    pub fn stream(
        _: ParkToken,
        head: Response<()>,
        heartbeat_every: Duration,
        streamed: impl ChunkStream + 'static,
    ) -> Response {
        Self::with_wait(
            ParkedWait::Stream { streamed: Box::new(streamed), heartbeat_every },
            head.map(|()| Body::empty()),
        )
    }

    fn with_wait(guest: ParkedWait, mut response: Response) -> Response {
        let parking = ParkSlot { wait: Mutex::new(Some(guest)), counters: OnceLock::new() };
        response.extensions_mut().insert(Self(Arc::new(parking)));
        response
    }

    /// Where the answer is to be counted when it is given. The first to say so is heard.
    pub fn set_counters(&self, route: Arc<ByStatus>) {
        let _ = self.0.counters.set(route);
    }

    /// The guest and where it is counted; a copy of an extension that was used has none.
    pub(super) fn take(&self) -> Option<(ParkedWait, Option<Arc<ByStatus>>)> {
        let guest = self.0.wait.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some((guest, self.0.counters.get().cloned()))
    }
}

impl fmt::Debug for ParkMarker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Park")
    }
}

/// Marks an answer that was waited for in its handler, because it could not be parked: the time that it took says nothing about
/// the server.
#[derive(Clone, Copy, Debug)]
pub struct Waited;

/// The answer to a request that has to wait, parked if it can be. One that cannot is waited for in its handler, where nobody
/// sees its client go: not for longer than [`POLL_UNPARKED_WAIT_MAX`], whatever it asks.
pub async fn park_or_wait(
    can_park: Option<ParkToken>,
    deadline: Instant,
    mut parked: impl LongPoll + 'static,
) -> Response {
    if let Some(can_park) = can_park {
        return ParkMarker::poll(can_park, deadline, parked);
    }
    let deadline = deadline.min(Instant::now() + POLL_UNPARKED_WAIT_MAX);
    let answer = timeout_at(deadline, poll_fn(|context| parked.poll_response(context))).await;
    let mut response = answer.unwrap_or_else(|_| parked.finish(WaitEnd::Deadline)).map(Body::from);
    response.headers_mut().entry(header::CACHE_CONTROL).or_insert(NO_STORE);
    response.extensions_mut().insert(Waited);
    response
}

/// Whether, and how, the connection of a request goes on after its answer (RFC 9112, section 9.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Persistence {
    /// HTTP/1.1, which goes on unless somebody says otherwise.
    KeepAlive,
    /// HTTP/1.0 whose client asked for it: it must be told so.
    Http10KeepAlive,
    /// HTTP/1.1 whose client will close.
    Close,
    /// HTTP/1.0.
    Http10Close,
}

impl Persistence {
    /// Of a request that can be parked, if it turns out to have no body; `None` of one that cannot. An upgrade that it offers is
    /// not taken up where it waits (RFC 9110, section 7.8).
    pub(super) fn of<B>(request: &Request<B>) -> Option<Self> {
        let headers = request.headers();
        if request.method() != http::Method::GET {
            return None;
        }
        let says = |option: &str| {
            let values = headers.get_all(header::CONNECTION).into_iter().filter_map(|value| value.to_str().ok());
            values.flat_map(|value| value.split(',')).any(|token| token.trim().eq_ignore_ascii_case(option))
        };
        // A head with both lengths must be the last one of its connection (RFC 9112, section 6.1). The parser leaves one of them, so every
        // head with chunks counts as such: a GET has none.
        let may_have_two_lengths = headers.contains_key(header::TRANSFER_ENCODING);
        match request.version() {
            Version::HTTP_11 if says("close") || may_have_two_lengths => Some(Self::Close),
            Version::HTTP_11 => Some(Self::KeepAlive),
            Version::HTTP_10 if says("keep-alive") && !says("close") => Some(Self::Http10KeepAlive),
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

    /// The same client, whose connection will be closed.
    pub(super) fn closing(self) -> Self {
        if self.is_http10() { Self::Http10Close } else { Self::Close }
    }

    /// What the handler of such a request is given.
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
    fn what_can_be_parked_and_what_comes_after() {
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
