//! `/api/tokens`: the bearer tokens of the caller's account. Secrets are shown once and never stored.

use super::audit_entry;
use super::auth::{Caller, new_secret};
use super::extract::{JsonBody, PathId, Player};
use super::problem::{ApiError, ApiResult, Resource};
use super::text;
use crate::app::App;
use crate::grants::{CredentialId, RevocationReason};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use engine::commands::{Command, Outcome};
use engine::digest::digest;
use engine::ids::{AccountId, TokenId};
use engine::limits::{TOKEN_LIFETIME_MAX, TOKEN_LIFETIME_MIN};
use engine::rows::{Role, Token, TokenPurpose};
use node::clock::random_bytes;
use std::time::Duration;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use wire::api::{CreateToken, TokenCreated, TokenView};
use wire::time::Timestamp;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list_tokens, create_token)).routes(routes!(delete_token))
}

/// Create a token for your account
#[utoipa::path(post, path = "/api/tokens", tag = "tokens", security(("bearer" = [])), request_body = CreateToken, responses(
    (status = 201, description = "The token, and its secret for the only time.", body = TokenCreated),
    (status = 403, description = "`role_too_weak`; `token_ends`: your token ends by itself, and would be outlasted."),
    (status = 409, description = "The account has as many tokens as allowed."),
))]
async fn create_token(
    State(app): State<App>,
    Player(caller): Player,
    JsonBody(request): JsonBody<CreateToken>,
) -> ApiResult<(StatusCode, Json<TokenCreated>)> {
    caller.require_lasting()?;
    let CreateToken { name, role, purpose, expires_in_s } = request;
    let new_token = NewToken::parse(&name, role.as_deref(), purpose.as_deref(), expires_in_s)?;
    authorize_token_change(caller, new_token.role, new_token.purpose)?;
    create(&app, caller.account, new_token).await
}

/// List your account's tokens, newest first
#[utoipa::path(get, path = "/api/tokens", tag = "tokens", security(("bearer" = [])), responses(
    (status = 200, description = "All tokens, without their secrets.", body = Vec<TokenView>),
))]
async fn list_tokens(State(app): State<App>, Player(caller): Player) -> ApiResult<Json<Vec<TokenView>>> {
    let tokens = app.node.store.read(move |reader| reader.tokens(caller.account)).await?;
    Ok(Json(tokens.iter().map(view).collect()))
}

/// Delete a token
///
/// No request with it is accepted any more, and every open connection that uses it ends: on this node at once, on other nodes after two
/// seconds at most. A waiting poll is answered with 401 `token_unknown`, an event stream ends with an event `problem`, a WebSocket with
/// close code 1008, a mover's connection with the error `token_unknown`. Live sign-in links of its account end too.
#[utoipa::path(delete, path = "/api/tokens/{id}", tag = "tokens", security(("bearer" = [])), params(("id" = String, Path)), responses(
    (status = 204, description = "It is deleted."),
    (status = 404, description = "The account has no such token."),
    (status = 409, description = "`last_admin`: it is the last token of an admin without an end."),
))]
async fn delete_token(
    State(app): State<App>,
    Player(caller): Player,
    PathId(id): PathId<TokenId>,
) -> ApiResult<StatusCode> {
    let account = if caller.role == Role::Admin { None } else { Some(caller.account) };
    if let Some(account) = account {
        let tokens = app.node.store.read(move |reader| reader.tokens(account)).await?;
        let token = tokens.into_iter().find(|token| token.id == id).ok_or(ApiError::NotFound(Resource::Token))?;
        authorize_token_change(caller, token.role, token.purpose)?;
    }
    delete(&app, id, account).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Deletes a token, where an account is given only one of its own. On this node it ends at once.
pub(super) async fn delete(app: &App, id: TokenId, account: Option<AccountId>) -> ApiResult<()> {
    match audit_entry::commit(&app.node.store, Command::DeleteToken { id, account, now: app.node.clock.now() }).await? {
        Outcome::Done => {
            app.auth.forget(id);
            app.grants.revoke(CredentialId::Token(id), &RevocationReason::Deleted);
            Ok(())
        }
        refusal => Err(ApiError::from_outcome(&refusal, Resource::Token)),
    }
}

/// A token can neither be created nor deleted by a weaker one. Tokens for load tests, which the limiter's policies for users do not
/// cover, are reserved to operators.
pub(super) fn authorize_token_change(caller: Caller, role: Role, purpose: TokenPurpose) -> ApiResult<()> {
    let need = match purpose {
        TokenPurpose::Use => role,
        TokenPurpose::LoadTest => role.max(Role::Operator),
    };
    if need > caller.role { Err(ApiError::RoleTooWeak { need, have: caller.role }) } else { Ok(()) }
}

pub(super) struct NewToken {
    name: String,
    role: Role,
    purpose: TokenPurpose,
    lifetime: Option<Duration>,
}

impl NewToken {
    /// From the members of a request; by default a player's token for everyday use.
    pub(super) fn parse(
        name: &str,
        role: Option<&str>,
        purpose: Option<&str>,
        expires_in_s: Option<u64>,
    ) -> ApiResult<Self> {
        let role = parse_role(role, Role::Player)?;
        let purposes = TokenPurpose::ALL.map(TokenPurpose::name);
        let purpose = parse_choice("purpose", purpose, TokenPurpose::Use, TokenPurpose::from_name, &purposes)?;
        let lifetime = expires_in_s.map(parse_lifetime).transpose()?;
        Ok(Self { name: text::check_name("/name", name)?, role, purpose, lifetime })
    }
}

fn parse_lifetime(seconds: u64) -> ApiResult<Duration> {
    let lifetime = Duration::from_secs(seconds);
    if (TOKEN_LIFETIME_MIN..=TOKEN_LIFETIME_MAX).contains(&lifetime) {
        return Ok(lifetime);
    }
    let (min, max) = (TOKEN_LIFETIME_MIN.as_secs(), TOKEN_LIFETIME_MAX.as_secs());
    let reason = format!(
        "expires_in_s is a number of seconds from {min} to {max}; without it the token lasts until it is deleted"
    );
    Err(ApiError::bad_value("/expires_in_s", reason))
}

/// The role of this name: `usual` where none is given.
pub(super) fn parse_role(role: Option<&str>, usual: Role) -> ApiResult<Role> {
    parse_choice("role", role, usual, Role::from_name, &Role::ALL.map(Role::name))
}

/// The value of this name: `usual` where none is given.
fn parse_choice<T>(
    member: &str,
    name: Option<&str>,
    usual: T,
    of: fn(&str) -> Option<T>,
    all: &[&str],
) -> ApiResult<T> {
    let Some(name) = name else { return Ok(usual) };
    let unknown = || format!("there is no such {member}: expected one of {}", all.join(", "));
    of(name).ok_or_else(|| ApiError::bad_value(format!("/{member}"), unknown()))
}

/// Creates a token for an account.
pub(super) async fn create(
    app: &App,
    account: AccountId,
    new_token: NewToken,
) -> ApiResult<(StatusCode, Json<TokenCreated>)> {
    let (secret, now) = (new_secret(), app.node.clock.now());
    let token = Token {
        id: TokenId::new(now, random_bytes()),
        account,
        name: new_token.name,
        role: new_token.role,
        purpose: new_token.purpose,
        digest: digest(&secret),
        created_at: now,
        last_used_at: None,
        expires_at: new_token.lifetime.map(|lifetime| now.plus(lifetime)),
        is_session: false,
    };
    let created = TokenCreated { token: view(&token), secret };
    audit_entry::set_target(format_args!("account:{account}"));
    audit_entry::add_detail(format_args!("token:{} role:{} name:{}", token.id, token.role.name(), token.name));
    if let Some(end) = token.expires_at {
        audit_entry::add_detail(format_args!("until:{}", Timestamp(end.0)));
    }
    match audit_entry::commit(&app.node.store, Command::CreateToken(token)).await? {
        Outcome::Done => Ok((StatusCode::CREATED, Json(created))),
        Outcome::NotFound => Err(ApiError::NotFound(Resource::Account)),
        refusal => Err(ApiError::from_outcome(&refusal, Resource::Token)),
    }
}

pub(super) fn view(token: &Token) -> TokenView {
    TokenView {
        id: token.id.to_string(),
        name: token.name.clone(),
        role: token.role.name().to_owned(),
        purpose: token.purpose.name().to_owned(),
        created_at: Timestamp(token.created_at.0),
        last_used_at: token.last_used_at.map(|at| Timestamp(at.0)),
        expires_at: token.expires_at.map(|at| Timestamp(at.0)),
        is_session: token.is_session,
    }
}
