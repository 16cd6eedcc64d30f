//! Watching matches over HTTP: the engine API of the official board viewer.

mod frames;
mod game_file;
mod live;
mod replay_response;

pub(super) use live::spectator_refusal;
pub(super) use replay_response::ReplayRequest;

use super::app::App;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The public routes of spectators.
pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(frames::show_game))
        .routes(routes!(frames::list_frames))
        .routes(routes!(live::watch_events))
        .routes(routes!(game_file::download_game))
}
