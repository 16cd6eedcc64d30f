//! Players: guests, who are created here, and the public data of a player: the level; for the player alone, points and cards.

use super::view;
use crate::app::App;
use crate::auth::{Identity, Principal};
use crate::extract::{JsonBody, MaybePrincipal, PathId};
use crate::guests::Guest;
use crate::problem::ApiResult;
use crate::quota::QuotaSubject;
use crate::text;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use engine::ids::{AccountId, PlayerId};
use engine::limits::GUEST_NAME_CHARS_MAX;
use engine::rows::TokenPurpose;
use rules::stories::Level;
use wire::api::{CreateGuest, GuestCreated, StoryPlayer};
use wire::time::Timestamp;

/// Create a guest
///
/// Needs no token. The response's token is the guest: it is not stored on the server, and lasts 30 days. The request is charged to the
/// client's address, later requests of the guest to the guest and the address.
#[utoipa::path(post, path = "/api/stories/guests", tag = "stories", request_body = CreateGuest, responses(
    (status = 201, description = "The guest, with the token, which is shown only once.", body = GuestCreated),
    (status = 429, description = "`address_quota`: clients of this address have created as many guests as one address may in an hour; or a rate limit. `Retry-After` says when to try again."),
))]
pub(super) async fn create_guest(
    State(app): State<App>,
    identity: Identity,
    quota_subject: QuotaSubject,
    JsonBody(request): JsonBody<CreateGuest>,
) -> ApiResult<(StatusCode, Json<GuestCreated>)> {
    let name = text::check_line("/name", "name", &request.name, GUEST_NAME_CHARS_MAX)?;
    // Guests created with a load test's token belong to the load test.
    let purpose = match identity.principal() {
        Some(Principal::Account(caller)) => caller.purpose,
        Some(Principal::Guest(_)) | None => TokenPurpose::Use,
    };
    app.quotas.charge_guest(quota_subject.address, app.limits.now())?;
    let guest = Guest::new(name, purpose, app.node.clock.now());
    let token = app.guests.issue(&guest).await?;
    let created = GuestCreated {
        player: guest.player.to_string(),
        name: guest.name,
        token,
        expires_at: Timestamp(guest.expires_at.0),
    };
    Ok((StatusCode::CREATED, Json(created)))
}

/// Get a player
///
/// Public. Points and earned cards are visible to the player alone: a card that is known to be earned is a card that its player may hold.
#[utoipa::path(get, path = "/api/stories/players/{player}", tag = "stories", security((), ("bearer" = [])), params(("player" = String, Path)), responses(
    (status = 200, description = "The player; a player who never scored has level 1.", body = StoryPlayer),
))]
pub(super) async fn get_player(
    State(app): State<App>,
    MaybePrincipal(viewer): MaybePrincipal,
    PathId(player): PathId<PlayerId>,
) -> ApiResult<Json<StoryPlayer>> {
    let query =
        app.node.store.read(move |reader| Ok((reader.account(AccountId(player.0))?, reader.standings(&[player])?)));
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
