//! The lobby: hunts are listed, created, joined, left and ended here.

use super::{create, view};
use crate::app::App;
use crate::extract::{JsonBody, PathId, QueryParams};
use crate::pagination::{ListResponse, Page, PageQuery, readable_rows};
use crate::problem::{ApiError, ApiResult, HuntRefusal, Resource};
use crate::quota::QuotaSubject;
use crate::stories::extract::ActingPlayer;
use crate::worlds::viewer::Viewer;
use crate::worlds::{read, terminate_world};
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderName, StatusCode, header};
use engine::commands::{Command, Outcome, WorldCommand};
use engine::ids::{PlayerId, WorldName};
use engine::limits::PAGE_DEFAULT;
use engine::rows::{Admission, HuntCursor, WorldEntry, WorldKind, WorldRow};
use quotas::{LiveHunt, QuotaExceeded};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use wire::api::{CreateHunt, HuntState, HuntView};
use worlds::VisitError;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_hunts, create_hunt))
        .routes(routes!(get_hunt, end_hunt))
        .routes(routes!(join_hunt))
        .routes(routes!(leave_hunt))
}

/// List hunts that are not over, the one that ends last first
///
/// Hunts of matched players are listed for operators only: a ticket names its hunt.
#[utoipa::path(get, path = "/api/hunts", tag = "hunts", security((), ("bearer" = [])), params(PageQuery), responses(
    (status = 200, description = "A page of hunts, 20 when no limit is given.", body = Vec<HuntView>, headers(("Link" = String, description = "Where the next page is, if there is one"))),
))]
async fn list_hunts(
    State(app): State<App>,
    viewer: Viewer,
    QueryParams(page): QueryParams<PageQuery>,
) -> ApiResult<ListResponse<HuntView>> {
    let (limit, before, now) = (page.limit(PAGE_DEFAULT)?, page.after::<HuntCursor>()?, app.node.clock.now());
    let with_matched = viewer.is_operator;
    let read = app.node.store.read(move |reader| reader.hunt_lobby(before, limit + 1, with_matched, now));
    let cursor = |entry: &WorldEntry| Some(HuntCursor::of(&entry.row));
    let Page { rows, link } = Page::new("/api/hunts", "", read.await?, limit, cursor);
    Ok((link, Json(readable_rows(rows.into_iter().map(view::hunt)))))
}

/// Create a hunt
///
/// **Who:** anyone with a player's or a guest's token; at most eight that are not over, and as many as allowed by the clients of one address.
/// The creator has joined it. It is a world of its own: `/api/worlds/{name}/socket` connects to it. It ends early when its creator leaves and
/// no other player has joined, or when no player was in it for half an hour (`quotas.unjoined_ms`).
#[utoipa::path(post, path = "/api/hunts", tag = "hunts", security(("bearer" = []), ("cookie" = [])), request_body = CreateHunt, responses(
    (status = 201, description = "The hunt.", body = HuntState, headers(("Location" = String, description = "The hunt's path"))),
    (status = 409, description = "`duplicate_name`; `too_many`: the caller has as many that are not over as allowed"),
    (status = 429, description = "`address_quota`: clients of this address have as many hunts, or cells in them, as one address may have, or may create in an hour; `your_share`: the hunt could not be entered now, as this server's memory is full, and clients of no other address hold more of it; or a rate limit. `Retry-After` says when to try again."),
    (status = 503, description = "`server_full`: there are as many hunts as this server accepts; `worlds_full`: the hunt could not be entered now, as this server's memory is full"),
))]
async fn create_hunt(
    State(app): State<App>,
    player: ActingPlayer,
    quota_subject: QuotaSubject,
    JsonBody(request): JsonBody<CreateHunt>,
) -> ApiResult<(StatusCode, [(HeaderName, String); 1], Json<HuntState>)> {
    let (now, creator) = (app.node.clock.now(), player.player());
    let new_hunt = create::parse_new_hunt(&request, creator, now)?;
    let cells = new_hunt.settings.size.cells();
    let row = hunts::hunt_row(new_hunt, now);
    app.worlds.check_room(&row, quota_subject.address, app.node.clock.steady_us())?;
    check_name_is_free(&app, row.name.clone()).await?;
    charge_quota(&app, quota_subject, LiveHunt { id: row.id, ends_at: row.ends_at.unwrap_or(now), cells }).await?;
    let saved = save_hunt(&app, &row, creator).await;
    // If it is unknown whether it was saved, it does not count; the store enforces the creator's own limit.
    saved.inspect_err(|_| app.quotas.release_hunt(row.id))?;
    let path = format!("/api/hunts/{}", row.name);
    let state = hunt_state(&app, WorldEntry { row, owner: None, players: 1 }, Some(creator)).await?;
    Ok((StatusCode::CREATED, [(header::LOCATION, path)], Json(state)))
}

/// Before the hour's quota is charged: it counts what is created. The commit is what decides.
async fn check_name_is_free(app: &App, name: WorldName) -> ApiResult<()> {
    let now = app.node.clock.now();
    match app.node.store.read(move |reader| reader.world_named(&name, now)).await? {
        None => Ok(()),
        Some(_) => Err(ApiError::DuplicateName(Resource::Hunt)),
    }
}

async fn save_hunt(app: &App, row: &WorldRow, creator: PlayerId) -> ApiResult<()> {
    let ensure = WorldCommand::Ensure { row: row.clone(), members: vec![creator] };
    match app.node.store.commit(Command::World(ensure)).await? {
        Outcome::World(known) if known.id == row.id => Ok(()),
        Outcome::World(_) => Err(ApiError::DuplicateName(Resource::Hunt)),
        Outcome::LimitReached => Err(HuntRefusal::TooManyOfCreator.into()),
        refusal => Err(ApiError::from_outcome(&refusal, Resource::Hunt)),
    }
}

/// Charges a new hunt to its address. Before a refusal, hunts of the address that have ended early are released.
async fn charge_quota(app: &App, quota_subject: QuotaSubject, hunt: LiveHunt) -> ApiResult<()> {
    let try_again = || app.quotas.charge_hunt(quota_subject.address, hunt, app.node.clock.now(), app.limits.now());
    match (try_again(), quota_subject.address) {
        (Err(QuotaExceeded { is_hourly: false, .. }), Some(address)) => {
            let (ids, now) = (app.quotas.hunts_of(address), app.node.clock.now());
            let over = app.node.store.read(move |reader| {
                let mut over = Vec::new();
                for id in ids {
                    // One that is not there is still being saved.
                    if reader.world(id, now)?.is_some_and(|entry| entry.row.is_over(now)) {
                        over.push(id);
                    }
                }
                Ok(over)
            });
            over.await?.into_iter().for_each(|id| app.quotas.release_hunt(id));
            let charged = try_again();
            Ok(charged.inspect_err(|exceeded| app.quotas.record_exceeded(exceeded.kind))?)
        }
        (charged, _) => Ok(charged?),
    }
}

/// Get a hunt
#[utoipa::path(get, path = "/api/hunts/{name}", tag = "hunts", security((), ("bearer" = [])), params(("name" = String, Path)), responses(
    (status = 200, description = "The hunt.", body = HuntState),
))]
async fn get_hunt(
    State(app): State<App>,
    viewer: Viewer,
    PathId(name): PathId<WorldName>,
) -> ApiResult<Json<HuntState>> {
    let entry = known(&app, &viewer, name).await?;
    hunt_state(&app, entry, viewer.player).await.map(Json)
}

/// Join a hunt
///
/// **Who:** anyone with a player's or a guest's token. **When:** until it is over, while there is room. Joining again changes nothing.
#[utoipa::path(post, path = "/api/hunts/{name}/join", tag = "hunts", security(("bearer" = []), ("cookie" = [])), params(("name" = String, Path)), responses(
    (status = 200, description = "The hunt, joined.", body = HuntState),
    (status = 409, description = "`hunt_full`, `hunt_not_open`"),
))]
async fn join_hunt(
    State(app): State<App>,
    player: ActingPlayer,
    viewer: Viewer,
    PathId(name): PathId<WorldName>,
) -> ApiResult<Json<HuntState>> {
    let entry = known(&app, &viewer, name.clone()).await?;
    let join = WorldCommand::Join { id: entry.row.id, player: player.player(), now: app.node.clock.now() };
    match app.node.store.commit(Command::World(join)).await? {
        Outcome::Done => hunt_state(&app, find_hunt(&app, name).await?, Some(player.player())).await.map(Json),
        Outcome::LimitReached => Err(ApiError::Hunt(HuntRefusal::Full)),
        Outcome::NotOpen => Err(ApiError::Hunt(HuntRefusal::NotOpen)),
        refusal => Err(ApiError::from_outcome(&refusal, Resource::Hunt)),
    }
}

/// Leave a hunt
///
/// **Who:** players who have joined. Their results remain; a player who is in the world is taken out, and the connection ends. A hunt into
/// which only joined players may go ends when its creator leaves it and no other player has joined.
#[utoipa::path(post, path = "/api/hunts/{name}/leave", tag = "hunts", security(("bearer" = []), ("cookie" = [])), params(("name" = String, Path)), responses(
    (status = 200, description = "The hunt, left.", body = HuntState),
    (status = 409, description = "`not_joined`"),
    (status = 503, description = "`world_elsewhere`: the node that has the hunt cannot be reached, and nothing was done"),
    (status = 504, description = "`hunt_unanswered`: it is unknown whether the player has left. Leaving again is safe"),
))]
async fn leave_hunt(
    State(app): State<App>,
    player: ActingPlayer,
    viewer: Viewer,
    PathId(name): PathId<WorldName>,
) -> ApiResult<Json<HuntState>> {
    let entry = known(&app, &viewer, name.clone()).await?;
    // Only the node that has the hunt can take the player's mover out of it.
    if let Some(address) = read::other_node(&app, &entry) {
        return Err(VisitError::Elsewhere { address }.into());
    }
    let leave = WorldCommand::Leave { id: entry.row.id, player: player.player() };
    match app.node.store.commit(Command::World(leave)).await? {
        Outcome::Done => {
            app.worlds.remove_player(&name, player.player());
            let left = find_hunt(&app, name.clone()).await?;
            // Nobody but who has joined can be in such a hunt.
            let is_abandoned = left.players == 0 && left.row.admission == Admission::Joined;
            if is_abandoned && left.row.creator == Some(player.player()) {
                terminate_world(&app, &left.row, Resource::Hunt).await?;
            }
            hunt_state(&app, find_hunt(&app, name).await?, Some(player.player())).await.map(Json)
        }
        Outcome::NotFound => Err(ApiError::Hunt(HuntRefusal::NotJoined)),
        refusal => Err(ApiError::from_outcome(&refusal, Resource::Hunt)),
    }
}

/// End a hunt
///
/// **Who:** its creator, or an operator. It is over from now on, for all players in it; what was counted remains. Ending a hunt that is over
/// changes nothing.
#[utoipa::path(delete, path = "/api/hunts/{name}", tag = "hunts", security(("bearer" = []), ("cookie" = [])), params(("name" = String, Path)), responses(
    (status = 204, description = "It is over."),
    (status = 403, description = "`not_maker`: another player created it"),
    (status = 409, description = "`built_in`: the server creates it itself"),
))]
async fn end_hunt(
    State(app): State<App>,
    player: ActingPlayer,
    viewer: Viewer,
    PathId(name): PathId<WorldName>,
) -> ApiResult<StatusCode> {
    let row = known(&app, &viewer, name).await?.row;
    if !viewer.is_operator && row.creator != Some(player.player()) {
        return Err(HuntRefusal::NotCreator.into());
    }
    terminate_world(&app, &row, Resource::Hunt).await
}

/// The hunt of this name, if the viewer may know of it.
pub(super) async fn known(app: &App, viewer: &Viewer, name: WorldName) -> ApiResult<WorldEntry> {
    let entry = find_hunt(app, name).await?;
    viewer.require_visible(app, &entry.row, Resource::Hunt).await?;
    Ok(entry)
}

/// The hunt of this name.
pub(super) async fn find_hunt(app: &App, name: WorldName) -> ApiResult<WorldEntry> {
    let now = app.node.clock.now();
    let entry = app.node.store.read(move |reader| reader.world_named(&name, now)).await?;
    entry.filter(|entry| entry.row.kind == WorldKind::Hunt).ok_or(ApiError::NotFound(Resource::Hunt))
}

async fn hunt_state(app: &App, entry: WorldEntry, viewer: Option<PlayerId>) -> ApiResult<HuntState> {
    let id = entry.row.id;
    let has_joined = match viewer {
        None => None,
        Some(player) => Some(app.node.store.read(move |reader| reader.has_joined(id, player)).await?),
    };
    let is_over = entry.row.is_over(app.node.clock.now());
    let may_enter = !is_over && app.hunts.can_enter(&entry.row, viewer).await?;
    Ok(HuntState { hunt: view::hunt(entry)?, has_joined, may_enter })
}
