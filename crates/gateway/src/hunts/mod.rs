//! `/api/hunts`, `/api/hunters`: the lobby, matchmaking, and what was counted. What happens in a hunt is its world's business.

mod create;
mod leaderboard;
mod lobby;
mod tickets;
mod view;

use crate::app::App;
use utoipa_axum::router::OpenApiRouter;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().merge(lobby::routes()).merge(tickets::routes()).merge(leaderboard::routes())
}
