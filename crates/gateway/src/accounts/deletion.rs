//! `/api/account`: the caller's own account is deleted.

use crate::account_deletion::{check_deletable, delete, view};
use crate::app::App;
use crate::audit_entry;
use crate::extract::{JsonBody, Player};
use crate::problem::ApiResult;
use crate::{session, tokens};
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use wire::api::{AccountDeletion, DeleteOwnAccount};

/// See what the deletion of your account would delete
///
/// Changes nothing.
#[utoipa::path(get, path = "/api/account/deletion", tag = "accounts", security(("bearer" = []), ("cookie" = [])), responses(
    (status = 200, description = "What it has now.", body = AccountDeletion),
    (status = 404, description = "`no_such_account`: the account of the server's own token was not made yet."),
    (status = 409, description = "`built_in`: it is that of the bootstrap token."),
))]
pub(super) async fn show_own_deletion(
    State(app): State<App>,
    Player(caller): Player,
) -> ApiResult<Json<AccountDeletion>> {
    Ok(Json(view(&check_deletable(&app, caller.account).await?)))
}

/// Delete your account
///
/// Its tokens, sessions and sign-in links and the invitations that it made are deleted, and what it has open ends: on this node at once, on other nodes
/// after two seconds at most. Its name is free for others. Its snakes, competitions and games that wait follow within seconds. What others played with
/// it stays, of a deleted account. It cannot be taken back: `GET /api/account/export` has what it owns.
#[utoipa::path(delete, path = "/api/account", tag = "accounts", security(("bearer" = []), ("cookie" = [])), request_body = DeleteOwnAccount, responses(
    (status = 200, description = "It is deleted, with what it had; the cookie is removed.", body = AccountDeletion),
    (status = 400, description = "`bad_value`: another name than the account's."),
    (status = 403, description = "`role_too_weak`: the account has a token that may do more than yours; `token_ends`: your token ends by itself."),
    (status = 409, description = "`last_admin`: no other admin could sign in; `built_in`: it is that of the bootstrap token."),
))]
pub(super) async fn delete_own_account(
    State(app): State<App>,
    Player(caller): Player,
    parts: Parts,
    JsonBody(request): JsonBody<DeleteOwnAccount>,
) -> ApiResult<(HeaderMap, Json<AccountDeletion>)> {
    caller.require_lasting()?;
    let id = caller.account;
    audit_entry::set_target(format_args!("account:{id}"));
    let found = check_deletable(&app, id).await?;
    found.confirm(&request.name)?;
    for token in app.node.store.read(move |reader| reader.tokens(id)).await? {
        tokens::authorize_token_change(caller, token.role, token.purpose)?;
    }
    let cookie = session::removed_cookie(&app, &parts)?;
    delete(&app, id).await?;
    tracing::info!(account = %id, "an account was deleted by its holder");
    Ok((cookie, Json(view(&found))))
}
