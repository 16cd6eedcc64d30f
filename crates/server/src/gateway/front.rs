//! The front desk: what every request meets first. Requests to the rate limiter are answered here, because they are worth less
//! than what a router does around a request; all others go to the router.
//!
//! There is one way for each route: what is answered here is in no router.

use super::coding::refuse_other_than_chunked;
use super::limits::{Answering as AtDesk, Desk};
use super::listener::{Answer, Line, RequestBody};
use super::{router, worlds};
use crate::app::App;
use crate::config::Serves;
use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use bytes::Bytes;
use futures_util::future::BoxFuture;
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
    /// Where there are worlds: whoever speaks their frames needs no HTTP.
    frames: Option<App>,
}

impl Front {
    /// The front desk of a process.
    #[must_use]
    pub fn new(app: App) -> Self {
        let desk = app.config.limiter_service.then(|| Arc::new(Desk::new(&app)));
        let frames = (app.config.serves == Serves::All).then(|| app.clone());
        Self { router: router(app), desk, frames }
    }

    /// Answers one request.
    pub fn call<B: RequestBody>(&self, client: SocketAddr, request: Request<B>) -> Answering<B> {
        if let Some(desk) = &self.desk
            && let Some(route) = Desk::route(request.uri().path())
            // The router refuses it, in one way for all.
            && refuse_other_than_chunked(request.headers()).is_ok()
        {
            return Answering::AtDesk(AtDesk::new(desk.clone(), route, request));
        }
        Answering::Routed(Answer::answer(&self.router, client, request))
    }
}

/// A request that is being answered.
#[expect(
    clippy::large_enum_variant,
    reason = "a box would be an allocation for each request, and the place is there anyway"
)]
pub enum Answering<B> {
    /// At the desk.
    AtDesk(AtDesk<B>),
    /// By the router.
    Routed(BoxFuture<'static, Response<Body>>),
}

impl<B: RequestBody> Future for Answering<B> {
    type Output = Response<AnswerBody>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Response<AnswerBody>> {
        match &mut *self {
            Self::AtDesk(answering) => Pin::new(answering).poll(context),
            Self::Routed(answering) => answering.as_mut().poll(context).map(|answer| answer.map(AnswerBody::Routed)),
        }
    }
}

impl Answer for Front {
    type Body = AnswerBody;
    type Answering<B: RequestBody> = Answering<B>;

    fn answer<B: RequestBody>(&self, client: SocketAddr, request: Request<B>) -> Answering<B> {
        self.call(client, request)
    }

    fn take_over(&self, line: Line) -> Option<Line> {
        match &self.frames {
            Some(app) => {
                worlds::meet(app.clone(), line);
                None
            }
            None => Some(line),
        }
    }

    fn takes_over(&self) -> bool {
        self.frames.is_some()
    }
}

impl Answer for Router {
    type Body = Body;
    type Answering<B: RequestBody> = BoxFuture<'static, Response<Body>>;

    fn answer<B: RequestBody>(&self, client: SocketAddr, request: Request<B>) -> BoxFuture<'static, Response<Body>> {
        let (mut parts, body) = request.into_parts();
        parts.extensions.insert(ConnectInfo(client));
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
