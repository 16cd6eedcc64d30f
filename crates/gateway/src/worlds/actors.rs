//! Actors over HTTP: an operator starts built-in movers in a world, or removes them.

use super::view;
use crate::app::App;
use crate::extract::{JsonBody, Operator, PathId};
use crate::problem::{ApiError, ApiResult};
use axum::Json;
use axum::extract::State;
use engine::ids::WorldName;
use engine::limits::{ACTOR_PERIOD_MAX, ACTOR_PERIOD_MIN, ACTOR_START_DELAY_MAX};
use rules::world::Cell;
use std::time::Duration;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use wire::api::{SetActors, WorldActors};
use worlds::actors::{ActorError, ActorPlan, ActorStats};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(set_actors))
}

/// Set the actors of a world
///
/// Built-in movers, each with a timer of its own, whose every move is timed. Where actors move already, new ones start as the request says,
/// and all continue at its pace; a `count` of 0 removes all. Their statistics are in the world's `stats`.
#[utoipa::path(post, path = "/api/worlds/{world}/actors", tag = "worlds", security(("bearer" = []), ("cookie" = [])),
    params(("world" = String, Path)), request_body = SetActors, responses(
    (status = 200, description = "The statistics so far.", body = WorldActors),
    (status = 503, description = "`world_elsewhere`, `world_busy`, `draining`"),
))]
async fn set_actors(
    State(app): State<App>,
    _: Operator,
    PathId(name): PathId<WorldName>,
    JsonBody(request): JsonBody<SetActors>,
) -> ApiResult<Json<WorldActors>> {
    app.worlds.set_actors(&name, parse_plan(&request)?).await.map_err(|error| match error {
        ActorError::TooMany => ApiError::bad_value("/count", error.to_string()),
        ActorError::SpawnOutOfBounds(error) => ApiError::bad_value("/spawn", error.to_string()),
        ActorError::Visit(error) => error.into(),
    })?;
    let stats = app.worlds.actors(&name).unwrap_or_default();
    Ok(Json(view::actors(&ActorStats { planned: request.count, ..stats })))
}

fn parse_plan(request: &SetActors) -> ApiResult<ActorPlan> {
    let ms = |ms: u32| Duration::from_millis(ms.into());
    let (period, jitter) = (ms(request.period_ms.unwrap_or(1_000)), ms(request.jitter_ms));
    if !(ACTOR_PERIOD_MIN..=ACTOR_PERIOD_MAX).contains(&period) {
        let (least, most) = (ACTOR_PERIOD_MIN.as_millis(), ACTOR_PERIOD_MAX.as_millis());
        return Err(ApiError::bad_value("/period_ms", format!("a period is {least} to {most} ms")));
    }
    if jitter >= period {
        return Err(ApiError::bad_value("/jitter_ms", "the jitter of a period must be shorter than the period"));
    }
    let start_delay = ms(request.start_delay_ms);
    if start_delay > ACTOR_START_DELAY_MAX {
        let reason = format!("a pause between two actors is at most {} ms", ACTOR_START_DELAY_MAX.as_millis());
        return Err(ApiError::bad_value("/start_delay_ms", reason));
    }
    let spawn = request.spawn.map(|cell| Cell { x: cell.x, y: cell.y });
    Ok(ActorPlan { count: request.count, start_delay, spawn, period, jitter })
}
