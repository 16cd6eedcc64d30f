//! How guests come in.

use crate::app::App;
use crate::gateway::auth::Identity;
use crate::gateway::extract::JsonBody;
use crate::gateway::guests::Guest;
use crate::gateway::problem::ApiResult;
use crate::gateway::quota::QuotaSubject;
use crate::gateway::text;
use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use engine::limits::GUEST_NAME_CHARS_MAX;
use engine::rows::TokenPurpose;
use wire::api::{CreateGuest, GuestCreated};
use wire::problem::Problem;
use wire::time::Timestamp;

/// Come in as a guest
///
/// Anybody may. The token is the guest: it is kept nowhere here, and lasts 30 days. It is charged by address to whoever asks, and
/// what the guest does by guest and by address.
#[utoipa::path(post, path = "/api/stories/guests", tag = "stories", request_body = CreateGuest, responses(
    (status = 201, description = "The guest, and the token for the only time.", body = GuestCreated),
    (status = 429, description = "`address_quota`: clients of this address have made as many guests as one address may make in an hour; or a rate limit. `Retry-After` says when to come again.", body = Problem, content_type = "application/problem+json"),
))]
pub(super) async fn create_guest(
    State(app): State<App>,
    GuestPurpose(purpose): GuestPurpose,
    counted: QuotaSubject,
    JsonBody(wanted): JsonBody<CreateGuest>,
) -> ApiResult<(StatusCode, Json<GuestCreated>)> {
    let name = text::check_line("/name", "name", &wanted.name, GUEST_NAME_CHARS_MAX)?;
    app.quotas.charge_guest(counted.address, app.limits.now())?;
    let guest = Guest::new(name, purpose, app.clock.now());
    let token = app.guests.issue(&app.store, &guest).await?;
    let created = GuestCreated {
        player: guest.player.to_string(),
        name: guest.name,
        token,
        expires_at: Timestamp(guest.expires_at.0),
    };
    Ok((StatusCode::CREATED, Json(created)))
}

/// What guests come for: those that a load test's token brings in belong to the load test.
pub(super) struct GuestPurpose(TokenPurpose);

impl FromRequestParts<App> for GuestPurpose {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Self::Rejection> {
        let identity = Identity::resolve(parts, app).await;
        Ok(Self(identity.as_caller().map_or(TokenPurpose::Use, |caller| caller.purpose)))
    }
}
