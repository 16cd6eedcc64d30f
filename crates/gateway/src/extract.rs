//! Extractors: callers and their roles, bodies, ids in paths, queries. A handler that takes [`Player`] is only ever called for a player or
//! more; roles are checked nowhere else. Input that cannot be read becomes a problem, never a panic and never a plain-text error of the
//! framework.

use super::auth::{Caller, Identity, Principal};
use super::body::{self, BodyBudget, BodyError, ReadBody};
use super::budget::{BudgetExceeded, BudgetOwner};
use super::client_address::ClientAddress;
use super::header_values::is_json;
use super::problem::{ApiError, ApiResult, HttpRefusal};
use crate::app::App;
use axum::extract::{FromRequest, FromRequestParts, MatchedPath, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, Method, Uri};
use engine::limits::{REQUEST_BODY_BYTES_MAX, REQUEST_LIST_BYTES_MAX, REQUEST_SMALL_BYTES_MAX};
use engine::rows::Role;
use futures_util::future::poll_immediate;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;
use std::convert::Infallible;
use std::fmt::Display;
use std::pin::pin;
use std::str::FromStr;

const NOT_AN_OBJECT: &str = "expected an object";

/// Who sent the request, valid or not.
impl FromRequestParts<App> for Identity {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Infallible> {
        Ok(app.auth.resolve(parts).await)
    }
}

/// The sender of a valid token, if one was sent. A bad token is refused.
pub(super) struct MaybePrincipal(pub(super) Option<Principal>);

impl FromRequestParts<App> for MaybePrincipal {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        app.auth.resolve(parts).await.into_principal().map(Self)
    }
}

macro_rules! role {
    ($(#[$doc:meta])* $name:ident => $role:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name(pub Caller);

        impl FromRequestParts<App> for $name {
            type Rejection = ApiError;
            async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
                let caller = app.auth.resolve(parts).await.into_caller()?;
                if caller.role < $role {
                    return Err(ApiError::RoleTooWeak { need: $role, have: caller.role });
                }
                Ok(Self(caller))
            }
        }
    };
}

role! {
    /// A caller with a token of an account, whatever its role.
    AnyAccount => Role::Guest
}
role! {
    /// A caller who may own bots and create matches.
    Player => Role::Player
}
role! {
    /// A caller who may see the metrics and act on all accounts' matches.
    Operator => Role::Operator
}
role! {
    /// A caller who may do everything.
    Admin => Role::Admin
}

/// A request whose body is declared as JSON, read to its end but not parsed: an idempotency key covers the bytes.
pub(super) struct RawJson {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) body: ReadBody,
}

impl RawJson {
    ///
    /// # Errors
    /// [`ApiError::BadJson`] or [`ApiError::BadShape`].
    pub(super) fn parse<T: DeserializeOwned>(&self) -> ApiResult<T> {
        parse(&self.body)
    }
}

/// Parses an object that was sent as JSON. A derived deserializer would take an array of its members as well.
///
/// # Errors
/// [`ApiError::BadJson`] or [`ApiError::BadShape`].
pub(super) fn parse<'a, T: Deserialize<'a>>(body: &'a [u8]) -> ApiResult<T> {
    let shape_error = if body.trim_ascii_start().starts_with(b"{") {
        match serde_json::from_slice(body) {
            Ok(value) => return Ok(value),
            Err(error) => json_error(&error),
        }
    } else {
        ApiError::BadShape(NOT_AN_OBJECT.to_owned())
    };
    // A deserializer that meets a wrong shape does not check whether what follows is JSON at all.
    serde_json::from_slice::<IgnoredAny>(body).map_err(|error| json_error(&error))?;
    Err(shape_error)
}

/// # Errors
/// [`ApiError::NotJson`].
pub(super) fn require_json(headers: &HeaderMap) -> ApiResult<()> {
    if is_json(headers) { Ok(()) } else { Err(ApiError::NotJson) }
}

/// The refusal for a body that was not read.
pub(super) fn body_refusal(error: BodyError, bytes_max: usize) -> ApiError {
    match error {
        BodyError::TooLong => HttpRefusal::BodyTooLarge { bytes_max }.into(),
        BodyError::BudgetExceeded(BudgetExceeded::Address) => ApiError::TooManyBodies,
        BodyError::BudgetExceeded(BudgetExceeded::All) => ApiError::BodiesFull,
        BodyError::TooSlow | BodyError::Broken => HttpRefusal::BodyUnreadable.into(),
    }
}

impl FromRequest<App> for RawJson {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> ApiResult<Self> {
        let (parts, body) = request.into_parts();
        let bytes_max = longest_body(&parts.extensions).min(app.config.http_body_bytes_max);
        let budget = || BodyBudget::new(&app.bodies, BudgetOwner::of(&parts.extensions));
        require_json(&parts.headers)?;
        let read = {
            let mut reading = pin!(body::read(&parts.headers, body, bytes_max, budget));
            match poll_immediate(reading.as_mut()).await {
                Some(read) => read,
                None => {
                    let read = reading.await;
                    identify_again(app, &parts).await?;
                    read
                }
            }
        };
        let body = read.map_err(|error| body_refusal(error, bytes_max))?;
        let path = parts.uri.path().to_owned();
        Ok(Self { method: parts.method, path, headers: parts.headers, body })
    }
}

/// The sender was identified by the head. While the body is on its way, their token may be deleted or expire, and they may be banned: what it asks
/// for is then refused, like the next request.
async fn identify_again(app: &App, parts: &Parts) -> ApiResult<()> {
    let identified = parts.extensions.get::<Identity>().and_then(Identity::principal);
    let principal = match identified {
        Some(_) => app.auth.identify(parts).await.0.into_principal()?,
        None => None,
    };
    let ClientAddress(address) = parts.extensions.get().copied().unwrap_or(ClientAddress(None));
    app.bans.check(principal.as_ref(), address)
}

/// Routes whose requests are lists of ids or cells.
const LISTS: [&str; 3] = ["/api/games/status", "/api/tournaments/{id}/seeds", "/api/worlds/{world}/life"];
/// Routes whose requests are batches: they need an account.
const BATCHES: [&str; 1] = ["/api/games/batch"];

/// The longest body, in bytes, of a request to its route.
pub(super) fn longest_body(request: &Extensions) -> usize {
    match request.get::<MatchedPath>().map(MatchedPath::as_str) {
        Some(route) if BATCHES.contains(&route) => REQUEST_BODY_BYTES_MAX,
        Some(route) if LISTS.contains(&route) => REQUEST_LIST_BYTES_MAX,
        _ => REQUEST_SMALL_BYTES_MAX,
    }
}

pub(super) struct JsonBody<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<App> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> ApiResult<Self> {
        RawJson::from_request(request, app).await?.parse().map(Self)
    }
}

/// Parses a part of a body, by the same rules.
pub(super) fn parse_value<T: DeserializeOwned>(value: Value) -> ApiResult<T> {
    if !value.is_object() {
        return Err(ApiError::BadShape(NOT_AN_OBJECT.to_owned()));
    }
    serde_json::from_value(value).map_err(|error| json_error(&error))
}

/// Distinguishes text that is not JSON from JSON of another shape.
fn json_error(error: &serde_json::Error) -> ApiError {
    match error.classify() {
        serde_json::error::Category::Data => ApiError::BadShape(error.to_string()),
        serde_json::error::Category::Io | serde_json::error::Category::Syntax | serde_json::error::Category::Eof => {
            ApiError::BadJson(error.to_string())
        }
    }
}

/// The only id in the path.
pub struct PathId<T>(pub T);

impl<T: FromStr<Err: Display> + Send> FromRequestParts<App> for PathId<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        let Path(text) = Path::<String>::from_request_parts(parts, app).await.map_err(|_| ApiError::BadPath)?;
        text.parse().map(Self).map_err(|error| ApiError::BadPathId(format!("{error}")))
    }
}

/// The two ids in the path, in their order.
pub struct PathIds<A, B>(pub A, pub B);

impl<A, B> FromRequestParts<App> for PathIds<A, B>
where
    A: FromStr<Err: Display> + Send,
    B: FromStr<Err: Display> + Send,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        let path = Path::<(String, String)>::from_request_parts(parts, app).await;
        let Path((first, second)) = path.map_err(|_| ApiError::BadPath)?;
        let first = first.parse().map_err(|error| ApiError::BadPathId(format!("{error}")))?;
        Ok(Self(first, second.parse().map_err(|error| ApiError::BadPathId(format!("{error}")))?))
    }
}

/// The query of the URL; keys that the route does not know are ignored here.
pub struct QueryParams<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<App> for QueryParams<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _app: &App) -> ApiResult<Self> {
        let Query(value) = Query::try_from_uri(&parts.uri).map_err(|error| ApiError::BadQuery(error.body_text()))?;
        Ok(Self(value))
    }
}

/// Refuses a query with a key that is not among `known`: a misspelt parameter must not be taken for an absent one.
///
/// # Errors
/// [`ApiError::BadValue`] or [`ApiError::BadQuery`].
pub(super) fn refuse_unknown_query(uri: &Uri, known: &[String]) -> ApiResult<()> {
    if uri.query().is_none_or(str::is_empty) {
        return Ok(());
    }
    let named = Query::<Vec<(String, String)>>::try_from_uri(uri);
    let Query(named) = named.map_err(|error| ApiError::BadQuery(error.body_text()))?;
    let Some((name, _)) = named.into_iter().find(|(name, _)| !known.contains(name)) else { return Ok(()) };
    let reason = match known {
        [] => "this route takes no query: leave it out".to_owned(),
        known => format!("there is no such parameter: expected {}", known.join(", ")),
    };
    Err(ApiError::bad_value(name, reason))
}
