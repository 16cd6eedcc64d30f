//! `/api/stories`: a card game whose players see different things.
//!
//! Turns requests into actions at tables, and what tables show into JSON. What a viewer may see was cut before it comes here, at
//! one door (`engine::tables`): nothing in this room adds to it, or knows a card that the viewer may not know.

mod actions;
mod cards;
mod create;
pub(super) mod event_view;
pub(super) mod extract;
pub(super) mod feed;
mod guests;
mod lists;
mod players;
mod query;
mod read;
pub(super) mod refusal;
mod settings;
pub(super) mod view;

use crate::app::App;
use axum::middleware::from_fn_with_state;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<App> {
    let routes = OpenApiRouter::new()
        .routes(routes!(guests::create_guest))
        .routes(routes!(create::create_game))
        .merge(actions::routes())
        .merge(read::routes())
        .merge(feed::routes())
        .merge(lists::routes())
        .routes(routes!(players::get_player));
    let known = query::KnownParams::of(routes.get_openapi());
    // Pictures stay outside: an address with a version in it is how browsers are made to forget one.
    routes.route_layer(from_fn_with_state(known, query::refuse_unknown)).merge(cards::routes())
}
