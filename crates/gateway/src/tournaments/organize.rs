//! What the organizer does: invites, seeds, starts, calls off.

use super::access::find_organized;
use super::view;
use crate::app::App;
use crate::extract::{JsonBody, PathId, Player};
use crate::problem::{ApiError, ApiResult, Resource};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use engine::ids::{AccountId, BotId, CompetitionId};
use engine::limits::TOURNAMENT_ENTRANTS_MAX;
use wire::api::{TournamentDetails, TournamentInvitation, TournamentSeeds};

/// Start a tournament
///
/// **Who:** its organizer, or an operator. Entries close, and the first games are put into the queue within a second. Snakes that were
/// deleted leave first.
#[utoipa::path(post, path = "/api/tournaments/{id}/start", tag = "tournaments", security(("bearer" = [])), params(("id" = String, Path)), responses(
    (status = 200, description = "It is running.", body = TournamentDetails),
    (status = 403, description = "`not_organizer`"),
    (status = 409, description = "`already_started`, `tournament_ended`, `too_few_entrants`"),
))]
pub(super) async fn start_tournament(
    State(app): State<App>,
    Player(caller): Player,
    PathId(id): PathId<CompetitionId>,
) -> ApiResult<Json<TournamentDetails>> {
    find_organized(&app, id, &caller).await?;
    Ok(Json(view::details(&app.tournaments.start(id).await?)))
}

/// Cancel a tournament
///
/// **Who:** its organizer, or an operator. Its games that are under way are called off as well.
#[utoipa::path(post, path = "/api/tournaments/{id}/cancel", tag = "tournaments", security(("bearer" = [])), params(("id" = String, Path)), responses(
    (status = 200, description = "It is over.", body = TournamentDetails),
    (status = 403, description = "`not_organizer`"),
    (status = 409, description = "`tournament_ended`: it had ended before"),
))]
pub(super) async fn cancel_tournament(
    State(app): State<App>,
    Player(caller): Player,
    PathId(id): PathId<CompetitionId>,
) -> ApiResult<Json<TournamentDetails>> {
    find_organized(&app, id, &caller).await?;
    Ok(Json(view::details(&app.tournaments.cancel(id).await?)))
}

/// Invite an account
///
/// **Who:** the organizer, before the start. An invited account sees the tournament and may enter its snakes. Inviting it again changes
/// nothing.
#[utoipa::path(post, path = "/api/tournaments/{id}/invitations", tag = "tournaments", security(("bearer" = [])), params(("id" = String, Path)), request_body = TournamentInvitation, responses(
    (status = 204, description = "It is invited."),
    (status = 403, description = "`not_organizer`"),
    (status = 404, description = "`no_such_tournament`, `no_such_account`"),
    (status = 409, description = "`entries_closed`, `too_many_invited`"),
))]
pub(super) async fn invite_account(
    State(app): State<App>,
    Player(caller): Player,
    PathId(id): PathId<CompetitionId>,
    JsonBody(wanted): JsonBody<TournamentInvitation>,
) -> ApiResult<StatusCode> {
    find_organized(&app, id, &caller).await?;
    let account: AccountId = wanted
        .account_id
        .parse()
        .map_err(|error| ApiError::bad_value("/account_id", format!("the account's id is {error}")))?;
    let known = app.node.store.read(move |reader| reader.account(account)).await?;
    known.ok_or(ApiError::NotFound(Resource::Account))?;
    app.tournaments.invite(id, account).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Seed a tournament by hand
///
/// **Who:** the organizer of one with `seeding: "manual"`, before the start. The list takes the place of the one before; the lists of one
/// tournament name 65,536 snakes in all.
#[utoipa::path(put, path = "/api/tournaments/{id}/seeds", tag = "tournaments", security(("bearer" = [])), params(("id" = String, Path)), request_body = TournamentSeeds, responses(
    (status = 200, description = "The order is kept.", body = TournamentDetails),
    (status = 403, description = "`not_organizer`"),
    (status = 409, description = "`entries_closed`, `not_seeded_by_hand`; `too_many_seeds`: the lists so far name too many snakes, and the last one stands"),
    (status = 422, description = "`invalid_seeds`: a snake is named twice, or is not entered; or the body has another shape"),
))]
pub(super) async fn set_seeds(
    State(app): State<App>,
    Player(caller): Player,
    PathId(id): PathId<CompetitionId>,
    JsonBody(wanted): JsonBody<TournamentSeeds>,
) -> ApiResult<Json<TournamentDetails>> {
    find_organized(&app, id, &caller).await?;
    if wanted.snakes.len() > usize::from(TOURNAMENT_ENTRANTS_MAX) {
        let reason = format!("at most {TOURNAMENT_ENTRANTS_MAX} snakes, not {}", wanted.snakes.len());
        return Err(ApiError::bad_value("/snakes", reason));
    }
    let parse = |(at, text): (usize, &String)| {
        text.parse().map_err(|error| ApiError::bad_value(format!("/snakes/{at}"), format!("the snake's id is {error}")))
    };
    let bots: Vec<BotId> = wanted.snakes.iter().enumerate().map(parse).collect::<ApiResult<_>>()?;
    Ok(Json(view::details(&app.tournaments.set_seeds(id, &bots).await?)))
}
