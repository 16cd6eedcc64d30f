//! The reference API (`/api/v1`): what clients of the reference limiter send and hear, kept to the letter, so that they run
//! unchanged. A denial is a 200. Its quirks of input (integers as text, any JSON value as a client, forms, `_method`) are kept as
//! well; its bugs are not. What each client may do is [`crate::limits::Reference`]'s business.
//!
//! A request is read, routed, and only then judged, in the reference's own order: so a body that cannot be read is a 400 also
//! on a path that does not exist.

mod answers;
mod client;
mod forms;
mod params;
mod request;

pub(super) use answers::internal;

use crate::gateway::body::{self, BodyError};
use crate::gateway::front::AnswerBody;
use crate::limits::rules::{Change, ChangeError, REFERENCE};
use crate::limits::{Limits, Verdict};
use answers::Refusal;
use axum::BoxError;
use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Body;
use params::Kind;
use request::Asked;
use wire::api::LimitQuota;

/// Longest body that is read: the reference's own bound.
const BODY_BYTES_MAX: usize = 8_000_000;

/// The routes of the reference API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReferenceRoute {
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

/// Answers a request to the reference API.
pub(super) async fn answer<B>(limits: &Limits, request: Request<B>) -> (ReferenceRoute, Response<AnswerBody>)
where
    B: Body<Data = Bytes, Error: Into<BoxError>>,
{
    let (parts, body) = request.into_parts();
    let kind = Kind::of(&parts);
    let body = match kind {
        Kind::Nothing => Ok(Bytes::new()),
        Kind::Json | Kind::Form | Kind::Multipart(_) => body::read(&parts.headers, body, BODY_BYTES_MAX).await,
    };
    let body = match body {
        Ok(body) => body,
        Err(error) => return (ReferenceRoute::None, unread(error).into_response()),
    };
    match request::read(&parts, &kind, &body) {
        Ok(asked) => (asked.route(), do_it(limits, asked).await.unwrap_or_else(Refusal::into_response)),
        Err((route, refusal)) => (route, refusal.into_response()),
    }
}

fn unread(error: BodyError) -> Refusal {
    match error {
        BodyError::TooLong => Refusal::TooLarge,
        BodyError::TooSlow => Refusal::TooSlow,
        BodyError::Broken => Refusal::BadRequest,
    }
}

async fn do_it(limits: &Limits, asked: Asked<'_>) -> Result<Response<AnswerBody>, Refusal> {
    match asked {
        Asked::Health => Ok(answers::healthy()),
        Asked::RateLimit { client } => Ok(match limits.check_reference(&client) {
            Verdict::Allowed { remaining } => answers::allowed(remaining),
            Verdict::Denied { retry_after_s } => answers::denied(retry_after_s),
        }),
        Asked::Configure(wanted) => {
            change(limits, Change::PutReference(wanted.quota())).await?;
            Ok(answers::config(wanted))
        }
        Asked::ConfigureClient { client, config } => {
            let place = (REFERENCE.into(), client.into());
            change(limits, Change::PutOverride(place, config.quota())).await?;
            Ok(answers::config(config))
        }
        Asked::GetClient { client } => Ok(answers::config(limits.reference_settings(&client).into())),
        Asked::ResetClient { client } => {
            let place = (REFERENCE.into(), client.into());
            match change(limits, Change::DeleteOverride(place)).await {
                Ok(()) | Err(Refusal::NothingToReset) => Ok(answers::reset()),
                Err(refusal) => Err(refusal),
            }
        }
    }
}

async fn change(limits: &Limits, change: Change) -> Result<(), Refusal> {
    limits.change(change).await.map_err(|error| match error {
        ChangeError::NotSet(_) | ChangeError::NoSuchPolicy => Refusal::NothingToReset,
        ChangeError::TooMany => Refusal::TooManyClients,
        ChangeError::Store(error) => {
            tracing::warn!(%error, "refused: the store does not answer");
            Refusal::Unavailable
        }
        ChangeError::Unforeseen(what) => {
            tracing::error!(what, "failed: this should not be able to happen");
            Refusal::Internal
        }
    })
}

/// A window in whole seconds and the requests in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Settings {
    window_s: u64,
    limit: u64,
}

impl Settings {
    /// The longest window whose milliseconds can be said.
    const WINDOW_S_MAX: u64 = u64::MAX / 1_000;

    fn quota(self) -> LimitQuota {
        LimitQuota { limit: self.limit, window_ms: self.window_s.saturating_mul(1_000) }
    }
}

impl From<LimitQuota> for Settings {
    fn from(quota: LimitQuota) -> Self {
        Self { window_s: quota.window_ms / 1_000, limit: quota.limit }
    }
}
