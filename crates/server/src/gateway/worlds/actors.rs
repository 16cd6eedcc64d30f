//! Actors over HTTP: an operator lets movers of the house loose in a world, or sends them away.

use super::show;
use crate::app::App;
use crate::gateway::auth::Operator;
use crate::gateway::extract::{Id, Json};
use crate::gateway::problem::{ApiError, ApiResult};
use crate::worlds::actors::{ActorError, ActorStats, Plan};
use axum::Json as Answer;
use axum::extract::State;
use engine::ids::WorldName;
use rules::world::Cell;
use std::time::Duration;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use wire::api::{SetActors, WorldActors};
use wire::problem::Problem;

const PERIOD_MS: std::ops::RangeInclusive<u32> = 10..=3_600_000;
const START_DELAY_MS_MAX: u32 = 60_000;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(set_actors))
}

/// Let actors loose in a world
///
/// Movers of the house, each with a timer of its own, whose every move is timed. Where some move already only their number is
/// changed; 0 sends all away. What they come to is in the world's `stats`.
#[utoipa::path(post, path = "/api/worlds/{world}/actors", tag = "worlds", security(("bearer" = []), ("cookie" = [])),
    params(("world" = String, Path)), request_body = SetActors, responses(
    (status = 200, description = "What they come to so far.", body = WorldActors),
    (status = 404, description = "`no_such_world`", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "`world_elsewhere`, `world_busy`, `draining`", body = Problem, content_type = "application/problem+json"),
))]
async fn set_actors(
    State(app): State<App>,
    _: Operator,
    Id(name): Id<WorldName>,
    Json(wanted): Json<SetActors>,
) -> ApiResult<Answer<WorldActors>> {
    app.worlds.set_actors(&name, plan(&wanted)?).await.map_err(|error| match error {
        ActorError::TooMany => ApiError::bad_value("/count", error.to_string()),
        ActorError::Visit(error) => error.into(),
    })?;
    let stats = app.worlds.actors(&name).unwrap_or_default();
    Ok(Answer(show::actors(&ActorStats { planned: wanted.count, ..stats })))
}

fn plan(wanted: &SetActors) -> ApiResult<Plan> {
    let ms = |ms: u32| Duration::from_millis(ms.into());
    let period_ms = wanted.period_ms.unwrap_or(1_000);
    if !PERIOD_MS.contains(&period_ms) {
        let (least, most) = (PERIOD_MS.start(), PERIOD_MS.end());
        return Err(ApiError::bad_value("/period_ms", format!("a period is {least} to {most} ms")));
    }
    if wanted.jitter_ms >= period_ms {
        return Err(ApiError::bad_value("/jitter_ms", "a wait cannot become longer or shorter by more than itself"));
    }
    if wanted.start_delay_ms > START_DELAY_MS_MAX {
        let why = format!("a pause between two actors is at most {START_DELAY_MS_MAX} ms");
        return Err(ApiError::bad_value("/start_delay_ms", why));
    }
    Ok(Plan {
        start_delay: ms(wanted.start_delay_ms),
        spawn: wanted.spawn.map(|cell| Cell { x: cell.x, y: cell.y }),
        period: ms(period_ms),
        jitter: ms(wanted.jitter_ms),
        ..Plan::of(wanted.count)
    })
}
