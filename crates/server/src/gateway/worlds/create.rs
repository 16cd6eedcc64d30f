//! Worlds that an operator makes, and bacteria that are put into them. Hunts are made by those who play them: see `hunts`.

use super::read::find_world;
use super::view;
use crate::app::App;
use crate::gateway::auth::Operator;
use crate::gateway::extract::{JsonBody, PathId};
use crate::gateway::hunts::terminate_world;
use crate::gateway::problem::{ApiError, ApiResult, Resource};
use crate::gateway::world_options::{duration_or_default, number_or_default, parse_open_duration, validate};
use crate::worlds::{self, SowError, VisitError};
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderName, StatusCode, header};
use engine::commands::{Command, Outcome, WorldCommand};
use engine::ids::WorldName;
use engine::limits::WORLD_SOW_CELLS_MAX;
use engine::rows::{WorldKind, WorldRow};
use rules::world::{Cell, LifeSettings, Sharing, Size, WorldSettings};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use wire::api::{CreateLife, CreateWorld, SowLife, SownLife, WorldView};
use wire::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(create_world)).routes(routes!(end_world)).routes(routes!(sow_life))
}

/// Make a world
///
/// A grid to walk on, for everybody: `/api/worlds/{name}/socket` leads into it. It stays, unless it is said how long it is open.
#[utoipa::path(post, path = "/api/worlds", tag = "worlds", security(("bearer" = []), ("cookie" = [])), request_body = CreateWorld, responses(
    (status = 201, description = "The world.", body = WorldView, headers(("Location" = String, description = "Where the world is"))),
    (status = 409, description = "`duplicate_name`", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "`server_full`: there are as many worlds as there may be", body = Problem, content_type = "application/problem+json"),
))]
async fn create_world(
    State(app): State<App>,
    _: Operator,
    JsonBody(asked): JsonBody<CreateWorld>,
) -> ApiResult<(StatusCode, [(HeaderName, String); 1], Json<WorldView>)> {
    let row = parse_world(&app, &asked)?;
    let ensure = WorldCommand::Ensure { row: row.clone(), members: Vec::new() };
    match app.store.commit(Command::World(ensure)).await? {
        Outcome::World(known) if known.id == row.id => {}
        Outcome::World(_) => return Err(ApiError::DuplicateName(Resource::World)),
        refusal => return Err(ApiError::from_outcome(&refusal, Resource::World)),
    }
    let place = format!("/api/worlds/{}", row.name);
    let view = view::world(&app, find_world(&app, row.name).await?)?;
    Ok((StatusCode::CREATED, [(header::LOCATION, place)], Json(view)))
}

/// End a world
///
/// It is over from now on, for everybody in it. Ending one that is over changes nothing.
#[utoipa::path(delete, path = "/api/worlds/{world}", tag = "worlds", security(("bearer" = []), ("cookie" = [])), params(("world" = String, Path)), responses(
    (status = 204, description = "It is over."),
    (status = 404, description = "`no_such_world`", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "`built_in`: the server has it by itself", body = Problem, content_type = "application/problem+json"),
))]
async fn end_world(State(app): State<App>, _: Operator, PathId(name): PathId<WorldName>) -> ApiResult<StatusCode> {
    terminate_world(&app, &find_world(&app, name).await?.row, Resource::World).await
}

/// Put bacteria into a world
///
/// They live and die by Life's rules from the next generation on. Where trees or movers stand nothing is put.
#[utoipa::path(post, path = "/api/worlds/{world}/life", tag = "worlds", security(("bearer" = []), ("cookie" = [])),
    params(("world" = String, Path)), request_body = SowLife, responses(
    (status = 200, description = "How many were put.", body = SownLife),
    (status = 404, description = "`no_such_world`", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "`no_life`: the world was made without", body = Problem, content_type = "application/problem+json"),
    (status = 503, description = "`world_elsewhere`, `world_busy`, `draining`", body = Problem, content_type = "application/problem+json"),
))]
async fn sow_life(
    State(app): State<App>,
    _: Operator,
    PathId(name): PathId<WorldName>,
    JsonBody(asked): JsonBody<SowLife>,
) -> ApiResult<Json<SownLife>> {
    let cells = parse_cells(&asked.cells)?;
    let door = app.worlds.visit(&name).await?;
    match door.sow(cells).await {
        Ok(sown) => Ok(Json(SownLife { sown })),
        Err(SowError::NoLife) => Err(ApiError::NoLife),
        Err(SowError::SendError(_)) => Err(VisitError::Busy.into()),
    }
}

fn parse_world(app: &App, asked: &CreateWorld) -> ApiResult<WorldRow> {
    let name: WorldName =
        asked.name.parse().map_err(|error| ApiError::bad_value("/name", format!("the name is {error}")))?;
    let open = asked.open_ms.map(parse_open_duration).transpose()?;
    let row = worlds::world_row(app, name, WorldKind::World, &parse_settings(asked)?);
    Ok(WorldRow { ends_at: open.map(|span| row.created_at.plus(span)), ..row })
}

fn parse_settings(asked: &CreateWorld) -> ApiResult<WorldSettings> {
    let usual = WorldSettings::default();
    validate(WorldSettings {
        size: Size {
            width: number_or_default(asked.width, usual.size.width),
            height: number_or_default(asked.height, usual.size.height),
        },
        tree_permille: number_or_default(asked.tree_permille, usual.tree_permille),
        sharing: if asked.is_shared == Some(false) { Sharing::One } else { Sharing::Many },
        life: asked.life.as_ref().map(parse_life),
        hunt: None,
        move_min: duration_or_default(asked.move_min_ms, usual.move_min),
    })
}

fn parse_life(asked: &CreateLife) -> LifeSettings {
    let usual = LifeSettings::default();
    LifeSettings {
        generation: duration_or_default(asked.generation_ms, usual.generation),
        start_permille: number_or_default(asked.start_permille, usual.start_permille),
    }
}

fn parse_cells(numbers: &[u16]) -> ApiResult<Vec<Cell>> {
    let (pairs, rest) = numbers.as_chunks::<2>();
    if !rest.is_empty() || !(1..=WORLD_SOW_CELLS_MAX).contains(&pairs.len()) {
        let why = format!("cells must be x and y in turn, of 1 to {WORLD_SOW_CELLS_MAX} cells");
        return Err(ApiError::bad_value("/cells", why));
    }
    Ok(pairs.iter().map(|[x, y]| Cell { x: *x, y: *y }).collect())
}
