//! The rate limiter over HTTP, for others to put in front of theirs: questions (`/api/limits/check`), the reference API
//! (`/api/v1`), and the policies. The first two are asked before whatever somebody wants to do, so they are answered at the front
//! desk, with an id, a count and a net for panics around them, and nothing else. Knows HTTP; decides nothing.

mod check;
mod limiter_future;
mod policies;
mod reference;

pub(super) use limiter_future::LimiterFuture;
pub(super) use policies::routes;

use super::body::{BodyBudget, BodyError, ReadBody};
use super::budget::{Budget, BudgetOwner};
use super::client_address::client_address;
use super::credentials::has_bearer;
use super::extract::body_refusal;
use super::listener::{Connection, Peer};
use super::problem::{ApiError, ApiResult};
use super::request_id::{REQUEST_ID, request_id};
use super::response_body::ResponseBody;
use crate::app::App;
use axum::response::IntoResponse;
use bytes::Bytes;
use engine::limits::{REQUEST_BODY_BYTES_MAX, REQUEST_LIST_BYTES_MAX};
use futures_util::future::BoxFuture;
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode, header};
use metrics::{ByStatus, Metrics};
use quotas::address_key::AddressKey;
use rate_limit::{RateLimiter, ServiceToken};
use reference::{BodyKind, ReferenceRoute};
use settings::Config;
use std::sync::Arc;
use std::time::Instant;
use utoipa::OpenApi;

/// Asked without a token.
const HEALTH: &str = "/api/v1/health";

#[derive(OpenApi)]
#[openapi(paths(check::check_one, check::check_many))]
struct LimiterDocument;

/// The documentation of the routes that no router has.
pub(super) fn openapi() -> utoipa::openapi::OpenApi {
    LimiterDocument::openapi()
}

/// Where the rate limiter answers.
pub(super) struct LimiterHandler {
    rate_limiter: Arc<RateLimiter>,
    metrics: Arc<Metrics>,
    config: Arc<Config>,
    bodies: Arc<Budget>,
    /// What requests must bring, where anything.
    token: Option<ServiceToken>,
    /// In the order of [`Place::ALL`]: found once, because looking them up would show.
    counters: [Arc<ByStatus>; RouteLabel::ALL.len()],
}

/// Who at the desk answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LimiterRoute {
    /// One question.
    Check,
    /// Many questions.
    Batch,
    /// The reference API, whatever it makes of the path.
    Reference,
}

impl LimiterRoute {
    fn label(self) -> RouteLabel {
        match self {
            Self::Check => RouteLabel::Check,
            Self::Batch => RouteLabel::Batch,
            Self::Reference => RouteLabel::Reference(ReferenceRoute::None),
        }
    }
}

/// What a request is counted as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RouteLabel {
    Check,
    Batch,
    Reference(ReferenceRoute),
}

impl RouteLabel {
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

    fn index(self) -> usize {
        Self::ALL.iter().position(|(place, _)| *place == self).unwrap_or(Self::ALL.len() - 1)
    }
}

impl LimiterHandler {
    pub(super) fn new(app: &App) -> Self {
        let counters = RouteLabel::ALL.map(|(_, route)| app.metrics.http_route(route));
        let token = app.config.limiter_http_token.as_ref().map(ServiceToken::new);
        let (config, bodies) = (app.config.clone(), app.bodies.clone());
        Self { rate_limiter: app.limits.clone(), metrics: app.metrics.clone(), config, bodies, token, counters }
    }

    /// Who answers requests to this path; `None` where the router does.
    pub(super) fn route(path: &str) -> Option<LimiterRoute> {
        let rest = path.strip_prefix("/api/")?;
        match rest {
            "limits/check" => Some(LimiterRoute::Check),
            "limits/check/batch" => Some(LimiterRoute::Batch),
            _ => {
                let rest = rest.strip_prefix("v1")?;
                (rest.is_empty() || rest.starts_with('/')).then_some(LimiterRoute::Reference)
            }
        }
    }

    /// What is to be read, and by whom.
    fn plan_request(&self, route: LimiterRoute, parts: &Parts) -> RequestPlan {
        if let Err(refusal) = self.authorize(parts) {
            return RequestPlan::Refused(route.label(), refusal);
        }
        let question = |many: CheckKind| {
            check::validate_head(parts)
                .map_or_else(|error| RequestPlan::Refused(many.label(), error), |()| RequestPlan::Check(many))
        };
        match route {
            LimiterRoute::Check => question(CheckKind::Single),
            LimiterRoute::Batch => question(CheckKind::Batch),
            LimiterRoute::Reference => RequestPlan::Reference(BodyKind::of(parts)),
        }
    }

    /// Where a large body finds room that this peer sends.
    fn body_budget(&self, client: Peer<'_>, parts: &Parts) -> BodyBudget {
        let address =
            AddressKey::of(client_address(client.address.ip(), &parts.headers, &self.config.http_trusted_proxies));
        let connection = client.connection.map(Connection::handle);
        BodyBudget::new(&self.bodies, BudgetOwner { address: Some(address), connection })
    }

    /// Health is everybody's to know: whoever has no token yet must see that somebody is here.
    fn authorize(&self, parts: &Parts) -> ApiResult<()> {
        let is_let_in = |token: &ServiceToken| parts.uri.path() == HEALTH || token.is_presented_in(&parts.headers);
        if self.token.as_ref().is_none_or(is_let_in) {
            return Ok(());
        }
        Err(if has_bearer(&parts.headers) { ApiError::TokenUnknown } else { ApiError::TokenMissing })
    }

    /// Decides, with the whole body at hand.
    fn handle_body(&self, plan: &mut RequestPlan, parts: &Parts, body: Result<ReadBody, BodyError>) -> HandlerOutcome {
        match std::mem::replace(plan, RequestPlan::Reference(BodyKind::Ignored)) {
            RequestPlan::Reference(kind) => reference::respond(&self.rate_limiter, parts, &kind, body),
            RequestPlan::Refused(place, error) => HandlerOutcome::Ready(place, problem_response(error)),
            RequestPlan::Check(many) => {
                match (body.map_err(|error| body_refusal(error, many.body_bytes_max(&self.config))), many) {
                    (Err(error), _) => HandlerOutcome::Ready(many.label(), problem_response(error)),
                    (Ok(body), CheckKind::Single) => HandlerOutcome::Ready(
                        many.label(),
                        check::check_one_body(&self.rate_limiter, &body).unwrap_or_else(problem_response),
                    ),
                    (Ok(body), CheckKind::Batch) => {
                        let (body, room) = body.into_parts();
                        let answer = check::check_many_bodies(self.rate_limiter.clone(), body, check::YIELD_AFTER);
                        let answer = async move {
                            let _room = room;
                            answer.await.unwrap_or_else(problem_response)
                        };
                        HandlerOutcome::Deferred(many.label(), Box::pin(answer))
                    }
                }
            }
        }
    }

    /// Gives an answer its id, counts it, and says a word about it in the log.
    fn finish(
        &self,
        place: RouteLabel,
        request: &Parts,
        began: Instant,
        mut response: Response<ResponseBody>,
    ) -> Response<ResponseBody> {
        let (id, status) = (request_id(&request.headers), response.status());
        if status.is_server_error() {
            tracing::warn!(request.id = ?id, ?place, status = status.as_u16(), "request failed");
        } else {
            // Not at the level of other requests that change something: a line for each would be most of the work.
            tracing::debug!(request.id = ?id, ?place, status = status.as_u16(), "request done");
        }
        self.metrics.http_answered_on_route(&self.counters[place.index()], status.as_u16(), began.elapsed());
        response.headers_mut().insert(REQUEST_ID, id);
        response
    }
}

/// One question, or many.
#[derive(Clone, Copy, Debug)]
enum CheckKind {
    Single,
    Batch,
}

impl CheckKind {
    /// How long its body may be.
    fn body_bytes_max(self, config: &Config) -> usize {
        let bytes_max = match self {
            Self::Single => REQUEST_LIST_BYTES_MAX,
            Self::Batch => REQUEST_BODY_BYTES_MAX,
        };
        bytes_max.min(config.http_body_bytes_max)
    }

    fn label(self) -> RouteLabel {
        match self {
            Self::Single => RouteLabel::Check,
            Self::Batch => RouteLabel::Batch,
        }
    }
}

/// What is known before the body is read.
enum RequestPlan {
    /// It is not read: something else is wrong already.
    Refused(RouteLabel, ApiError),
    /// It is a question, or many.
    Check(CheckKind),
    /// It is whatever the reference reads of this kind.
    Reference(BodyKind),
}

impl RequestPlan {
    fn label(&self) -> RouteLabel {
        match self {
            Self::Refused(place, _) => *place,
            Self::Check(many) => many.label(),
            Self::Reference(_) => RouteLabel::Reference(ReferenceRoute::None),
        }
    }
}

/// What came of a request.
enum HandlerOutcome {
    /// An answer.
    Ready(RouteLabel, Response<ResponseBody>),
    /// Something to be saved first, or so much to be judged that others get turns in between.
    Deferred(RouteLabel, BoxFuture<'static, Response<ResponseBody>>),
}

/// An answer of one piece.
fn full_response(status: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::Whole(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

fn problem_response(error: ApiError) -> Response<ResponseBody> {
    let is_method = matches!(error, ApiError::MethodNotAllowed);
    let mut response = error.into_response().map(ResponseBody::routed);
    if is_method {
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
    }
    response
}
