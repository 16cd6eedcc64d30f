//! The rate limiter over HTTP, for others to put in front of theirs: questions (`/api/limits/check`), the reference API
//! (`/api/v1`), and the policies. The first two are asked before whatever somebody wants to do, so they are answered at the front
//! desk, with an id, a count and a net for panics around them, and nothing else. Knows HTTP; decides nothing.

mod answering;
mod check;
mod policies;
mod reference;

pub(super) use answering::Answering;
pub(super) use policies::routes;

use super::admission::client_address;
use super::auth::has_bearer;
use super::body::{BodyError, Room, Whole};
use super::budget::{Account, Budget};
use super::extract::unread;
use super::front::AnswerBody;
use super::listener::{Connection, Peer};
use super::problem::{ApiError, ApiResult};
use super::request_id::{REQUEST_ID, request_id};
use crate::address_key::AddressKey;
use crate::app::App;
use crate::config::Config;
use crate::limits::{Limits, ServiceToken};
use crate::metrics::{ByStatus, Metrics};
use axum::response::IntoResponse;
use bytes::Bytes;
use engine::limits::{REQUEST_BODY_BYTES_MAX, REQUEST_LIST_BYTES_MAX};
use futures_util::future::BoxFuture;
use http::request::Parts;
use http::{HeaderValue, Response, StatusCode, header};
use reference::{Kind, ReferenceRoute};
use std::sync::Arc;
use std::time::Instant;
use utoipa::OpenApi;

/// Asked without a token.
const HEALTH: &str = "/api/v1/health";

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
    config: Arc<Config>,
    bodies: Arc<Budget>,
    /// What requests must bring, where anything.
    token: Option<ServiceToken>,
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

impl Route {
    fn place(self) -> Place {
        match self {
            Self::Check => Place::Check,
            Self::Batch => Place::Batch,
            Self::Reference => Place::Reference(ReferenceRoute::None),
        }
    }
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
        let token = app.config.limiter_http_token.as_ref().map(ServiceToken::new);
        let (config, bodies) = (app.config.clone(), app.bodies.clone());
        Self { limits: app.limits.clone(), metrics: app.metrics.clone(), config, bodies, token, counters }
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

    /// What is to be read, and by whom.
    fn plan(&self, route: Route, parts: &Parts) -> Plan {
        if let Err(refusal) = self.refuse_without_token(parts) {
            return Plan::Refused(route.place(), refusal);
        }
        let question = |many: Many| {
            check::refuse(parts).map_or_else(|error| Plan::Refused(many.place(), error), |()| Plan::Question(many))
        };
        match route {
            Route::Check => question(Many::One),
            Route::Batch => question(Many::Many),
            Route::Reference => Plan::Reference(Kind::of(parts)),
        }
    }

    /// Where a large body finds room that this peer sends.
    fn room(&self, client: Peer<'_>, parts: &Parts) -> Room {
        let address = AddressKey::of(client_address(client.address.ip(), &parts.headers, &self.config));
        let connection = client.connection.map(Connection::handle);
        Room::new(&self.bodies, Account { address: Some(address), connection })
    }

    /// Health is everybody's to know: whoever has no token yet must see that somebody is here.
    fn refuse_without_token(&self, parts: &Parts) -> ApiResult<()> {
        let is_let_in = |token: &ServiceToken| parts.uri.path() == HEALTH || token.is_brought_by(&parts.headers);
        if self.token.as_ref().is_none_or(is_let_in) {
            return Ok(());
        }
        Err(if has_bearer(&parts.headers) { ApiError::TokenUnknown } else { ApiError::TokenMissing })
    }

    /// Decides, with the whole body at hand.
    fn judge(&self, plan: &mut Plan, parts: &Parts, body: Result<Whole, BodyError>) -> Judged {
        match std::mem::replace(plan, Plan::Reference(Kind::Nothing)) {
            Plan::Reference(kind) => reference::answer(&self.limits, parts, &kind, body),
            Plan::Refused(place, error) => Judged::Now(place, problem(error)),
            Plan::Question(many) => {
                match (body.map_err(|error| unread(error, many.body_bytes_max(&self.config))), many) {
                    (Err(error), _) => Judged::Now(many.place(), problem(error)),
                    (Ok(body), Many::One) => {
                        Judged::Now(many.place(), check::one(&self.limits, &body).unwrap_or_else(problem))
                    }
                    (Ok(body), Many::Many) => {
                        let (body, room) = body.into_parts();
                        let answer = check::many(self.limits.clone(), body, check::TURN_MAX);
                        let answer = async move {
                            let _room = room;
                            answer.await.unwrap_or_else(problem)
                        };
                        Judged::Later(many.place(), Box::pin(answer))
                    }
                }
            }
        }
    }

    /// Gives an answer its id, counts it, and says a word about it in the log.
    fn finish(
        &self,
        place: Place,
        request: &Parts,
        began: Instant,
        mut response: Response<AnswerBody>,
    ) -> Response<AnswerBody> {
        let (id, status) = (request_id(&request.headers), response.status());
        if status.is_server_error() {
            tracing::warn!(request.id = ?id, ?place, status = status.as_u16(), "request failed");
        } else {
            // Not at the level of other requests that change something: a line for each would be most of the work.
            tracing::debug!(request.id = ?id, ?place, status = status.as_u16(), "request done");
        }
        self.metrics.http_answered_on_route(&self.counters[place.position()], status.as_u16(), began.elapsed());
        response.headers_mut().insert(REQUEST_ID, id);
        response
    }
}

/// One question, or many.
#[derive(Clone, Copy, Debug)]
enum Many {
    One,
    Many,
}

impl Many {
    /// How long its body may be.
    fn body_bytes_max(self, config: &Config) -> usize {
        let bytes_max = match self {
            Self::One => REQUEST_LIST_BYTES_MAX,
            Self::Many => REQUEST_BODY_BYTES_MAX,
        };
        bytes_max.min(config.http_body_bytes_max)
    }

    fn place(self) -> Place {
        match self {
            Self::One => Place::Check,
            Self::Many => Place::Batch,
        }
    }
}

/// What is known before the body is read.
enum Plan {
    /// It is not read: something else is wrong already.
    Refused(Place, ApiError),
    /// It is a question, or many.
    Question(Many),
    /// It is whatever the reference reads of this kind.
    Reference(Kind),
}

impl Plan {
    fn place(&self) -> Place {
        match self {
            Self::Refused(place, _) => *place,
            Self::Question(many) => many.place(),
            Self::Reference(_) => Place::Reference(ReferenceRoute::None),
        }
    }
}

/// What came of a request.
enum Judged {
    /// An answer.
    Now(Place, Response<AnswerBody>),
    /// Something to be saved first, or so much to be judged that others get turns in between.
    Later(Place, BoxFuture<'static, Response<AnswerBody>>),
}

/// An answer of one piece.
fn whole(status: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::Whole(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

fn problem(error: ApiError) -> Response<AnswerBody> {
    let is_method = matches!(error, ApiError::MethodNotAllowed);
    let mut response = error.into_response().map(AnswerBody::routed);
    if is_method {
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("POST"));
    }
    response
}
