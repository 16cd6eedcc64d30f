//! Lists of games, each from one index scan: the caller's own, those that accept players, those that are over.
//!
//! A list shows the same of a game to every viewer; hidden data is in none.

use super::extract::ViewingPlayer;
use crate::app::App;
use crate::extract::QueryParams;
use crate::pagination::{ListResponse, Page, PageQuery};
use crate::problem::{ApiError, ApiResult};
use axum::extract::State;
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
) -> ApiResult<ListResponse<StoryMine>> {
    let (player, is_ended) = (viewer.ok_or(ApiError::TokenMissing)?, query.is_ended()?);
    let (limit, before) = (page.limit(PAGE_DEFAULT)?, page.after()?);
    let filter = PlayerGamesFilter { player, is_ended, before, limit: limit + 1 };
    let games = app.node.store.read(move |reader| reader.story_games_of(&filter)).await?;
    let state = if is_ended { "state=ended&" } else { "state=live&" };
    let cursor = |seated: &SeatedGame| Some(GameCursor::by_creation(&seated.game));
    Ok(Page::new("/api/stories/my-games", state, games, limit, cursor).response(own_game_view))
}

/// List games that accept players, newest first
///
/// All live games with a free seat, in `create` or `invitation`.
#[utoipa::path(get, path = "/api/stories/lobby", tag = "stories", security((), ("bearer" = [])), params(PageQuery), responses(
    (status = 200, description = "A page of games, 20 when no limit is given.", body = Vec<StoryListed>, headers(("Link" = String, description = "The next page's URL, if there is one"))),
))]
async fn lobby(
    State(app): State<App>,
    ViewingPlayer(_): ViewingPlayer,
    QueryParams(page): QueryParams<PageQuery>,
) -> ApiResult<ListResponse<StoryListed>> {
    let (limit, before) = (page.limit(PAGE_DEFAULT)?, page.after()?);
    let games = app.node.store.read(move |reader| reader.story_lobby(before, limit + 1)).await?;
    let cursor = |row: &GameRow| Some(GameCursor::by_creation(row));
    Ok(Page::new("/api/stories/lobby", "", games, limit, cursor).response(game_view))
}

/// List games that are over, most recent first
#[utoipa::path(get, path = "/api/stories/history", tag = "stories", security((), ("bearer" = [])), params(PageQuery), responses(
    (status = 200, description = "A page of games, 20 when no limit is given.", body = Vec<StoryListed>, headers(("Link" = String, description = "The next page's URL, if there is one"))),
))]
async fn history(
    State(app): State<App>,
    ViewingPlayer(_): ViewingPlayer,
    QueryParams(page): QueryParams<PageQuery>,
) -> ApiResult<ListResponse<StoryListed>> {
    let (limit, before) = (page.limit(PAGE_DEFAULT)?, page.after()?);
    let games = app.node.store.read(move |reader| reader.story_history(before, limit + 1)).await?;
    Ok(Page::new("/api/stories/history", "", games, limit, GameCursor::by_end).response(game_view))
}

fn game_view(row: GameRow) -> StoryListed {
    StoryListed {
        id: row.id.to_string(),
        table: row.id.table.to_string(),
        phase: row.phase.name().to_owned(),
        storyteller: row.storyteller.to_string(),
        storyteller_name: row.storyteller_name,
        sentence: row.sentence,
        players: row.players,
        players_max: row.players_max,
        created_at: Timestamp(row.created_at.0),
        ended_at: row.ended_at.map(|at| Timestamp(at.0)),
    }
}

pub(crate) fn own_game_view(SeatedGame { game, role, is_won }: SeatedGame) -> StoryMine {
    StoryMine { game: game_view(game), role: role.name().to_owned(), has_won: is_won }
}
