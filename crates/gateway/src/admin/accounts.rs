//! `/api/admin/accounts`: which accounts there are, and their tokens, which an admin may delete. No secret, nor any part of one, is in an answer.

use super::view;
use crate::app::App;
use crate::extract::{Admin, PathId, PathIds, QueryParams};
use crate::pagination::{ListResponse, Page, PageQuery, query_encoded};
use crate::problem::{ApiError, ApiResult, Resource};
use crate::{text, tokens};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use engine::ids::{AccountId, TokenId};
use engine::limits::{NAME_CHARS_MAX, PAGE_DEFAULT};
use engine::rows::{BanTarget, CountedAccount};
use serde::Deserialize;
use store::AccountFilter;
use wire::api::{AccountListed, TokenView};

/// Which accounts the list shows.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct NameQuery {
    /// Only accounts whose names begin so; `bo` finds `bob`, and not `Bob`.
    name: Option<String>,
}

impl NameQuery {
    /// How the names begin, and what of the query the next page's link repeats.
    fn parse(&self) -> ApiResult<(String, String)> {
        // No name begins with space.
        let name = self.name.as_deref().unwrap_or_default().trim_start();
        if name.is_empty() {
            return Ok((String::new(), String::new()));
        }
        let prefix = text::check_line("name", "name", name, NAME_CHARS_MAX)?;
        let filter = format!("name={}&", query_encoded(&prefix));
        Ok((prefix, filter))
    }
}

/// List accounts
///
/// For admins. In the order of their names, by bytes: capitals before small letters. `after` is the id of an account: the page begins behind
/// it.
#[utoipa::path(get, path = "/api/admin/accounts", tag = "admin", security(("bearer" = []), ("cookie" = [])), params(NameQuery, PageQuery), responses(
    (status = 200, description = "A page of accounts, 20 when no limit is given.", body = Vec<AccountListed>, headers(("Link" = String, description = "The next page's URL, if there is one"))),
))]
pub(super) async fn list_accounts(
    State(app): State<App>,
    Admin(_): Admin,
    QueryParams(query): QueryParams<NameQuery>,
    QueryParams(page): QueryParams<PageQuery>,
) -> ApiResult<ListResponse<AccountListed>> {
    let (limit, after) = (page.limit(PAGE_DEFAULT)?, page.after()?);
    let (name_prefix, link_filter) = query.parse()?;
    let filter = AccountFilter { name_prefix, after, limit: limit + 1 };
    let rows = app.node.store.read(move |reader| reader.accounts(&filter)).await?;
    let cursor = |row: &CountedAccount| Some(row.account.id);
    let page = Page::new("/api/admin/accounts", &link_filter, rows, limit, cursor);
    Ok(page.response(|CountedAccount { account, counts }| AccountListed {
        is_disabled: app.bans.of_target(BanTarget::Disabled(account.id)).is_some(),
        account: view(account),
        snakes: counts.bots,
        tokens: counts.tokens,
    }))
}

/// List an account's tokens, newest first
///
/// For admins. The sessions of its browsers among them.
#[utoipa::path(get, path = "/api/admin/accounts/{id}/tokens", tag = "admin", security(("bearer" = []), ("cookie" = [])), params(("id" = String, Path)), responses(
    (status = 200, description = "All its tokens, without their secrets.", body = Vec<TokenView>),
    (status = 404, description = "`no_such_account`: also of one that was deleted."),
))]
pub(super) async fn list_account_tokens(
    State(app): State<App>,
    Admin(_): Admin,
    PathId(id): PathId<AccountId>,
) -> ApiResult<Json<Vec<TokenView>>> {
    require_account(&app, id).await?;
    let tokens = app.node.store.read(move |reader| reader.tokens(id)).await?;
    Ok(Json(tokens.iter().map(tokens::view).collect()))
}

/// Refuses what concerns an account that is unknown or deleted.
pub(super) async fn require_account(app: &App, id: AccountId) -> ApiResult<()> {
    let read = app.node.store.read(move |reader| Ok((reader.account(id)?, reader.deletions().deleted_among(&[id])?)));
    let (account, deleted) = read.await?;
    account.filter(|_| deleted.is_empty()).map(drop).ok_or(ApiError::NotFound(Resource::Account))
}

/// Delete a token of an account
///
/// For admins. It ends as with `DELETE /api/tokens/{id}`: no request with it is accepted any more, and every open connection that uses it
/// ends, on this node at once, on other nodes after two seconds at most. Live sign-in links of its account end too.
#[utoipa::path(delete, path = "/api/admin/accounts/{id}/tokens/{token}", tag = "admin", security(("bearer" = []), ("cookie" = [])), params(("id" = String, Path), ("token" = String, Path)), responses(
    (status = 204, description = "It is deleted."),
    (status = 404, description = "`no_such_token`: this account has no such token."),
    (status = 409, description = "`last_admin`: it is the last token of an admin without an end."),
))]
pub(super) async fn delete_account_token(
    State(app): State<App>,
    Admin(caller): Admin,
    PathIds(account, id): PathIds<AccountId, TokenId>,
) -> ApiResult<StatusCode> {
    tokens::delete(&app, id, Some(account)).await?;
    tracing::info!(token = %id, %account, deleted_by = %caller.account, "a token of an account was deleted by an admin");
    Ok(StatusCode::NO_CONTENT)
}
