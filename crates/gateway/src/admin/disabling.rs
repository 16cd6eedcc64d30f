//! `/api/admin/accounts/{id}/disable` and `enable`: an account whose tokens are refused, kept as a ban that only admins make and lift.

use super::accounts::require_account;
use super::bans::{check_bannable, refresh};
use crate::app::App;
use crate::audit_entry;
use crate::extract::{Admin, JsonBody, PathId};
use crate::problem::{ApiError, ApiResult, Resource};
use crate::text;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use engine::commands::{BanCommand, Command, Outcome};
use engine::ids::{AccountId, BanId, MatchId};
use engine::limits::{BAN_REASON_CHARS_MAX, MATCHES_WAITING_PER_ACCOUNT_MAX};
use engine::rows::{Ban, BanTarget};
use futures_util::future::try_join_all;
use node::clock::random_bytes;
use wire::api::{AccountDisabled, DisableAccount};
use wire::time::Timestamp;

/// Games that are cancelled together: one commit or a few.
const CANCELLED_AT_ONCE: usize = 256;

/// Disable an account
///
/// For admins. Its tokens and sessions are refused with 403 `account_disabled` and the reason, on every route but those about the server's
/// health and signing out, and what it has open ends, as for a ban; its games that wait to be played are cancelled, those of competitions
/// aside. Nothing of it is deleted. Repeating it cancels what was created meanwhile, and changes nothing else.
#[utoipa::path(post, path = "/api/admin/accounts/{id}/disable", tag = "admin", security(("bearer" = []), ("cookie" = [])), params(("id" = String, Path)), request_body = DisableAccount, responses(
    (status = 200, description = "It is disabled.", body = AccountDisabled),
    (status = 400, description = "`bad_value`: also for your own account."),
    (status = 404, description = "`no_such_account`: also of one that was deleted."),
    (status = 409, description = "`built_in`: it is the server's own; `too_many`: 10,000 bans are in force, disabled accounts among them; `last_admin`: no other account has an admin's token without an end."),
))]
pub(super) async fn disable_account(
    State(app): State<App>,
    Admin(caller): Admin,
    PathId(id): PathId<AccountId>,
    JsonBody(request): JsonBody<DisableAccount>,
) -> ApiResult<Json<AccountDisabled>> {
    let reason = text::check_line("/reason", "reason", request.reason.trim(), BAN_REASON_CHARS_MAX)?;
    if id == caller.account {
        return Err(ApiError::bad_value("id", "this is your own account: another admin can disable it"));
    }
    audit_entry::set_reason(&reason);
    check_bannable(id)?;
    require_account(&app, id).await?;
    let (target, now) = (BanTarget::Disabled(id), app.node.clock.now());
    let (made_by, made_by_role) = (Some(caller.account), Some(caller.role));
    let id_of_ban = BanId::new(now, random_bytes());
    let ban = Ban { id: id_of_ban, target, reason, made_by, made_by_role, created_at: now, expires_at: None };
    match audit_entry::commit(&app.node.store, Command::Ban(BanCommand::Create(ban.clone()))).await? {
        Outcome::Done => tracing::info!(account = %id, disabled_by = %caller.account, "an account was disabled"),
        Outcome::Duplicate => {}
        Outcome::LimitReached => return Err(ApiError::TotalReached(Resource::Ban)),
        Outcome::NotFound => return Err(ApiError::NotFound(Resource::Account)),
        other => return Err(ApiError::from_outcome(&other, Resource::Ban)),
    }
    refresh(&app).await;
    let games_cancelled = cancel_waiting(&app, id).await?;
    let known = app.bans.of_target(target);
    let ban = known.as_deref().unwrap_or(&ban);
    let (reason, since) = (ban.reason.clone(), Timestamp(ban.created_at.0));
    Ok(Json(AccountDisabled { id: id.to_string(), reason, since, games_cancelled }))
}

/// Enable an account again
///
/// For admins. Its tokens are accepted again, at other nodes after two seconds at most. Games that were cancelled stay cancelled.
#[utoipa::path(post, path = "/api/admin/accounts/{id}/enable", tag = "admin", security(("bearer" = []), ("cookie" = [])), params(("id" = String, Path)), responses(
    (status = 204, description = "It is enabled, whether it was disabled or not."),
    (status = 404, description = "`no_such_account`: also of one that was deleted."),
))]
pub(super) async fn enable_account(
    State(app): State<App>,
    Admin(caller): Admin,
    PathId(id): PathId<AccountId>,
) -> ApiResult<StatusCode> {
    require_account(&app, id).await?;
    // Another node may have disabled it just now.
    refresh(&app).await;
    if let Some(ban) = app.bans.of_target(BanTarget::Disabled(id)) {
        let lift = BanCommand::Lift { id: ban.id, now: app.node.clock.now() };
        match audit_entry::commit(&app.node.store, Command::Ban(lift)).await? {
            Outcome::Done => tracing::info!(account = %id, enabled_by = %caller.account, "an account was enabled"),
            Outcome::NotFound => {}
            other => return Err(ApiError::from_outcome(&other, Resource::Ban)),
        }
        refresh(&app).await;
    }
    Ok(StatusCode::NO_CONTENT)
}

/// Cancels the games of an account that wait, without those of competitions; returns how many. One that begins meanwhile is cancelled too.
pub(crate) async fn cancel_waiting(app: &App, account: AccountId) -> ApiResult<usize> {
    let mut cancelled = 0;
    for _ in 0..=MATCHES_WAITING_PER_ACCOUNT_MAX / CANCELLED_AT_ONCE {
        let waiting =
            app.node.store.read(move |reader| reader.bans().waiting_matches(account, CANCELLED_AT_ONCE)).await?;
        let done = try_join_all(waiting.iter().map(|id| cancel(app, *id, account))).await?;
        cancelled += done.into_iter().filter(|is_done| *is_done).count();
        if waiting.len() < CANCELLED_AT_ONCE {
            break;
        }
    }
    Ok(cancelled)
}

async fn cancel(app: &App, id: MatchId, account: AccountId) -> ApiResult<bool> {
    let command = Command::CancelMatch { id, account: Some(account), now: app.node.clock.now() };
    let is_done = app.node.store.commit(command).await? == Outcome::Done;
    if is_done {
        app.notifier.notify(id);
    }
    Ok(is_done)
}
