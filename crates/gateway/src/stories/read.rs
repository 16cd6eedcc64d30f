//! Reads: a game, its history, a table.
//!
//! A live game is read from the memory of the table's owner, without a query to the store. One that has ended is derived from its
//! record, and loads no table.

use super::extract::ViewingPlayer;
use super::{event_view, view};
use crate::app::App;
use crate::extract::{Operator, PathId};
use crate::problem::{ApiError, ApiResult, Resource};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use engine::ids::{GameId, PlayerId, TableId};
use engine::rows::GameRow;
use engine::tables::{Action, GameRecord};
use std::fmt::Display;
use store::StoreError;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use wire::api::{StoryHistory, StoryState};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(get_game)).routes(routes!(game_history)).routes(routes!(get_table, close_table))
}

/// Get a game
///
/// Public; each viewer sees what they may know: the storyteller every hand, pick and vote, a player their own, a visitor (without a token)
/// none before the end.
#[utoipa::path(get, path = "/api/stories/games/{game}", tag = "stories", security((), ("bearer" = [])), params(("game" = String, Path)), responses(
    (status = 200, description = "The game, as the viewer sees it.", body = StoryState),
))]
async fn get_game(
    State(app): State<App>,
    ViewingPlayer(viewer): ViewingPlayer,
    PathId(id): PathId<GameId>,
) -> ApiResult<Json<StoryState>> {
    view_game(&app, id, viewer).await.map(Json)
}

/// The history of a game that is over
///
/// Events in order, as far as the viewer may know them. Events of a live game are in the table's feed.
#[utoipa::path(get, path = "/api/stories/games/{game}/history", tag = "stories", security((), ("bearer" = [])), params(("game" = String, Path)), responses(
    (status = 200, description = "The events.", body = StoryHistory),
    (status = 409, description = "`game_live`: it goes on"),
))]
async fn game_history(
    State(app): State<App>,
    ViewingPlayer(viewer): ViewingPlayer,
    PathId(id): PathId<GameId>,
) -> ApiResult<Json<StoryHistory>> {
    let (_, record) = load_game(&app, id).await?;
    let record = record.ok_or(ApiError::GameLive)?;
    let events = record.history(viewer).map_err(|error| corrupt_record_error(id, &error))?;
    let events = events.iter().map(|event| event_view::event(id.table, event)).collect();
    Ok(Json(StoryHistory { game: id.to_string(), events }))
}

/// Get a table
///
/// Public. Its last game, its members, who is present, and the viewer's position in its feed.
#[utoipa::path(get, path = "/api/stories/tables/{table}", tag = "stories", security((), ("bearer" = [])), params(("table" = String, Path)), responses(
    (status = 200, description = "The table, as the viewer sees it.", body = StoryState),
))]
async fn get_table(
    State(app): State<App>,
    ViewingPlayer(viewer): ViewingPlayer,
    PathId(table): PathId<TableId>,
) -> ApiResult<Json<StoryState>> {
    let seen = app.tables.view(table, viewer).await?;
    Ok(Json(view::state(&seen.view, &seen.online, None)))
}

/// End the game of a table
///
/// **Who:** operators. A live game is canceled (`closed`), and the table is unloaded once no one is present. Without a live game
/// nothing changes.
#[utoipa::path(delete, path = "/api/stories/tables/{table}", tag = "stories", security(("bearer" = []), ("cookie" = [])), params(("table" = String, Path)), responses(
    (status = 204, description = "No game is live there."),
))]
async fn close_table(
    State(app): State<App>,
    operator: Operator,
    PathId(table): PathId<TableId>,
) -> ApiResult<StatusCode> {
    app.tables.act(table, None, PlayerId::from(operator.0.account), Action::Close).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// A game, as this viewer sees it.
pub(super) async fn view_game(app: &App, id: GameId, viewer: Option<PlayerId>) -> ApiResult<StoryState> {
    if let Some(seen) = app.tables.view_if_loaded(id.table, viewer).await
        && is_game_shown(&seen.view, id)
    {
        return Ok(view::state(&seen.view, &seen.online, None));
    }
    let (_, record) = load_game(app, id).await?;
    if let Some(record) = record {
        return Ok(view::past_game(id, &record.view(viewer)));
    }
    let seen = app.tables.view(id.table, viewer).await?;
    if is_game_shown(&seen.view, id) {
        return Ok(view::state(&seen.view, &seen.online, None));
    }
    // The game has ended, and the table continued, between the two reads.
    let (_, record) = load_game(app, id).await?;
    record.map(|record| view::past_game(id, &record.view(viewer))).ok_or(ApiError::NotFound(Resource::Game))
}

fn is_game_shown(view: &engine::tables::TableView, id: GameId) -> bool {
    view.game.as_ref().is_some_and(|game| game.id == id)
}

/// Loads a game from the store: its row, and its record once it has ended.
async fn load_game(app: &App, id: GameId) -> ApiResult<(GameRow, Option<GameRecord>)> {
    let found = app.node.store.read(move |reader| reader.story_game(id)).await?;
    let (row, bytes) = found.ok_or(ApiError::NotFound(Resource::Game))?;
    let record = bytes.map(|bytes| GameRecord::from_bytes(&bytes)).transpose();
    Ok((row, record.map_err(|error| corrupt_record_error(id, &error))?))
}

fn corrupt_record_error(id: GameId, error: &dyn Display) -> StoreError {
    StoreError::Corrupt { why: format!("the record of game {id}: {error}") }
}
