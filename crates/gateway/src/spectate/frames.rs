//! A game and its frames over plain HTTP.

use super::replay_response::{ReplayRequest, frame_count};
use crate::app::App;
use crate::budget::BudgetOwner;
use crate::extract::{PathId, QueryParams};
use crate::pagination::clamped_number;
use crate::problem::{ApiError, ApiResult, Resource};
use axum::Json;
use axum::extract::State;
use axum::response::Response;
use engine::ids::MatchId;
use engine::limits::FRAMES_PAGE_MAX;
use engine::matches::lifecycle::MatchState;
use engine::matches::spec::MatchSpec;
use serde::Deserialize;
use wire::viewer::{FramesReply, Game, GameReply, RulesetName};

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct FramesQuery {
    /// The first frame's turn; 0 when absent. What is below 0 counts as 0.
    #[param(value_type = Option<u32>)]
    offset: Option<String>,
    /// At most so many frames; 100 when absent. More than 100 count as 100.
    #[param(value_type = Option<u32>, maximum = 100)]
    limit: Option<String>,
}

/// A game, as the board viewer knows it.
#[utoipa::path(
    get, path = "/api/games/{id}", tag = "spectators",
    params(("id" = String, Path, description = "Id of the game")),
    responses(
        (status = 200, description = "The game", body = GameReply),
    ),
)]
pub(crate) async fn show_game(State(app): State<App>, PathId(id): PathId<MatchId>) -> ApiResult<Json<GameReply>> {
    let row =
        app.node.store.read(move |reader| reader.match_by_id(id)).await?.ok_or(ApiError::NotFound(Resource::Game))?;
    Ok(Json(GameReply { game: game(&row.spec, row.status.state) }))
}

/// A page of a game's frames; frame n is the board after turn n.
#[utoipa::path(
    get, path = "/api/games/{id}/frames", tag = "spectators",
    params(("id" = String, Path, description = "Id of the game"), FramesQuery),
    responses(
        (status = 200, description = "The frames", body = FramesReply),
        (status = 400, description = "`bad_value`"),
        (status = 429, description = "`too_many_responses`: this address has as many large answers under way as it may have"),
        (status = 503, description = "`responses_full`: as many large answers are under way as may be"),
    ),
)]
pub(crate) async fn list_frames(
    State(app): State<App>,
    owner: BudgetOwner,
    PathId(id): PathId<MatchId>,
    QueryParams(query): QueryParams<FramesQuery>,
) -> ApiResult<Response> {
    let most = FRAMES_PAGE_MAX as u32;
    let limit = clamped_number("limit", query.limit.as_deref(), 0..=most, most)?;
    let from = clamped_number("offset", query.offset.as_deref(), 0..=u32::MAX, 0)?;
    let wanted = ReplayRequest::new(app, &owner)?;
    let row = wanted.find(id).await?;
    let head = FramesReply { count: frame_count(&row), frames: Vec::new() };
    wanted.respond_frames(&row, from..from.saturating_add(limit), &head).await
}

/// A game's description for viewers.
fn game(spec: &MatchSpec, state: MatchState) -> Game {
    let status = match state {
        MatchState::Waiting => "pending",
        MatchState::Running => "running",
        MatchState::Finished => "complete",
        MatchState::Failed => "error",
        MatchState::Cancelled => "stopped",
    };
    let ruleset = spec.rules.ruleset.name().to_owned();
    Game {
        id: spec.id.to_string(),
        status: status.to_owned(),
        width: spec.width,
        height: spec.height,
        ruleset: RulesetName { name: ruleset.clone() },
        ruleset_name: ruleset,
        rules_stages: spec.rules.stage_names().map(str::to_owned).collect(),
        snake_timeout: u32::from(spec.timeout_ms),
        source: "custom".to_owned(),
        map: spec.rules.map.name().to_owned(),
    }
}
