//! The early end of a hunt, or of another world: by whoever made it, by an operator, or because nobody is left in it.

use super::lobby::find_hunt;
use super::refusal::HuntRefusal;
use crate::app::App;
use crate::extract::PathId;
use crate::problem::{ApiError, ApiResult, Resource};
use crate::quota::QuotaSubject;
use crate::stories::extract::ActingPlayer;
use axum::extract::State;
use axum::http::StatusCode;
use engine::commands::{Command, Outcome, WorldCommand};
use engine::ids::WorldName;
use engine::rows::WorldRow;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use wire::problem::Problem;
use worlds::{HUNT, PLAZA};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(end_hunt))
}

/// End a hunt
///
/// **Who:** whoever made it, or an operator. It is over from now on, for everybody in it; what was counted stays. Ending one that is over
/// changes nothing.
#[utoipa::path(delete, path = "/api/hunts/{name}", tag = "hunts", security(("bearer" = []), ("cookie" = [])), params(("name" = String, Path)), responses(
    (status = 204, description = "It is over."),
    (status = 403, description = "`not_maker`: somebody else made it", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "`no_such_hunt`", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "`built_in`: the server has it by itself", body = Problem, content_type = "application/problem+json"),
))]
async fn end_hunt(
    State(app): State<App>,
    sitter: ActingPlayer,
    counted: QuotaSubject,
    PathId(name): PathId<WorldName>,
) -> ApiResult<StatusCode> {
    let row = find_hunt(&app, name).await?.row;
    if !counted.is_operator && row.creator != Some(sitter.player()) {
        return Err(HuntRefusal::NotCreator.into());
    }
    terminate_world(&app, &row, Resource::Hunt).await
}

/// Ends a world now. Whoever is in it is told to connect again, and then that it is over: at once where it is in this process's
/// memory, with the next thing that it saves where another node has it.
pub(crate) async fn terminate_world(app: &App, row: &WorldRow, thing: Resource) -> ApiResult<StatusCode> {
    if [HUNT, PLAZA].contains(&row.name.as_str()) {
        return Err(HuntRefusal::BuiltIn.into());
    }
    let end = WorldCommand::End { id: row.id, now: app.clock.now() };
    match app.store.commit(Command::World(end)).await? {
        Outcome::Done => {}
        refusal => return Err(ApiError::from_outcome(&refusal, thing)),
    }
    app.quotas.release_hunt(row.id);
    app.worlds.drop_world(&row.name);
    Ok(StatusCode::NO_CONTENT)
}
