//! For operators: a season's ratings computed anew from its results, compared with what is stored and on request put right. One at a time in
//! a process: each reads all results of a season.

use super::SeasonQuery;
use crate::app::App;
use crate::audit_entry;
use crate::extract::{Operator, PathId, QueryParams};
use crate::pagination::query_flag;
use crate::problem::{ApiError, ApiResult, LeaderboardRefusal, Resource};
use arena::ladders::recompute::{RecomputeError, SeasonReport, recompute};
use axum::Json;
use axum::extract::State;
use engine::ids::CompetitionId;
use serde::Deserialize;
use wire::api::RatingsReport;

#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct RecomputeQuery {
    /// Whether what differs is put right; it is left as it is when absent.
    #[param(value_type = Option<bool>)]
    write: Option<String>,
}

/// Rate a season again from its results, and compare every row with what is stored
///
/// To the last bit, as `gauntlet ratings recompute` does, beside a server that goes on. The report is of what was found; with `write=true` it is
/// put right. A rating that was computed from what was wrong is refused
/// and computed again: one repair is enough. It goes on when the client leaves.
#[utoipa::path(post, path = "/api/admin/leaderboards/{id}/recompute", tag = "admin", security(("bearer" = []), ("cookie" = [])), params(("id" = String, Path), SeasonQuery, RecomputeQuery), responses(
    (status = 200, description = "What was found.", body = RatingsReport),
    (status = 404, description = "`no_such_leaderboard` or `no_such_season`"),
    (status = 503, description = "`recompute_running`: this process recomputes one already; `leaderboard_busy`: results were rated meanwhile, again and again"),
))]
pub(super) async fn recompute_ratings(
    State(app): State<App>,
    Operator(caller): Operator,
    PathId(id): PathId<CompetitionId>,
    QueryParams(season): QueryParams<SeasonQuery>,
    QueryParams(query): QueryParams<RecomputeQuery>,
) -> ApiResult<Json<RatingsReport>> {
    let (season, is_written) = (season.named()?, query_flag("write", query.write.as_deref())?);
    audit_entry::add_detail(format_args!("write:{is_written}"));
    let permit = app.recomputations.clone().try_acquire_owned().map_err(|_| LeaderboardRefusal::RecomputeRunning)?;
    let running = tokio::spawn(async move {
        let _permit = permit;
        let report = recompute(&app.node.store, id, season, is_written, app.node.clock.now()).await?;
        tracing::info!(ladder = %id, account = %caller.account, ?report, is_written, "an operator recomputed ratings");
        Ok::<_, RecomputeError>(report)
    });
    let report = running.await.map_err(|error| ApiError::Internal(format!("recomputing ladder {id}: {error}")))?;
    let SeasonReport { season, results, rated, compared, wrong } = report.map_err(refusal)?;
    let leaderboard_id = id.to_string();
    Ok(Json(RatingsReport {
        leaderboard_id,
        season,
        results,
        rated,
        compared,
        wrong,
        is_written: is_written && wrong > 0,
    }))
}

fn refusal(error: RecomputeError) -> ApiError {
    match error {
        RecomputeError::NotFound(_) => ApiError::NotFound(Resource::Leaderboard),
        RecomputeError::NoSuchSeason { season, current, .. } => {
            LeaderboardRefusal::NoSuchSeason { season, current }.into()
        }
        RecomputeError::Busy(_) => LeaderboardRefusal::Busy.into(),
        RecomputeError::Store(error) => error.into(),
    }
}
