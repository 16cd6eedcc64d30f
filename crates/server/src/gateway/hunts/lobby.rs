//! The lobby: hunts that can be played, made, joined and left.

use super::refusal::HuntRefusal;
use super::{create, show};
use crate::app::App;
use crate::gateway::extract::{Id, Json, Queried};
use crate::gateway::page::{PageQuery, cut, legible, link_to_next};
use crate::gateway::problem::{ApiError, ApiResult, Thing};
use crate::gateway::stories::who::{Looking, Sitter};
use crate::hunts;
use axum::Json as Answer;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use engine::commands::{Command, Outcome, WorldCommand};
use engine::ids::{PlayerId, WorldName};
use engine::limits::PAGE_DEFAULT;
use engine::rows::{HuntCursor, WorldEntry, WorldKind};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use wire::api::{CreateHunt, HuntState, HuntView};
use wire::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_hunts, create_hunt))
        .routes(routes!(get_hunt))
        .routes(routes!(join_hunt))
        .routes(routes!(leave_hunt))
}

/// List hunts that are not over, the one that ends last first
#[utoipa::path(get, path = "/api/hunts", tag = "hunts", params(PageQuery), responses(
    (status = 200, description = "A page of hunts, 20 when no limit is given.", body = Vec<HuntView>, headers(("Link" = String, description = "Where the next page is, if there is one"))),
))]
async fn list_hunts(
    State(app): State<App>,
    Queried(page): Queried<PageQuery>,
) -> ApiResult<(HeaderMap, Answer<Vec<HuntView>>)> {
    let (limit, before, now) = (page.limit(PAGE_DEFAULT)?, page.after::<HuntCursor>()?, app.clock.now());
    let entries = app.store.read(move |reader| reader.hunt_lobby(before, limit + 1, now)).await?;
    let (entries, has_more) = cut(entries, limit);
    let last = entries.last().filter(|_| has_more).map(|entry| HuntCursor::of(&entry.row));
    let hunts = legible(entries.into_iter().map(show::hunt));
    Ok((link_to_next("/api/hunts", "", limit, last), Answer(hunts)))
}

/// Make a hunt
///
/// **Who:** anybody with a player's or a guest's token; at most eight that are not over. The maker has joined it. It is a world of its
/// own: `/api/worlds/{name}/socket` leads into it.
#[utoipa::path(post, path = "/api/hunts", tag = "hunts", security(("bearer" = []), ("cookie" = [])), request_body = CreateHunt, responses(
    (status = 201, description = "The hunt.", body = HuntState, headers(("Location" = String, description = "Where the hunt is"))),
    (status = 409, description = "`duplicate_name`; `too_many`: of the caller's, or of the house's", body = Problem, content_type = "application/problem+json"),
))]
async fn create_hunt(
    State(app): State<App>,
    sitter: Sitter,
    Json(asked): Json<CreateHunt>,
) -> ApiResult<(StatusCode, [(HeaderName, String); 1], Answer<HuntState>)> {
    let (now, creator) = (app.clock.now(), sitter.player());
    let row = hunts::hunt(create::wanted(&asked, creator, now)?, now);
    let ensure = WorldCommand::Ensure { row: row.clone(), members: vec![creator] };
    match app.store.commit(Command::World(ensure)).await? {
        Outcome::WorldIs(known) if known.id == row.id => {}
        Outcome::WorldIs(_) => return Err(ApiError::DuplicateName(Thing::Hunt)),
        refusal => return Err(ApiError::refused(&refusal, Thing::Hunt)),
    }
    let place = format!("/api/hunts/{}", row.name);
    let state = state(&app, WorldEntry { row, owner: None, players: 1 }, Some(creator)).await?;
    Ok((StatusCode::CREATED, [(header::LOCATION, place)], Answer(state)))
}

/// Look at a hunt
#[utoipa::path(get, path = "/api/hunts/{name}", tag = "hunts", params(("name" = String, Path)), responses(
    (status = 200, description = "The hunt.", body = HuntState),
    (status = 404, description = "`no_such_hunt`", body = Problem, content_type = "application/problem+json"),
))]
async fn get_hunt(
    State(app): State<App>,
    Looking(viewer): Looking,
    Id(name): Id<WorldName>,
) -> ApiResult<Answer<HuntState>> {
    let entry = named(&app, name).await?;
    state(&app, entry, viewer).await.map(Answer)
}

/// Join a hunt
///
/// **Who:** anybody with a player's or a guest's token. **When:** until it is over, while there is room. Joining twice is joining.
#[utoipa::path(post, path = "/api/hunts/{name}/join", tag = "hunts", security(("bearer" = []), ("cookie" = [])), params(("name" = String, Path)), responses(
    (status = 200, description = "The hunt, joined.", body = HuntState),
    (status = 404, description = "`no_such_hunt`", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "`hunt_full`, `hunt_not_open`", body = Problem, content_type = "application/problem+json"),
))]
async fn join_hunt(State(app): State<App>, sitter: Sitter, Id(name): Id<WorldName>) -> ApiResult<Answer<HuntState>> {
    let entry = named(&app, name.clone()).await?;
    let join = WorldCommand::Join { id: entry.row.id, player: sitter.player(), now: app.clock.now() };
    match app.store.commit(Command::World(join)).await? {
        Outcome::Done => state(&app, named(&app, name).await?, Some(sitter.player())).await.map(Answer),
        Outcome::TooMany => Err(ApiError::Hunt(HuntRefusal::Full)),
        Outcome::NotOpen => Err(ApiError::Hunt(HuntRefusal::NotOpen)),
        refusal => Err(ApiError::refused(&refusal, Thing::Hunt)),
    }
}

/// Leave a hunt
///
/// **Who:** those who joined. What they did there stays theirs; who is in the world now stays until the connection ends.
#[utoipa::path(post, path = "/api/hunts/{name}/leave", tag = "hunts", security(("bearer" = []), ("cookie" = [])), params(("name" = String, Path)), responses(
    (status = 200, description = "The hunt, left.", body = HuntState),
    (status = 404, description = "`no_such_hunt`", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "`not_joined`", body = Problem, content_type = "application/problem+json"),
))]
async fn leave_hunt(State(app): State<App>, sitter: Sitter, Id(name): Id<WorldName>) -> ApiResult<Answer<HuntState>> {
    let entry = named(&app, name.clone()).await?;
    let leave = WorldCommand::Leave { id: entry.row.id, player: sitter.player() };
    match app.store.commit(Command::World(leave)).await? {
        Outcome::Done => state(&app, named(&app, name).await?, Some(sitter.player())).await.map(Answer),
        Outcome::Missing => Err(ApiError::Hunt(HuntRefusal::NotJoined)),
        refusal => Err(ApiError::refused(&refusal, Thing::Hunt)),
    }
}

/// The hunt of this name.
pub(super) async fn named(app: &App, name: WorldName) -> ApiResult<WorldEntry> {
    let now = app.clock.now();
    let entry = app.store.read(move |reader| reader.world_named(&name, now)).await?;
    entry.filter(|entry| entry.row.kind == WorldKind::Hunt).ok_or(ApiError::Missing(Thing::Hunt))
}

async fn state(app: &App, entry: WorldEntry, viewer: Option<PlayerId>) -> ApiResult<HuntState> {
    let id = entry.row.id;
    let has_joined = match viewer {
        None => None,
        Some(player) => Some(app.store.read(move |reader| reader.has_joined(id, player)).await?),
    };
    let is_over = entry.row.is_over(app.clock.now());
    let may_enter = !is_over && app.hunts.may_enter(&app.store, &entry.row, viewer).await?;
    Ok(HuntState { hunt: show::hunt(entry)?, has_joined, may_enter })
}
