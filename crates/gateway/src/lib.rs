//! The gateway: the HTTP edge. It authenticates requests, checks what the caller may do, validates the input and turns it
//! into commands to the store or reads from it. Nothing behind it checks these things again.
//!
//! Knows HTTP and the wire's shapes. Does not know how a match is played or how anything is stored.

pub mod account_clearing;
mod account_deletion;
pub mod accounts;
mod admin;
mod admission;
pub mod app;
pub mod audit;
mod audit_entry;
pub mod auth;
pub mod bans;
mod body;
mod bot_url;
pub mod budget;
pub mod check_quotas;
mod client_address;
mod console;
mod cors;
mod credentials;
mod dispatch;
mod duels;
mod event_stream;
mod evidence;
pub mod extract;
mod forward;
pub mod forward_permits;
mod frame_rate;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod game_page;
mod games;
pub mod grants;
pub mod guests;
mod header_values;
pub mod history;
mod home;
mod hunts;
mod idempotency;
mod leaderboards;
pub mod listener;
pub mod live_matches;
mod openapi;
pub mod ops;
mod origin;
mod outbound_socket;
mod pagination;
pub mod problem;
mod quota;
mod rate_limit;
mod request_head;
mod request_id;
mod response_body;
pub mod response_budget;
mod revocation;
mod session;
pub mod shed;
mod snake_health;
mod snakes;
mod spectate;
mod stories;
pub mod summaries;
mod summary;
mod text;
pub mod token_uses;
mod tokens;
mod tournaments;
mod trace;
mod trial_routes;
pub mod trials;
pub mod view_cache;
mod world_options;
mod worlds;

pub use dispatch::Gateway;
pub use response_body::ResponseBody;

use crate::app::App;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::{Extension, Router};
use problem::ApiError;
use settings::ServeMode;
use tower::ServiceBuilder;
use trace::RequestTracing;
use utoipa_axum::router::OpenApiRouter;

/// All routes of the router, or only those of a process that serves nothing but the rate limiter. [`Gateway`] stands in front of it.
pub fn router(app: App) -> Router {
    let (routes, document) = match app.config.serve_mode {
        ServeMode::All => {
            let (routes, document) = api_routes().split_for_parts();
            let pages = console::routes().merge(game_page::routes()).fallback(console::not_found);
            (routes.merge(pages), openapi::complete(document))
        }
        ServeMode::Limiter => {
            let (routes, document) = openapi::router().merge(rate_limit::routes()).split_for_parts();
            (routes.fallback(no_such_route), openapi::complete(document))
        }
    };
    let routes = routes.merge(home::routes(app.config.serve_mode));
    with_layers(routes, &document, app)
}

/// The routes for operators alone: the state of the process, and actions reserved for them.
pub fn ops_router(app: App) -> Router {
    let routes = match app.config.serve_mode {
        ServeMode::All => admin::routes().merge(rate_limit::routes()),
        ServeMode::Limiter => rate_limit::routes(),
    };
    let (routes, document) = routes.split_for_parts();
    with_layers(routes.fallback(no_such_route), &openapi::complete(document), app)
}

async fn no_such_route() -> ApiError {
    ApiError::NoSuchRoute
}

/// These routes, with what answers where there is none, and those about the process, behind the layers that every request passes.
fn with_layers(routes: Router<App>, document: &utoipa::openapi::OpenApi, app: App) -> Router {
    // The first layer is the outermost. One router layer instead of eight: the router boxes each of its own layers, and every
    // request copies all boxes below each.
    let layers = ServiceBuilder::new()
        .layer(from_fn_with_state(app.metrics.clone(), ops::measure))
        .layer(from_fn_with_state(RequestTracing::new(&app), trace::trace))
        .layer(from_fn(cors::cors))
        .layer(from_fn(request_head::validate_head))
        .layer(Extension(openapi::Document::new(document)))
        .layer(from_fn_with_state(app.clone(), admission::admit))
        .layer(from_fn_with_state(app.clone(), forward::forward))
        .layer(from_fn_with_state(app.response_budgets.clone(), response_budget::reserve_unchecked));
    routes
        .merge(ops::routes())
        .method_not_allowed_fallback(async || ApiError::MethodNotAllowed)
        .layer(layers)
        .with_state(app)
}

#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    openapi::complete(api_routes().into_openapi())
}

/// The gateway's own routes. Every route registered here is documented.
fn api_routes() -> OpenApiRouter<App> {
    openapi::router()
        .merge(games::routes())
        .merge(snakes::routes())
        .merge(leaderboards::routes())
        .merge(snake_health::routes())
        .merge(tokens::routes())
        .merge(session::routes())
        .merge(accounts::routes())
        .merge(stories::routes())
        .merge(worlds::routes())
        .merge(hunts::routes())
        .merge(duels::routes())
        .merge(tournaments::routes())
        .merge(spectate::routes())
        .merge(summary::routes())
        .merge(evidence::routes())
        .merge(admin::routes())
        .merge(trial_routes::routes())
        .merge(rate_limit::routes())
}
