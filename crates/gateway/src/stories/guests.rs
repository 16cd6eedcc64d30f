//! Creating guests.

use crate::app::App;
use crate::auth::Identity;
use crate::extract::JsonBody;
use crate::guests::Guest;
use crate::problem::ApiResult;
use crate::quota::QuotaSubject;
use crate::text;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use engine::limits::GUEST_NAME_CHARS_MAX;
use engine::rows::TokenPurpose;
use wire::api::{CreateGuest, GuestCreated};
use wire::problem::Problem;
use wire::time::Timestamp;

/// Create a guest
///
/// Needs no token. The response's token is the guest: it is not stored on the server, and lasts 30 days. The request is charged to the
/// client's address, later requests of the guest to the guest and the address.
#[utoipa::path(post, path = "/api/stories/guests", tag = "stories", request_body = CreateGuest, responses(
    (status = 201, description = "The guest, with the token, which is shown only once.", body = GuestCreated),
    (status = 429, description = "`address_quota`: clients of this address have created as many guests as one address may in an hour; or a rate limit. `Retry-After` says when to try again.", body = Problem, content_type = "application/problem+json"),
))]
pub(super) async fn create_guest(
    State(app): State<App>,
    identity: Identity,
    quota_subject: QuotaSubject,
    JsonBody(request): JsonBody<CreateGuest>,
) -> ApiResult<(StatusCode, Json<GuestCreated>)> {
    let name = text::check_line("/name", "name", &request.name, GUEST_NAME_CHARS_MAX)?;
    // Guests created with a load test's token belong to the load test.
    let purpose = identity.as_caller().map_or(TokenPurpose::Use, |caller| caller.purpose);
    app.quotas.charge_guest(quota_subject.address, app.limits.now())?;
    let guest = Guest::new(name, purpose, app.clock.now());
    let token = app.guests.issue(&guest).await?;
    let created = GuestCreated {
        player: guest.player.to_string(),
        name: guest.name,
        token,
        expires_at: Timestamp(guest.expires_at.0),
    };
    Ok((StatusCode::CREATED, Json(created)))
}
