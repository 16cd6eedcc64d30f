//! Watching matches over HTTP: the engine API of the official board viewer.

mod frames;
mod frames_response;
mod live;

pub(super) use frames_response::FramesRequest;
pub(super) use live::spectator_refusal;

use super::app::App;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The public routes of spectators.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(frames::show_game))
        .routes(routes!(frames::list_frames))
        .routes(routes!(live::watch_events))
}
