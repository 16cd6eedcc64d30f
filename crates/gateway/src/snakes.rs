//! `/api/snakes`: the bots that an account has registered.

use super::extract::{AnyAccount, JsonBody, PathId, Player, QueryParams};
use super::pagination::{ListResponse, Page, PageQuery};
use super::problem::{ApiError, ApiResult, Resource};
use super::{bot_url, text};
use crate::app::App;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use engine::commands::{Command, Outcome};
use engine::ids::{AccountId, BotId};
use engine::limits::PAGE_MAX;
use engine::rows::Bot;
use node::clock::random_bytes;
use store::BotFilter;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use wire::api::{CreateSnake, Snake, UpdateSnake};
use wire::time::Timestamp;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list_snakes, create_snake)).routes(routes!(
        get_snake,
        update_snake,
        delete_snake
    ))
}

/// Register a snake
#[utoipa::path(post, path = "/api/snakes", tag = "snakes", security(("bearer" = [])), request_body = CreateSnake, responses(
    (status = 201, description = "The snake is registered.", body = Snake),
    (status = 409, description = "`duplicate_name`: the account has a snake of this name; `too_many`: it has as many as allowed."),
))]
async fn create_snake(
    State(app): State<App>,
    Player(caller): Player,
    JsonBody(request): JsonBody<CreateSnake>,
) -> ApiResult<(StatusCode, Json<Snake>)> {
    let name = text::check_bot_name("/name", &request.name)?;
    bot_url::check(&request.url, app.config.allow_private_bots)?;
    let now = app.node.clock.now();
    let bot = Bot {
        id: BotId::new(now, random_bytes()),
        account: caller.account,
        name,
        url: request.url,
        is_public: request.is_public,
        created_at: now,
        updated_at: now,
    };
    save(&app, Command::CreateBot(bot.clone())).await?;
    Ok((StatusCode::CREATED, Json(view(bot))))
}

/// List your snakes, newest first
#[utoipa::path(get, path = "/api/snakes", tag = "snakes", security(("bearer" = [])), params(PageQuery), responses(
    (status = 200, description = "A page of snakes, 100 when no limit is given.", body = Vec<Snake>, headers(("Link" = String, description = "The next page's URL, if there is one"))),
))]
async fn list_snakes(
    State(app): State<App>,
    AnyAccount(caller): AnyAccount,
    QueryParams(query): QueryParams<PageQuery>,
) -> ApiResult<ListResponse<Snake>> {
    // A full page by default: other servers of this API return the whole list.
    let limit = query.limit(PAGE_MAX)?;
    let filter = BotFilter { account: caller.account, before: query.after()?, limit: limit + 1 };
    let bots = app.node.store.read(move |reader| reader.bots(&filter)).await?;
    Ok(Page::new("/api/snakes", "", bots, limit, |bot| Some(bot.id)).response(view))
}

/// Get one of your snakes
#[utoipa::path(get, path = "/api/snakes/{id}", tag = "snakes", security(("bearer" = [])), params(("id" = String, Path)), responses(
    (status = 200, description = "The snake.", body = Snake),
    (status = 404, description = "The account has no such snake."),
))]
async fn get_snake(
    State(app): State<App>,
    AnyAccount(caller): AnyAccount,
    PathId(id): PathId<BotId>,
) -> ApiResult<Json<Snake>> {
    find_own_bot(&app, caller.account, id).await.map(view).map(Json)
}

/// Change a snake
#[utoipa::path(put, path = "/api/snakes/{id}", tag = "snakes", security(("bearer" = [])), params(("id" = String, Path)), request_body = UpdateSnake, responses(
    (status = 200, description = "The snake as it is now.", body = Snake),
    (status = 404, description = "The account has no such snake."),
    (status = 409, description = "The account has a snake of this name."),
))]
async fn update_snake(
    State(app): State<App>,
    Player(caller): Player,
    PathId(id): PathId<BotId>,
    JsonBody(change): JsonBody<UpdateSnake>,
) -> ApiResult<Json<Snake>> {
    let mut bot = find_own_bot(&app, caller.account, id).await?;
    if let Some(name) = change.name {
        bot.name = text::check_bot_name("/name", &name)?;
    }
    if let Some(url) = change.url {
        bot_url::check(&url, app.config.allow_private_bots)?;
        bot.url = url;
    }
    bot.is_public = change.is_public.unwrap_or(bot.is_public);
    bot.updated_at = app.node.clock.now();
    save(&app, Command::UpdateBot(bot.clone())).await?;
    Ok(Json(view(bot)))
}

/// Delete a snake
///
/// Games that exist already keep its name and URL.
#[utoipa::path(delete, path = "/api/snakes/{id}", tag = "snakes", security(("bearer" = [])), params(("id" = String, Path)), responses(
    (status = 204, description = "The snake is deleted."),
    (status = 404, description = "The account has no such snake."),
))]
async fn delete_snake(
    State(app): State<App>,
    Player(caller): Player,
    PathId(id): PathId<BotId>,
) -> ApiResult<StatusCode> {
    save(&app, Command::DeleteBot { id, account: caller.account }).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn save(app: &App, command: Command) -> ApiResult<()> {
    match app.node.store.commit(command).await? {
        Outcome::Done => Ok(()),
        refusal => Err(ApiError::from_outcome(&refusal, Resource::Snake)),
    }
}

async fn find_own_bot(app: &App, account: AccountId, id: BotId) -> ApiResult<Bot> {
    let bots = app.node.store.read(move |reader| reader.bots_by_id(&[id])).await?;
    bots.into_iter().find(|bot| bot.account == account).ok_or(ApiError::NotFound(Resource::Snake))
}

pub(super) fn view(bot: Bot) -> Snake {
    Snake {
        id: bot.id.to_string(),
        name: bot.name,
        url: bot.url,
        is_public: bot.is_public,
        created_at: Timestamp(bot.created_at.0),
        updated_at: Timestamp(bot.updated_at.0),
    }
}
