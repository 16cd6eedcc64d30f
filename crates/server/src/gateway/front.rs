//! The front desk: what every request meets first. Requests to the rate limiter are answered here, because they are worth less
//! than what a router does around a request; all others go to the router.
//!
//! There is one way for each route: what is answered here is in no router.

use super::limits::Desk;
use super::listener::Answer;
use super::router;
use crate::app::App;
use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use http::{Request, Response};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tower::Service;

/// Everything that is served over HTTP.
#[derive(Clone)]
pub struct Front {
    router: Router,
    desk: Option<Arc<Desk>>,
}

impl Front {
    /// The front desk of a process.
    #[must_use]
    pub fn new(app: App) -> Self {
        let desk = app.config.limiter_service.then(|| Arc::new(Desk::new(&app)));
        Self { router: router(app), desk }
    }

    /// Answers one request.
    pub async fn call<B>(&self, client: SocketAddr, request: Request<B>) -> Response<AnswerBody>
    where
        B: HttpBody<Data = Bytes, Error: Into<axum::BoxError>> + Send + 'static,
    {
        if let Some(desk) = &self.desk
            && let Some(route) = Desk::route(request.uri().path())
        {
            return desk.answer(route, request).await;
        }
        // On the heap: the router's future is large, and every connection would have a place for it.
        Box::pin(Answer::answer(&self.router, client, request)).await.map(AnswerBody::Routed)
    }
}

impl Answer for Front {
    type Body = AnswerBody;

    async fn answer<B>(&self, client: SocketAddr, request: Request<B>) -> Response<AnswerBody>
    where
        B: HttpBody<Data = Bytes, Error: Into<axum::BoxError>> + Send + 'static,
    {
        self.call(client, request).await
    }
}

impl Answer for Router {
    type Body = Body;

    async fn answer<B>(&self, client: SocketAddr, request: Request<B>) -> Response<Body>
    where
        B: HttpBody<Data = Bytes, Error: Into<axum::BoxError>> + Send + 'static,
    {
        let (mut parts, body) = request.into_parts();
        parts.extensions.insert(axum::extract::ConnectInfo(client));
        let body = if body.is_end_stream() { Body::empty() } else { Body::new(body) };
        // A router is always ready, and never fails.
        match self.clone().call(Request::from_parts(parts, body)).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }
}

/// The body of an answer: whole in one piece, or whatever the router made.
#[derive(Debug)]
pub enum AnswerBody {
    /// In one piece; `None` once it was sent.
    Whole(Option<Bytes>),
    /// The router's.
    Routed(Body),
}

impl HttpBody for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        match &mut *self {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Routed(body) => Pin::new(body).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(bytes) => bytes.as_ref().is_none_or(Bytes::is_empty),
            Self::Routed(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64)),
            Self::Routed(body) => body.size_hint(),
        }
    }
}
