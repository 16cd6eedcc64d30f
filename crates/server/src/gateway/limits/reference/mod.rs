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
pub(super) use params::Kind;

use super::{Judged, Place};
use crate::gateway::body::{BodyError, Whole};
use crate::gateway::front::AnswerBody;
use crate::limits::rules::{Change, ChangeError, REFERENCE};
use crate::limits::{Limits, Verdict};
use answers::Refusal;
use http::Response;
use http::request::Parts;
use request::Asked;
use std::borrow::Cow;
use std::sync::Arc;
use wire::api::LimitQuota;

/// Longest body that is read: the reference's own bound.
pub(super) const BODY_BYTES_MAX: usize = 8_000_000;

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

/// Answers a request to the reference API, or says what must be saved first.
pub(super) fn answer(limits: &Arc<Limits>, parts: &Parts, kind: &Kind, body: Result<Whole, BodyError>) -> Judged {
    let now = |route, answer| Judged::Now(Place::Reference(route), answer);
    let body = match body {
        Ok(body) => body,
        Err(error) => return now(ReferenceRoute::None, unread(error).into_response()),
    };
    let asked = match request::read(parts, kind, &body) {
        Ok(asked) => asked,
        Err((route, refusal)) => return now(route, refusal.into_response()),
    };
    let route = asked.route();
    let place = |client: Cow<'_, [u8]>| (REFERENCE.into(), client.into());
    let (change, then) = match asked {
        Asked::Health => return now(route, answers::healthy()),
        Asked::RateLimit { client } => return now(route, verdict(limits.check_reference(&client))),
        Asked::GetClient { client } => return now(route, answers::config(limits.reference_settings(&client).into())),
        Asked::Configure(settings) => (Change::PutReference(settings.quota()), Then::Config(settings)),
        Asked::ConfigureClient { client, config } => {
            (Change::PutOverride(place(client), config.quota()), Then::Config(config))
        }
        Asked::ResetClient { client } => (Change::DeleteOverride(place(client)), Then::Reset),
    };
    Judged::Later(Place::Reference(route), Box::pin(save(limits.clone(), change, then)))
}

fn unread(error: BodyError) -> Refusal {
    match error {
        BodyError::TooLong => Refusal::PictureError,
        BodyError::NoRoom(_) => Refusal::Unavailable,
        BodyError::TooSlow => Refusal::TooSlow,
        BodyError::Broken => Refusal::BadRequest,
    }
}

fn verdict(verdict: Verdict) -> Response<AnswerBody> {
    match verdict {
        Verdict::Allowed { remaining } => answers::allowed(remaining),
        Verdict::Denied { retry_after_s } => answers::denied(retry_after_s),
    }
}

/// What is answered once a change is saved.
enum Then {
    Config(Settings),
    Reset,
}

async fn save(limits: Arc<Limits>, wanted: Change, then: Then) -> Response<AnswerBody> {
    match (change(&limits, wanted).await, then) {
        (Ok(()), Then::Config(settings)) => answers::config(settings),
        (Ok(()) | Err(Refusal::NothingToReset), Then::Reset) => answers::reset(),
        (Err(refusal), _) => refusal.into_response(),
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
