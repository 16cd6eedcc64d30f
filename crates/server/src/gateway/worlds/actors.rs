//! Actors over HTTP: an operator lets movers of the house loose in a world, or sends them away.

use super::view;
use crate::app::App;
use crate::gateway::auth::Operator;
use crate::gateway::extract::{JsonBody, PathId};
use crate::gateway::problem::{ApiError, ApiResult};
use crate::worlds::actors::{ActorError, ActorPlan, ActorStats};
use axum::Json;
use axum::extract::State;
use engine::ids::WorldName;
use engine::limits::{ACTOR_PERIOD_MAX, ACTOR_PERIOD_MIN, ACTOR_START_DELAY_MAX};
use rules::world::Cell;
use std::time::Duration;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use wire::api::{SetActors, WorldActors};
use wire::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(set_actors))
}

/// Let actors loose in a world
///
/// Movers of the house, each with a timer of its own, whose every move is timed. Where some move already, those who come from now on
/// begin as it says, and all go on at its pace; a `count` of 0 sends all away. What they come to is in the world's `stats`.
#[utoipa::path(post, path = "/api/worlds/{world}/actors", tag = "worlds", security(("bearer" = []), ("cookie" = [])),
    params(("world" = String, Path)), request_body = SetActors, responses(
    (status = 200, description = "What they come to so far.", body = WorldActors),
    (status = 404, description = "`no_such_world`", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "`world_elsewhere`, `world_busy`, `draining`", body = Problem, content_type = "application/problem+json"),
))]
async fn set_actors(
    State(app): State<App>,
    _: Operator,
    PathId(name): PathId<WorldName>,
    JsonBody(wanted): JsonBody<SetActors>,
) -> ApiResult<Json<WorldActors>> {
    app.worlds.set_actors(&name, parse_plan(&wanted)?).await.map_err(|error| match error {
        ActorError::TooMany => ApiError::bad_value("/count", error.to_string()),
        ActorError::SpawnOutOfBounds(error) => ApiError::bad_value("/spawn", error.to_string()),
        ActorError::Visit(error) => error.into(),
    })?;
    let stats = app.worlds.actors(&name).unwrap_or_default();
    Ok(Json(view::actors(&ActorStats { planned: wanted.count, ..stats })))
}

fn parse_plan(wanted: &SetActors) -> ApiResult<ActorPlan> {
    let ms = |ms: u32| Duration::from_millis(ms.into());
    let (period, jitter) = (ms(wanted.period_ms.unwrap_or(1_000)), ms(wanted.jitter_ms));
    if !(ACTOR_PERIOD_MIN..=ACTOR_PERIOD_MAX).contains(&period) {
        let (least, most) = (ACTOR_PERIOD_MIN.as_millis(), ACTOR_PERIOD_MAX.as_millis());
        return Err(ApiError::bad_value("/period_ms", format!("a period is {least} to {most} ms")));
    }
    if jitter >= period {
        return Err(ApiError::bad_value("/jitter_ms", "a wait cannot become longer or shorter by more than itself"));
    }
    let start_delay = ms(wanted.start_delay_ms);
    if start_delay > ACTOR_START_DELAY_MAX {
        let why = format!("a pause between two actors is at most {} ms", ACTOR_START_DELAY_MAX.as_millis());
        return Err(ApiError::bad_value("/start_delay_ms", why));
    }
    let spawn = wanted.spawn.map(|cell| Cell { x: cell.x, y: cell.y });
    Ok(ActorPlan { count: wanted.count, start_delay, spawn, period, jitter })
}
