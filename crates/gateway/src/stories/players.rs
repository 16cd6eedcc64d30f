//! Public data of a player: the level; for the player alone, points and cards.

use super::view;
use crate::app::App;
use crate::auth::Principal;
use crate::extract::{MaybePrincipal, PathId};
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
    MaybePrincipal(viewer): MaybePrincipal,
    PathId(player): PathId<PlayerId>,
) -> ApiResult<Json<StoryPlayer>> {
    let query = app.store.read(move |reader| Ok((reader.account(AccountId(player.0))?, reader.standings(&[player])?)));
    let (account, standings) = query.await?;
    // A guest's name is in no store.
    let guest_name = || match &viewer {
        Some(Principal::Guest(guest)) if guest.player == player => Some(guest.name.clone()),
        _ => None,
    };
    let standing = standings.first().map(|(_, standing)| *standing).unwrap_or_default();
    Ok(Json(StoryPlayer {
        player: player.to_string(),
        name: account.map(|account| account.name).or_else(guest_name),
        level: Level::of(standing.score).level,
        standing: viewer.as_ref().is_some_and(|viewer| viewer.player() == player).then(|| view::standing(&standing)),
    }))
}
