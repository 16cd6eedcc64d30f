//! Bots are entered and leave.

use super::access::{find_visible, may_organize};
use super::view;
use crate::app::App;
use crate::extract::{JsonBody, PathId, PathIds, Player};
use crate::problem::{ApiError, ApiResult, Resource};
use arena::tournaments::{BotEntry, LoadedTournament};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use engine::ids::{AccountId, BotId, CompetitionId};
use engine::rows::OwnedBot;
use engine::tournaments::WithdrawalReason;
use wire::api::{TournamentEntrant, TournamentEntry};

/// Enter a snake
///
/// **Who:** its owner; the organizer can enter public snakes of others too, whichever accounts are invited. **When:** before the start,
/// while there is room. A snake that is entered already stays so. One program enters once: a second snake with the same URL is refused.
#[utoipa::path(post, path = "/api/tournaments/{id}/entries", tag = "tournaments", security(("bearer" = [])), params(("id" = String, Path)), request_body = TournamentEntry, responses(
    (status = 201, description = "It is entered.", body = TournamentEntrant),
    (status = 403, description = "`not_invited`"),
    (status = 409, description = "`entries_closed`, `tournament_full`, `account_full`, `duplicate_url`"),
))]
pub(super) async fn enter(
    State(app): State<App>,
    Player(caller): Player,
    PathId(id): PathId<CompetitionId>,
    JsonBody(wanted): JsonBody<TournamentEntry>,
) -> ApiResult<(StatusCode, Json<TournamentEntrant>)> {
    let loaded = find_visible(&app, id, Some(&caller)).await?;
    let is_organizer = may_organize(&loaded, &caller);
    let owned = find_bot(&app, &wanted.snake_id, caller.account, is_organizer).await?;
    let bot = owned.bot.id;
    // An operator who enters an own snake in another account's tournament does so as its owner: entered by the organizer, a private
    // snake would leave at the start.
    let is_own_entry = owned.bot.account == caller.account && loaded.row.account != caller.account;
    let entered = app.tournaments.enter(id, &BotEntry { by_organizer: is_organizer && !is_own_entry, owned }).await?;
    let entrant = entrant_of(&entered, bot).ok_or(ApiError::Internal("an entry without an entrant".to_owned()))?;
    Ok((StatusCode::CREATED, Json(entrant)))
}

fn entrant_of(loaded: &LoadedTournament, bot: BotId) -> Option<TournamentEntrant> {
    let number = loaded.state.entrant_of(bot)?;
    Some(view::entrant(number, &loaded.state.entrants()[usize::from(number)]))
}

/// One of the caller's, or a public one where the caller is the organizer.
async fn find_bot(app: &App, id: &str, account: AccountId, is_organizer: bool) -> ApiResult<OwnedBot> {
    let parsed: BotId =
        id.parse().map_err(|error| ApiError::bad_value("/snake_id", format!("the snake's id is {error}")))?;
    let bots = app.node.store.read(move |reader| reader.bots_with_owners(&[parsed])).await?;
    let may_enter = |OwnedBot { bot, .. }: &OwnedBot| bot.account == account || (is_organizer && bot.is_public);
    let unknown = || ApiError::UnknownSnake { field: "/snake_id".to_owned(), id: parsed.to_string() };
    bots.into_iter().find(may_enter).ok_or_else(unknown)
}

/// Withdraw a snake
///
/// **Who:** its owner, or the organizer. Before the start it is as if it had never been entered. Later it loses what it has not played:
/// its opponents go on without a game.
#[utoipa::path(delete, path = "/api/tournaments/{id}/entries/{snake}", tag = "tournaments", security(("bearer" = [])), params(("id" = String, Path), ("snake" = String, Path)), responses(
    (status = 204, description = "It has left."),
    (status = 404, description = "`no_such_tournament`; `no_such_snake`: it is not entered, or has left already, or is another account's."),
    (status = 409, description = "`tournament_ended`"),
))]
pub(super) async fn withdraw(
    State(app): State<App>,
    Player(caller): Player,
    PathIds(id, bot): PathIds<CompetitionId, BotId>,
) -> ApiResult<StatusCode> {
    let loaded = find_visible(&app, id, Some(&caller)).await?;
    let entrants = loaded.state.entrants();
    let entrant = loaded.state.entrant_of(bot).map(|number| &entrants[usize::from(number)]);
    let reason = match entrant {
        Some(entrant) if entrant.info.account == caller.account => WithdrawalReason::Owner,
        Some(_) if may_organize(&loaded, &caller) => WithdrawalReason::Organizer,
        Some(_) | None => return Err(ApiError::NotFound(Resource::Snake)),
    };
    app.tournaments.withdraw(id, bot, reason).await?;
    Ok(StatusCode::NO_CONTENT)
}
