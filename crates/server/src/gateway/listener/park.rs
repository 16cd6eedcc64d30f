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
pub struct MayPark(());

impl MayPark {
    /// The right to park a request whose whole body was this.
    pub fn after(self, body: &Bytes) -> Option<CanPark> {
        body.is_empty().then_some(CanPark(()))
    }
}

/// The right to park a request: all of it has been read, and it has no body. What is still on the way would be taken for the
/// next request.
#[derive(Clone, Copy, Debug)]
pub struct CanPark(());

/// Reads what there is of a body to find out whether a request can be parked: frames without a byte are none.
#[derive(Clone, Copy, Debug)]
pub struct Pass(pub Option<CanPark>);

impl<S: Sync> FromRequest<S> for Pass {
    type Rejection = Infallible;

    async fn from_request(request: axum::extract::Request, _: &S) -> Result<Self, Infallible> {
        let Some(MayPark(())) = request.extensions().get() else { return Ok(Self(None)) };
        let mut body = request.into_body();
        while let Some(frame) = body.frame().await {
            let is_nothing = frame.is_ok_and(|frame| frame.data_ref().is_none_or(Bytes::is_empty));
            if !is_nothing {
                return Ok(Self(None));
            }
        }
        Ok(Self(Some(CanPark(()))))
    }
}

/// Why the listener waits no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GiveUp {
    /// The time of the wait is over.
    Deadline,
    /// The process leaves: the client should ask again, of whoever serves then.
    Drain,
}

/// A wait that ends with one answer. Dropped at once when its client goes.
pub trait Parked: Send {
    /// The answer, once there is one: a final status with a body (not 1xx, 204 or 304). Not asked again after that.
    fn poll_answer(&mut self, context: &mut Context<'_>) -> Poll<Response<Bytes>>;

    /// The answer when there was none in time. Nothing is asked after that.
    fn give_up(&mut self, why: GiveUp) -> Response<Bytes>;
}

/// A wait that ends with its client: an answer in pieces, each sent as soon as it is there and the one before was taken.
pub trait Streamed: Send {
    /// The next piece, which is not empty; `None` at the end.
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>>;

    /// A piece that says nothing, for a connection on which nothing was sent for a while.
    fn heartbeat(&mut self) -> Bytes;

    /// The last piece before the process leaves.
    fn farewell(&mut self) -> Bytes;
}

/// What is parked.
pub(super) enum Guest {
    Poll { parked: Box<dyn Parked>, deadline: Instant },
    Stream { streamed: Box<dyn Streamed>, heartbeat_every: Duration },
}

/// In the extensions of a response: that this is not yet the answer. Layers may add headers to it; they will go with the
/// answer.
#[derive(Clone)]
pub struct Park(Arc<Parking>);

struct Parking {
    guest: Mutex<Option<Guest>>,
    route: OnceLock<Arc<ByStatus>>,
}

impl Park {
    /// Parks a wait that ends with one answer, at `deadline` at the latest.
    pub fn poll(_: CanPark, deadline: Instant, parked: impl Parked + 'static) -> Response {
        Self::of(Guest::Poll { parked: Box::new(parked), deadline }, Response::new(Body::empty()))
    }

    /// Begins an answer in pieces with this status and these headers. A heartbeat is sent when nothing else was for so long.
    pub fn stream(
        _: CanPark,
        head: Response<()>,
        heartbeat_every: Duration,
        streamed: impl Streamed + 'static,
    ) -> Response {
        Self::of(Guest::Stream { streamed: Box::new(streamed), heartbeat_every }, head.map(|()| Body::empty()))
    }

    fn of(guest: Guest, mut response: Response) -> Response {
        let parking = Parking { guest: Mutex::new(Some(guest)), route: OnceLock::new() };
        response.extensions_mut().insert(Self(Arc::new(parking)));
        response
    }

    /// Where the answer is to be counted when it is given. The first to say so is heard.
    pub fn count_at(&self, route: Arc<ByStatus>) {
        let _ = self.0.route.set(route);
    }

    /// The guest and where it is counted; a copy of an extension that was used has none.
    pub(super) fn take(&self) -> Option<(Guest, Option<Arc<ByStatus>>)> {
        let guest = self.0.guest.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        Some((guest, self.0.route.get().cloned()))
    }
}

impl fmt::Debug for Park {
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
pub async fn park_or_wait(can_park: Option<CanPark>, deadline: Instant, mut parked: impl Parked + 'static) -> Response {
    if let Some(can_park) = can_park {
        return Park::poll(can_park, deadline, parked);
    }
    let deadline = deadline.min(Instant::now() + POLL_UNPARKED_WAIT_MAX);
    let answer = timeout_at(deadline, poll_fn(|context| parked.poll_answer(context))).await;
    let mut response = answer.unwrap_or_else(|_| parked.give_up(GiveUp::Deadline)).map(Body::from);
    response.headers_mut().entry(header::CACHE_CONTROL).or_insert(NO_STORE);
    response.extensions_mut().insert(Waited);
    response
}

/// Whether, and how, the connection of a request goes on after its answer (RFC 9112, section 9.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Persistence {
    /// HTTP/1.1, which goes on unless somebody says otherwise.
    Keep,
    /// HTTP/1.0 whose client asked for it: it must be told so.
    KeepOld,
    /// HTTP/1.1 whose client will close.
    Close,
    /// HTTP/1.0.
    CloseOld,
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
            Version::HTTP_11 => Some(Self::Keep),
            Version::HTTP_10 if says("keep-alive") && !says("close") => Some(Self::KeepOld),
            Version::HTTP_10 => Some(Self::CloseOld),
            _ => None,
        }
    }

    pub(super) fn keeps(self) -> bool {
        matches!(self, Self::Keep | Self::KeepOld)
    }

    pub(super) fn is_old(self) -> bool {
        matches!(self, Self::KeepOld | Self::CloseOld)
    }

    /// The same client, whose connection will be closed.
    pub(super) fn closing(self) -> Self {
        if self.is_old() { Self::CloseOld } else { Self::Close }
    }

    /// What the handler of such a request is given.
    pub(super) fn pass(self) -> MayPark {
        MayPark(())
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
        use Persistence::{Close, CloseOld, Keep, KeepOld};
        let (new, old) = (Version::HTTP_11, Version::HTTP_10);
        check("GET", new, &[], Some(Keep));
        check("GET", new, &[("connection", "keep-alive")], Some(Keep));
        check("GET", new, &[("connection", "Close")], Some(Close));
        check("GET", new, &[("connection", "te, close")], Some(Close));
        check("GET", new, &[("connection", "te"), ("connection", "close")], Some(Close));
        check("GET", new, &[("connection", "closer")], Some(Keep));
        check("GET", new, &[("transfer-encoding", "chunked")], Some(Close));
        check("GET", old, &[], Some(CloseOld));
        check("GET", old, &[("connection", "Keep-Alive")], Some(KeepOld));
        check("GET", old, &[("connection", "keep-alive, close")], Some(CloseOld));
        check("HEAD", new, &[], None);
        check("POST", new, &[], None);
        check("GET", new, &[("connection", "upgrade"), ("upgrade", "h2c")], Some(Keep));
        check("GET", Version::HTTP_2, &[], None);
    }
}
