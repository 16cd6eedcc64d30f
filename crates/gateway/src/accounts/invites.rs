//! `/api/invites`: single-use invitations to make an account.

use super::codes::{self, CodeSpec, Redemption, expiry};
use crate::app::App;
use crate::audit_entry;
use crate::extract::{JsonBody, Operator, PathId, QueryParams};
use crate::pagination::{ListResponse, Page, PageQuery};
use crate::problem::{ApiError, ApiResult, Resource, SignInRefusal};
use crate::quota::QuotaSubject;
use crate::text;
use crate::tokens::parse_role;
use axum::Json;
use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use engine::commands::{CodeCommand, Command, Outcome};
use engine::ids::{AccountId, CodeId};
use engine::limits::{INVITE_LIFETIME_DEFAULT, INVITE_LIFETIME_MAX, PAGE_MAX};
use engine::rows::{Account, CodeUse, OneTimeCode, Role, SignedCode};
use node::clock::random_bytes;
use wire::api::{CreateInvite, InspectCode, InviteCreated, InviteOffer, InviteView, RedeemInvite, SessionView};
use wire::time::Timestamp;

/// Invite a person to make an account
///
/// For operators and admins. Send the link (this server's address and `path`) to one person: it works once.
#[utoipa::path(post, path = "/api/invites", tag = "accounts", security(("bearer" = []), ("cookie" = [])), request_body = CreateInvite, responses(
    (status = 201, description = "The invitation, and its code for the only time.", body = InviteCreated),
    (status = 409, description = "`too_many_invites`: 1,000 invitations are open."),
))]
pub(super) async fn create_invite(
    State(app): State<App>,
    Operator(caller): Operator,
    JsonBody(request): JsonBody<CreateInvite>,
) -> ApiResult<(StatusCode, Json<InviteCreated>)> {
    caller.require_lasting()?;
    let role = parse_role(request.role.as_deref(), Role::Player)?;
    if role > caller.role {
        return Err(ApiError::RoleTooWeak { need: role, have: caller.role });
    }
    let name = request.name.map(|name| text::check_name("/name", &name)).transpose()?;
    let now = app.node.clock.now();
    let expires_at = expiry(now, request.expires_in_s, INVITE_LIFETIME_DEFAULT, INVITE_LIFETIME_MAX)?;
    let spec = CodeSpec { used_for: CodeUse::Invite { name }, role, expires_at };
    let (invite, code) = codes::create(&app, caller, now, spec, SignInRefusal::TooManyInvites).await?;
    tracing::info!(code = %invite.id, made_by = %caller.account, role = role.name(), "an invitation was made");
    let made_by = app.node.store.read(move |reader| reader.account(caller.account)).await?;
    let path = format!("/join#{code}");
    let invite = view(&invite, made_by.map(|account| account.name));
    Ok((StatusCode::CREATED, Json(InviteCreated { invite, code, path })))
}

/// List open invitations, newest first
///
/// For operators and admins. Those that were used, withdrawn or have expired are not listed; codes never are.
#[utoipa::path(get, path = "/api/invites", tag = "accounts", security(("bearer" = []), ("cookie" = [])), params(PageQuery), responses(
    (status = 200, description = "A page of invitations, 100 when no limit is given.", body = Vec<InviteView>, headers(("Link" = String, description = "The next page's URL, if there is one"))),
))]
pub(super) async fn list_invites(
    State(app): State<App>,
    Operator(_): Operator,
    QueryParams(page): QueryParams<PageQuery>,
) -> ApiResult<ListResponse<InviteView>> {
    let (limit, before, now) = (page.limit(PAGE_MAX)?, page.after()?, app.node.clock.now());
    let invites = app.node.store.read(move |reader| reader.invites(before, limit + 1, now)).await?;
    let page = Page::new("/api/invites", "", invites, limit, |invite: &SignedCode| Some(invite.code.id));
    Ok(page.response(|SignedCode { code, made_by_name }| view(&code, made_by_name)))
}

/// Withdraw an invitation
///
/// For operators and admins. Its link does not work any more; an account that was made with it stays.
#[utoipa::path(delete, path = "/api/invites/{id}", tag = "accounts", security(("bearer" = []), ("cookie" = [])), params(("id" = String, Path)), responses(
    (status = 204, description = "It is withdrawn."),
    (status = 404, description = "`no_such_invite`: it was used, withdrawn, has expired, or never was."),
))]
pub(super) async fn delete_invite(
    State(app): State<App>,
    Operator(caller): Operator,
    PathId(id): PathId<CodeId>,
) -> ApiResult<StatusCode> {
    let withdraw = CodeCommand::WithdrawInvite { id, now: app.node.clock.now() };
    match audit_entry::commit(&app.node.store, Command::Code(withdraw)).await? {
        Outcome::Done => {
            tracing::info!(code = %id, withdrawn_by = %caller.account, "an invitation was withdrawn");
            Ok(StatusCode::NO_CONTENT)
        }
        refusal => Err(ApiError::from_outcome(&refusal, Resource::Invite)),
    }
}

/// See what an invitation offers
///
/// Needs no token, and uses nothing up: a page asks before it asks for a name.
#[utoipa::path(post, path = "/api/invites/inspect", tag = "accounts", request_body = InspectCode, responses(
    (status = 200, description = "Who invites, and to what.", body = InviteOffer),
    (status = 410, description = "`invite_gone`: it was used, withdrawn, has expired, or never was."),
    (status = 429, description = "`address_quota`: clients of this address have sent as many codes as one address may in an hour; or a rate limit. `Retry-After` says when to try again."),
))]
pub(super) async fn inspect_invite(
    State(app): State<App>,
    quota: QuotaSubject,
    JsonBody(request): JsonBody<InspectCode>,
) -> ApiResult<Json<InviteOffer>> {
    let code = codes::find(&app, quota, &request.code).await?;
    let Some(OneTimeCode { used_for: CodeUse::Invite { name }, role, made_by, expires_at, .. }) = code else {
        return Err(SignInRefusal::InviteGone.into());
    };
    let made_by = app.node.store.read(move |reader| made_by.map_or(Ok(None), |id| reader.account(id))).await?;
    Ok(Json(InviteOffer {
        role: role.name().to_owned(),
        name,
        made_by: made_by.map(|account| account.name),
        expires_at: Timestamp(expires_at.0),
    }))
}

/// Make your account with an invitation
///
/// Needs no token. The answer's cookie signs the browser in, as `POST /api/session` does, with a token of its own that is listed under
/// `/api/tokens` as `browser`, lasts 30 days, and ends with `DELETE /api/session`. A name that is taken uses nothing up. With an
/// `Idempotency-Key` of at least 16 random characters the same request can be sent again for ten minutes, should its answer be lost.
#[utoipa::path(post, path = "/api/invites/redeem", tag = "accounts", params(("Idempotency-Key" = Option<String>, Header, description = "16 to 128 visible ASCII characters that nobody can guess")), request_body = RedeemInvite, responses(
    (status = 201, description = "The account is made, and the browser is signed in.", body = SessionView, headers(("Set-Cookie" = String, description = "`gauntlet_session`"))),
    (status = 409, description = "`duplicate_name`: another account has this name, or the server itself. Choose another one."),
    (status = 410, description = "`invite_gone`: it was used, withdrawn, has expired, or never was."),
    (status = 429, description = "`address_quota`: clients of this address have sent as many codes as one address may in an hour; or a rate limit. `Retry-After` says when to try again."),
))]
pub(super) async fn redeem_invite(
    State(app): State<App>,
    quota: QuotaSubject,
    parts: Parts,
    JsonBody(request): JsonBody<RedeemInvite>,
) -> ApiResult<(StatusCode, HeaderMap, Json<SessionView>)> {
    let name = text::check_name("/name", &request.name)?;
    text::check_account_name(&name)?;
    let now = app.node.clock.now();
    let new_account = Some(Account { id: AccountId::new(now, random_bytes()), name, created_at: now });
    let redemption = Redemption { code: &request.code, new_account, gone: SignInRefusal::InviteGone };
    let (headers, session) = codes::redeem(&app, &parts, quota, redemption).await?;
    Ok((StatusCode::CREATED, headers, Json(session)))
}

fn view(code: &OneTimeCode, made_by: Option<String>) -> InviteView {
    let name = match &code.used_for {
        CodeUse::Invite { name } => name.clone(),
        CodeUse::SignIn { .. } => None,
    };
    InviteView {
        id: code.id.to_string(),
        role: code.role.name().to_owned(),
        name,
        made_by,
        created_at: Timestamp(code.created_at.0),
        expires_at: Timestamp(code.expires_at.0),
    }
}
