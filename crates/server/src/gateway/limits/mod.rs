//! The rate limiter over HTTP, for others to put in front of theirs: questions (`/api/limits/check`), the reference API
//! (`/api/v1`), and the policies. The first two are asked before whatever somebody wants to do, so they are answered at the front
//! desk, with an id, a count and a net for panics around them, and nothing else. Knows HTTP; decides nothing.

mod check;
mod policies;
mod reference;

pub(super) use policies::routes;

use super::front::AnswerBody;
use super::problem::ApiError;
use super::request_id::{REQUEST_ID, request_id};
use super::trace::panic_text;
use crate::app::App;
use crate::limits::Limits;
use crate::metrics::{ByStatus, Metrics};
use axum::BoxError;
use axum::response::IntoResponse;
use bytes::Bytes;
use futures_util::FutureExt;
use http::{HeaderValue, Request, Response, StatusCode, header};
use hyper::body::Body;
use reference::ReferenceRoute;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;
use utoipa::OpenApi;

#[derive(OpenApi)]
#[openapi(paths(check::check_one, check::check_many))]
struct Document;

/// The documentation of the routes that no router has.
pub(super) fn openapi() -> utoipa::openapi::OpenApi {
    Document::openapi()
}

/// Where the rate limiter answers.
pub(super) struct Desk {
    limits: Arc<Limits>,
    metrics: Arc<Metrics>,
    body_bytes_max: usize,
    /// In the order of [`Place::ALL`]: found once, because looking them up would show.
    counters: [Arc<ByStatus>; Place::ALL.len()],
}

/// Who at the desk answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// One question.
    Check,
    /// Many questions.
    Batch,
    /// The reference API, whatever it makes of the path.
    Reference,
}

/// What a request is counted as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Check,
    Batch,
    Reference(ReferenceRoute),
}

impl Place {
    const ALL: [(Self, &str); 9] = [
        (Self::Check, "/api/limits/check"),
        (Self::Batch, "/api/limits/check/batch"),
        (Self::Reference(ReferenceRoute::RateLimit), "/api/v1/ratelimit"),
        (Self::Reference(ReferenceRoute::Health), "/api/v1/health"),
        (Self::Reference(ReferenceRoute::Configure), "/api/v1/configure"),
        (Self::Reference(ReferenceRoute::ConfigureClient), "/api/v1/configure-client"),
        (Self::Reference(ReferenceRoute::GetClient), "/api/v1/client-config/{id}"),
        (Self::Reference(ReferenceRoute::ResetClient), "/api/v1/client-config/{id}"),
        (Self::Reference(ReferenceRoute::None), "none"),
    ];

    fn position(self) -> usize {
        Self::ALL.iter().position(|(place, _)| *place == self).unwrap_or(Self::ALL.len() - 1)
    }
}

impl Desk {
    pub(super) fn new(app: &App) -> Self {
        let counters = Place::ALL.map(|(_, route)| app.metrics.http_route(route));
        let body_bytes_max = app.config.http_body_bytes_max;
        Self { limits: app.limits.clone(), metrics: app.metrics.clone(), body_bytes_max, counters }
    }

    /// Who answers requests to this path; `None` where the router does.
    pub(super) fn route(path: &str) -> Option<Route> {
        let rest = path.strip_prefix("/api/")?;
        match rest {
            "limits/check" => Some(Route::Check),
            "limits/check/batch" => Some(Route::Batch),
            _ => {
                let rest = rest.strip_prefix("v1")?;
                (rest.is_empty() || rest.starts_with('/')).then_some(Route::Reference)
            }
        }
    }

    /// Answers a request, whatever happens.
    pub(super) async fn answer<B>(&self, route: Route, request: Request<B>) -> Response<AnswerBody>
    where
        B: Body<Data = Bytes, Error: Into<BoxError>>,
    {
        let began = Instant::now();
        let id = request_id(request.headers());
        // Nothing is shared with a request but the limiter, whose locks recover by themselves.
        let answered = AssertUnwindSafe(self.answer_by(route, request)).catch_unwind().await;
        let (place, mut response) = answered.unwrap_or_else(|panic| {
            tracing::error!(request.id = ?id, ?route, panic = panic_text(&*panic), "a check panicked: this is a defect");
            (Place::Reference(ReferenceRoute::None), panicked(route))
        });
        let (status, took) = (response.status(), began.elapsed());
        if status.is_server_error() {
            tracing::warn!(request.id = ?id, ?place, status = status.as_u16(), "request failed");
        } else {
            // Not at the level of other requests that change something: a line for each would be most of the work.
            tracing::debug!(request.id = ?id, ?place, status = status.as_u16(), "request done");
        }
        self.metrics.http_answered_at(&self.counters[place.position()], status.as_u16(), took);
        response.headers_mut().insert(REQUEST_ID, id);
        response
    }

    async fn answer_by<B>(&self, route: Route, request: Request<B>) -> (Place, Response<AnswerBody>)
    where
        B: Body<Data = Bytes, Error: Into<BoxError>>,
    {
        match route {
            Route::Reference => {
                let (route, response) = reference::answer(&self.limits, request).await;
                (Place::Reference(route), response)
            }
            Route::Check => (Place::Check, or_problem(check::one(&self.limits, self.body_bytes_max, request).await)),
            Route::Batch => (Place::Batch, or_problem(check::many(&self.limits, self.body_bytes_max, request).await)),
        }
    }
}

/// An answer of one piece.
fn whole(status: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::Whole(Some(body.into())));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

fn or_problem(answer: Result<Response<AnswerBody>, ApiError>) -> Response<AnswerBody> {
    answer.unwrap_or_else(|error| {
        let is_method = matches!(error, ApiError::MethodNotAllowed);
        let mut response = error.into_response().map(AnswerBody::Routed);
        if is_method {
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
        }
        response
    })
}

fn panicked(route: Route) -> Response<AnswerBody> {
    match route {
        Route::Reference => reference::internal(),
        Route::Check | Route::Batch => or_problem(Err(ApiError::Unforeseen("a check panicked".to_owned()))),
    }
}
