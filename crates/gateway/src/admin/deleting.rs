//! `/api/admin/accounts/{id}`: an account that an admin deletes, and what would be deleted.

use crate::account_deletion::{check_deletable, delete, view};
use crate::app::App;
use crate::audit_entry;
use crate::extract::{Admin, JsonBody, PathId};
use crate::problem::{ApiError, ApiResult};
use crate::text;
use axum::Json;
use axum::extract::State;
use engine::ids::AccountId;
use engine::limits::BAN_REASON_CHARS_MAX;
use wire::api::{AccountDeletion, DeleteAccount};

/// See what the deletion of an account would delete
///
/// For admins. Changes nothing.
#[utoipa::path(get, path = "/api/admin/accounts/{id}/deletion", tag = "admin", security(("bearer" = []), ("cookie" = [])), params(("id" = String, Path)), responses(
    (status = 200, description = "What it has now.", body = AccountDeletion),
    (status = 404, description = "`no_such_account`: also of one that was deleted."),
    (status = 409, description = "`built_in`: it is the server's own, or that of the bootstrap token."),
))]
pub(super) async fn show_account_deletion(
    State(app): State<App>,
    Admin(_): Admin,
    PathId(id): PathId<AccountId>,
) -> ApiResult<Json<AccountDeletion>> {
    let found = check_deletable(&app, id).await?;
    Ok(Json(view(&found)))
}

/// Delete an account
///
/// For admins. Its tokens, sessions and sign-in links and the invitations that it made are deleted, and what it has open ends: on this node at once,
/// on other nodes after two seconds at most. Its name is free for others, unless it is banned. Its snakes, competitions and games that wait follow
/// within seconds, in portions. What others played with it stays, of a deleted account. It cannot be taken back.
#[utoipa::path(delete, path = "/api/admin/accounts/{id}", tag = "admin", security(("bearer" = []), ("cookie" = [])), params(("id" = String, Path)), request_body = DeleteAccount, responses(
    (status = 200, description = "It is deleted, with what it had.", body = AccountDeletion),
    (status = 400, description = "`bad_value`: another name than the account's, no reason, or your own account (`DELETE /api/account`)."),
    (status = 404, description = "`no_such_account`: also of one that was deleted."),
    (status = 409, description = "`last_admin`: no other admin could sign in; `built_in`: it is the server's own, or that of the bootstrap token."),
))]
pub(super) async fn delete_account(
    State(app): State<App>,
    Admin(caller): Admin,
    PathId(id): PathId<AccountId>,
    JsonBody(request): JsonBody<DeleteAccount>,
) -> ApiResult<Json<AccountDeletion>> {
    caller.require_lasting()?;
    let reason = text::check_line("/reason", "reason", request.reason.trim(), BAN_REASON_CHARS_MAX)?;
    audit_entry::set_reason(&reason);
    if id == caller.account {
        return Err(ApiError::bad_value("id", "this is your own account: DELETE /api/account deletes it"));
    }
    let found = check_deletable(&app, id).await?;
    found.confirm(&request.name)?;
    audit_entry::add_detail(format_args!("name:{}", found.account.name));
    delete(&app, id).await?;
    tracing::info!(account = %id, deleted_by = %caller.account, "an account was deleted");
    Ok(Json(view(&found)))
}
