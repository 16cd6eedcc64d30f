//! Lists of games, each from one index scan: the caller's own, those that accept players, those that are over.
//!
//! A list shows the same of a game to every viewer; hidden data is in none.

use super::extract::ViewingPlayer;
use crate::app::App;
use crate::extract::QueryParams;
use crate::pagination::{PageQuery, next_page_link, split_page};
use crate::problem::{ApiError, ApiResult};
use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use engine::limits::PAGE_DEFAULT;
use engine::rows::{GameCursor, GameRow, SeatedGame};
use serde::Deserialize;
use store::PlayerGamesFilter;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use wire::api::{StoryListed, StoryMine};
use wire::time::Timestamp;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(my_games)).routes(routes!(lobby)).routes(routes!(history))
}

/// Selects among the caller's own games.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
struct OwnGamesQuery {
    /// `live` or `ended`; `live` when absent.
    #[param(value_type = Option<String>)]
    state: Option<String>,
}

impl OwnGamesQuery {
    fn is_ended(&self) -> ApiResult<bool> {
        match self.state.as_deref() {
            None | Some("live") => Ok(false),
            Some("ended") => Ok(true),
            Some(_) => Err(ApiError::bad_value("state", "there is no such state: expected live or ended")),
        }
    }
}

/// List your own games, newest first
///
/// Games in which the caller is the storyteller, plays or is invited: live ones, or ended ones with whether the caller won.
#[utoipa::path(get, path = "/api/stories/my-games", tag = "stories", security(("bearer" = []), ("cookie" = [])), params(OwnGamesQuery, PageQuery), responses(
    (status = 200, description = "A page of games, 20 when no limit is given.", body = Vec<StoryMine>, headers(("Link" = String, description = "The next page's URL, if there is one"))),
))]
async fn my_games(
    State(app): State<App>,
    ViewingPlayer(viewer): ViewingPlayer,
    QueryParams(query): QueryParams<OwnGamesQuery>,
    QueryParams(page): QueryParams<PageQuery>,
) -> ApiResult<(HeaderMap, Json<Vec<StoryMine>>)> {
    let (player, is_ended) = (viewer.ok_or(ApiError::TokenMissing)?, query.is_ended()?);
    let (limit, before) = (page.limit(PAGE_DEFAULT)?, page.after()?);
    let filter = PlayerGamesFilter { player, is_ended, before, limit: limit + 1 };
    let games = app.store.read(move |reader| reader.story_games_of(&filter)).await?;
    let (games, has_more) = split_page(games, limit);
    let last = games.last().filter(|_| has_more).map(|seated| GameCursor::by_creation(&seated.game));
    let state = if is_ended { "state=ended&" } else { "state=live&" };
    let link = next_page_link("/api/stories/my-games", state, limit, last);
    Ok((link, Json(games.iter().map(own_game_view).collect())))
}

/// List games that accept players, newest first
///
/// All live games with a free seat, in `create` or `invitation`.
#[utoipa::path(get, path = "/api/stories/lobby", tag = "stories", params(PageQuery), responses(
    (status = 200, description = "A page of games, 20 when no limit is given.", body = Vec<StoryListed>, headers(("Link" = String, description = "The next page's URL, if there is one"))),
))]
async fn lobby(
    State(app): State<App>,
    ViewingPlayer(_): ViewingPlayer,
    QueryParams(page): QueryParams<PageQuery>,
) -> ApiResult<(HeaderMap, Json<Vec<StoryListed>>)> {
    let (limit, before) = (page.limit(PAGE_DEFAULT)?, page.after()?);
    let games = app.store.read(move |reader| reader.story_lobby(before, limit + 1)).await?;
    Ok(games_page("/api/stories/lobby", games, limit, |row| Some(GameCursor::by_creation(row))))
}

/// List games that are over, most recent first
#[utoipa::path(get, path = "/api/stories/history", tag = "stories", params(PageQuery), responses(
    (status = 200, description = "A page of games, 20 when no limit is given.", body = Vec<StoryListed>, headers(("Link" = String, description = "The next page's URL, if there is one"))),
))]
async fn history(
    State(app): State<App>,
    ViewingPlayer(_): ViewingPlayer,
    QueryParams(page): QueryParams<PageQuery>,
) -> ApiResult<(HeaderMap, Json<Vec<StoryListed>>)> {
    let (limit, before) = (page.limit(PAGE_DEFAULT)?, page.after()?);
    let games = app.store.read(move |reader| reader.story_history(before, limit + 1)).await?;
    Ok(games_page("/api/stories/history", games, limit, GameCursor::by_end))
}

fn games_page(
    path: &str,
    games: Vec<GameRow>,
    limit: usize,
    cursor: fn(&GameRow) -> Option<GameCursor>,
) -> (HeaderMap, Json<Vec<StoryListed>>) {
    let (games, has_more) = split_page(games, limit);
    let last = games.last().filter(|_| has_more).and_then(cursor);
    (next_page_link(path, "", limit, last), Json(games.iter().map(game_view).collect()))
}

fn game_view(row: &GameRow) -> StoryListed {
    StoryListed {
        id: row.id.to_string(),
        table: row.id.table.to_string(),
        phase: row.phase.name().to_owned(),
        storyteller: row.storyteller.to_string(),
        storyteller_name: row.storyteller_name.clone(),
        sentence: row.sentence.clone(),
        players: row.players,
        players_max: row.players_max,
        created_at: Timestamp(row.created_at.0),
        ended_at: row.ended_at.map(|at| Timestamp(at.0)),
    }
}

fn own_game_view(seated: &SeatedGame) -> StoryMine {
    StoryMine { game: game_view(&seated.game), role: seated.role.name().to_owned(), has_won: seated.is_won }
}
