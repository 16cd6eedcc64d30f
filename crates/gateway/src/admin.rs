//! `/api/admin`: what operators and admins may see of the nodes and their past, and do to this one and to the games, accounts and tokens of all accounts.

mod accounts;
mod audit_log;
mod bans;
mod deleting;
mod disabling;
mod drain;
mod history;
mod nodes;

pub(super) use disabling::cancel_waiting;

use super::extract::{Admin, JsonBody, Operator, PathId};
use super::games::{cancel, inspection, status_of};
use super::problem::{ApiError, ApiResult, Resource};
use super::{audit_entry, text, tokens};
use crate::app::App;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use engine::commands::{Command, Outcome};
use engine::ids::{AccountId, MatchId};
use engine::rows::Account;
use node::clock::random_bytes;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use wire::api::{AccountView, CreateAccount, CreateTokenFor, GameStatus, Inspection, TokenCreated};
use wire::time::Timestamp;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(inspect_game))
        .routes(routes!(requeue_game))
        .routes(routes!(cancel_any_game))
        .routes(routes!(create_account, accounts::list_accounts))
        .routes(routes!(deleting::delete_account))
        .routes(routes!(deleting::show_account_deletion))
        .routes(routes!(accounts::list_account_tokens))
        .routes(routes!(accounts::delete_account_token))
        .routes(routes!(create_token_for))
        .routes(routes!(audit_log::list_audit))
        .routes(routes!(bans::create_ban, bans::list_bans))
        .routes(routes!(bans::lift_ban))
        .routes(routes!(disabling::disable_account))
        .routes(routes!(disabling::enable_account))
        .routes(routes!(nodes::list_nodes))
        .routes(routes!(history::get_history))
        .routes(routes!(history::list_history_series))
        .routes(routes!(drain::drain))
}

/// Inspect a game: its attempts, its worker, the end of its log
#[utoipa::path(get, path = "/api/admin/games/{id}", tag = "admin", security(("bearer" = []), ("cookie" = [])), params(("id" = String, Path)), responses(
    (status = 200, description = "The game as an operator sees it.", body = Inspection),
    (status = 404, description = "There is no such game."),
))]
async fn inspect_game(
    State(app): State<App>,
    Operator(_): Operator,
    PathId(id): PathId<MatchId>,
) -> ApiResult<Json<Inspection>> {
    inspection::inspect(&app, id).await.map(Json)
}

/// Put a failed game back into the queue
///
/// Its log is kept, so it continues where it stopped; its attempts are reset.
#[utoipa::path(post, path = "/api/admin/games/{id}/requeue", tag = "admin", security(("bearer" = []), ("cookie" = [])), params(("id" = String, Path)), responses(
    (status = 200, description = "It is queued again.", body = GameStatus),
    (status = 404, description = "There is no such game."),
    (status = 409, description = "It has not failed; `account_deleted`: its account, or that of one of its snakes, was deleted."),
))]
async fn requeue_game(
    State(app): State<App>,
    Operator(_): Operator,
    PathId(id): PathId<MatchId>,
) -> ApiResult<Json<GameStatus>> {
    match audit_entry::commit(&app.node.store, Command::RequeueMatch { id, now: app.node.clock.now() }).await? {
        Outcome::Done => {
            app.notifier.notify_queue();
            status_of(&app, id).await.map(Json)
        }
        refusal => Err(ApiError::from_outcome(&refusal, Resource::Game)),
    }
}

/// Cancel a game of any account
#[utoipa::path(post, path = "/api/admin/games/{id}/cancel", tag = "admin", security(("bearer" = []), ("cookie" = [])), params(("id" = String, Path)), responses(
    (status = 200, description = "It is cancelled.", body = GameStatus),
    (status = 404, description = "There is no such game."),
    (status = 409, description = "It is over already."),
))]
async fn cancel_any_game(
    State(app): State<App>,
    Operator(_): Operator,
    PathId(id): PathId<MatchId>,
) -> ApiResult<Json<GameStatus>> {
    cancel::cancel(&app, id, None).await.map(Json)
}

/// Create an account, or find the one with this name
#[utoipa::path(post, path = "/api/admin/accounts", tag = "admin", security(("bearer" = []), ("cookie" = [])), request_body = CreateAccount, responses(
    (status = 201, description = "It is created.", body = AccountView),
    (status = 200, description = "It existed already.", body = AccountView),
    (status = 409, description = "`duplicate_name`: the server itself has this name."),
))]
async fn create_account(
    State(app): State<App>,
    Admin(_): Admin,
    JsonBody(request): JsonBody<CreateAccount>,
) -> ApiResult<(StatusCode, Json<AccountView>)> {
    let name = text::check_name("/name", &request.name)?;
    let now = app.node.clock.now();
    if let Some(existing) = read_account(&app, name.clone()).await? {
        audit_entry::set_target(format_args!("account:{}", existing.id));
        return Ok((StatusCode::OK, Json(view(existing))));
    }
    text::check_account_name(&name)?;
    let account = Account { id: AccountId::new(now, random_bytes()), name, created_at: now };
    audit_entry::set_target(format_args!("account:{}", account.id));
    audit_entry::add_detail(format_args!("name:{}", account.name));
    let id = match audit_entry::commit(&app.node.store, Command::EnsureAccount(account.clone())).await? {
        Outcome::Account(id) => id,
        refusal => return Err(ApiError::from_outcome(&refusal, Resource::Account)),
    };
    if id == account.id {
        return Ok((StatusCode::CREATED, Json(view(account))));
    }
    let existing = find_account(&app, account.name).await?;
    Ok((StatusCode::OK, Json(view(existing))))
}

/// Create a token for any account
#[utoipa::path(post, path = "/api/admin/tokens", tag = "admin", security(("bearer" = []), ("cookie" = [])), request_body = CreateTokenFor, responses(
    (status = 201, description = "The token, and its secret for the only time.", body = TokenCreated),
    (status = 403, description = "`role_too_weak`; `token_ends`: your token ends by itself, and would be outlasted."),
    (status = 404, description = "There is no such account."),
    (status = 409, description = "The account has as many tokens as allowed."),
))]
async fn create_token_for(
    State(app): State<App>,
    Admin(caller): Admin,
    JsonBody(request): JsonBody<CreateTokenFor>,
) -> ApiResult<(StatusCode, Json<TokenCreated>)> {
    caller.require_lasting()?;
    let CreateTokenFor { account, name, role, purpose, expires_in_s } = request;
    let token = tokens::NewToken::parse(&name, role.as_deref(), purpose.as_deref(), expires_in_s)?;
    let name = text::check_name("/account", &account)?;
    let account = find_account(&app, name).await?;
    tokens::create(&app, account.id, token).await
}

async fn find_account(app: &App, name: String) -> ApiResult<Account> {
    read_account(app, name).await?.ok_or(ApiError::NotFound(Resource::Account))
}

async fn read_account(app: &App, name: String) -> ApiResult<Option<Account>> {
    Ok(app.node.store.read(move |reader| reader.account_named(&name)).await?)
}

pub(super) fn view(account: Account) -> AccountView {
    AccountView { id: account.id.to_string(), name: account.name, created_at: Timestamp(account.created_at.0) }
}
