//! Calling a game off: by its owner, or by an operator.

use super::view;
use crate::app::App;
use crate::audit_entry;
use crate::extract::{PathId, Player};
use crate::problem::{ApiError, ApiResult, Resource};
use axum::Json;
use axum::extract::State;
use engine::commands::{Command, Outcome};
use engine::ids::{AccountId, MatchId};
use wire::api::GameStatus;

/// Call off one of the own games
#[utoipa::path(post, path = "/api/games/{id}/cancel", tag = "games", security(("bearer" = [])), params(("id" = String, Path)), responses(
    (status = 200, description = "It is called off.", body = GameStatus),
    (status = 404, description = "The account has no such game."),
    (status = 409, description = "`wrong_state`: it is over already; `competition_game`: it is played for a ladder, tournament or duel, of which only the whole can be called off."),
))]
pub(super) async fn cancel_game(
    State(app): State<App>,
    Player(caller): Player,
    PathId(id): PathId<MatchId>,
) -> ApiResult<Json<GameStatus>> {
    let row = app.node.store.read(move |reader| reader.match_by_id(id)).await?;
    match row {
        Some(row) if row.account == caller.account && row.spec.origin.is_some() => Err(ApiError::CompetitionGame),
        _ => cancel(&app, id, Some(caller.account)).await.map(Json),
    }
}

/// Calls off a game of this account, or of any, and notifies those who watch it.
pub(crate) async fn cancel(app: &App, id: MatchId, account: Option<AccountId>) -> ApiResult<GameStatus> {
    match audit_entry::commit(&app.node.store, Command::CancelMatch { id, account, now: app.node.clock.now() }).await? {
        Outcome::Done => {
            // Before anything that can fail: those who watch the game read it again.
            app.notifier.notify(id);
            let statuses = app.node.store.read(move |reader| reader.statuses(&[id])).await?;
            statuses.first().map(view::status).ok_or(ApiError::NotFound(Resource::Game))
        }
        refusal => Err(ApiError::from_outcome(&refusal, Resource::Game)),
    }
}
