//! The reference API (`/api/v1`): what clients of the reference limiter send and receive, kept to the letter, so that they run
//! unchanged. A denial is a 200. Its quirks of input (integers as text, any JSON value as a client, forms, `_method`) are kept as
//! well; its bugs are not. What each client may do is decided by `rate_limit`.
//!
//! A request is read, routed, and only then validated, in the reference's own order: so a body that cannot be read is a 400 also
//! on a path that does not exist.

mod client_id;
mod forms;
mod params;
mod request;
mod responses;

pub(super) use request::BodyKind;
pub(super) use responses::internal;

use super::{HandlerOutcome, RouteLabel};
use crate::body::{BodyError, ReadBody};
use crate::response_body::ResponseBody;
use http::Response;
use http::request::Parts;
use rate_limit::rules::{Change, ChangeError, REFERENCE};
use rate_limit::{RateLimiter, ReferenceDecision};
use request::ReferenceRequest;
use responses::Refusal;
use std::borrow::Cow;
use std::sync::Arc;
use wire::api::LimitQuota;

/// Longest body that is read: the reference's own bound.
pub(super) const BODY_BYTES_MAX: usize = 8_000_000;

/// The routes of the reference API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReferenceRoute {
    /// `POST /ratelimit`
    RateLimit,
    /// `GET /health`
    Health,
    /// `POST /configure`
    Configure,
    /// `POST /configure-client`
    ConfigureClient,
    /// `GET /client-config/:client_id`
    GetClient,
    /// `DELETE /client-config/:client_id`
    ResetClient,
    /// Anything else.
    None,
}

/// Answers a request to the reference API, or says what must be saved first.
pub(super) fn respond(
    limits: &Arc<RateLimiter>,
    parts: &Parts,
    kind: &BodyKind,
    body: Result<ReadBody, BodyError>,
) -> HandlerOutcome {
    let now = |route, answer| HandlerOutcome::Ready(RouteLabel::Reference(route), answer);
    let body = match body {
        Ok(body) => body,
        Err(error) => return now(ReferenceRoute::None, body_refusal(error).into_response()),
    };
    let (route, request) = match request::parse_request(parts, kind, &body) {
        Ok(request) => request,
        Err((route, refusal)) => return now(route, refusal.into_response()),
    };
    let place = |client: Cow<'_, [u8]>| (REFERENCE.into(), client.into());
    let (change, then) = match request {
        ReferenceRequest::Health => return now(route, responses::healthy()),
        ReferenceRequest::RateLimit { client } => {
            return now(route, decision_response(limits.check_reference(&client)));
        }
        ReferenceRequest::GetClient { client } => {
            return now(route, responses::config(limits.reference_quota(&client).into()));
        }
        ReferenceRequest::Configure(settings) => (Change::PutReference(settings.quota()), AfterSave::Config(settings)),
        ReferenceRequest::ConfigureClient { client, config } => {
            (Change::PutOverride(place(client), config.quota()), AfterSave::Config(config))
        }
        ReferenceRequest::ResetClient { client } => (Change::DeleteOverride(place(client)), AfterSave::Reset),
    };
    HandlerOutcome::Deferred(RouteLabel::Reference(route), Box::pin(save_and_respond(limits.clone(), change, then)))
}

/// For the fuzzer: reads a request as [`respond`] does.
#[cfg(feature = "fuzzing")]
pub(super) fn read_request(parts: &Parts, body: &[u8]) {
    if let Ok((_, ReferenceRequest::RateLimit { client })) = request::parse_request(parts, &BodyKind::of(parts), body) {
        assert!(client.len() <= engine::limits::LIMIT_KEY_BYTES_MAX, "a key of {} bytes", client.len());
    }
}

fn body_refusal(error: BodyError) -> Refusal {
    match error {
        BodyError::TooLong => Refusal::TooLarge,
        BodyError::BudgetExceeded(_) => Refusal::Unavailable,
        BodyError::TooSlow => Refusal::TooSlow,
        BodyError::Broken => Refusal::BadRequest,
    }
}

fn decision_response(verdict: ReferenceDecision) -> Response<ResponseBody> {
    match verdict {
        ReferenceDecision::Allowed { remaining } => responses::allowed(remaining),
        ReferenceDecision::Denied { retry_after_s } => responses::denied(retry_after_s),
    }
}

/// What is answered once a change is saved.
enum AfterSave {
    Config(ReferenceConfig),
    Reset,
}

async fn save_and_respond(limits: Arc<RateLimiter>, wanted: Change, then: AfterSave) -> Response<ResponseBody> {
    match (commit_change(&limits, wanted).await, then) {
        (Ok(()), AfterSave::Config(settings)) => responses::config(settings),
        (Ok(()) | Err(Refusal::NothingToReset), AfterSave::Reset) => responses::reset(),
        (Err(refusal), _) => refusal.into_response(),
    }
}

async fn commit_change(limits: &RateLimiter, change: Change) -> Result<(), Refusal> {
    limits.change(change).await.map_err(|error| match error {
        ChangeError::NotSet(_) | ChangeError::NoSuchPolicy => Refusal::NothingToReset,
        ChangeError::TooMany => Refusal::TooManyClients,
        ChangeError::Store(error) => {
            tracing::warn!(%error, "refused: the store does not answer");
            Refusal::Unavailable
        }
        ChangeError::Internal(what) => {
            tracing::error!(what, "failed: this should not be able to happen");
            Refusal::Internal
        }
    })
}

/// A window in whole seconds and the requests in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ReferenceConfig {
    window_s: u64,
    limit: u64,
}

impl ReferenceConfig {
    /// The longest window whose milliseconds can be said.
    const WINDOW_S_MAX: u64 = u64::MAX / 1_000;

    fn quota(self) -> LimitQuota {
        LimitQuota { limit: self.limit, window_ms: self.window_s.saturating_mul(1_000) }
    }
}

impl From<LimitQuota> for ReferenceConfig {
    fn from(quota: LimitQuota) -> Self {
        Self { window_s: quota.window_ms / 1_000, limit: quota.limit }
    }
}
