//! `/api/stories`: a card game whose players see different things.
//!
//! Turns requests into actions at tables, and views of tables into JSON. `engine::tables` has removed everything that the viewer may not
//! see: nothing in this module adds to it, or knows a hidden card.

mod actions;
mod cards;
mod create;
pub(super) mod event_view;
pub(super) mod extract;
pub(super) mod feed;
mod lists;
mod players;
mod query;
mod read;
mod settings;
pub(super) mod view;

pub(super) use lists::own_game_view;

use crate::app::App;
use axum::middleware::from_fn_with_state;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<App> {
    let routes = OpenApiRouter::new()
        .routes(routes!(players::create_guest))
        .routes(routes!(create::create_game))
        .merge(actions::routes())
        .merge(read::routes())
        .merge(feed::routes())
        .merge(lists::routes())
        .routes(routes!(players::get_player));
    let known_params = query::KnownParams::of(routes.get_openapi());
    // Pictures are excluded: a version parameter in their URL is a common way to bypass a browser's cache.
    routes.route_layer(from_fn_with_state(known_params, query::refuse_unknown)).merge(cards::routes())
}
