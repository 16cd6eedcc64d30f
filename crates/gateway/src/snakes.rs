//! `/api/snakes`: the bots that an account has registered, and what everybody may know of those that are public.

use super::extract::{AnyAccount, JsonBody, PathId, Player, QueryParams};
use super::pagination::{ListResponse, Page, PageQuery};
use super::problem::{ApiError, ApiResult, Resource};
use super::{bot_url, text};
use crate::app::App;
use crate::auth::Principal;
use crate::extract::MaybePrincipal;
use crate::games::face;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use engine::commands::{Command, Outcome};
use engine::competitions::CompetitionRow;
use engine::ids::{AccountId, BotId};
use engine::ladders::entry::LadderEntry;
use engine::ladders::ranking::{RankingCursor, RankingOrder};
use engine::limits::{LADDER_MIN_GAMES, LADDERS_OF_BOT_SHOWN, PAGE_DEFAULT, PAGE_MAX};
use engine::matches::entry::Face;
use engine::rows::{Bot, OwnedBot};
use node::clock::random_bytes;
use std::collections::HashMap;
use store::{BotFilter, Reader, StoreError};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use wire::api::{CreateSnake, PublicSnake, Snake, SnakeLeaderboard, SnakeProfile, UpdateSnake};
use wire::time::Timestamp;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_snakes, create_snake))
        .routes(routes!(get_snake, update_snake, delete_snake))
        .routes(routes!(list_public_snakes))
        .routes(routes!(get_profile))
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
    match app.node.store.commit(Command::CreateBot(bot.clone())).await? {
        Outcome::Done => {}
        Outcome::NotFound => return Err(ApiError::NotFound(Resource::Account)),
        refusal => return Err(ApiError::from_outcome(&refusal, Resource::Snake)),
    }
    Ok((StatusCode::CREATED, Json(view(bot, None))))
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
    let read = app.node.store.read(move |reader| {
        let bots = reader.bots(&filter)?;
        let faces = faces(reader, bots.iter())?;
        Ok((bots, faces))
    });
    let (bots, mut faces) = read.await?;
    let page = Page::new("/api/snakes", "", bots, limit, |bot| Some(bot.id));
    Ok(page.response(|bot| {
        let face = faces.remove(&bot.id);
        view(bot, face.as_ref())
    }))
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
    let bot = find_own_bot(&app, caller.account, id).await?;
    view_with_face(&app, bot).await.map(Json)
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
    view_with_face(&app, bot).await.map(Json)
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

/// List public snakes of all accounts, newest first
#[utoipa::path(get, path = "/api/snakes/public", tag = "snakes", params(PageQuery), responses(
    (status = 200, description = "A page of snakes, 20 when no limit is given.", body = Vec<PublicSnake>, headers(("Link" = String, description = "The next page's URL, if there is one"))),
))]
async fn list_public_snakes(
    State(app): State<App>,
    QueryParams(query): QueryParams<PageQuery>,
) -> ApiResult<ListResponse<PublicSnake>> {
    let (limit, before) = (query.limit(PAGE_DEFAULT)?, query.after()?);
    let read = app.node.store.read(move |reader| {
        let bots = reader.public_bots(before, limit + 1)?;
        let faces = faces(reader, bots.iter().map(|owned| &owned.bot))?;
        Ok((bots, faces))
    });
    let (bots, faces) = read.await?;
    let page = Page::new("/api/snakes/public", "", bots, limit, |owned| Some(owned.bot.id));
    Ok(page.response(|owned| public(&owned, faces.get(&owned.bot.id))))
}

/// Get what a snake's page shows of it
///
/// Of a public snake for everybody, of a private one for its owner and operators.
#[utoipa::path(get, path = "/api/snakes/{id}/profile", tag = "snakes", security((), ("bearer" = [])), params(("id" = String, Path)), responses(
    (status = 200, description = "The snake.", body = SnakeProfile),
    (status = 404, description = "There is no such snake, or it is another account's and private."),
))]
async fn get_profile(
    State(app): State<App>,
    MaybePrincipal(principal): MaybePrincipal,
    PathId(id): PathId<BotId>,
) -> ApiResult<Json<SnakeProfile>> {
    let account = principal.as_ref().and_then(Principal::account).map(|caller| caller.account);
    let is_operator = principal.as_ref().is_some_and(Principal::is_operator);
    let profile = app.node.store.read(move |reader| {
        let Some(owned) = reader.bots_with_owners(&[id])?.into_iter().next() else { return Ok(None) };
        let is_own = account == Some(owned.bot.account);
        if !owned.bot.is_public && !is_own && !is_operator {
            return Ok(None);
        }
        let mut leaderboards = Vec::new();
        for (ladder, entry) in reader.ladders().ladders_of_bot(id, LADDERS_OF_BOT_SHOWN)? {
            if ladder.is_public || is_own || is_operator {
                leaderboards.push(leaderboard(reader, ladder, &entry)?);
            }
        }
        let faces = faces(reader, [&owned.bot].into_iter())?;
        let snake = public(&owned, faces.get(&id));
        Ok(Some(SnakeProfile { snake, is_public: owned.bot.is_public, is_own, leaderboards }))
    });
    profile.await?.map(Json).ok_or(ApiError::NotFound(Resource::Snake))
}

fn leaderboard(
    reader: &mut dyn Reader,
    ladder: CompetitionRow,
    entry: &LadderEntry,
) -> Result<SnakeLeaderboard, StoreError> {
    let record = &entry.record;
    let rank = if entry.is_active && record.is_ranked() {
        let at = RankingCursor::of(entry, RankingOrder::Rating);
        Some(reader.ladders().ladder_rank(ladder.id, entry.season, at)? + 1)
    } else {
        None
    };
    Ok(SnakeLeaderboard {
        id: ladder.id.to_string(),
        name: ladder.name,
        active: entry.is_active,
        rank,
        rating: record.rating.display_score(),
        games_played: record.games,
        first_place_finishes: record.first_places,
        min_games: LADDER_MIN_GAMES,
    })
}

/// How these bots looked in their last matches.
fn faces<'b>(reader: &mut dyn Reader, bots: impl Iterator<Item = &'b Bot>) -> Result<HashMap<BotId, Face>, StoreError> {
    let ids: Vec<BotId> = bots.map(|bot| bot.id).collect();
    Ok(reader.bot_faces(&ids)?.into_iter().collect())
}

async fn view_with_face(app: &App, bot: Bot) -> ApiResult<Snake> {
    let id = bot.id;
    let faces = app.node.store.read(move |reader| reader.bot_faces(&[id])).await?;
    Ok(view(bot, faces.first().map(|(_, face)| face)))
}

fn public(owned: &OwnedBot, looks: Option<&Face>) -> PublicSnake {
    PublicSnake {
        id: owned.bot.id.to_string(),
        name: owned.bot.name.clone(),
        owner: owned.owner.clone(),
        created_at: Timestamp(owned.bot.created_at.0),
        face: looks.map(face),
    }
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

pub(super) fn view(bot: Bot, looks: Option<&Face>) -> Snake {
    Snake {
        id: bot.id.to_string(),
        name: bot.name,
        url: bot.url,
        is_public: bot.is_public,
        created_at: Timestamp(bot.created_at.0),
        updated_at: Timestamp(bot.updated_at.0),
        face: looks.map(face),
    }
}
