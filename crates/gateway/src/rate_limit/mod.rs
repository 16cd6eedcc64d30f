//! The rate limiter over HTTP, for other services: checks (`/api/limits/check`), the reference API (`/api/v1`), and the policies. Services
//! send the first two before each request of their own, so `dispatch` sends them here: each gets an id and a count, panics are caught, and
//! nothing else is around them. Knows HTTP; decides nothing.

mod check;
mod limiter_future;
mod policies;
mod reference;

pub(super) use limiter_future::LimiterFuture;
pub(super) use policies::routes;

use super::bans::Bans;
use super::body::{BodyBudget, BodyError, ReadBody};
use super::budget::{Budget, BudgetOwner};
use super::client_address::{UnreadableForwardedFor, client_address};
use super::credentials::has_bearer;
use super::extract::body_refusal;
use super::listener::Peer;
use super::problem::{ApiError, ApiResult, HttpRefusal};
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
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;
use utoipa::OpenApi;

/// Needs no token.
const HEALTH: &str = "/api/v1/health";

#[derive(OpenApi)]
#[openapi(paths(check::check_one, check::check_many))]
struct LimiterDocument;

/// For the fuzzer: a request to the reference API, read and not answered.
#[cfg(feature = "fuzzing")]
pub(crate) fn read_reference_request(parts: &Parts, body: &[u8]) {
    reference::read_request(parts, body);
}

/// The documentation of the routes that no router has.
pub(super) fn openapi() -> utoipa::openapi::OpenApi {
    LimiterDocument::openapi()
}

/// Answers requests to the rate limiter.
pub(super) struct LimiterHandler {
    rate_limiter: Arc<RateLimiter>,
    metrics: Arc<Metrics>,
    config: Arc<Config>,
    bodies: Arc<Budget>,
    bans: Arc<Bans>,
    /// The token that requests must carry, if one is configured.
    token: Option<ServiceToken>,
    /// In the order of [`RouteLabel::ALL`]: looked up once, because a look-up for each request would cost too much.
    counters: [Arc<ByStatus>; RouteLabel::ALL.len()],
}

/// The route of a request, as it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RouteLabel {
    Check,
    Batch,
    /// The reference API; `None` until the request is parsed.
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
        Self::ALL.iter().position(|(label, _)| *label == self).unwrap_or(Self::ALL.len() - 1)
    }
}

impl LimiterHandler {
    pub(super) fn new(app: &App) -> Self {
        let counters = RouteLabel::ALL.map(|(_, route)| app.metrics.process.http_requests.counters(route));
        let token = app.config.limiter_http_token.as_ref().map(|token| ServiceToken::new(token.expose()));
        let (config, bodies, bans) = (app.config.clone(), app.bodies.clone(), app.bans.clone());
        Self { rate_limiter: app.limits.clone(), metrics: app.metrics.clone(), config, bodies, bans, token, counters }
    }

    /// The route of this path; `None` where the router has it.
    pub(super) fn route(path: &str) -> Option<RouteLabel> {
        let rest = path.strip_prefix("/api/")?;
        match rest {
            "limits/check" => Some(RouteLabel::Check),
            "limits/check/batch" => Some(RouteLabel::Batch),
            _ => {
                let rest = rest.strip_prefix("v1")?;
                let is_reference = rest.is_empty() || rest.starts_with('/');
                is_reference.then_some(RouteLabel::Reference(ReferenceRoute::None))
            }
        }
    }

    /// What is known before the body is read.
    fn plan_request(&self, label: RouteLabel, client: Peer<'_>, parts: &Parts) -> RequestPlan {
        let checked = self.check_ban(client, parts).and_then(|()| self.authorize(parts)).and_then(|()| match label {
            RouteLabel::Check | RouteLabel::Batch => check::validate_head(parts),
            RouteLabel::Reference(_) => Ok(()),
        });
        match (checked, label) {
            (Err(refusal), _) => RequestPlan::Refused(label, refusal),
            (Ok(()), RouteLabel::Check) => RequestPlan::Check,
            (Ok(()), RouteLabel::Batch) => RequestPlan::Batch,
            (Ok(()), RouteLabel::Reference(_)) => RequestPlan::Reference(BodyKind::of(parts)),
        }
    }

    /// The budget for a large body from this peer.
    fn body_budget(&self, client: Peer<'_>, parts: &Parts) -> BodyBudget {
        // A request whose client is not known was refused before.
        let address = AddressKey::of(self.client_address(client, parts).unwrap_or_else(|_| client.address.ip()));
        let connection = client.connection.map(Arc::downgrade);
        BodyBudget::new(&self.bodies, BudgetOwner { address: Some(address), connection })
    }

    /// The caller has the service's token, or none: only bans of addresses hold here.
    fn check_ban(&self, client: Peer<'_>, parts: &Parts) -> ApiResult<()> {
        if parts.uri.path() == HEALTH {
            return Ok(());
        }
        self.bans.check(None, Some(self.client_address(client, parts)?))
    }

    fn client_address(&self, client: Peer<'_>, parts: &Parts) -> ApiResult<IpAddr> {
        let (proxies, counts_loopback) = (&self.config.http_trusted_proxies, self.config.counts_loopback());
        let address = client_address(client.address.ip(), &parts.headers, proxies, counts_loopback);
        address.map_err(|UnreadableForwardedFor| HttpRefusal::BadForwardedFor.into())
    }

    /// Health is public: a client without a token must see that the service is there.
    fn authorize(&self, parts: &Parts) -> ApiResult<()> {
        let is_authorized = |token: &ServiceToken| parts.uri.path() == HEALTH || token.is_presented_in(&parts.headers);
        if self.token.as_ref().is_none_or(is_authorized) {
            return Ok(());
        }
        Err(if has_bearer(&parts.headers) { ApiError::TokenUnknown } else { ApiError::TokenMissing })
    }

    /// Decides, with the whole body.
    fn handle_body(&self, plan: &mut RequestPlan, parts: &Parts, body: Result<ReadBody, BodyError>) -> HandlerOutcome {
        let plan = std::mem::replace(plan, RequestPlan::Reference(BodyKind::Ignored));
        let (label, bytes_max) = (plan.label(), plan.body_bytes_max(&self.config).unwrap_or_default());
        let read = |body: Result<ReadBody, BodyError>| body.map_err(|error| body_refusal(error, bytes_max));
        let response = match plan {
            RequestPlan::Reference(kind) => return reference::respond(&self.rate_limiter, parts, &kind, body),
            RequestPlan::Refused(_, error) => Err(error),
            RequestPlan::Check => read(body).and_then(|body| check::check_one_body(&self.rate_limiter, &body)),
            RequestPlan::Batch => match read(body).map(ReadBody::into_parts) {
                Err(error) => Err(error),
                Ok((body, reservation)) => {
                    let limits = self.rate_limiter.clone();
                    let response = async move {
                        let _reservation = reservation;
                        check::check_many_bodies(limits, body, check::YIELD_AFTER)
                            .await
                            .unwrap_or_else(problem_response)
                    };
                    return HandlerOutcome::Deferred(label, Box::pin(response));
                }
            },
        };
        HandlerOutcome::Ready(label, response.unwrap_or_else(problem_response))
    }

    /// Adds the request's id to a response, counts it and logs it.
    fn finish(
        &self,
        label: RouteLabel,
        request: &Parts,
        began: Instant,
        mut response: Response<ResponseBody>,
    ) -> Response<ResponseBody> {
        let (id, status) = (request_id(&request.headers), response.status());
        if status.is_server_error() {
            tracing::warn!(request.id = ?id, ?label, status = status.as_u16(), "request failed");
        } else {
            // Not at the level of other requests that change something: a line for each would be most of the work.
            tracing::debug!(request.id = ?id, ?label, status = status.as_u16(), "request done");
        }
        self.metrics.http_answered_on_route(&self.counters[label.index()], status.as_u16(), began.elapsed());
        response.headers_mut().insert(REQUEST_ID, id);
        response
    }
}

/// What is known before the body is read.
enum RequestPlan {
    /// The body is not read.
    Refused(RouteLabel, ApiError),
    Check,
    Batch,
    /// A request to the reference API with a body of this kind.
    Reference(BodyKind),
}

impl RequestPlan {
    fn label(&self) -> RouteLabel {
        match self {
            Self::Refused(label, _) => *label,
            Self::Check => RouteLabel::Check,
            Self::Batch => RouteLabel::Batch,
            Self::Reference(_) => RouteLabel::Reference(ReferenceRoute::None),
        }
    }

    /// The longest body, in bytes; `None` if it is not read.
    fn body_bytes_max(&self, config: &Config) -> Option<usize> {
        match self {
            Self::Refused(..) | Self::Reference(BodyKind::Ignored) => None,
            Self::Check => Some(REQUEST_LIST_BYTES_MAX.min(config.http_body_bytes_max)),
            Self::Batch => Some(REQUEST_BODY_BYTES_MAX.min(config.http_body_bytes_max)),
            Self::Reference(_) => Some(reference::BODY_BYTES_MAX),
        }
    }
}

/// The result of a request.
enum HandlerOutcome {
    Ready(RouteLabel, Response<ResponseBody>),
    /// A change must be saved first, or a batch yields to other tasks in between.
    Deferred(RouteLabel, BoxFuture<'static, Response<ResponseBody>>),
}

/// A response whose body is complete.
fn full_response(status: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> Response<ResponseBody> {
    let mut response = Response::new(ResponseBody::whole(body.into()));
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
