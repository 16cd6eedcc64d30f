//! Public games, for everybody: those that run, those that have ended, and the result of one. A game is public if all of its snakes were when
//! it was created, or if its competition is. Private games stand in no list, and whether there is one of an id is not said.

use super::view;
use crate::app::App;
use crate::auth::Principal;
use crate::extract::{MaybePrincipal, PathId, QueryParams};
use crate::pagination::{ListResponse, Page, PageQuery};
use crate::problem::{ApiError, ApiResult, Resource};
use axum::Json;
use axum::extract::State;
use engine::ids::MatchId;
use engine::limits::PAGE_DEFAULT;
use engine::rows::{EndedMatchCursor, MatchRow};
use wire::api::PublicGame;

/// Public games that are being played, newest first
#[utoipa::path(get, path = "/api/games/live", tag = "spectators", params(PageQuery), responses(
    (status = 200, description = "A page of games, 20 when no limit is given.", body = Vec<PublicGame>, headers(("Link" = String, description = "The next page's URL, if there is one"))),
))]
pub(super) async fn live_games(
    State(app): State<App>,
    QueryParams(page): QueryParams<PageQuery>,
) -> ApiResult<ListResponse<PublicGame>> {
    let (limit, before) = (page.limit(PAGE_DEFAULT)?, page.after::<MatchId>()?);
    let rows = app.node.store.read(move |reader| reader.running_public_matches(before, limit + 1)).await?;
    let page = Page::new("/api/games/live", "", rows, limit, |row| Some(row.spec.id));
    Ok(page.response(|row| view::public(&row)))
}

/// Public games that are over, the last ended first
///
/// Also those that failed or were cancelled.
#[utoipa::path(get, path = "/api/games/recent", tag = "spectators", params(PageQuery), responses(
    (status = 200, description = "A page of games, 20 when no limit is given.", body = Vec<PublicGame>, headers(("Link" = String, description = "The next page's URL, if there is one"))),
))]
pub(super) async fn recent_games(
    State(app): State<App>,
    QueryParams(page): QueryParams<PageQuery>,
) -> ApiResult<ListResponse<PublicGame>> {
    let (limit, before) = (page.limit(PAGE_DEFAULT)?, page.after::<EndedMatchCursor>()?);
    let rows = app.node.store.read(move |reader| reader.ended_public_matches(before, limit + 1)).await?;
    let page = Page::new("/api/games/recent", "", rows, limit, cursor);
    Ok(page.response(|row| view::public(&row)))
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
    let sees_private = matches!(principal, Some(Principal::Account(_)));
    let row = app.node.store.read(move |reader| reader.match_by_id(id)).await?;
    let row = row.filter(|row| row.spec.is_public || sees_private).ok_or(ApiError::NotFound(Resource::Game))?;
    Ok(Json(view::public(&row)))
}
