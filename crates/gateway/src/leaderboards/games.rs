//! Games of a leaderboard that are kept: those under way, and those that have ended, rated or not.

use super::find;
use crate::app::App;
use crate::auth::{Caller, Principal};
use crate::extract::{MaybePrincipal, PathId, QueryParams};
use crate::games::{Related, public};
use crate::pagination::{ListResponse, Page, PageQuery, query_flag};
use crate::problem::ApiResult;
use axum::extract::State;
use engine::ids::{CompetitionId, MatchId};
use engine::limits::PAGE_DEFAULT;
use serde::Deserialize;
use wire::api::PublicGame;

#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct LiveQuery {
    /// `true`: only games that wait or run.
    #[param(value_type = Option<bool>)]
    live: Option<String>,
}

/// List the games of a leaderboard, newest first
///
/// Those that wait or run, and those that have ended. Games are deleted some time after their end, as all games are; ratings stay, and so does what
/// `…/entries/{snake}/games` lists.
#[utoipa::path(get, path = "/api/leaderboards/{id}/games", tag = "leaderboards", security((), ("bearer" = [])), params(("id" = String, Path), PageQuery, LiveQuery), responses(
    (status = 200, description = "A page of games, 20 when no limit is given.", body = Vec<PublicGame>, headers(("Link" = String, description = "The next page's URL, if there is one"))),
    (status = 404, description = "`no_such_leaderboard`: there is none that the caller may see."),
))]
pub(super) async fn list_leaderboard_games(
    State(app): State<App>,
    MaybePrincipal(caller): MaybePrincipal,
    PathId(id): PathId<CompetitionId>,
    QueryParams(page): QueryParams<PageQuery>,
    QueryParams(query): QueryParams<LiveQuery>,
) -> ApiResult<ListResponse<PublicGame>> {
    let (limit, before) = (page.limit(PAGE_DEFAULT)?, page.after::<MatchId>()?);
    let is_live = query_flag("live", query.live.as_deref())?;
    find(&app, caller.as_ref(), id).await?;
    let viewer = caller.as_ref().and_then(Principal::account).map(Caller::viewer);
    let read = app.node.store.read(move |reader| {
        let rows = reader.competition_matches(id, is_live, before, limit + 1)?;
        Ok((Related::read(reader, &rows, viewer)?, rows))
    });
    let (related, rows) = read.await?;
    let (path, filter) = (format!("/api/leaderboards/{id}/games"), if is_live { "live=true&" } else { "" });
    let page = Page::new(&path, filter, rows, limit, |row| Some(row.spec.id));
    Ok(page.response(|row| public(&row, &related)))
}
