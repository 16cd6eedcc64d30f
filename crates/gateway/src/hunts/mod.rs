//! `/api/hunts`, `/api/hunters`: the lobby, matchmaking, and what was counted. What happens in a hunt is its world's business.

mod create;
mod end;
mod leaderboard;
mod lobby;
mod refusal;
mod tickets;
mod view;

pub(super) use end::terminate_world;
pub(super) use refusal::HuntRefusal;
pub(super) use tickets::TICKET_ROUTE;

use crate::app::App;
use utoipa_axum::router::OpenApiRouter;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .merge(lobby::routes())
        .merge(end::routes())
        .merge(tickets::routes())
        .merge(leaderboard::routes())
}
