//! The turns of a snake as a list.

use super::access::SnakePath;
use super::view;
use crate::app::App;
use crate::budget::BudgetOwner;
use crate::extract::{AnyAccount, QueryParams};
use crate::pagination::clamped_number;
use crate::problem::ApiResult;
use crate::spectate::ReplayRequest;
use axum::extract::State;
use axum::response::Response;
use engine::limits::TURNS_PAGE_MAX;
use matches::evidence::{CallFilter, Calls};
use serde::Deserialize;
use wire::api::SnakeTurns;

#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct TurnsQuery {
    /// The first turn; 0 when absent. What is below 0 counts as 0.
    #[param(value_type = Option<u32>)]
    offset: Option<String>,
    /// At most so many turns; 1,000 when absent, and more count as 1,000.
    #[param(value_type = Option<u32>, maximum = 1_000)]
    limit: Option<String>,
}

/// The turns of one of your snakes in a game
///
/// What its bot answered in each, what that counted for, and when the snake was out. For the account that owned the snake when the game was
/// created, and for operators. Of a running game, the turns that are saved.
#[utoipa::path(
    get, path = "/api/games/{id}/snakes/{snake}/turns", tag = "evidence", security(("bearer" = [])),
    params(
        ("id" = String, Path, description = "Id of the game"),
        ("snake" = String, Path, description = "The snake's seat from 0, its id in frames, or the registered snake's id if it sits once"),
        TurnsQuery,
    ),
    responses(
        (status = 200, description = "The turns", body = SnakeTurns),
        (status = 403, description = "`not_your_snake`, or the token's role is too weak"),
        (status = 404, description = "`no_such_game`, `no_such_snake` or `no_such_seat`"),
        (status = 429, description = "`too_many_responses`: this address has as many large answers under way as it may have"),
        (status = 503, description = "`responses_full`: as many large answers are under way as may be"),
    ),
)]
pub(super) async fn list_turns(
    State(app): State<App>,
    AnyAccount(caller): AnyAccount,
    owner: BudgetOwner,
    path: SnakePath,
    QueryParams(query): QueryParams<TurnsQuery>,
) -> ApiResult<Response> {
    let limit = clamped_number("limit", query.limit.as_deref(), 0..=TURNS_PAGE_MAX, TURNS_PAGE_MAX)?;
    let first = clamped_number("offset", query.offset.as_deref(), 0..=u32::MAX, 0)?;
    let wanted = ReplayRequest::new(app, &owner)?;
    let (row, seat) = path.find(&wanted, &caller).await?;
    let turns = first..first.saturating_add(limit).min(row.status.turns);
    let replay = match turns.is_empty() {
        true => None,
        false => {
            let calls = Calls::new(seat, CallFilter::Moves(turns), false, |_, call| view::json(&view::turn(&call)));
            Some(wanted.project(&row, calls)?)
        }
    };
    let head = SnakeTurns { subject: view::subject(&row, seat), count: row.status.turns, turns: Vec::new() };
    wanted.respond_list(row.spec.id, replay, &head).await
}
