//! Worlds over HTTP, for clients without a mover: lists, sections, density, statistics. Everything is read from the store or from a
//! world's last picture; no read waits for a writer, or loads a world.

use super::view;
use super::viewer::Viewer;
use crate::app::App;
use crate::client_address::ClientAddress;
use crate::extract::{PathId, QueryParams};
use crate::pagination::{ListResponse, Page, PageQuery, readable_rows};
use crate::problem::{ApiError, ApiResult, Resource};
use crate::stories::extract::ViewingPlayer;
use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use engine::ids::{WorldId, WorldName};
use engine::limits::PAGE_DEFAULT;
use engine::rows::WorldEntry;
use engine::worlds::{CellRect, Detail, Picture, PictureError};
use serde::Deserialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use wire::api::{WorldDensity, WorldSection, WorldStats, WorldView};
use worlds::{VisitError, WorldHandle};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_worlds))
        .routes(routes!(get_world))
        .routes(routes!(get_section))
        .routes(routes!(get_density))
        .routes(routes!(get_stats))
}

/// List worlds
///
/// Worlds that are not over and that the caller may enter: without a token those open to all players, with one also those that the caller
/// has joined or was matched for. `address` names the server that has the world, if that is another one.
#[utoipa::path(get, path = "/api/worlds", tag = "worlds", security((), ("bearer" = [])), params(PageQuery), responses(
    (status = 200, description = "A page of worlds, 20 when no limit is given.", body = Vec<WorldView>, headers(("Link" = String, description = "The next page's URL, if there is one"))),
))]
async fn list_worlds(
    State(app): State<App>,
    ViewingPlayer(viewer): ViewingPlayer,
    QueryParams(page): QueryParams<PageQuery>,
) -> ApiResult<ListResponse<WorldView>> {
    let (limit, after, now) = (page.limit(PAGE_DEFAULT)?, page.after::<WorldId>()?, app.node.clock.now());
    let entries = app.node.store.read(move |reader| reader.worlds(after, limit + 1, viewer, now)).await?;
    let Page { rows, link } = Page::new("/api/worlds", "", entries, limit, |entry| Some(entry.row.id));
    Ok((link, Json(readable_rows(rows.into_iter().map(|entry| view::world(&app, entry))))))
}

/// Get a world
#[utoipa::path(get, path = "/api/worlds/{world}", tag = "worlds", security((), ("bearer" = [])), params(("world" = String, Path, description = "Its name")), responses(
    (status = 200, description = "The world.", body = WorldView),
))]
async fn get_world(
    State(app): State<App>,
    viewer: Viewer,
    PathId(name): PathId<WorldName>,
) -> ApiResult<Json<WorldView>> {
    let entry = find_world(&app, name).await?;
    viewer.require_visible(&app, &entry.row, Resource::World).await?;
    view::world(&app, entry).map(Json)
}

/// A rectangle of a world; absent sides reach to the edge.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
struct RegionQuery {
    /// The leftmost column; 0 when absent.
    x: Option<u16>,
    /// The topmost row; 0 when absent.
    y: Option<u16>,
    /// Columns.
    w: Option<u16>,
    /// Rows.
    h: Option<u16>,
}

impl RegionQuery {
    fn region(&self) -> CellRect {
        let side = |side: Option<u16>| side.unwrap_or(u16::MAX);
        CellRect {
            x: self.x.unwrap_or_default(),
            y: self.y.unwrap_or_default(),
            width: side(self.w),
            height: side(self.h),
        }
    }
}

/// Get a section of a world
///
/// At most a tick old; at most 65,536 cells. For a hunt, `movers` and `items` are visible to operators only; a hunt of matched players is
/// visible to these players and operators only.
#[utoipa::path(get, path = "/api/worlds/{world}/sections", tag = "worlds", security((), ("bearer" = [])), params(("world" = String, Path), RegionQuery), responses(
    (status = 200, description = "The section's content.", body = WorldSection),
    (status = 409, description = "`world_asleep`: no player is in it"),
    (status = 503, description = "`world_elsewhere`: another server has it; `world_busy`: try again"),
))]
async fn get_section(
    State(app): State<App>,
    viewer: Viewer,
    client: ClientAddress,
    PathId(name): PathId<WorldName>,
    QueryParams(query): QueryParams<RegionQuery>,
) -> ApiResult<Response> {
    let (world, region) = (find_loaded(&app, &viewer, &name).await?, query.region());
    let detail = viewer.detail(&world.info().settings);
    let name_of_world = name.clone();
    let read = move |picture: &Picture| {
        let section = picture.section(region, detail).map_err(|error| region_error(&error))?;
        Ok(Json(view::section(&name_of_world, &section)).into_response())
    };
    read_picture(&app, &name, &world, client, read).await?
}

/// The size of bins.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
struct BinQuery {
    /// Cells on each side of a bin; the smallest allowed when absent: no side has more than 128 bins.
    bin: Option<u16>,
}

/// Get the density of movers
///
/// At most a tick old, in bins, row by row. For a hunt, everyone except operators gets a single bin: the whole world.
#[utoipa::path(get, path = "/api/worlds/{world}/density", tag = "worlds", security((), ("bearer" = [])), params(("world" = String, Path), RegionQuery, BinQuery), responses(
    (status = 200, description = "Movers by bin.", body = WorldDensity),
    (status = 409, description = "`world_asleep`: no player is in it"),
    (status = 503, description = "`world_elsewhere`: another server has it; `world_busy`: try again"),
))]
async fn get_density(
    State(app): State<App>,
    viewer: Viewer,
    client: ClientAddress,
    PathId(name): PathId<WorldName>,
    QueryParams(query): QueryParams<RegionQuery>,
    QueryParams(bins): QueryParams<BinQuery>,
) -> ApiResult<Json<WorldDensity>> {
    let world = find_loaded(&app, &viewer, &name).await?;
    let settings = &world.info().settings;
    let (region, bin) = match viewer.detail(settings) {
        Detail::Everything => (query.region(), bins.bin.unwrap_or_default()),
        Detail::Terrain => (CellRect::whole(settings.size), settings.size.width.max(settings.size.height)),
    };
    let read = move |picture: &Picture| picture.density(region, bin).map_err(|error| region_error(&error));
    let density = read_picture(&app, &name, &world, client, read).await??;
    Ok(Json(view::density(&name, density)))
}

/// Get the statistics of a world
#[utoipa::path(get, path = "/api/worlds/{world}/stats", operation_id = "get_world_stats", tag = "worlds", security((), ("bearer" = [])), params(("world" = String, Path)), responses(
    (status = 200, description = "Movers, inputs, claims, the round, and the built-in actors.", body = WorldStats),
    (status = 409, description = "`world_asleep`: no player is in it"),
    (status = 503, description = "`world_elsewhere`: another server has it; `world_busy`: try again"),
))]
async fn get_stats(
    State(app): State<App>,
    viewer: Viewer,
    PathId(name): PathId<WorldName>,
) -> ApiResult<Json<WorldStats>> {
    let world = find_loaded(&app, &viewer, &name).await?;
    let Some(picture) = world.picture().await else { return Err(not_loaded_error(&app, &name).await) };
    Ok(Json(view::stats(&name, &picture, world.queued_inputs(), app.worlds.actors(&name))))
}

pub(super) async fn find_world(app: &App, name: WorldName) -> ApiResult<WorldEntry> {
    let now = app.node.clock.now();
    let found = app.node.store.read(move |reader| reader.world_named(&name, now)).await?;
    found.ok_or(ApiError::NotFound(Resource::World))
}

/// A loaded world that the viewer may see; a world that is not loaded stays so.
async fn find_loaded(app: &App, viewer: &Viewer, name: &WorldName) -> ApiResult<WorldHandle> {
    if let Some(world) = app.worlds.loaded(name) {
        viewer.require_visible(app, &world.info().row, Resource::World).await?;
        return Ok(world);
    }
    let entry = find_world(app, name.clone()).await?;
    viewer.require_visible(app, &entry.row, Resource::World).await?;
    Err(not_in_memory(app, &entry))
}

/// Reads the world's newest picture, in the fair order of clients.
async fn read_picture<T: Send + 'static>(
    app: &App,
    name: &WorldName,
    world: &WorldHandle,
    client: ClientAddress,
    read: impl FnOnce(&Picture) -> T + Send + 'static,
) -> ApiResult<T> {
    match app.worlds.read_picture(world, client.address_key(), read).await {
        Some(read) => Ok(read),
        None => Err(not_loaded_error(app, name).await),
    }
}

/// Why there is no picture of a world that was loaded.
async fn not_loaded_error(app: &App, name: &WorldName) -> ApiError {
    if app.worlds.loaded(name).is_some() {
        return VisitError::Busy.into();
    }
    find_world(app, name.clone()).await.map_or_else(|error| error, |entry| not_in_memory(app, &entry))
}

fn not_in_memory(app: &App, entry: &WorldEntry) -> ApiError {
    match other_node(app, entry) {
        Some(address) => VisitError::Elsewhere { address }.into(),
        None => ApiError::WorldNotLoaded,
    }
}

/// The address of the other node that has this world, if one has.
pub(crate) fn other_node(app: &App, entry: &WorldEntry) -> Option<String> {
    let owner = entry.owner.as_ref().filter(|_| app.worlds.loaded(&entry.row.name).is_none())?;
    (!view::is_own_address(app, &owner.address)).then(|| owner.address.clone())
}

fn region_error(error: &PictureError) -> ApiError {
    let field = match error {
        PictureError::Section { .. } => "w",
        PictureError::Bins { .. } => "bin",
    };
    ApiError::bad_value(field, error.to_string())
}
