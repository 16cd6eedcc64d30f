//! Worlds created by operators, and bacteria added to them. Hunts are created by their players: see `hunts`.

use super::read::find_world;
use super::view;
use crate::app::App;
use crate::extract::{JsonBody, Operator, PathId};
use crate::problem::{ApiError, ApiResult, HuntRefusal, Resource};
use crate::world_options::{duration_or_default, number_or_default, parse_open_duration, validate};
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
use worlds::{self, HUNT, PLAZA, SowError, VisitError};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(create_world)).routes(routes!(end_world)).routes(routes!(sow_life))
}

/// Create a world
///
/// A grid to walk on, open to all players: `/api/worlds/{name}/socket` connects to it. It stays, unless the request sets how long it is open.
#[utoipa::path(post, path = "/api/worlds", tag = "worlds", security(("bearer" = []), ("cookie" = [])), request_body = CreateWorld, responses(
    (status = 201, description = "The world.", body = WorldView, headers(("Location" = String, description = "The world's path"))),
    (status = 409, description = "`duplicate_name`"),
    (status = 503, description = "`server_full`: there are as many worlds as allowed"),
))]
async fn create_world(
    State(app): State<App>,
    _: Operator,
    JsonBody(request): JsonBody<CreateWorld>,
) -> ApiResult<(StatusCode, [(HeaderName, String); 1], Json<WorldView>)> {
    let row = parse_world(&app, &request)?;
    let ensure = WorldCommand::Ensure { row: row.clone(), members: Vec::new() };
    match app.node.store.commit(Command::World(ensure)).await? {
        Outcome::World(existing) if existing.id == row.id => {}
        Outcome::World(_) => return Err(ApiError::DuplicateName(Resource::World)),
        refusal => return Err(ApiError::from_outcome(&refusal, Resource::World)),
    }
    let path = format!("/api/worlds/{}", row.name);
    let view = view::world(&app, find_world(&app, row.name).await?)?;
    Ok((StatusCode::CREATED, [(header::LOCATION, path)], Json(view)))
}

/// End a world
///
/// It is over from now on, for all players in it. Ending a world that is over changes nothing.
#[utoipa::path(delete, path = "/api/worlds/{world}", tag = "worlds", security(("bearer" = []), ("cookie" = [])), params(("world" = String, Path)), responses(
    (status = 204, description = "It is over."),
    (status = 409, description = "`built_in`: the server creates it itself"),
))]
async fn end_world(State(app): State<App>, _: Operator, PathId(name): PathId<WorldName>) -> ApiResult<StatusCode> {
    terminate_world(&app, &find_world(&app, name).await?.row, Resource::World).await
}

/// Ends a world now. Players in it are disconnected and, when they connect again, refused: at once if it is in this process's memory, with
/// its next commit if another node has it.
pub(crate) async fn terminate_world(app: &App, row: &WorldRow, resource: Resource) -> ApiResult<StatusCode> {
    if [HUNT, PLAZA].contains(&row.name.as_str()) {
        return Err(HuntRefusal::BuiltIn.into());
    }
    let end = WorldCommand::End { id: row.id, now: app.node.clock.now() };
    match app.node.store.commit(Command::World(end)).await? {
        Outcome::Done => {}
        refusal => return Err(ApiError::from_outcome(&refusal, resource)),
    }
    app.quotas.release_hunt(row.id);
    app.worlds.drop_world(&row.name);
    Ok(StatusCode::NO_CONTENT)
}

/// Add bacteria to a world
///
/// They live and die by the rules of Life from the next generation on. Cells with trees or movers stay empty.
#[utoipa::path(post, path = "/api/worlds/{world}/life", tag = "worlds", security(("bearer" = []), ("cookie" = [])),
    params(("world" = String, Path)), request_body = SowLife, responses(
    (status = 200, description = "How many were added.", body = SownLife),
    (status = 409, description = "`no_life`: the world was created without life"),
    (status = 503, description = "`world_elsewhere`, `world_busy`, `draining`"),
))]
async fn sow_life(
    State(app): State<App>,
    _: Operator,
    PathId(name): PathId<WorldName>,
    JsonBody(request): JsonBody<SowLife>,
) -> ApiResult<Json<SownLife>> {
    let cells = parse_cells(&request.cells)?;
    let world = app.worlds.visit(&name).await?;
    match world.sow(cells).await {
        Ok(sown) => Ok(Json(SownLife { sown })),
        Err(SowError::NoLife) => Err(ApiError::NoLife),
        Err(SowError::SendError(_)) => Err(VisitError::Busy.into()),
    }
}

fn parse_world(app: &App, request: &CreateWorld) -> ApiResult<WorldRow> {
    let name: WorldName =
        request.name.parse().map_err(|error| ApiError::bad_value("/name", format!("the name is {error}")))?;
    let open = request.open_ms.map(parse_open_duration).transpose()?;
    let row = worlds::world_row(app.node.clock.now(), name, WorldKind::World, &parse_settings(request)?);
    Ok(WorldRow { ends_at: open.map(|span| row.created_at.plus(span)), ..row })
}

fn parse_settings(request: &CreateWorld) -> ApiResult<WorldSettings> {
    let defaults = WorldSettings::default();
    validate(WorldSettings {
        size: Size {
            width: number_or_default(request.width, defaults.size.width),
            height: number_or_default(request.height, defaults.size.height),
        },
        tree_permille: number_or_default(request.tree_permille, defaults.tree_permille),
        sharing: if request.is_shared == Some(false) { Sharing::One } else { Sharing::Many },
        life: request.life.as_ref().map(parse_life),
        hunt: None,
        move_min: duration_or_default(request.move_min_ms, defaults.move_min),
    })
}

fn parse_life(request: &CreateLife) -> LifeSettings {
    let defaults = LifeSettings::default();
    LifeSettings {
        generation: duration_or_default(request.generation_ms, defaults.generation),
        start_permille: number_or_default(request.start_permille, defaults.start_permille),
    }
}

fn parse_cells(numbers: &[u16]) -> ApiResult<Vec<Cell>> {
    let (pairs, rest) = numbers.as_chunks::<2>();
    if !rest.is_empty() || !(1..=WORLD_SOW_CELLS_MAX).contains(&pairs.len()) {
        let reason = format!("cells must be x and y in turn, of 1 to {WORLD_SOW_CELLS_MAX} cells");
        return Err(ApiError::bad_value("/cells", reason));
    }
    Ok(pairs.iter().map(|[x, y]| Cell { x: *x, y: *y }).collect())
}
