//! `/api/admin/bans`: who may not use the server.

use crate::app::App;
use crate::audit_entry;
use crate::auth::Caller;
use crate::client_address::ClientAddress;
use crate::extract::{JsonBody, Operator, PathId, QueryParams};
use crate::grants;
use crate::pagination::{ListResponse, Page, PageQuery};
use crate::problem::{ApiError, ApiResult, Resource, SignInRefusal};
use crate::text;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use engine::commands::{BanCommand, Command, Outcome};
use engine::ids::{AccountId, BanId, PlayerId};
use engine::ladders::definition::SYSTEM_ACCOUNT;
use engine::limits::{
    BAN_LIFETIME_MAX, BAN_PREFIX_BITS_MIN_IPV4, BAN_PREFIX_BITS_MIN_IPV6, BAN_REASON_CHARS_MAX, PAGE_DEFAULT,
};
use engine::rows::{Ban, BanTarget, Role};
use engine::time::UnixMs;
use node::clock::random_bytes;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;
use wire::api::{BanView, CreateBan};
use wire::time::Timestamp;

/// Ban an account, a guest, or addresses
///
/// For operators and admins. The banned get 403 `banned` with the reason and the end, on every route but those about the server's health and
/// signing out; what they have open ends with the same: on this node at once, on other nodes after two seconds at most. A ban of addresses
/// does not hold for operators and admins. Only admins ban accounts of operators and admins.
#[utoipa::path(post, path = "/api/admin/bans", tag = "admin", security(("bearer" = []), ("cookie" = [])), request_body = CreateBan, responses(
    (status = 201, description = "It is in force.", body = BanView),
    (status = 400, description = "`bad_value`: also where it would ban yourself, or where a network is wider than 8 bits of IPv4 or 16 of IPv6."),
    (status = 403, description = "`role_too_weak`: also where the account has an operator's or an admin's token, and you are no admin."),
    (status = 404, description = "`no_such_account`: also of one that was deleted."),
    (status = 409, description = "`built_in`: it is the server's own account; `banned_already`: lift the other ban first; `too_many`: 10,000 bans are in force; `last_admin`: no other account has an admin's token without an end."),
))]
pub(super) async fn create_ban(
    State(app): State<App>,
    Operator(caller): Operator,
    client: ClientAddress,
    JsonBody(request): JsonBody<CreateBan>,
) -> ApiResult<(StatusCode, Json<BanView>)> {
    let target = parse_target(&app, &request).await?;
    let reason = text::check_line("/reason", "reason", request.reason.trim(), BAN_REASON_CHARS_MAX)?;
    let now = app.node.clock.now();
    let expires_at = parse_end(request.expires_in_s, now)?;
    audit_entry::set_target(target);
    audit_entry::set_reason(&reason);
    let named = if request.player.is_some() { "/player" } else { "/account" };
    authorize(&app, caller, client, (named, target), now).await?;
    let ban = Ban {
        id: BanId::new(now, random_bytes()),
        target,
        reason,
        made_by: Some(caller.account),
        made_by_role: Some(strongest_role(&app, caller.account, now).await?.max(caller.role)),
        created_at: now,
        expires_at,
    };
    audit_entry::add_detail(format_args!("ban:{}", ban.id));
    if let Some(end) = expires_at {
        audit_entry::add_detail(format_args!("until:{}", Timestamp(end.0)));
    }
    // Before it is made: what is in force is not answered with a failure.
    let made = views(&app, caller, vec![ban.clone()]).await?.pop();
    match audit_entry::commit(&app.node.store, Command::Ban(BanCommand::Create(ban.clone()))).await? {
        Outcome::Done => {}
        Outcome::Duplicate => return Err(ApiError::BannedAlready),
        Outcome::LimitReached => return Err(ApiError::TotalReached(Resource::Ban)),
        Outcome::NotFound => return Err(ApiError::NotFound(Resource::Account)),
        other => return Err(ApiError::from_outcome(&other, Resource::Ban)),
    }
    tracing::info!(ban = %ban.id, target = %ban.target, made_by = %caller.account, "a ban was made");
    refresh(&app).await;
    Ok((StatusCode::CREATED, Json(made.expect("one ban has one view"))))
}

/// List bans in force, newest first
///
/// For operators and admins. Bans that were lifted or have expired are not listed; disabled accounts are, with `is_disabled`.
#[utoipa::path(get, path = "/api/admin/bans", tag = "admin", security(("bearer" = []), ("cookie" = [])), params(PageQuery), responses(
    (status = 200, description = "A page of bans, 20 when no limit is given.", body = Vec<BanView>, headers(("Link" = String, description = "The next page's URL, if there is one"))),
))]
pub(super) async fn list_bans(
    State(app): State<App>,
    Operator(caller): Operator,
    QueryParams(page): QueryParams<PageQuery>,
) -> ApiResult<ListResponse<BanView>> {
    let (limit, before, now) = (page.limit(PAGE_DEFAULT)?, page.after()?, app.node.clock.now());
    let bans = app.node.store.read(move |reader| reader.bans().ban_page(before, limit + 1, now)).await?;
    let page = Page::new("/api/admin/bans", "", bans, limit, |ban: &Ban| Some(ban.id));
    Ok((page.link, Json(views(&app, caller, page.rows).await?)))
}

/// Lift a ban
///
/// For operators and admins; only admins lift what another account made that had an admin's token, also when that token or the account is gone, or
/// what was made on the command line, and only admins enable a disabled account so. On this node at once, on other nodes after two seconds at most.
#[utoipa::path(delete, path = "/api/admin/bans/{id}", tag = "admin", security(("bearer" = []), ("cookie" = [])), params(("id" = String, Path)), responses(
    (status = 204, description = "It is lifted."),
    (status = 403, description = "`role_too_weak`: also where an admin made it, and you are none."),
    (status = 404, description = "`no_such_ban`: it was lifted, has expired, or never was."),
))]
pub(super) async fn lift_ban(
    State(app): State<App>,
    Operator(caller): Operator,
    PathId(id): PathId<BanId>,
) -> ApiResult<StatusCode> {
    let now = app.node.clock.now();
    let behind = BanId(id.0.saturating_add(1));
    let found = app.node.store.read(move |reader| reader.bans().ban_page(Some(behind), 1, now)).await?;
    let ban = found.first().filter(|ban| ban.id == id).ok_or(ApiError::NotFound(Resource::Ban))?;
    audit_entry::set_target(ban.target);
    if !may_lift(caller, ban) {
        return Err(ApiError::RoleTooWeak { need: Role::Admin, have: caller.role });
    }
    let lift = BanCommand::Lift { id, now };
    match audit_entry::commit(&app.node.store, Command::Ban(lift)).await? {
        Outcome::Done => {
            tracing::info!(ban = %id, lifted_by = %caller.account, "a ban was lifted");
            refresh(&app).await;
            Ok(StatusCode::NO_CONTENT)
        }
        refusal => Err(ApiError::from_outcome(&refusal, Resource::Ban)),
    }
}

/// Only admins lift what disables an account, and what others made who were no mere operators then: whatever they are now.
fn may_lift(caller: Caller, ban: &Ban) -> bool {
    let is_ban = !matches!(ban.target, BanTarget::Disabled(_));
    let is_of_operators = ban.made_by == Some(caller.account) || ban.made_by_role == Some(Role::Operator);
    caller.role >= Role::Admin || is_ban && is_of_operators
}

/// Puts what was saved into force here. Should it fail, the next regular check does it.
pub(super) async fn refresh(app: &App) {
    if let Err(error) = grants::refresh_bans(&app.grants, &app.node.store, app.node.clock.now()).await {
        tracing::warn!(%error, "a change of bans was saved, and could not be read back: it is in force within seconds");
    }
}

async fn parse_target(app: &App, request: &CreateBan) -> ApiResult<BanTarget> {
    match (&request.account, &request.guest, &request.player, &request.address) {
        (Some(id), None, None, None) => parse("/account", id).map(BanTarget::Account),
        (None, Some(id), None, None) => match find_player(app, parse("/guest", id)?).await? {
            BanTarget::Account(id) => {
                let reason = format!("{id} is an account, and no guest: send it as account");
                Err(ApiError::bad_value("/guest", reason))
            }
            guest => Ok(guest),
        },
        (None, None, Some(id), None) => find_player(app, parse("/player", id)?).await,
        (None, None, None, Some(address)) => parse("/address", address.trim()).map(BanTarget::Address),
        _ => Err(ApiError::bad_value("/account", "expected one of account, guest, player and address: whom to ban")),
    }
}

/// The account of this id, or else the guest: guests are not stored, so that any id may be one's.
async fn find_player(app: &App, id: PlayerId) -> ApiResult<BanTarget> {
    let account = AccountId(id.0);
    let found = app.node.store.read(move |reader| reader.account(account)).await?;
    Ok(if found.is_some() { BanTarget::Account(account) } else { BanTarget::Guest(id) })
}

fn parse<T: FromStr<Err: Display>>(field: &str, text: &str) -> ApiResult<T> {
    text.parse().map_err(|error| ApiError::bad_value(field, format!("{} is {error}", &field[1..])))
}

fn parse_end(seconds: Option<u64>, now: UnixMs) -> ApiResult<Option<UnixMs>> {
    let Some(seconds) = seconds else { return Ok(None) };
    let max = BAN_LIFETIME_MAX.as_secs();
    if (1..=max).contains(&seconds) {
        return Ok(Some(now.plus(Duration::from_secs(seconds))));
    }
    let reason =
        format!("expires_in_s is a number of seconds from 1 to {max}; without it the ban lasts until it is lifted");
    Err(ApiError::bad_value("/expires_in_s", reason))
}

/// Whether the caller may ban this target, which this member of the request names.
async fn authorize(
    app: &App,
    caller: Caller,
    client: ClientAddress,
    (member, target): (&str, BanTarget),
    now: UnixMs,
) -> ApiResult<()> {
    match target {
        BanTarget::Account(account) if account == caller.account => {
            Err(ApiError::bad_value(member, "this is your own account: another admin can ban it"))
        }
        BanTarget::Account(account) => {
            check_bannable(account)?;
            let role = strongest_role(app, account, now).await?;
            if role >= Role::Operator && caller.role < Role::Admin {
                return Err(ApiError::RoleTooWeak { need: Role::Admin, have: caller.role });
            }
            Ok(())
        }
        BanTarget::Address(prefix) if prefix.is_too_wide_to_ban() => {
            let reason = format!(
                "{prefix} is too wide: expected at least {BAN_PREFIX_BITS_MIN_IPV4} bits of an IPv4 network, {BAN_PREFIX_BITS_MIN_IPV6} of an IPv6 network; ban smaller ones"
            );
            Err(ApiError::bad_value("/address", reason))
        }
        BanTarget::Address(prefix) if client.0.is_some_and(|own| prefix.contains(own)) => {
            let reason =
                format!("{prefix} contains your own address: ban a network without it, or an account or guest");
            Err(ApiError::bad_value("/address", reason))
        }
        BanTarget::Guest(_) | BanTarget::Address(_) | BanTarget::Disabled(_) => Ok(()),
    }
}

/// Competitions are held in the name of the server's own account.
pub(super) fn check_bannable(account: AccountId) -> ApiResult<()> {
    if account == SYSTEM_ACCOUNT { Err(SignInRefusal::ServerAccount.into()) } else { Ok(()) }
}

/// The strongest role of an account's tokens.
async fn strongest_role(app: &App, id: AccountId, now: UnixMs) -> ApiResult<Role> {
    let read = app.node.store.read(move |reader| Ok((reader.account(id)?, reader.tokens(id)?)));
    let (account, tokens) = read.await?;
    account.ok_or(ApiError::NotFound(Resource::Account))?;
    let live = tokens.iter().filter(|token| token.expires_at.is_none_or(|end| end > now));
    let roles = live.map(|token| token.role).chain(app.auth.bootstrap_role(id));
    Ok(roles.max().unwrap_or(Role::Guest))
}

/// Bans as this caller sees them.
async fn views(app: &App, caller: Caller, bans: Vec<Ban>) -> ApiResult<Vec<BanView>> {
    let named: BTreeSet<AccountId> =
        bans.iter().flat_map(|ban| [ban.target.account(), ban.made_by]).flatten().collect();
    let names = app.node.store.read(move |reader| {
        let mut names = BTreeMap::new();
        for id in named {
            names.insert(id, reader.account(id)?.map(|account| account.name));
        }
        Ok(names)
    });
    let names = names.await?;
    let views = bans.into_iter().map(|ban| {
        let may_lift = may_lift(caller, &ban);
        view(ban, &names, may_lift)
    });
    Ok(views.collect())
}

fn view(ban: Ban, names: &BTreeMap<AccountId, Option<String>>, may_lift: bool) -> BanView {
    let name = |id: Option<AccountId>| id.and_then(|id| names.get(&id).cloned().flatten());
    let account = ban.target.account();
    BanView {
        id: ban.id.to_string(),
        account: account.map(|id| id.to_string()),
        account_name: name(account),
        guest: if let BanTarget::Guest(id) = ban.target { Some(id.to_string()) } else { None },
        address: if let BanTarget::Address(prefix) = ban.target { Some(prefix.to_string()) } else { None },
        is_disabled: matches!(ban.target, BanTarget::Disabled(_)),
        reason: ban.reason,
        made_by: ban.made_by.map(|id| id.to_string()),
        made_by_name: name(ban.made_by),
        may_lift,
        created_at: Timestamp(ban.created_at.0),
        expires_at: ban.expires_at.map(|at| Timestamp(at.0)),
    }
}
