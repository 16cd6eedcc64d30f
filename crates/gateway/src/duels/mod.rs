//! `/api/duels`: which of two bots is better; creating duels, following them, calling them off.

mod create;
mod read;
mod request;
mod view;

pub(super) use create::call_off;
pub(super) use view::summary_for_owner;

use crate::app::App;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(read::list_duels, create::create_duel))
        .routes(routes!(read::duel_details))
        .routes(routes!(read::list_duel_games))
        .routes(routes!(create::cancel_duel))
}
