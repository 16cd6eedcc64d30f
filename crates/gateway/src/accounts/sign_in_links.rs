//! `/api/sign-in-links`: links that sign a browser in, once, so that no person pastes a secret into a page.

use super::codes::{self, CodeSpec, Redemption, expiry, sign_in_path};
use crate::app::App;
use crate::audit_entry;
use crate::auth::Caller;
use crate::extract::{JsonBody, Player};
use crate::problem::{ApiError, ApiResult, Resource, SignInRefusal};
use crate::quota::QuotaSubject;
use crate::text;
use crate::tokens::parse_role;
use axum::Json;
use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use engine::limits::{SIGN_IN_LINK_LIFETIME_DEFAULT, SIGN_IN_LINK_LIFETIME_MAX};
use engine::rows::{Account, CodeUse, OneTimeCode, Role};
use wire::api::{CreateSignInLink, InspectCode, RedeemSignInLink, SessionView, SignInLinkCreated, SignInOffer};
use wire::time::Timestamp;

/// Make a link that signs in
///
/// For your own account, to sign in on another device; for operators and admins also for other accounts, unless one of their tokens has a
/// higher role than the caller's. The link (this server's address and `path`) works once.
#[utoipa::path(post, path = "/api/sign-in-links", tag = "accounts", security(("bearer" = []), ("cookie" = [])), request_body = CreateSignInLink, responses(
    (status = 201, description = "The link, and its code for the only time.", body = SignInLinkCreated),
    (status = 403, description = "`role_too_weak`: the token's role is too weak for this role or this account."),
    (status = 404, description = "`no_such_account`"),
    (status = 409, description = "`too_many_sign_in_links`: 16 links of the account are open."),
))]
pub(super) async fn create_sign_in_link(
    State(app): State<App>,
    Player(caller): Player,
    JsonBody(request): JsonBody<CreateSignInLink>,
) -> ApiResult<(StatusCode, Json<SignInLinkCreated>)> {
    caller.require_lasting()?;
    let account = find_account(&app, caller, request.account.as_deref()).await?;
    audit_entry::set_target(format_args!("account:{}", account.id));
    let is_own = account.id == caller.account;
    let role = parse_role(request.role.as_deref(), if is_own { caller.role } else { Role::Player })?;
    if role > caller.role {
        return Err(ApiError::RoleTooWeak { need: role, have: caller.role });
    }
    if !is_own {
        require_no_stronger(&app, caller, &account).await?;
    }
    let now = app.node.clock.now();
    let expires_at = expiry(now, request.expires_in_s, SIGN_IN_LINK_LIFETIME_DEFAULT, SIGN_IN_LINK_LIFETIME_MAX)?;
    let spec = CodeSpec { used_for: CodeUse::SignIn { account: account.id }, role, expires_at };
    let (link, code) = codes::create(&app, caller, now, spec, SignInRefusal::TooManyLinks).await?;
    tracing::info!(
        code = %link.id, account = %account.id, made_by = %caller.account, role = role.name(), "a sign-in link was made"
    );
    let created = SignInLinkCreated {
        id: link.id.to_string(),
        account: account.name,
        role: role.name().to_owned(),
        created_at: Timestamp(now.0),
        expires_at: Timestamp(expires_at.0),
        path: sign_in_path(&code),
        code,
    };
    Ok((StatusCode::CREATED, Json(created)))
}

/// The account of this name, or the caller's own. Callers below operators learn of no other account whether there is one.
async fn find_account(app: &App, caller: Caller, name: Option<&str>) -> ApiResult<Account> {
    let name = name.map(|name| text::check_name("/account", name)).transpose()?;
    let found = app.node.store.read(move |reader| match &name {
        Some(name) => reader.account_named(name),
        None => reader.account(caller.account),
    });
    match found.await? {
        Some(account) if account.id == caller.account || caller.role >= Role::Operator => Ok(account),
        None if caller.role >= Role::Operator => Err(ApiError::NotFound(Resource::Account)),
        Some(_) | None => Err(ApiError::RoleTooWeak { need: Role::Operator, have: caller.role }),
    }
}

/// Refuses an account that has a token with a higher role than the caller's: its owner may do more than the person who would sign in.
async fn require_no_stronger(app: &App, caller: Caller, account: &Account) -> ApiResult<()> {
    let id = account.id;
    let tokens = app.node.store.read(move |reader| reader.tokens(id)).await?;
    let bootstrap = app.auth.bootstrap_role(id);
    let strongest = tokens.iter().map(|token| token.role).chain(bootstrap).max();
    match strongest.filter(|role| *role > caller.role) {
        Some(role) => Err(SignInRefusal::AccountTooStrong { account: role, have: caller.role }.into()),
        None => Ok(()),
    }
}

/// See whom a link signs in
///
/// Needs no token, and uses nothing up.
#[utoipa::path(post, path = "/api/sign-in-links/inspect", tag = "accounts", request_body = InspectCode, responses(
    (status = 200, description = "The account and the role.", body = SignInOffer),
    (status = 410, description = "`sign_in_link_gone`: it was used, has expired, or never was."),
    (status = 429, description = "`address_quota`: clients of this address have sent as many codes as one address may in an hour; or a rate limit. `Retry-After` says when to try again."),
))]
pub(super) async fn inspect_sign_in_link(
    State(app): State<App>,
    quota: QuotaSubject,
    JsonBody(request): JsonBody<InspectCode>,
) -> ApiResult<Json<SignInOffer>> {
    let code = codes::find(&app, quota, &request.code).await?;
    let Some(OneTimeCode { used_for: CodeUse::SignIn { account }, role, expires_at, .. }) = code else {
        return Err(SignInRefusal::LinkGone.into());
    };
    let account = app.node.store.read(move |reader| reader.account(account)).await?;
    let account = account.ok_or(SignInRefusal::LinkGone)?.name;
    Ok(Json(SignInOffer { account, role: role.name().to_owned(), expires_at: Timestamp(expires_at.0) }))
}

/// Sign in with a link
///
/// Needs no token. The answer's cookie signs the browser in, as `POST /api/session` does, with a token of its own that is listed under
/// `/api/tokens` as `browser`, lasts 30 days, and ends with `DELETE /api/session`. An account that has as many tokens as it may have loses its
/// oldest session. With an `Idempotency-Key` of at least 16 random characters the same request can be sent again for ten minutes, should its
/// answer be lost.
#[utoipa::path(post, path = "/api/sign-in-links/redeem", tag = "accounts", params(("Idempotency-Key" = Option<String>, Header, description = "16 to 128 visible ASCII characters that nobody can guess")), request_body = RedeemSignInLink, responses(
    (status = 200, description = "The browser is signed in.", body = SessionView, headers(("Set-Cookie" = String, description = "`gauntlet_session`"))),
    (status = 409, description = "`too_many`: the account has as many tokens as allowed, and none is a session that could end."),
    (status = 410, description = "`sign_in_link_gone`: it was used, has expired, or never was."),
    (status = 429, description = "`address_quota`: clients of this address have sent as many codes as one address may in an hour; or a rate limit. `Retry-After` says when to try again."),
))]
pub(super) async fn redeem_sign_in_link(
    State(app): State<App>,
    quota: QuotaSubject,
    parts: Parts,
    JsonBody(request): JsonBody<RedeemSignInLink>,
) -> ApiResult<(HeaderMap, Json<SessionView>)> {
    let redemption = Redemption { code: &request.code, new_account: None, gone: SignInRefusal::LinkGone };
    let (headers, session) = codes::redeem(&app, &parts, quota, redemption).await?;
    Ok((headers, Json(session)))
}
