//! Dispatches every request. Requests to the rate limiter are answered here, because the router's work around a request would
//! cost more than they do; all other requests go to the router.
//!
//! Each route is served in one place only: those answered here are not in the router.

use super::host::mark_bad_host;
use super::listener::{BUFFER_BYTES_MAX, Peer, RawConnection, RequestBody, RequestHandler};
use super::origin::mark_cross_site_change;
use super::problem::ApiError;
use super::rate_limit::{LimiterFuture, LimiterHandler};
use super::transfer_coding::require_chunked;
use super::{ops_router, router, worlds};
use crate::app::App;
use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Request, Response};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use settings::{Config, ServeMode};
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
    /// Present where there are worlds: a client may send their frames without HTTP.
    frames_app: Option<App>,
}

impl Gateway {
    #[must_use]
    pub fn new(app: App) -> Self {
        let handler = app.config.limiter_service.then(|| Arc::new(LimiterHandler::new(&app)));
        let frames_app = (app.config.serve_mode == ServeMode::All).then(|| app.clone());
        Self { config: app.config.clone(), router: router(app), limiter: handler, frames_app }
    }

    /// The gateway for operators alone.
    #[must_use]
    pub fn for_operators(app: App) -> Self {
        Self { config: app.config.clone(), router: ops_router(app), limiter: None, frames_app: None }
    }

    pub fn call<'a, B: RequestBody>(&self, client: impl Into<Peer<'a>>, mut request: Request<B>) -> GatewayFuture<B> {
        let client = client.into();
        // The router refuses it too; doing it here covers all routes, so that none can omit it.
        let is_cross_site = mark_cross_site_change(&mut request, client.address, &self.config);
        if !is_cross_site
            && let Some(handler) = &self.limiter
            && let Some(route) = LimiterHandler::route(request.uri().path())
            // The router refuses it, so that the refusal is the same everywhere.
            && require_chunked(request.headers()).is_ok()
        {
            return GatewayFuture::Limiter(LimiterFuture::new(handler.clone(), route, client, request));
        }
        GatewayFuture::Routed(RequestHandler::handle(&self.router, client, request))
    }
}

/// A request in progress.
#[expect(
    clippy::large_enum_variant,
    reason = "a box would be an allocation for each request, and the space is needed anyway"
)]
pub enum GatewayFuture<B> {
    /// Answered by the limiter's handler.
    Limiter(LimiterFuture<B>),
    /// Answered by the router.
    Routed(BoxFuture<'static, Response<Body>>),
}

impl<B: RequestBody> Future for GatewayFuture<B> {
    type Output = Response<ResponseBody>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Response<ResponseBody>> {
        match &mut *self {
            Self::Limiter(future) => Pin::new(future).poll(context),
            Self::Routed(future) => future.as_mut().poll(context).map(|response| response.map(ResponseBody::routed)),
        }
    }
}

impl RequestHandler for Gateway {
    type Body = ResponseBody;
    type ResponseFuture<B: RequestBody> = GatewayFuture<B>;

    fn handle<B: RequestBody>(&self, client: Peer<'_>, mut request: Request<B>) -> GatewayFuture<B> {
        // The router refuses it, so that the refusal is the same everywhere.
        if mark_bad_host(&mut request) {
            return GatewayFuture::Routed(RequestHandler::handle(&self.router, client, request));
        }
        self.call(client, request)
    }

    fn handle_raw(&self, connection: RawConnection) -> Option<RawConnection> {
        match &self.frames_app {
            Some(app) => {
                worlds::accept_raw(app.clone(), connection);
                None
            }
            None => Some(connection),
        }
    }

    fn can_handle_raw(&self) -> bool {
        self.frames_app.is_some()
    }

    fn refusal_frame(&self, error: &ApiError) -> Vec<u8> {
        worlds::refusal_frame(error)
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
        let response = self.clone().call(Request::from_parts(parts, body));
        Box::pin(async move {
            match response.await {
                Ok(response) => response,
                Err(never) => match never {},
            }
        })
    }
}

/// The body of a response, in chunks no longer than a connection's buffer: the connection copies each chunk behind its pending
/// output, and that buffer lives as long as the connection.
#[derive(Debug)]
pub enum ResponseBody {
    /// The unsent rest of a body that was complete from the beginning.
    Whole(Bytes),
    /// The router's body.
    Routed {
        /// The part that has not been polled yet.
        body: Body,
        /// The unsent rest of the last frame.
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
            Self::Whole(left) => Poll::Ready(next_chunk(left).map(|chunk| Ok(Frame::data(chunk)))),
            Self::Routed { body, given } => {
                if let Some(chunk) = next_chunk(given) {
                    return Poll::Ready(Some(Ok(Frame::data(chunk))));
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

/// The next chunk of the rest, if any is left.
fn next_chunk(left: &mut Bytes) -> Option<Bytes> {
    (!left.is_empty()).then(|| left.split_to(left.len().min(BUFFER_BYTES_MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::{FutureExt, stream};
    use http_body_util::BodyExt;
    use std::convert::Infallible;

    /// Checks the lengths of the chunks of a body, that together they are the whole, and that the size hint holds throughout.
    #[track_caller]
    fn check(body: ResponseBody, bytes: &Bytes, want: &[usize]) {
        let (mut body, mut sent, mut chunks) = (body, Vec::new(), Vec::new());
        while !body.is_end_stream() {
            let hint = body.size_hint();
            assert!(hint.lower() <= (bytes.len() - sent.len()) as u64);
            assert!(hint.upper().is_none_or(|upper| upper == (bytes.len() - sent.len()) as u64));
            let Some(frame) = body.frame().now_or_never().unwrap() else { break };
            let data = frame.unwrap().into_data().unwrap();
            chunks.push(data.len());
            sent.extend_from_slice(&data);
        }
        assert_eq!((sent, &*chunks), (bytes.to_vec(), want));
    }

    #[test]
    fn splits_bodies_into_chunks_that_fit_the_buffer() {
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
