//! A game and its frames, asked for in the ordinary way.

use super::tape::Tape;
use crate::app::App;
use crate::gateway::extract::{Id, Queried};
use crate::gateway::problem::{ApiError, ApiResult, Thing};
use axum::Json;
use axum::extract::State as Shared;
use engine::ids::MatchId;
use engine::limits::FRAMES_PAGE_MAX;
use engine::matches::life::State;
use engine::matches::spec::MatchSpec;
use engine::rows::MatchRow;
use serde::Deserialize;
use std::ops::Range;
use store::{Reader, StoreError};

use wire::viewer::{Frame, FramesReply, Game, GameReply, RulesetName};

/// Which frames.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct FramesQuery {
    /// The first frame's turn; 0 when absent.
    offset: Option<u32>,
    /// At most so many frames, up to 100; 100 when absent.
    limit: Option<u32>,
}

/// A game, as the board viewer knows it.
#[utoipa::path(
    get, path = "/api/games/{id}", tag = "spectators",
    params(("id" = String, Path, description = "Id of the game")),
    responses(
        (status = 200, description = "The game", body = GameReply),
        (status = 404, description = "`no_such_game`", body = wire::problem::Problem, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn show_game(Shared(app): Shared<App>, Id(id): Id<MatchId>) -> ApiResult<Json<GameReply>> {
    let row = app.store.read(move |reader| reader.match_by_id(id)).await?.ok_or(ApiError::Missing(Thing::Game))?;
    Ok(Json(GameReply { game: game(&row.spec, row.status.state) }))
}

/// A page of a game's frames; frame n is the board after turn n.
#[utoipa::path(
    get, path = "/api/games/{id}/frames", tag = "spectators",
    params(("id" = String, Path, description = "Id of the game"), FramesQuery),
    responses(
        (status = 200, description = "The frames", body = FramesReply),
        (status = 400, description = "`bad_value`", body = wire::problem::Problem, content_type = "application/problem+json"),
        (status = 404, description = "`no_such_game`", body = wire::problem::Problem, content_type = "application/problem+json"),
    ),
)]
pub(crate) async fn list_frames(
    Shared(app): Shared<App>,
    Id(id): Id<MatchId>,
    Queried(query): Queried<FramesQuery>,
) -> ApiResult<Json<FramesReply>> {
    let limit = query.limit.unwrap_or(FRAMES_PAGE_MAX as u32);
    if limit as usize > FRAMES_PAGE_MAX {
        return Err(ApiError::bad_value("limit", format!("limit is {limit}; at most {FRAMES_PAGE_MAX} frames a page")));
    }
    let from = query.offset.unwrap_or(0);
    let turns = from..from.saturating_add(limit);
    let found = app.store.read(move |reader| {
        let Some(row) = reader.match_by_id(id)? else { return Ok(None) };
        frames_of(reader, row.spec, turns).map(Some)
    });
    let (count, frames) = found.await?.ok_or(ApiError::Missing(Thing::Game))?;
    Ok(Json(FramesReply { count, frames }))
}

/// All frames of a game.
///
/// # Errors
/// When the store does not answer, or the log does not replay.
pub async fn frames_for_details(app: &App, row: &MatchRow) -> Result<Vec<Frame>, StoreError> {
    let spec = row.spec.clone();
    Ok(app.store.read(move |reader| frames_of(reader, spec, 0..u32::MAX)).await?.1)
}

/// How many frames there are, and those of `turns`. A log is replayed from its beginning, but only these frames are drawn.
fn frames_of(reader: &mut dyn Reader, spec: MatchSpec, turns: Range<u32>) -> Result<(u32, Vec<Frame>), StoreError> {
    let id = spec.id;
    let corrupt = |why: String| StoreError::Corrupt { why: format!("match {id}: {why}") };
    let rows = reader.log(id, 0, usize::MAX)?.map(|page| page.rows).unwrap_or_default();
    let count = rows.last().map_or(0, |last| last.turns + 1);
    let mut tape = Tape::new(spec).map_err(|why| corrupt(why.to_string()))?;
    let mut frames = Vec::new();
    for row in rows {
        if row.turns >= turns.end {
            break;
        }
        if row.turns < turns.start {
            tape.skip(&row).map_err(|why| corrupt(why.to_string()))?;
            continue;
        }
        frames.extend(tape.play(&row).map_err(|why| corrupt(why.to_string()))?);
    }
    Ok((count, frames))
}

/// A game's description for viewers.
fn game(spec: &MatchSpec, state: State) -> Game {
    let status = match state {
        State::Waiting => "pending",
        State::Running => "running",
        State::Finished => "complete",
        State::Failed => "error",
        State::Cancelled => "stopped",
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
