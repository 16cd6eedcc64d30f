//! `/api/hunts`, `/api/hunters`: the lobby, matchmaking, and what was counted. What happens in a hunt is its world's business.

mod counted;
mod create;
mod end;
mod lobby;
mod refusal;
mod show;
mod tickets;

pub(super) use end::end;
pub(super) use refusal::HuntRefusal;
pub(super) use tickets::TICKET;

use crate::app::App;
use utoipa_axum::router::OpenApiRouter;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().merge(lobby::routes()).merge(end::routes()).merge(tickets::routes()).merge(counted::routes())
}
