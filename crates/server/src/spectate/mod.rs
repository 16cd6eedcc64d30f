//! Watching matches: the engine API of the official board viewer.
//!
//! Frames are not stored: a match is its seed and its log, so a frame is the log replayed up to a turn. A live viewer subscribes to the
//! match first and reads log *and* state afterwards, again after every notification; a missed notification only costs the time until the
//! next poll. Viewers have their own cursors, so a slow one catches up and is not disconnected.
//!
//! All replays, of pages, of details and of live viewers, share dedicated threads and readers (`replay`): clients can request more of them
//! than there is time for, and matches, creations and readiness checks must not wait behind them.

mod checkpoints;
mod frames;
mod frames_response;
mod live;
mod log_player;
mod permits;
mod replay;

pub(crate) use frames_response::FramesRequest;
pub use permits::SpectatorPermits;
pub use replay::Replays;

use crate::app::App;
use axum::Router;
use axum::routing::get;

/// The public routes of spectators.
pub fn routes() -> Router<App> {
    Router::new()
        .route("/api/games/{id}", get(frames::show_game))
        .route("/api/games/{id}/frames", get(frames::list_frames))
        .route("/api/games/{id}/events", get(live::watch_events))
}

/// The OpenAPI description of the routes.
#[must_use]
pub fn openapi() -> utoipa::openapi::OpenApi {
    #[derive(utoipa::OpenApi)]
    #[openapi(paths(frames::show_game, frames::list_frames, live::watch_events))]
    struct Spectators;
    <Spectators as utoipa::OpenApi>::openapi()
}
