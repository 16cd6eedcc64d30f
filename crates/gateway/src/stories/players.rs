//! Public data of a player: the level; for the player alone, points and cards.

use super::extract::{MaybeGuest, ViewingPlayer};
use crate::app::App;
use crate::extract::PathId;
use crate::problem::ApiResult;
use axum::Json;
use axum::extract::State;
use engine::ids::{AccountId, PlayerId};
use engine::tables::Standing;
use rules::stories::{CardSet, Level};
use wire::api::{StoryPlayer, StoryStanding};

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
        standing: (viewer == Some(player)).then(|| self::standing(&standing)),
    }))
}

/// Points, levels and cards, for the player alone.
pub(super) fn standing(standing: &Standing) -> StoryStanding {
    let (level, before) = (Level::of(standing.score), Level::of(standing.score_prev));
    StoryStanding {
        score: standing.score,
        level: level.level,
        score_next: level.next,
        score_left: level.left,
        score_prev: standing.score_prev,
        level_prev: before.level,
        earned_cards: card_set_numbers(standing.earned),
        earned_cards_last: card_set_numbers(standing.earned_last),
    }
}

/// The numbers of these cards, in order.
pub(super) fn card_set_numbers(cards: CardSet) -> Vec<u8> {
    cards.iter().map(|card| card.0).collect()
}
