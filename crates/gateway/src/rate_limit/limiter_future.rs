//! A request to the rate limiter in progress: its body is read, it is decided, and where a change must be saved first, or a batch takes
//! several turns, that is waited for.
//!
//! Written by hand and not with `async`: every connection has space for it, and it is moved for every request, so it must be small.

use super::reference;
use super::{HandlerOutcome, LimiterHandler, RequestPlan, RouteLabel, problem_response};
use crate::body::{BodyReader, ReadBody};
use crate::listener::{Peer, RequestBody};
use crate::problem::ApiError;
use crate::response_body::ResponseBody;
use crate::trace::panic_text;
use futures_util::future::BoxFuture;
use http::request::Parts;
use http::{Request, Response};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

/// A request in progress.
pub struct LimiterFuture<B> {
    handler: Arc<LimiterHandler>,
    began: Instant,
    parts: Parts,
    state: LimiterFutureState<B>,
}

enum LimiterFutureState<B> {
    ReadingBody(RequestPlan, Option<BodyReader<B>>),
    Responding(RouteLabel, BoxFuture<'static, Response<ResponseBody>>),
}

impl<B: RequestBody> LimiterFuture<B> {
    pub(crate) fn new(handler: Arc<LimiterHandler>, label: RouteLabel, client: Peer<'_>, request: Request<B>) -> Self {
        let began = Instant::now();
        let (parts, body) = request.into_parts();
        let plan = handler.plan_request(label, client, &parts);
        let bytes_max = plan.body_bytes_max(&handler.config);
        let budget = || handler.body_budget(client, &parts);
        let reading = bytes_max.map(|bytes_max| BodyReader::new(&parts.headers, body, bytes_max, budget));
        Self { handler, began, parts, state: LimiterFutureState::ReadingBody(plan, reading) }
    }
}

impl<B: RequestBody> Future for LimiterFuture<B> {
    type Output = Response<ResponseBody>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Response<ResponseBody>> {
        let Self { handler, began, parts, state } = self.get_mut();
        loop {
            match state {
                LimiterFutureState::ReadingBody(plan, reading) => {
                    let body = match reading {
                        Some(reading) => ready!(reading.poll(context)),
                        None => Ok(ReadBody::default()),
                    };
                    let label = plan.label();
                    let outcome = catch_panic(|| handler.handle_body(plan, parts, body));
                    match outcome.unwrap_or_else(|| HandlerOutcome::Ready(label, internal_error(label))) {
                        HandlerOutcome::Ready(label, response) => {
                            return Poll::Ready(handler.finish(label, parts, *began, response));
                        }
                        HandlerOutcome::Deferred(label, later) => *state = LimiterFutureState::Responding(label, later),
                    }
                }
                LimiterFutureState::Responding(label, later) => {
                    let polled = catch_panic(|| later.as_mut().poll(context));
                    let response = ready!(polled.unwrap_or_else(|| Poll::Ready(internal_error(*label))));
                    return Poll::Ready(handler.finish(*label, parts, *began, response));
                }
            }
        }
    }
}

/// A request that panics gets a response, and the process lives. Nothing is shared with a request but the limiter, whose
/// locks recover by themselves.
fn catch_panic<T>(work: impl FnOnce() -> T) -> Option<T> {
    let log = |panic: Box<dyn Any + Send>| {
        tracing::error!(panic = panic_text(&*panic), "a check panicked: this is a defect");
    };
    catch_unwind(AssertUnwindSafe(work)).map_err(log).ok()
}

fn internal_error(label: RouteLabel) -> Response<ResponseBody> {
    match label {
        RouteLabel::Reference(_) => reference::internal(),
        RouteLabel::Check | RouteLabel::Batch => problem_response(ApiError::Internal("a check panicked".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::super::reference::ReferenceRoute;
    use super::*;

    #[track_caller]
    fn check(place: RouteLabel, media_type: &str) {
        let work = || -> Response<ResponseBody> { panic!("a bug") };
        let answer = catch_panic(work).unwrap_or_else(|| internal_error(place));
        assert_eq!((answer.status().as_u16(), answer.headers()["content-type"].to_str().unwrap()), (500, media_type));
    }

    #[test]
    fn a_panic_is_an_answer_in_the_words_of_its_api() {
        check(RouteLabel::Check, "application/problem+json");
        check(RouteLabel::Batch, "application/problem+json");
        check(RouteLabel::Reference(ReferenceRoute::RateLimit), "application/json; charset=utf-8");
    }
}
