//! Public data of a player: the level; for the player alone, points and cards.

use super::extract::{MaybeGuest, ViewingPlayer};
use super::view;
use crate::app::App;
use crate::extract::PathId;
use crate::problem::ApiResult;
use axum::Json;
use axum::extract::State;
use engine::ids::{AccountId, PlayerId};
use rules::stories::Level;
use wire::api::StoryPlayer;

/// Get a player
///
/// Public. Points and earned cards are visible to the player alone: a card that is known to be earned is a card that its player may hold.
#[utoipa::path(get, path = "/api/stories/players/{player}", tag = "stories", params(("player" = String, Path)), responses(
    (status = 200, description = "The player; a player who never scored has level 1.", body = StoryPlayer),
))]
pub(super) async fn get_player(
    State(app): State<App>,
    ViewingPlayer(viewer): ViewingPlayer,
    guest: MaybeGuest,
    PathId(player): PathId<PlayerId>,
) -> ApiResult<Json<StoryPlayer>> {
    let query = app.store.read(move |reader| Ok((reader.account(AccountId(player.0))?, reader.standings(&[player])?)));
    let (account, standings) = query.await?;
    let standing = standings.first().map(|(_, standing)| *standing).unwrap_or_default();
    Ok(Json(StoryPlayer {
        player: player.to_string(),
        name: account.map(|account| account.name).or_else(|| guest.name_of(player)),
        level: Level::of(standing.score).level,
        standing: (viewer == Some(player)).then(|| view::standing(&standing)),
    }))
}
