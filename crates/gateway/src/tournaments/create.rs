//! Creating a tournament.

use super::request::{AssignedValues, parse_tournament};
use super::view;
use crate::app::App;
use crate::extract::{JsonBody, Player};
use crate::problem::{ApiError, ApiResult};
use arena::tournaments::NewTournament;
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderName, StatusCode, header};
use engine::competitions::CompetitionKind;
use engine::ids::{AccountId, CompetitionId};
use engine::tournaments::Seeding;
use node::clock::random_bytes;
use rules::chance::Seed;
use wire::api::{CreateTournament, TournamentDetails};

/// Create a tournament
///
/// **Who:** players; an account may have 20 that have not ended. Bots are entered until it starts: at `starts_at`, or when its organizer
/// starts it. What is wrong in the request is said about everything at once.
#[utoipa::path(post, path = "/api/tournaments", tag = "tournaments", security(("bearer" = [])), request_body = CreateTournament, responses(
    (status = 201, description = "Entries are open.", body = TournamentDetails, headers(("Location" = String, description = "The tournament's path"))),
    (status = 409, description = "`too_many`: the account has as many that have not ended as it may have."),
))]
pub(super) async fn create_tournament(
    State(app): State<App>,
    Player(caller): Player,
    JsonBody(wanted): JsonBody<CreateTournament>,
) -> ApiResult<(StatusCode, [(HeaderName, String); 1], Json<TournamentDetails>)> {
    let given = AssignedValues {
        now: app.node.clock.now(),
        seed: Seed(u64::from_be_bytes(random_bytes())),
        turns_max: app.config.turns_max,
        timeout_ms_default: u16::try_from(app.config.bot_timeout_default.as_millis()).unwrap_or(u16::MAX),
    };
    let (name, definition) = parse_tournament(&wanted, &given)?;
    if let Seeding::Ladder { ladder } = definition.seeding {
        check_ladder(&app, ladder, caller.account).await?;
    }
    let is_public = wanted.is_public.unwrap_or(true);
    let created =
        app.tournaments.create(NewTournament { account: caller.account, name, is_public, definition }).await?;
    let path = format!("/api/tournaments/{}", created.row.id);
    Ok((StatusCode::CREATED, [(header::LOCATION, path)], Json(view::details(&created))))
}

/// A ladder by which the caller may seed: a public one, or an own one.
async fn check_ladder(app: &App, ladder: CompetitionId, account: AccountId) -> ApiResult<()> {
    let row = app.node.store.read(move |reader| reader.competition(ladder)).await?;
    let is_known =
        row.is_some_and(|row| row.kind == CompetitionKind::Ladder && (row.is_public || row.account == account));
    let unknown = || ApiError::bad_value("/ladder_id", "there is no such ladder: GET /api/leaderboards lists them");
    if is_known { Ok(()) } else { Err(unknown()) }
}
