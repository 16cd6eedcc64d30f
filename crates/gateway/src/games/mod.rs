//! `/api/games`: creating games, one or many, listing them, asking where they are, calling them off; and what strangers may read of public
//! ones.

pub(super) mod cancel;
mod create;
pub(super) mod inspection;
mod public;
mod read;
mod related;
mod request;
mod view;

pub(super) use related::{Related, face};
pub(super) use request::{GameParams, game_type, parse_game_params, parse_seed};
pub(super) use view::{public, summary, time};

use super::problem::{ApiError, ApiResult, Resource};
use crate::app::App;
use engine::ids::MatchId;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use wire::api::GameStatus;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(read::list_games, create::create_game))
        .routes(routes!(create::create_games))
        .routes(routes!(read::list_games_of_snake))
        .routes(routes!(read::game_statuses))
        .routes(routes!(read::game_details))
        .routes(routes!(cancel::cancel_game))
        .routes(routes!(public::live_games))
        .routes(routes!(public::recent_games))
        .routes(routes!(public::game_summary))
}

/// Where one game is now.
pub(super) async fn status_of(app: &App, id: MatchId) -> ApiResult<GameStatus> {
    let statuses = app.node.store.read(move |reader| reader.statuses(&[id])).await?;
    statuses.first().map(view::status).ok_or(ApiError::NotFound(Resource::Game))
}

/// For the fuzzer: a creation, read and not queued.
#[cfg(feature = "fuzzing")]
pub(crate) fn read_new_game(wanted: &wire::api::CreateGame) {
    let _ = request::validate_game(wanted, 500);
}
