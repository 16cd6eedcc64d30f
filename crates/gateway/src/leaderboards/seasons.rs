//! Seasons that have ended, and what seats were worth.

use super::{SeasonQuery, find, view};
use crate::app::App;
use crate::extract::{MaybePrincipal, PathId, QueryParams};
use crate::pagination::{ListResponse, Page, PageQuery};
use crate::problem::{ApiError, ApiResult};
use axum::Json;
use axum::extract::State;
use engine::ids::CompetitionId;
use engine::ladders::season::SeasonEnd;
use engine::limits::PAGE_DEFAULT;
use std::str::FromStr;
use wire::api::{SeasonView, SeatView};

/// List the seasons that have ended, oldest first
#[utoipa::path(get, path = "/api/leaderboards/{id}/seasons", tag = "leaderboards", security((), ("bearer" = [])), params(("id" = String, Path), PageQuery), responses(
    (status = 200, description = "A page of seasons, 20 when no limit is given.", body = Vec<SeasonView>, headers(("Link" = String, description = "The next page's URL, if there is one"))),
))]
pub(super) async fn list_seasons(
    State(app): State<App>,
    MaybePrincipal(caller): MaybePrincipal,
    PathId(id): PathId<CompetitionId>,
    QueryParams(page): QueryParams<PageQuery>,
) -> ApiResult<ListResponse<SeasonView>> {
    let (limit, after) = (page.limit(PAGE_DEFAULT)?, page.after::<SeasonNumber>()?);
    let row = find(&app, caller.as_ref(), id).await?;
    // The log has one entry for each season, the first under 0.
    let from = after.map_or(0, |SeasonNumber(season)| season);
    let log = app.node.store.read(move |reader| reader.competition_log(id, from, limit + 1)).await?;
    let decode = |bytes: &Vec<u8>| {
        let decoded = SeasonEnd::decode(bytes);
        decoded.map_err(|error| ApiError::Internal(format!("the log of leaderboard {id}: {error}")))
    };
    let ends = log.iter().map(decode).collect::<ApiResult<Vec<_>>>()?;
    let path = format!("/api/leaderboards/{id}/seasons");
    Ok(Page::new(&path, "", ends, limit, |end| Some(end.season)).response(|end| view::season(&row, &end)))
}

/// The season behind which a page begins.
struct SeasonNumber(u32);

impl FromStr for SeasonNumber {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        text.parse().map(Self).map_err(|_| "not a season: use one that this list gave")
    }
}

/// List what the seats of a season were worth
#[utoipa::path(get, path = "/api/leaderboards/{id}/seats", tag = "leaderboards", security((), ("bearer" = [])), params(("id" = String, Path), SeasonQuery), responses(
    (status = 200, description = "One row for each seat that was rated.", body = Vec<SeatView>),
))]
pub(super) async fn list_seats(
    State(app): State<App>,
    MaybePrincipal(caller): MaybePrincipal,
    PathId(id): PathId<CompetitionId>,
    QueryParams(season): QueryParams<SeasonQuery>,
) -> ApiResult<Json<Vec<SeatView>>> {
    let row = find(&app, caller.as_ref(), id).await?;
    let season = season.of(&row)?;
    let seats = app.node.store.read(move |reader| reader.ladders().ladder_seats(id, season)).await?;
    Ok(Json(seats.into_iter().map(view::seat).collect()))
}
