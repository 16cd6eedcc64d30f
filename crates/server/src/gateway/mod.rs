//! The gateway: requests come in here, are asked who they are, whether they may and whether they are well formed, and leave
//! as commands to the store or as reads from it. Nothing behind it checks these things again.
//!
//! Knows HTTP and the wire's shapes. Does not know how a match is played, nor how anything is stored.

mod admin;
mod admission;
pub mod answers;
pub mod auth;
mod body;
mod bot_url;
pub(crate) mod budget;
mod chosen;
mod coding;
mod console;
mod cors;
pub mod extract;
pub mod forward;
mod front;
mod games;
mod granted;
pub mod guests;
pub(crate) mod hangup;
mod home;
mod host;
mod hunts;
mod idempotency;
mod limits;
pub mod listener;
mod openapi;
pub mod ops;
mod page;
pub mod problem;
mod quota;
mod request_id;
mod session;
pub mod shed;
mod site;
mod snakes;
mod stories;
mod text;
mod tokens;
mod trace;
mod worlds;

pub(crate) use admission::Client;
pub use front::{AnswerBody, Front};
pub(crate) use worlds::pace::Pace;

use crate::app::App;
use crate::config::ServeMode;
use auth::TokenCache;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::{Extension, Router};
use problem::ApiError;
use tower::ServiceBuilder;
use utoipa_axum::router::OpenApiRouter;

/// All routes of the router, or those that a process needs that serves the rate limiter alone. [`Front`] stands before it.
pub fn router(app: App) -> Router {
    let (routes, document) = match app.config.serve_mode {
        ServeMode::All => {
            let (routes, document) = documented().split_for_parts();
            (routes.merge(crate::spectate::routes()).merge(console::routes()), openapi::complete(document))
        }
        ServeMode::Limiter => {
            let (routes, document) = openapi::router().merge(limits::routes()).split_for_parts();
            (routes, openapi::complete_alone(document))
        }
    };
    let routes = routes.merge(home::routes(app.config.serve_mode));
    layered(routes, &document, app)
}

/// The routes for operators alone: what tells how the process is, and what only they may do.
pub fn ops_router(app: App) -> Router {
    let routes = match app.config.serve_mode {
        ServeMode::All => admin::routes().merge(limits::routes()),
        ServeMode::Limiter => limits::routes(),
    };
    let (routes, document) = routes.split_for_parts();
    layered(routes, &openapi::complete_alone(document), app)
}

/// These routes and those about the process, behind everything that every request passes.
fn layered(routes: Router<App>, document: &utoipa::openapi::OpenApi, app: App) -> Router {
    // The first is the outermost. One layer of the router, not eight: the router puts each of its own into a box, and every request
    // copies all boxes below each.
    let around = ServiceBuilder::new()
        .layer(from_fn_with_state(app.metrics.clone(), ops::measure))
        .layer(from_fn(trace::trace))
        .layer(from_fn(cors::cors))
        .layer(from_fn(coding::refuse))
        .layer(Extension(openapi::Document::new(document)))
        .layer(Extension(TokenCache::default()))
        .layer(from_fn_with_state(app.clone(), admission::admit))
        .layer(from_fn_with_state(app.clone(), forward::forward))
        .layer(from_fn_with_state(app.clone(), answers::count));
    routes
        .merge(ops::routes())
        .fallback(async || ApiError::NoSuchRoute)
        .method_not_allowed_fallback(async || ApiError::MethodNotAllowed)
        .layer(around)
        .with_state(app)
}

/// The OpenAPI 3.1 document of all routes.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    openapi::complete(documented().into_openapi())
}

/// The gateway's own routes: a route cannot be registered here without being documented.
fn documented() -> OpenApiRouter<App> {
    openapi::router()
        .merge(games::routes())
        .merge(snakes::routes())
        .merge(tokens::routes())
        .merge(session::routes())
        .merge(stories::routes())
        .merge(worlds::routes())
        .merge(hunts::routes())
        .merge(admin::routes())
        .merge(limits::routes())
}
