//! A request on its way through the desk: its body is read, it is judged, and where something must last first, or takes
//! several turns, that is waited for.
//!
//! By hand and not by `async`: every connection has a place for it, and it is moved for every request, so it must be small.

use super::reference::{self, BodyKind};
use super::{HandlerOutcome, LimiterHandler, LimiterRoute, RequestPlan, RouteLabel, problem_response};
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

/// A request on its way through the desk.
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
    pub(crate) fn new(desk: Arc<LimiterHandler>, route: LimiterRoute, client: Peer<'_>, request: Request<B>) -> Self {
        let began = Instant::now();
        let (parts, body) = request.into_parts();
        let plan = desk.plan_request(route, &parts);
        let bytes_max = match &plan {
            RequestPlan::Refused(..) | RequestPlan::Reference(BodyKind::Ignored) => None,
            RequestPlan::Check(many) => Some(many.body_bytes_max(&desk.config)),
            RequestPlan::Reference(_) => Some(reference::BODY_BYTES_MAX),
        };
        let budget = || desk.body_budget(client, &parts);
        let reading = bytes_max.map(|bytes_max| BodyReader::new(&parts.headers, body, bytes_max, budget));
        Self { handler: desk, began, parts, state: LimiterFutureState::ReadingBody(plan, reading) }
    }
}

impl<B: RequestBody> Future for LimiterFuture<B> {
    type Output = Response<ResponseBody>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Response<ResponseBody>> {
        let Self { handler: desk, began, parts, state: stage } = self.get_mut();
        loop {
            match stage {
                LimiterFutureState::ReadingBody(plan, reading) => {
                    let body = match reading {
                        Some(reading) => ready!(reading.poll(context)),
                        None => Ok(ReadBody::default()),
                    };
                    let place = plan.label();
                    let judged = catch_panic(|| desk.handle_body(plan, parts, body));
                    match judged.unwrap_or_else(|| HandlerOutcome::Ready(place, internal_error(place))) {
                        HandlerOutcome::Ready(place, answer) => {
                            return Poll::Ready(desk.finish(place, parts, *began, answer));
                        }
                        HandlerOutcome::Deferred(place, later) => *stage = LimiterFutureState::Responding(place, later),
                    }
                }
                LimiterFutureState::Responding(place, later) => {
                    let polled = catch_panic(|| later.as_mut().poll(context));
                    let answer = ready!(polled.unwrap_or_else(|| Poll::Ready(internal_error(*place))));
                    return Poll::Ready(desk.finish(*place, parts, *began, answer));
                }
            }
        }
    }
}

/// Whatever happens, a request gets an answer, and the process lives. Nothing is shared with a request but the limiter, whose
/// locks recover by themselves.
fn catch_panic<T>(work: impl FnOnce() -> T) -> Option<T> {
    let log = |panic: Box<dyn Any + Send>| {
        tracing::error!(panic = panic_text(&*panic), "a check panicked: this is a defect");
    };
    catch_unwind(AssertUnwindSafe(work)).map_err(log).ok()
}

fn internal_error(place: RouteLabel) -> Response<ResponseBody> {
    match place {
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
    fn a_panic_is_an_answer_in_the_words_of_whoever_was_asked() {
        check(RouteLabel::Check, "application/problem+json");
        check(RouteLabel::Batch, "application/problem+json");
        check(RouteLabel::Reference(ReferenceRoute::RateLimit), "application/json; charset=utf-8");
    }
}
