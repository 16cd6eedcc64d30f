//! One turn of a snake, with the request that its bot was sent.

use super::access::CallPath;
use super::view;
use crate::app::App;
use crate::budget::BudgetOwner;
use crate::extract::AnyAccount;
use crate::problem::{ApiError, ApiResult};
use crate::spectate::ReplayRequest;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use matches::evidence::Calls;
use wire::api::CallEvidence;

/// What your bot was sent in a turn, and what became of its answer
///
/// The request byte for byte, as a command for a shell besides. `turn` is the number in the request's body, from 0: the frame of the next
/// number shows what became of it. For the account that owned the snake when the game was created, and for operators.
#[utoipa::path(
    get, path = "/api/games/{id}/snakes/{snake}/turns/{turn}", tag = "evidence", security(("bearer" = [])),
    params(
        ("id" = String, Path, description = "Id of the game"),
        ("snake" = String, Path, description = "The snake's seat from 0, its id in frames, or the registered snake's id if it sits once"),
        ("turn" = String, Path, description = "The turn of a request for a move; `start` and `end` for the two other calls"),
    ),
    responses(
        (status = 200, description = "The call", body = CallEvidence),
        (status = 403, description = "`not_your_snake`, or the token's role is too weak"),
        (status = 404, description = "`no_such_game`, `no_such_snake`, `no_such_seat` or `no_such_turn`"),
        (status = 429, description = "`too_many_responses`: this address has as many large answers under way as it may have"),
        (status = 503, description = "`responses_full`: as many large answers are under way as may be"),
    ),
)]
pub(super) async fn show_turn(
    State(app): State<App>,
    AnyAccount(caller): AnyAccount,
    owner: BudgetOwner,
    CallPath { of, call }: CallPath,
) -> ApiResult<Response> {
    let wanted = ReplayRequest::new(app, &owner)?;
    let (row, seat) = of.find(&wanted, &caller).await?;
    let (subject, url, timeout_ms) = (view::subject(&row, seat), row.spec.seats[seat].url.clone(), row.spec.timeout_ms);
    let calls = Calls::new(seat, call.filter(), true, move |_, call| {
        view::json(&view::evidence(subject.clone(), &url, timeout_ms, call))
    });
    let replay = wanted.project(&row, calls)?;
    let text = wanted.first_text(row.spec.id, &replay).await?.ok_or(ApiError::NoSuchTurn)?;
    Ok(([(header::CONTENT_TYPE, "application/json")], text).into_response())
}
