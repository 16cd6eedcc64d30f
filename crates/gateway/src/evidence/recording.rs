//! All calls to a snake's bot in a game as a file: for `gauntlet replay`, and for programs of its owner.

use super::access::SnakePath;
use super::view;
use crate::app::App;
use crate::budget::BudgetOwner;
use crate::extract::AnyAccount;
use crate::problem::ApiResult;
use crate::spectate::ReplayRequest;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use matches::evidence::{CallFilter, Calls};
use wire::api::RecordedCall;

/// All calls to one of your bots in a game, to download
///
/// Lines of JSON: the first says which snake of which game, each other one is a call in the order in which they were sent: `/start`, a
/// `/move` for each turn that the snake lived, `/end`. Of a game that was not finished, the calls whose answers were saved. `gauntlet replay`
/// sends them again. For the account that owned the snake when the game was created, and for operators.
#[utoipa::path(
    get, path = "/api/games/{id}/snakes/{snake}/calls", tag = "evidence", security(("bearer" = [])),
    params(
        ("id" = String, Path, description = "Id of the game"),
        ("snake" = String, Path, description = "The snake's seat from 0, its id in frames, or the registered snake's id if it sits once"),
    ),
    responses(
        (status = 200, description = "The calls; the shape of each line but the first", body = RecordedCall, content_type = "application/x-ndjson"),
        (status = 403, description = "`not_your_snake`, or the token's role is too weak"),
        (status = 404, description = "`no_such_game`, `no_such_snake` or `no_such_seat`"),
        (status = 429, description = "`too_many_responses`: this address has as many large answers under way as it may have"),
        (status = 503, description = "`responses_full`: as many large answers are under way as may be"),
    ),
)]
pub(super) async fn download_calls(
    State(app): State<App>,
    AnyAccount(caller): AnyAccount,
    owner: BudgetOwner,
    path: SnakePath,
) -> ApiResult<Response> {
    let wanted = ReplayRequest::new(app, &owner)?;
    let (row, seat) = path.find(&wanted, &caller).await?;
    let calls = Calls::new(seat, CallFilter::All, true, |_, call| view::json(&view::recorded(call)));
    let replay = wanted.project(&row, calls)?;
    let name = format!("attachment; filename=\"game-{}-seat-{seat}.ndjson\"", row.spec.id);
    let mut response = wanted.respond_lines(row.spec.id, replay, &view::subject(&row, seat)).await?;
    if let Ok(name) = HeaderValue::try_from(name) {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, name);
    }
    Ok(response)
}
