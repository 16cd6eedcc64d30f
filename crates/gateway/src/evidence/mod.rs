//! `/api/games/{id}/snakes/{snake}/turns`: evidence for the owner of a snake, turn by turn. What its bot was sent, byte for byte; what it
//! answered, and what that counted for; and a command that sends the same request again.
//!
//! Everything comes from the match's log, replayed on the threads of spectators and within their budget. What is not saved is not shown.

mod access;
mod recording;
mod shell;
mod turn;
mod turns;
mod view;

use crate::app::App;
use engine::ids::MatchId;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(turns::list_turns))
        .routes(routes!(turn::show_turn))
        .routes(routes!(recording::download_calls))
}

/// Where the evidence of one turn is.
pub(super) fn turn_path(id: MatchId, seat: usize, turn: u32) -> String {
    format!("/api/games/{id}/snakes/{seat}/turns/{turn}")
}
