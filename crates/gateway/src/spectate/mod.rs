//! Watching matches over HTTP: the engine API of the official board viewer.

mod frames;
mod frames_response;
mod live;

pub(super) use frames_response::FramesRequest;

use super::app::App;
use axum::Router;
use axum::routing::get;

/// The public routes of spectators.
pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/api/games/{id}", get(frames::show_game))
        .route("/api/games/{id}/frames", get(frames::list_frames))
        .route("/api/games/{id}/events", get(live::watch_events))
}

/// The OpenAPI description of the routes.
#[must_use]
pub(super) fn openapi() -> utoipa::openapi::OpenApi {
    #[derive(utoipa::OpenApi)]
    #[openapi(paths(frames::show_game, frames::list_frames, live::watch_events))]
    struct Spectators;
    <Spectators as utoipa::OpenApi>::openapi()
}
