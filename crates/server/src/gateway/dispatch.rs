//! The front desk: what every request meets first. Requests to the rate limiter are answered here, because they are worth less
//! than what a router does around a request; all others go to the router.
//!
//! There is one way for each route: what is answered here is in no router.

use super::host::mark_bad_host;
use super::listener::{BUFFER_BYTES_MAX, Peer, RawConnection, RequestBody, RequestHandler};
use super::origin::mark_cross_site_change;
use super::problem::ApiError;
use super::rate_limit::{LimiterFuture, LimiterHandler};
use super::transfer_coding::require_chunked;
use super::{ops_router, router, worlds};
use crate::app::App;
use crate::config::{Config, ServeMode};
use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Request, Response};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tower::Service;

/// Everything that is served over HTTP.
#[derive(Clone)]
pub struct Gateway {
    router: Router,
    config: Arc<Config>,
    limiter: Option<Arc<LimiterHandler>>,
    /// Where there are worlds: whoever speaks their frames needs no HTTP.
    frames_app: Option<App>,
}

impl Gateway {
    /// The front desk of a process.
    #[must_use]
    pub fn new(app: App) -> Self {
        let desk = app.config.limiter_service.then(|| Arc::new(LimiterHandler::new(&app)));
        let frames = (app.config.serve_mode == ServeMode::All).then(|| app.clone());
        Self { config: app.config.clone(), router: router(app), limiter: desk, frames_app: frames }
    }

    /// The same for operators alone.
    #[must_use]
    pub fn for_operators(app: App) -> Self {
        Self { config: app.config.clone(), router: ops_router(app), limiter: None, frames_app: None }
    }

    /// Answers one request.
    pub fn call<'a, B: RequestBody>(&self, client: impl Into<Peer<'a>>, mut request: Request<B>) -> GatewayFuture<B> {
        let client = client.into();
        // Refused by the router as well, and here for all routes: none can forget it.
        let is_foreign_change = mark_cross_site_change(&mut request, client.address, &self.config);
        if !is_foreign_change
            && let Some(desk) = &self.limiter
            && let Some(route) = LimiterHandler::route(request.uri().path())
            // The router refuses it, in one way for all.
            && require_chunked(request.headers()).is_ok()
        {
            return GatewayFuture::Limiter(LimiterFuture::new(desk.clone(), route, client, request));
        }
        GatewayFuture::Routed(RequestHandler::handle(&self.router, client, request))
    }
}

/// A request that is being answered.
#[expect(
    clippy::large_enum_variant,
    reason = "a box would be an allocation for each request, and the place is there anyway"
)]
pub enum GatewayFuture<B> {
    /// At the desk.
    Limiter(LimiterFuture<B>),
    /// By the router.
    Routed(BoxFuture<'static, Response<Body>>),
}

impl<B: RequestBody> Future for GatewayFuture<B> {
    type Output = Response<ResponseBody>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Response<ResponseBody>> {
        match &mut *self {
            Self::Limiter(answering) => Pin::new(answering).poll(context),
            Self::Routed(answering) => answering.as_mut().poll(context).map(|answer| answer.map(ResponseBody::routed)),
        }
    }
}

impl RequestHandler for Gateway {
    type Body = ResponseBody;
    type ResponseFuture<B: RequestBody> = GatewayFuture<B>;

    fn handle<B: RequestBody>(&self, client: Peer<'_>, mut request: Request<B>) -> GatewayFuture<B> {
        // The router refuses it, in one way for all.
        if mark_bad_host(&mut request) {
            return GatewayFuture::Routed(RequestHandler::handle(&self.router, client, request));
        }
        self.call(client, request)
    }

    fn handle_raw(&self, line: RawConnection) -> Option<RawConnection> {
        match &self.frames_app {
            Some(app) => {
                worlds::accept_raw(app.clone(), line);
                None
            }
            None => Some(line),
        }
    }

    fn can_handle_raw(&self) -> bool {
        self.frames_app.is_some()
    }

    fn refusal_frame(&self, why: &ApiError) -> Vec<u8> {
        worlds::refusal_frame(why)
    }
}

impl RequestHandler for Router {
    type Body = Body;
    type ResponseFuture<B: RequestBody> = BoxFuture<'static, Response<Body>>;

    fn handle<B: RequestBody>(&self, client: Peer<'_>, request: Request<B>) -> BoxFuture<'static, Response<Body>> {
        let (mut parts, body) = request.into_parts();
        parts.extensions.insert(ConnectInfo(client.address));
        client.connection.map(|connection| parts.extensions.insert(connection.handle()));
        let body = if body.is_end_stream() { Body::empty() } else { Body::new(body) };
        // A router is always ready, and never fails.
        let answer = self.clone().call(Request::from_parts(parts, body));
        Box::pin(async move {
            match answer.await {
                Ok(answer) => answer,
                Err(never) => match never {},
            }
        })
    }
}

/// The body of an answer, in pieces no longer than a connection's buffer: each is copied there behind what is to be sent before
/// it, and the buffer stays as long as the connection.
#[derive(Debug)]
pub enum ResponseBody {
    /// What is left of one that was whole from the beginning.
    Whole(Bytes),
    /// The router's.
    Routed {
        /// What it has not given yet.
        body: Body,
        /// What is left of what it gave last.
        given: Bytes,
    },
}

impl ResponseBody {
    pub(super) fn routed(body: Body) -> Self {
        Self::Routed { body, given: Bytes::new() }
    }
}

impl HttpBody for ResponseBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match &mut *self {
            Self::Whole(left) => Poll::Ready(next_chunk(left).map(|piece| Ok(Frame::data(piece)))),
            Self::Routed { body, given } => {
                if let Some(piece) = next_chunk(given) {
                    return Poll::Ready(Some(Ok(Frame::data(piece))));
                }
                let frame = ready!(Pin::new(body).poll_frame(context));
                Poll::Ready(frame.map(|frame| {
                    frame.map(|frame| {
                        frame.map_data(|data| {
                            *given = data;
                            next_chunk(given).unwrap_or_default()
                        })
                    })
                }))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(left) => left.is_empty(),
            Self::Routed { body, given } => given.is_empty() && body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(left) => SizeHint::with_exact(left.len() as u64),
            Self::Routed { body, given } => {
                let (of_body, given) = (body.size_hint(), given.len() as u64);
                let mut hint = SizeHint::new();
                hint.set_lower(of_body.lower() + given);
                if let Some(upper) = of_body.upper() {
                    hint.set_upper(upper + given);
                }
                hint
            }
        }
    }
}

/// The next piece of what is left, if anything is.
fn next_chunk(left: &mut Bytes) -> Option<Bytes> {
    (!left.is_empty()).then(|| left.split_to(left.len().min(BUFFER_BYTES_MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::{FutureExt, stream};
    use http_body_util::BodyExt;
    use std::convert::Infallible;

    /// The lengths of the pieces in which a body goes; together they are the whole, and what is left is said right throughout.
    #[track_caller]
    fn check(body: ResponseBody, bytes: &Bytes, want: &[usize]) {
        let (mut body, mut sent, mut pieces) = (body, Vec::new(), Vec::new());
        while !body.is_end_stream() {
            let hint = body.size_hint();
            assert!(hint.lower() <= (bytes.len() - sent.len()) as u64);
            assert!(hint.upper().is_none_or(|upper| upper == (bytes.len() - sent.len()) as u64));
            let Some(frame) = body.frame().now_or_never().unwrap() else { break };
            let data = frame.unwrap().into_data().unwrap();
            pieces.push(data.len());
            sent.extend_from_slice(&data);
        }
        assert_eq!((sent, &*pieces), (bytes.to_vec(), want));
    }

    #[test]
    fn bodies_go_in_pieces_that_fit_the_buffer() {
        const MAX: usize = BUFFER_BYTES_MAX;
        let bytes: Bytes = (0..2 * MAX + 7).map(|at| (at % 251) as u8).collect();
        for (length, want) in [(0, vec![]), (1, vec![1]), (MAX, vec![MAX]), (bytes.len(), vec![MAX, MAX, 7])] {
            let bytes = bytes.slice(..length);
            check(ResponseBody::Whole(bytes.clone()), &bytes, &want);
            check(ResponseBody::routed(Body::from(bytes.clone())), &bytes, &want);
        }
        let two = [bytes.slice(..MAX + 1), bytes.slice(MAX + 1..)].map(Ok::<_, Infallible>);
        check(ResponseBody::routed(Body::from_stream(stream::iter(two))), &bytes, &[MAX, 1, MAX, 6]);
    }
}
