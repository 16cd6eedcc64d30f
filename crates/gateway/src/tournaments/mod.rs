//! `/api/tournaments`: creating tournaments, entering bots, following brackets and tables.

mod access;
mod create;
mod entries;
mod feed;
mod organize;
mod read;
mod request;
mod view;

pub(super) use view::summary_of_row;

use crate::app::App;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(read::list_tournaments, create::create_tournament))
        .routes(routes!(read::get_tournament))
        .routes(routes!(entries::enter))
        .routes(routes!(entries::withdraw))
        .routes(routes!(organize::start_tournament))
        .routes(routes!(organize::cancel_tournament))
        .routes(routes!(organize::invite_account))
        .routes(routes!(organize::set_seeds))
        .merge(feed::routes())
}
