//! Dispatches every request. Requests to the rate limiter are answered here, because the router's work around a request would
//! cost more than they do; all other requests go to the router.
//!
//! Each route is served in one place only: those answered here are not in the router.

use super::listener::{Peer, RawConnection, RequestBody, RequestHandler};
use super::origin::is_cross_site_change;
use super::problem::ApiError;
use super::rate_limit::{LimiterFuture, LimiterHandler};
use super::request_head::{Unfit, names_one_host, require_chunked};
use super::response_body::ResponseBody;
use super::{ops_router, router, worlds};
use crate::app::App;
use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use futures_util::future::BoxFuture;
use http::{Request, Response};
use settings::{Config, ServeMode};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
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
        if is_cross_site_change(&request, client, &self.config) {
            request.extensions_mut().insert(Unfit::CrossSiteChange);
        } else if let Some(handler) = &self.limiter
            && let Some(label) = LimiterHandler::route(request.uri().path())
            // The router refuses it, so that the refusal is the same everywhere.
            && require_chunked(request.headers()).is_ok()
        {
            return GatewayFuture::Limiter(LimiterFuture::new(handler.clone(), label, client, request));
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
        if !names_one_host(&request) {
            request.extensions_mut().insert(Unfit::Host);
            return GatewayFuture::Routed(RequestHandler::handle(&self.router, client, request));
        }
        self.call(client, request)
    }

    fn handle_raw(&self, client: SocketAddr, connection: RawConnection) -> Option<RawConnection> {
        match &self.frames_app {
            Some(app) => {
                worlds::accept_raw(app.clone(), client.ip(), connection);
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
        client.connection.map(|connection| parts.extensions.insert(Arc::downgrade(connection)));
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
