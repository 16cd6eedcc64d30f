//! A request on its way through the desk: its body is read, it is judged, and where something must last first, or takes
//! several turns, that is waited for.
//!
//! By hand and not by `async`: every connection has a place for it, and it is moved for every request, so it must be small.

use super::reference::{self, Kind};
use super::{Desk, Judged, Place, Plan, Route, problem};
use crate::gateway::body::{Reading, Whole};
use crate::gateway::front::AnswerBody;
use crate::gateway::listener::{Peer, RequestBody};
use crate::gateway::problem::ApiError;
use crate::gateway::trace::panic_text;
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
pub struct Answering<B> {
    desk: Arc<Desk>,
    began: Instant,
    parts: Parts,
    stage: Stage<B>,
}

enum Stage<B> {
    Reading(Plan, Option<Reading<B>>),
    Later(Place, BoxFuture<'static, Response<AnswerBody>>),
}

impl<B: RequestBody> Answering<B> {
    pub(in crate::gateway) fn new(desk: Arc<Desk>, route: Route, client: Peer<'_>, request: Request<B>) -> Self {
        let began = Instant::now();
        let (parts, body) = request.into_parts();
        let plan = desk.plan(route, &parts);
        let bytes_max = match &plan {
            Plan::Refused(..) | Plan::Reference(Kind::Nothing) => None,
            Plan::Question(many) => Some(many.body_bytes_max(&desk.config)),
            Plan::Reference(_) => Some(reference::BODY_BYTES_MAX),
        };
        let room = || desk.room(client, &parts);
        let reading = bytes_max.map(|bytes_max| Reading::new(&parts.headers, body, bytes_max, room));
        Self { desk, began, parts, stage: Stage::Reading(plan, reading) }
    }
}

impl<B: RequestBody> Future for Answering<B> {
    type Output = Response<AnswerBody>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Response<AnswerBody>> {
        let Self { desk, began, parts, stage } = self.get_mut();
        loop {
            match stage {
                Stage::Reading(plan, reading) => {
                    let body = match reading {
                        Some(reading) => ready!(reading.poll(context)),
                        None => Ok(Whole::default()),
                    };
                    let place = plan.place();
                    let judged = caught(|| desk.judge(plan, parts, body));
                    match judged.unwrap_or_else(|| Judged::Now(place, internal(place))) {
                        Judged::Now(place, answer) => return Poll::Ready(desk.finish(place, parts, *began, answer)),
                        Judged::Later(place, later) => *stage = Stage::Later(place, later),
                    }
                }
                Stage::Later(place, later) => {
                    let polled = caught(|| later.as_mut().poll(context));
                    let answer = ready!(polled.unwrap_or_else(|| Poll::Ready(internal(*place))));
                    return Poll::Ready(desk.finish(*place, parts, *began, answer));
                }
            }
        }
    }
}

/// Whatever happens, a request gets an answer, and the process lives. Nothing is shared with a request but the limiter, whose
/// locks recover by themselves.
fn caught<T>(work: impl FnOnce() -> T) -> Option<T> {
    let log = |panic: Box<dyn Any + Send>| {
        tracing::error!(panic = panic_text(&*panic), "a check panicked: this is a defect");
    };
    catch_unwind(AssertUnwindSafe(work)).map_err(log).ok()
}

fn internal(place: Place) -> Response<AnswerBody> {
    match place {
        Place::Reference(_) => reference::internal(),
        Place::Check | Place::Batch => problem(ApiError::Unforeseen("a check panicked".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::super::reference::ReferenceRoute;
    use super::*;

    #[track_caller]
    fn check(place: Place, media_type: &str) {
        let work = || -> Response<AnswerBody> { panic!("a bug") };
        let answer = caught(work).unwrap_or_else(|| internal(place));
        assert_eq!((answer.status().as_u16(), answer.headers()["content-type"].to_str().unwrap()), (500, media_type));
    }

    #[test]
    fn a_panic_is_an_answer_in_the_words_of_whoever_was_asked() {
        check(Place::Check, "application/problem+json");
        check(Place::Batch, "application/problem+json");
        check(Place::Reference(ReferenceRoute::RateLimit), "application/json; charset=utf-8");
    }
}
