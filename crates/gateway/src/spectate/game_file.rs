//! A finished game as a file to download. Public games are for everybody; private ones for the account that created the game, those that
//! owned its snakes then, and operators. To others there is no such game.

use super::replay_response::ReplayRequest;
use crate::app::App;
use crate::auth::Principal;
use crate::budget::BudgetOwner;
use crate::extract::{MaybePrincipal, PathId};
use crate::problem::{ApiError, ApiResult, Resource};
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use bot_client::view::View;
use engine::ids::MatchId;
use engine::matches::machine::MatchMachine;
use engine::matches::result::MatchResult;
use engine::matches::spec::MatchSpec;
use engine::rows::{MatchRow, Role};
use matches::spectate::GameFile;
use wire::viewer::GameFileResult;

/// A finished game as the official command line program writes it (`--output`)
///
/// Lines of JSON: the game; for each turn from 0 the request that a snake would get on that board; and at last
/// `{"winnerId", "winnerName", "isDraw"}`. `you` is the snake of the first seat. Of a public game without a token; of a private one for the
/// account that created it, for those that owned its snakes then, and for operators.
#[utoipa::path(
    get, path = "/api/games/{id}/jsonl", tag = "spectators", security((), ("bearer" = [])),
    params(("id" = String, Path, description = "Id of the game")),
    responses(
        (status = 200, description = "The file", body = String, content_type = "application/x-ndjson", headers(("Content-Disposition" = String, description = "`attachment` with a name for the file"))),
        (status = 404, description = "`no_such_game`: there is none, or it is private"),
        (status = 409, description = "`wrong_state`: it has not finished"),
        (status = 429, description = "`too_many_responses`: this address has as many large answers under way as it may have"),
        (status = 503, description = "`responses_full`: as many large answers are under way as may be"),
    ),
)]
pub(super) async fn download_game(
    State(app): State<App>,
    MaybePrincipal(principal): MaybePrincipal,
    owner: BudgetOwner,
    PathId(id): PathId<MatchId>,
) -> ApiResult<Response> {
    let wanted = ReplayRequest::new(app, &owner)?;
    let row = wanted.find(id).await?;
    if !may_download(&row, principal.as_ref()) {
        return Err(ApiError::NotFound(Resource::Game));
    }
    let result = row.result.as_ref().ok_or(ApiError::WrongState(row.status.state))?;
    let last_line = serde_json::to_string(&file_result(&row.spec, result)).expect("plain shapes become JSON in memory");
    let replay = wanted.project(&row, GameFile::new(result.turns, last_line))?;
    let start = MatchMachine::new(row.spec.clone());
    let start = start.map_err(|error| ApiError::Internal(format!("match {id} cannot be set up again: {error}")))?;
    let mut response = wanted.respond_lines(id, replay, View::new(&start).game()).await?;
    let name = format!("attachment; filename=\"game-{id}.jsonl\"");
    let name = HeaderValue::try_from(name).expect("an id is made of hexadecimal digits");
    response.headers_mut().insert(header::CONTENT_DISPOSITION, name);
    Ok(response)
}

fn may_download(row: &MatchRow, principal: Option<&Principal>) -> bool {
    let Some(Principal::Account(caller)) = principal else { return row.spec.is_public };
    let is_theirs = || caller.account == row.account || row.seat_accounts.contains(&Some(caller.account));
    row.spec.is_public || caller.role >= Role::Operator || is_theirs()
}

fn file_result(spec: &MatchSpec, result: &MatchResult) -> GameFileResult {
    let winner = result.winner.map(usize::from);
    GameFileResult {
        winner_id: winner.map(|seat| spec.snake_id(seat).to_string()).unwrap_or_default(),
        winner_name: winner.and_then(|seat| spec.seats.get(seat)).map(|seat| seat.name.clone()).unwrap_or_default(),
        // A snake that plays alone ends without a winner and without a draw.
        is_draw: result.is_draw && spec.seats.len() > 1,
    }
}
