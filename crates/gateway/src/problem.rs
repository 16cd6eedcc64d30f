//! Every refusal of the API, and the one place where it becomes a status, a stable code and a text for the client.
//!
//! Handlers return [`ApiError`]; nothing else chooses a status for an error. What only operators may read (why a database was
//! unreachable) is logged here, once, and never sent.

mod bans;
mod duels;
mod forward;
mod hunts;
mod leaderboards;
mod request;
mod resource;
mod sign_in;
mod store;
mod stories;
mod tournaments;
mod trials;
mod worlds;

pub(crate) use forward::{ForwardError, ForwardTarget};
pub(crate) use hunts::HuntRefusal;
pub(crate) use leaderboards::LeaderboardRefusal;
pub use request::HttpRefusal;
pub use resource::Resource;
pub(crate) use sign_in::SignInRefusal;
pub(crate) use tournaments::TournamentRefusal;
pub use trials::TrialRefusal;

use crate::audit_entry;
use ::store::StoreError;
use ::worlds::VisitError;
use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use engine::commands::Outcome;
use engine::limits::MATCHES_WAITING_PER_ACCOUNT_MAX;
use engine::matches::lifecycle::MatchState;
use engine::rows::{Ban, Role};
use engine::tables::Refusal;
use metrics::Overload;
use quotas::QuotaExceeded;
use rate_limit::headers::RateLimitHeaders;
use rules::snake::RuleError;
use std::sync::Arc;
use tables::TableError;
use wire::problem::{PROBLEM_JSON, Problem};

/// The result of a handler: a response or a refusal.
pub type ApiResult<T> = Result<T, ApiError>;

/// Seconds after which a request refused for lack of capacity may be tried again.
const RETRY_AFTER_S: HeaderValue = HeaderValue::from_static("1");
/// Longest text of the server or of a parser that is sent: a parser may quote a whole body.
const DETAIL_CHARS_MAX: usize = 400;

/// Marks the response to a request that was refused at admission. Such refusals come in floods, and are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EarlyRefusal {
    /// Not worth a log line.
    Routine,
    /// Refused reads and waits are not worth a log line, and there may be many. A refused action is: its client will ask about it.
    Notable,
}

/// Marks the response to a request about something that another node has: forwarding finds the node here.
#[derive(Clone, Debug)]
pub(super) struct Elsewhere {
    /// `host:port`.
    pub(super) address: String,
}

/// Why a request is refused. The text is public.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    #[error("this route needs a token: send the header `Authorization: Bearer <token>`")]
    TokenMissing,
    /// No token has this secret.
    #[error("this token is unknown: it was mistyped or deleted; ask for another one")]
    TokenUnknown,
    #[error("this guest's token has ended: ask for another one with POST /api/stories/guests")]
    TokenExpired,
    /// The caller's account, guest or address is banned.
    #[error("{}", bans::text(.0))]
    Banned(Arc<Ban>),
    #[error(
        "this account, guest or address is banned already: lift that ban first, with DELETE /api/admin/bans/{{id}}"
    )]
    BannedAlready,
    /// A guest asks for something that needs an account.
    #[error(
        "this needs the token of an account: guests can play Stories and hunts and walk in worlds, and nothing else"
    )]
    AccountNeeded,
    /// A request that changes something, or comes with a cookie, and that a page of another site may have made a browser send.
    #[error(
        "a page of another site may have sent this: a request that changes something must come from a page of this site (scheme, host and port of `Origin`; on loopback a name such as localhost; behind a proxy one in http.trusted_proxies, which passes `Host` on and sets `X-Forwarded-Proto`), with a cookie also as `Content-Type: application/json` or with `X-Requested-With`; or send a token as `Authorization: Bearer`"
    )]
    CrossSite,
    /// The role of the token does not allow this.
    #[error("this needs the role {} or more; the token's role is {}", need.name(), have.name())]
    RoleTooWeak {
        /// The least role that would do.
        need: Role,
        /// The caller's role.
        have: Role,
    },
    /// The request is not HTTP as this server reads it.
    #[error(transparent)]
    Http(#[from] HttpRefusal),
    #[error("the body must be JSON: send the header `Content-Type: application/json`")]
    NotJson,
    #[error("the body is not JSON: {0}")]
    BadJson(String),
    /// The body is JSON of another shape.
    #[error("the body does not have the shape that this route expects: {0}")]
    BadShape(String),
    #[error("the query cannot be read: {0}")]
    BadQuery(String),
    #[error("the id in the path is {0}")]
    BadPathId(String),
    #[error("the path is not valid UTF-8 once percent-decoded")]
    BadPath,
    #[error("the Idempotency-Key is {0}")]
    BadIdempotencyKey(&'static str),
    /// A member of the request has an invalid value.
    #[error("{reason}")]
    BadValue {
        /// Which, as a JSON Pointer or a query key.
        field: String,
        /// What was wrong, what was expected.
        reason: String,
    },
    /// The members are valid one by one, but no game can be played with them together.
    #[error("{}", unplayable_text(.0))]
    Unplayable(RuleError),
    /// A snake that does not exist, or is another account's and private.
    #[error("snake {id} not found or not accessible: expected one of this account's, or a public one")]
    UnknownSnake {
        /// Which member, as a JSON Pointer.
        field: String,
        /// Its id.
        id: String,
    },
    #[error(
        "{host} is not a public address, and this server only calls public ones; for local play start it with --allow-private-bots"
    )]
    PrivateAddress {
        /// The host of the URL.
        host: String,
    },
    /// It does not exist, or not for this caller.
    #[error("there is no such {0}")]
    NotFound(Resource),
    /// It exists, as everyone may know, and is another account's.
    #[error("this {0} is another account's: only its owner may do this")]
    NotOwner(Resource),
    #[error("this game has no such seat: its last one is {last}, and the first is 0")]
    NoSuchSeat {
        /// The last seat of the game.
        last: usize,
    },
    /// The snake has no saved answer of that turn.
    #[error(
        "there is no answer of this snake for that turn: it was out before, or the answer is not saved yet; GET /api/games/{{id}}/snakes/{{snake}}/turns lists what there is"
    )]
    NoSuchTurn,
    /// Evidence of a snake that was another account's when the game was created.
    #[error(
        "this is for the account that owned the snake when the game was created, and for operators; GET /api/games/{{id}}/frames shows what everybody may see"
    )]
    NotYourSnake,
    #[error("there is no such route: GET /api/openapi.json lists them all")]
    NoSuchRoute,
    /// The route exists for other methods.
    #[error("this route does not take this method: the header Allow lists those that it takes")]
    MethodNotAllowed,
    #[error("this name is taken: choose another one for the {0}")]
    DuplicateName(Resource),
    /// The account has reached its limit.
    #[error("this account has as many {} as an account may have: delete one first", .0.plural())]
    TooMany(Resource),
    /// Games of the account wait in the queue, as many as may.
    #[error(
        "{MATCHES_WAITING_PER_ACCOUNT_MAX} games of one account may wait to be played, and with these it would have more: create them when some have been played, or cancel others"
    )]
    TooManyWaiting,
    /// The limit for all callers is reached.
    #[error("there are as many {} as allowed: delete one first", .0.plural())]
    TotalReached(Resource),
    /// The server's capacity for players is reached.
    #[error("there are as many {} as this server accepts, from all callers together: try again later", .0.plural())]
    ServerFull(Resource),
    /// The clients of the caller's address have reached their quota.
    #[error(transparent)]
    Quota(#[from] QuotaExceeded),
    /// It is set in a file that requests do not change, or built in.
    #[error(
        "this {0} was not set over the API: it stands in the file of policies, which the server reads again on SIGHUP, or is built in; set \
         one of its name here to override it"
    )]
    SetInFile(Resource),
    /// The state of the game does not allow this.
    #[error("this cannot be done with a game that is {}", .0.name())]
    WrongState(MatchState),
    #[error("this Idempotency-Key was used before for another request: send a new key with a new request")]
    KeyReused,
    /// The route speaks WebSocket only.
    #[error(
        "this route speaks WebSocket only, and this request has no usable `Upgrade: websocket`: connect to it as ws:// or wss://; if you did, a proxy in between does not pass `Upgrade` and `Connection` on"
    )]
    UpgradeRequired,
    /// The account, the client's address, the host of the snake or the server has as many checks of snakes as allowed.
    #[error(
        "the account, your address, the snake's host or the server has had as many checks of snakes as it may have now: try again in {retry_after_s} s"
    )]
    TooManyChecks {
        /// When to try again, in seconds.
        retry_after_s: u64,
    },
    /// Other evidence about the snake was saved at the same time, again and again.
    #[error("other evidence about this snake is being saved at this moment: try again")]
    SnakeBusy,
    /// The client's address has as many connections as allowed.
    #[error(
        "{max} connections of this address are open, which is the limit: close some, or keep one for several requests; behind a proxy, it must be in http.trusted_proxies"
    )]
    TooManyConnections {
        /// The limit.
        max: usize,
    },
    /// The server has as many connections as it can hold.
    #[error("as many connections are open as this server can hold: try again after the time in Retry-After")]
    ConnectionsFull,
    /// The server has as many spectators as it can serve.
    #[error("this server has as many spectators as it can serve: try again later")]
    TooManySpectators,
    /// The address has as many spectators as allowed.
    #[error("this address has as many spectators as one address may have: close another one first")]
    TooManySpectatorsHere,
    /// The address has as many bytes of large responses in progress as allowed.
    #[error("this address has as many large responses in progress as one address may have: read one to its end first")]
    TooManyResponses,
    /// The server's budget for large responses is used up.
    #[error("as many large responses are in progress as this server sends at once: try again later")]
    ResponsesFull,
    /// The address has as many bytes of large request bodies in progress as allowed.
    #[error("this address sends as many large bodies as one address may send at once: send one after the other")]
    TooManyBodies,
    /// The server's budget for large request bodies is used up.
    #[error("as many large bodies are in progress as this server accepts at once: try again later")]
    BodiesFull,
    /// The caller has used up its limit. Boxed: refusals are small.
    #[error(
        "too many requests: the header RateLimit names the limit that is used up, and Retry-After says when to try again"
    )]
    RateLimited(Box<RateLimitHeaders>),
    /// The request costs more than a limit ever allows at once.
    #[error(
        "this request costs more units at once than a limit ever allows; the header RateLimit-Policy names the limits: send it in smaller parts"
    )]
    NeverAllowed(Box<RateLimitHeaders>),
    /// The rate limiter cannot count another caller.
    #[error(
        "the rate limiter counts as many callers as it can, and may not admit callers that it cannot count: try again later"
    )]
    LimiterFull(Box<RateLimitHeaders>),
    /// The server is overloaded.
    #[error("{}; nothing of this request was read: try again after the time in Retry-After", public_overload_text(*.overload))]
    Overloaded {
        /// What is overloaded.
        overload: Overload,
        /// When to try again, in seconds.
        retry_after_s: u64,
    },
    /// A table refuses, and nothing changed.
    #[error("{}", stories::text(.0))]
    Story(Refusal),
    /// The game goes on, and the requested data is available once it is over.
    #[error("this game goes on: what happens in it is in its table's feed")]
    GameLive,
    /// A caller who could call off single games of a competition could choose its result.
    #[error("this game is played for a ladder, tournament or duel: call off the whole of it, not a single game")]
    CompetitionGame,
    /// The table is not available now.
    #[error("{0}")]
    Tables(TableError),
    /// A refusal about hunts.
    #[error(transparent)]
    Hunt(#[from] HuntRefusal),
    /// A refusal about leaderboards.
    #[error(transparent)]
    Leaderboard(#[from] LeaderboardRefusal),
    /// A refusal about tournaments.
    #[error(transparent)]
    Tournament(#[from] TournamentRefusal),
    /// A refusal about invitations and sign-in links.
    #[error(transparent)]
    SignIn(#[from] SignInRefusal),
    /// A refusal about trials.
    #[error(transparent)]
    Trial(#[from] TrialRefusal),
    /// Results of a duel come faster than it can be changed.
    #[error("results of this duel are being counted at this moment: try again")]
    DuelBusy,
    /// The content of a world was requested that has no visitors.
    #[error("no player is in this world, so that it is not in memory: enter it, or try again later")]
    WorldNotLoaded,
    /// Bacteria were to be added to a world without life.
    #[error("this world has no life: it was created without")]
    NoLife,
    /// The world is not available here.
    #[error(transparent)]
    World(VisitError),
    /// The node that has the table, the ticket or the hunt did not answer.
    #[error("{1}")]
    Forward(ForwardTarget, ForwardError),
    /// The store cannot be read or written.
    #[error("{}", store::public_text(.0))]
    Store(#[from] StoreError),
    /// An unexpected failure.
    #[error("the server failed in a way that its authors did not foresee; its log says more under this request's id")]
    Internal(String),
}

/// Begins with the words that programs for this API look for.
fn unplayable_text(error: &RuleError) -> String {
    match error {
        RuleError::BoardSize { .. } | RuleError::BeyondLimits { .. } => format!("Invalid board size: {error}"),
        _ => format!("this game cannot be played: {error}"),
    }
}

fn public_overload_text(overload: Overload) -> &'static str {
    match overload {
        Overload::Queue => "more games wait to be played than this server accepts",
        Overload::CommitWait => "saving takes longer now than this server lets new games wait",
        Overload::SchedulerDelay => "this server's processors are too busy now to take on new games",
        Overload::Memory => "this server has too little memory left to take on more",
    }
}

impl ApiError {
    pub fn bad_value(field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::BadValue { field: field.into(), reason: reason.into() }
    }

    /// The refusal for the outcome of a command about `resource`; outcomes that the command cannot have are
    /// [`ApiError::Internal`].
    #[must_use]
    pub fn from_outcome(outcome: &Outcome, resource: Resource) -> Self {
        match outcome {
            Outcome::NotFound => Self::NotFound(resource),
            Outcome::Duplicate => Self::DuplicateName(resource),
            Outcome::LimitReached => Self::TooMany(resource),
            Outcome::Full => Self::ServerFull(resource),
            Outcome::WrongState(state) => Self::WrongState(*state),
            Outcome::KeyReused => Self::KeyReused,
            Outcome::LastAdmin => SignInRefusal::LastAdmin.into(),
            Outcome::OwnerDeleted => SignInRefusal::AccountDeleted.into(),
            Outcome::Done
            | Outcome::Account(_)
            | Outcome::Replayed(_)
            | Outcome::MatchesClaimed(_)
            | Outcome::Retired(_)
            | Outcome::GuestsRetired { .. }
            | Outcome::AccountDeleted(_)
            | Outcome::NamesForgotten(_)
            | Outcome::Fenced
            | Outcome::VersionConflict(_)
            | Outcome::LeaseLost
            | Outcome::SharedDatabase
            | Outcome::TableClaimed(_)
            | Outcome::TableElsewhere { .. }
            | Outcome::TablesClaimed(_)
            | Outcome::Secret(_)
            | Outcome::World(_)
            | Outcome::WorldClaimed(_)
            | Outcome::WorldElsewhere { .. }
            | Outcome::LedBy(_)
            | Outcome::LadderEntry(_)
            | Outcome::Signing(_)
            | Outcome::SignedIn(_)
            | Outcome::NotOpen => Self::Internal(format!("a command about a {resource} had the outcome {outcome:?}")),
        }
    }

    /// The status and the stable code.
    #[must_use]
    pub fn status_and_code(&self) -> (StatusCode, &'static str) {
        match self {
            Self::TokenMissing => (StatusCode::UNAUTHORIZED, "token_missing"),
            Self::TokenUnknown => (StatusCode::UNAUTHORIZED, "token_unknown"),
            Self::TokenExpired => (StatusCode::UNAUTHORIZED, "token_expired"),
            Self::Banned(ban) => (StatusCode::FORBIDDEN, bans::code(ban)),
            Self::BannedAlready => (StatusCode::CONFLICT, "banned_already"),
            Self::AccountNeeded => (StatusCode::FORBIDDEN, "account_needed"),
            Self::CrossSite => (StatusCode::FORBIDDEN, "cross_site"),
            Self::RoleTooWeak { .. } => (StatusCode::FORBIDDEN, "role_too_weak"),
            Self::Http(refusal) => refusal.status_and_code(),
            Self::NotJson => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json"),
            Self::BadJson(_) => (StatusCode::BAD_REQUEST, "bad_json"),
            Self::BadShape(_) => (StatusCode::UNPROCESSABLE_ENTITY, "bad_shape"),
            Self::BadQuery(_) => (StatusCode::BAD_REQUEST, "bad_query"),
            Self::BadPathId(_) => (StatusCode::BAD_REQUEST, "bad_id"),
            Self::BadPath => (StatusCode::BAD_REQUEST, "bad_path"),
            Self::BadIdempotencyKey(_) => (StatusCode::BAD_REQUEST, "bad_idempotency_key"),
            Self::BadValue { .. } => (StatusCode::BAD_REQUEST, "bad_value"),
            Self::Unplayable(_) => (StatusCode::BAD_REQUEST, "unplayable"),
            Self::UnknownSnake { .. } => (StatusCode::BAD_REQUEST, "unknown_snake"),
            Self::PrivateAddress { .. } => (StatusCode::BAD_REQUEST, "private_address"),
            Self::NotFound(resource) => (StatusCode::NOT_FOUND, resource.not_found_code()),
            Self::Story(refused) => stories::status_and_code(refused),
            Self::Tables(error) => stories::table_status_and_code(error),
            Self::GameLive => (StatusCode::CONFLICT, "game_live"),
            Self::CompetitionGame => (StatusCode::CONFLICT, "competition_game"),
            Self::WorldNotLoaded => (StatusCode::CONFLICT, "world_asleep"),
            Self::NoLife => (StatusCode::CONFLICT, "no_life"),
            Self::World(error) => worlds::status_and_code(error),
            Self::Trial(refusal) => refusal.status_and_code(),
            Self::Hunt(refusal) => refusal.status_and_code(),
            Self::Leaderboard(refusal) => refusal.status_and_code(),
            Self::Tournament(refusal) => refusal.status_and_code(),
            Self::SignIn(refusal) => refusal.status_and_code(),
            Self::DuelBusy => (StatusCode::SERVICE_UNAVAILABLE, "duel_busy"),
            Self::ServerFull(_) => (StatusCode::SERVICE_UNAVAILABLE, "server_full"),
            Self::Quota(_) => (StatusCode::TOO_MANY_REQUESTS, "address_quota"),
            Self::SetInFile(_) => (StatusCode::CONFLICT, "set_in_file"),
            Self::NotOwner(_) => (StatusCode::FORBIDDEN, "not_owner"),
            Self::NoSuchSeat { .. } => (StatusCode::NOT_FOUND, "no_such_seat"),
            Self::NoSuchTurn => (StatusCode::NOT_FOUND, "no_such_turn"),
            Self::NotYourSnake => (StatusCode::FORBIDDEN, "not_your_snake"),
            Self::NoSuchRoute => (StatusCode::NOT_FOUND, "no_such_route"),
            Self::MethodNotAllowed => (StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed"),
            Self::DuplicateName(_) => (StatusCode::CONFLICT, "duplicate_name"),
            Self::TotalReached(_) | Self::TooMany(_) => (StatusCode::CONFLICT, "too_many"),
            Self::TooManyWaiting => (StatusCode::CONFLICT, "too_many_waiting"),
            Self::WrongState(_) => (StatusCode::CONFLICT, "wrong_state"),
            Self::KeyReused => (StatusCode::UNPROCESSABLE_ENTITY, "idempotency_key_reused"),
            Self::UpgradeRequired => (StatusCode::UPGRADE_REQUIRED, "upgrade_required"),
            Self::TooManyChecks { .. } => (StatusCode::TOO_MANY_REQUESTS, "too_many_checks"),
            Self::SnakeBusy => (StatusCode::SERVICE_UNAVAILABLE, "snake_busy"),
            Self::TooManyConnections { .. } => (StatusCode::TOO_MANY_REQUESTS, "too_many_connections"),
            Self::ConnectionsFull => (StatusCode::SERVICE_UNAVAILABLE, "connections_full"),
            Self::TooManySpectators => (StatusCode::SERVICE_UNAVAILABLE, "too_many_spectators"),
            Self::TooManySpectatorsHere => (StatusCode::TOO_MANY_REQUESTS, "too_many_spectators"),
            Self::TooManyResponses => (StatusCode::TOO_MANY_REQUESTS, "too_many_responses"),
            Self::ResponsesFull => (StatusCode::SERVICE_UNAVAILABLE, "responses_full"),
            Self::TooManyBodies => (StatusCode::TOO_MANY_REQUESTS, "too_many_bodies"),
            Self::BodiesFull => (StatusCode::SERVICE_UNAVAILABLE, "bodies_full"),
            Self::RateLimited(_) => (StatusCode::TOO_MANY_REQUESTS, "rate_limited"),
            Self::NeverAllowed(_) => (StatusCode::UNPROCESSABLE_ENTITY, "never_allowed"),
            Self::LimiterFull(_) => (StatusCode::SERVICE_UNAVAILABLE, "limiter_full"),
            Self::Overloaded { .. } => (StatusCode::SERVICE_UNAVAILABLE, "overloaded"),
            Self::Forward(target, error) => error.status_and_code(*target),
            Self::Store(error) => store::status_and_code(error),
            Self::Internal(_) => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
        }
    }

    fn field(&self) -> Option<&str> {
        match self {
            Self::BadValue { field, .. } | Self::UnknownSnake { field, .. } => Some(field),
            Self::PrivateAddress { .. } => Some("/url"),
            Self::Story(refused) => stories::field(refused),
            Self::Hunt(refusal) => refusal.field(),
            Self::Leaderboard(refusal) => refusal.field(),
            _ => None,
        }
    }

    /// The public form of this error.
    #[must_use]
    pub fn to_problem(&self) -> Problem {
        let (status, code) = self.status_and_code();
        Problem {
            status: status.as_u16(),
            title: status.canonical_reason().unwrap_or_default().to_owned(),
            code: code.to_owned(),
            detail: self.to_string().chars().take(DETAIL_CHARS_MAX).collect(),
            field: self.field().map(str::to_owned),
        }
    }

    /// Whether, and how, this is a refusal at admission.
    fn early_refusal(&self) -> Option<EarlyRefusal> {
        match self {
            Self::Tables(TableError::NotServing | TableError::HeldByPreviousProcess { .. }) => {
                Some(EarlyRefusal::Notable)
            }
            Self::RateLimited(_) | Self::LimiterFull(_) | Self::Overloaded { .. } | Self::Tables(_) => {
                Some(EarlyRefusal::Routine)
            }
            Self::Quota(_)
            | Self::Banned(_)
            | Self::ServerFull(_)
            | Self::TooManyConnections { .. }
            | Self::ConnectionsFull
            | Self::TooManySpectatorsHere
            | Self::TooManyResponses
            | Self::ResponsesFull
            | Self::TooManyBodies
            | Self::BodiesFull => Some(EarlyRefusal::Routine),
            Self::Forward(_, error) if error.is_local() => Some(EarlyRefusal::Routine),
            _ => None,
        }
    }

    /// Logs what the caller must not read. The request's span names the request.
    pub(super) fn log(&self) {
        match self {
            Self::Store(error @ (StoreError::Unavailable { .. } | StoreError::Overloaded { .. })) => {
                tracing::warn!(%error, "refused: the store does not answer");
            }
            Self::Store(error @ (StoreError::WrongSchema { .. } | StoreError::Corrupt { .. })) => {
                tracing::error!(%error, "failed: stored data cannot be read");
            }
            // The store has told of it when it was met first.
            Self::Store(error @ StoreError::Damaged(_)) => tracing::info!(%error, "refused"),
            Self::Internal(detail) => tracing::error!(detail, "failed unexpectedly"),
            _ => tracing::debug!(code = self.status_and_code().1, "refused"),
        }
    }
}

impl ApiError {
    /// The refusal as a complete response.
    pub(crate) fn into_complete_response(self) -> http::Response<Bytes> {
        self.log();
        let (status, code) = self.status_and_code();
        audit_entry::note_refusal(code);
        let body = serde_json::to_vec(&self.to_problem()).expect("a problem holds only text and numbers");
        let mut response = http::Response::new(Bytes::from(body));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        if matches!(status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
            headers.insert(header::RETRY_AFTER, RETRY_AFTER_S);
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        match &self {
            Self::RateLimited(limits) | Self::NeverAllowed(limits) | Self::LimiterFull(limits) => {
                limits.write_to(headers);
            }
            // The bytes that follow on the connection may be anything.
            Self::Http(HttpRefusal::UnknownTransferCoding | HttpRefusal::BadFraming | HttpRefusal::BadUpgrade) => {
                headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            Self::Quota(exceeded) => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from(exceeded.retry_after_s));
            }
            Self::Overloaded { retry_after_s, .. } | Self::TooManyChecks { retry_after_s } => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from(*retry_after_s));
            }
            // The protocol: RFC 9110, section 15.5.22; its version: RFC 6455, section 4.2.2.
            Self::UpgradeRequired => {
                headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
                headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
                headers.insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
            }
            _ => {}
        }
        self.early_refusal().map(|early_refusal| response.extensions_mut().insert(early_refusal));
        let elsewhere = match self {
            Self::Tables(TableError::Elsewhere { address }) => Some(address),
            Self::Hunt(refusal) => refusal.into_node_address(),
            Self::World(VisitError::Elsewhere { address }) => Some(address),
            _ => None,
        };
        elsewhere.map(|address| response.extensions_mut().insert(Elsewhere { address }));
        response
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        self.into_complete_response().map(Body::from)
    }
}
