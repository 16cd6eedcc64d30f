//! Public games, for everybody: those that run, those that have ended, and the result of one. A game is public if all of its snakes were when
//! it was created, or if its competition is. Private games stand in no list, and whether there is one of an id is not said.

use super::related::Related;
use super::view;
use crate::app::App;
use crate::auth::Caller;
use crate::extract::{MaybePrincipal, PathId, QueryParams};
use crate::pagination::{ListResponse, Page, PageQuery};
use crate::problem::{ApiError, ApiResult, Resource};
use axum::Json;
use axum::extract::State;
use engine::ids::MatchId;
use engine::limits::PAGE_DEFAULT;
use engine::rows::{EndedMatchCursor, MatchRow};
use rules::snake::Map;
use serde::Deserialize;
use wire::api::PublicGame;

/// Which public games a list shows.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct MapQuery {
    /// Only games on this map.
    map: Option<String>,
}

impl MapQuery {
    /// The map, and what of the query the next page's link repeats.
    fn parse(&self) -> ApiResult<(Option<Map>, String)> {
        let Some(name) = &self.map else { return Ok((None, String::new())) };
        let map = Map::from_name(name)
            .ok_or_else(|| ApiError::bad_value("map", "there is no such map: docs/maps.md names them"))?;
        Ok((Some(map), format!("map={}&", map.name())))
    }
}

/// Public games that are being played, newest first
#[utoipa::path(get, path = "/api/games/live", tag = "spectators", params(MapQuery, PageQuery), responses(
    (status = 200, description = "A page of games, 20 when no limit is given.", body = Vec<PublicGame>, headers(("Link" = String, description = "The next page's URL, if there is one"))),
))]
pub(super) async fn live_games(
    State(app): State<App>,
    QueryParams(query): QueryParams<MapQuery>,
    QueryParams(page): QueryParams<PageQuery>,
) -> ApiResult<ListResponse<PublicGame>> {
    let (limit, before) = (page.limit(PAGE_DEFAULT)?, page.after::<MatchId>()?);
    let (map, filter) = query.parse()?;
    let read = app.node.store.read(move |reader| {
        let rows = reader.running_public_matches(map, before, limit + 1)?;
        Ok((Related::read(reader, &rows, None)?, rows))
    });
    let (related, rows) = read.await?;
    let page = Page::new("/api/games/live", &filter, rows, limit, |row| Some(row.spec.id));
    Ok(page.response(|row| view::public(&row, &related)))
}

/// Public games that are over, the last ended first
///
/// Also those that failed or were cancelled.
#[utoipa::path(get, path = "/api/games/recent", tag = "spectators", params(MapQuery, PageQuery), responses(
    (status = 200, description = "A page of games, 20 when no limit is given.", body = Vec<PublicGame>, headers(("Link" = String, description = "The next page's URL, if there is one"))),
))]
pub(super) async fn recent_games(
    State(app): State<App>,
    QueryParams(query): QueryParams<MapQuery>,
    QueryParams(page): QueryParams<PageQuery>,
) -> ApiResult<ListResponse<PublicGame>> {
    let (limit, before) = (page.limit(PAGE_DEFAULT)?, page.after::<EndedMatchCursor>()?);
    let (map, filter) = query.parse()?;
    let read = app.node.store.read(move |reader| {
        let rows = reader.ended_public_matches(map, before, limit + 1)?;
        Ok((Related::read(reader, &rows, None)?, rows))
    });
    let (related, rows) = read.await?;
    let page = Page::new("/api/games/recent", &filter, rows, limit, cursor);
    Ok(page.response(|row| view::public(&row, &related)))
}

fn cursor(row: &MatchRow) -> Option<EndedMatchCursor> {
    row.status.ended_at.map(|ended_at| EndedMatchCursor { ended_at, id: row.spec.id })
}

/// A game's status, snakes and winner
///
/// Of a public game without a token; of every game with the token of an account.
#[utoipa::path(get, path = "/api/games/{id}/summary", tag = "spectators", security((), ("bearer" = [])), params(("id" = String, Path)), responses(
    (status = 200, description = "The game.", body = PublicGame),
    (status = 404, description = "There is no such game, or it is private."),
))]
pub(super) async fn game_summary(
    State(app): State<App>,
    MaybePrincipal(principal): MaybePrincipal,
    PathId(id): PathId<MatchId>,
) -> ApiResult<Json<PublicGame>> {
    let viewer = principal.and_then(|principal| principal.account()).map(Caller::viewer);
    let read = app.node.store.read(move |reader| {
        let row = reader.match_by_id(id)?.filter(|row| row.spec.is_public || viewer.is_some());
        row.map(|row| Ok((Related::read(reader, std::slice::from_ref(&row), viewer)?, row))).transpose()
    });
    let (related, row) = read.await?.ok_or(ApiError::NotFound(Resource::Game))?;
    Ok(Json(view::public(&row, &related)))
}
