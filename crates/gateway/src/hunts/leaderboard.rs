//! What was counted: the leaderboard, rounds, totals; and the aggregator, for operators.

use super::{lobby, view};
use crate::app::App;
use crate::audit_entry;
use crate::extract::{JsonBody, Operator, PathId, QueryParams};
use crate::pagination::{ListResponse, Page, PageQuery};
use crate::problem::{ApiError, ApiResult, Resource};
use crate::worlds::viewer::Viewer;
use axum::Json;
use axum::extract::State;
use engine::ids::{PlayerId, WorldName};
use engine::limits::{PAGE_DEFAULT, WORLDS_MAX};
use engine::rows::{HunterCursor, HunterRow};
use hunts::entries_behind;
use std::str::FromStr;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use wire::api::{AggregatorView, HuntStatistics, HunterView, RoundView, SetAggregator};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(leaderboard))
        .routes(routes!(get_hunter))
        .routes(routes!(list_rounds))
        .routes(routes!(statistics))
        .routes(routes!(get_aggregator, set_aggregator))
}

/// The leaderboard: hunters, most points first
///
/// Players with a token, over all hunts. It follows the hunts after a moment, and later while the aggregator is paused.
#[utoipa::path(get, path = "/api/hunters", tag = "hunts", params(PageQuery), responses(
    (status = 200, description = "A page of hunters, 20 when no limit is given.", body = Vec<HunterView>, headers(("Link" = String, description = "Where the next page is, if there is one"))),
))]
async fn leaderboard(
    State(app): State<App>,
    QueryParams(page): QueryParams<PageQuery>,
) -> ApiResult<ListResponse<HunterView>> {
    let (limit, before) = (page.limit(PAGE_DEFAULT)?, page.after::<HunterCursor>()?);
    let rows = app.node.store.read(move |reader| reader.hunt_leaderboard(before, limit + 1)).await?;
    let cursor = |row: &HunterRow| Some(HunterCursor::of(row));
    Ok(Page::new("/api/hunters", "", rows, limit, cursor).response(view::hunter))
}

/// Get a hunter
#[utoipa::path(get, path = "/api/hunters/{player}", tag = "hunts", params(("player" = String, Path)), responses(
    (status = 200, description = "The player's results in all hunts.", body = HunterView),
    (status = 404, description = "`no_such_hunter`: nothing was counted for this player yet"),
))]
async fn get_hunter(State(app): State<App>, PathId(player): PathId<PlayerId>) -> ApiResult<Json<HunterView>> {
    let row = app.node.store.read(move |reader| reader.hunter(player)).await?;
    row.map(|row| Json(view::hunter(row))).ok_or(ApiError::NotFound(Resource::Hunter))
}

/// List rounds of a hunt that have ended, most recent first
#[utoipa::path(get, path = "/api/hunts/{name}/rounds", tag = "hunts", security((), ("bearer" = [])), params(("name" = String, Path), PageQuery), responses(
    (status = 200, description = "A page of rounds, 20 when no limit is given.", body = Vec<RoundView>, headers(("Link" = String, description = "Where the next page is, if there is one"))),
))]
async fn list_rounds(
    State(app): State<App>,
    viewer: Viewer,
    PathId(name): PathId<WorldName>,
    QueryParams(page): QueryParams<PageQuery>,
) -> ApiResult<ListResponse<RoundView>> {
    let (limit, before) = (page.limit(PAGE_DEFAULT)?, page.after::<RoundCursor>()?.map(|RoundCursor(number)| number));
    let id = lobby::known(&app, &viewer, name.clone()).await?.row.id;
    let rows = app.node.store.read(move |reader| reader.hunt_rounds(id, before, limit + 1)).await?;
    let path = format!("/api/hunts/{name}/rounds");
    Ok(Page::new(&path, "", rows, limit, |round| Some(round.number)).response(view::round))
}

/// The number of a round behind which a page begins.
struct RoundCursor(u32);

impl FromStr for RoundCursor {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        text.parse().map(Self).map_err(|_| "not the number of a round: use one that this list gave")
    }
}

/// Get the totals of all hunts
#[utoipa::path(get, path = "/api/hunts/statistics", tag = "hunts", responses(
    (status = 200, description = "The figures.", body = HuntStatistics),
))]
async fn statistics(State(app): State<App>) -> ApiResult<Json<HuntStatistics>> {
    // In this order: claims that were counted between the two reads are in the totals, and never missing from both.
    let read = app.node.store.read(|reader| Ok((reader.aggregation_lags(WORLDS_MAX)?, reader.hunt_totals()?)));
    let (behind, totals) = read.await?;
    Ok(Json(HuntStatistics {
        hunters: totals.hunters,
        points: totals.points,
        chests: totals.chests,
        power_ups: totals.power_ups,
        rounds: totals.rounds,
        claims_behind: entries_behind(&behind),
    }))
}

/// Get the aggregator of this process
#[utoipa::path(get, path = "/api/admin/aggregator", tag = "admin", security(("bearer" = []), ("cookie" = [])), responses(
    (status = 200, description = "Whether it counts, and what is left to be counted.", body = AggregatorView),
))]
async fn get_aggregator(State(app): State<App>, Operator(_): Operator) -> ApiResult<Json<AggregatorView>> {
    aggregator_view(&app).await.map(Json)
}

/// Pause or resume the aggregator of this process
///
/// Players notice nothing: claims are decided and saved without it. Claims that it has not counted are kept. It resumes by itself after six
/// hours, or when ten million claims wait, so that a forgotten pause does not fill the disk.
#[utoipa::path(post, path = "/api/admin/aggregator", tag = "admin", security(("bearer" = []), ("cookie" = [])), request_body = SetAggregator, responses(
    (status = 200, description = "The aggregator's state.", body = AggregatorView),
))]
async fn set_aggregator(
    State(app): State<App>,
    Operator(_): Operator,
    JsonBody(wanted): JsonBody<SetAggregator>,
) -> ApiResult<Json<AggregatorView>> {
    audit_entry::add_detail(if wanted.running { "resume" } else { "pause" });
    app.hunts.aggregator.set_enabled(wanted.running);
    tracing::info!(running = wanted.running, "an operator switched the aggregator");
    aggregator_view(&app).await.map(Json)
}

async fn aggregator_view(app: &App) -> ApiResult<AggregatorView> {
    let behind = app.node.store.read(|reader| reader.aggregation_lags(WORLDS_MAX)).await?;
    let aggregation = &app.hunts.aggregator;
    Ok(AggregatorView {
        running: aggregation.is_enabled(),
        claims_counted: *aggregation.subscribe_counted().borrow(),
        claims_behind: entries_behind(&behind),
        hunts_behind: behind.len() as u64,
    })
}
