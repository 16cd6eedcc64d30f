//! Creating a tournament.

use super::request::{AssignedValues, parse_tournament};
use super::view;
use crate::app::App;
use crate::auth::Caller;
use crate::extract::{Player, RawJson};
use crate::idempotency::{IdempotencyKey, first_response_or, json_body, json_response};
use crate::problem::{ApiError, ApiResult};
use arena::tournaments::{CreatedTournament, LoadedTournament, NewTournament};
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use engine::competitions::CompetitionKind;
use engine::ids::{AccountId, CompetitionId};
use engine::rows::Role;
use engine::tournaments::Seeding;
use node::clock::random_bytes;
use rules::chance::Seed;
use serde::Deserialize;
use std::fmt::Display;
use wire::api::{CreateTournament, TournamentDetails};

/// Create a tournament
///
/// **Who:** players; an account may have 20 that have not ended. Bots are entered until it starts: at `starts_at`, or when its organizer
/// starts it. What is wrong in the request is said about everything at once. With an `Idempotency-Key`, the same request sent again gets the
/// same answer and creates nothing; keys are remembered for a day.
#[utoipa::path(
    post, path = "/api/tournaments", tag = "tournaments", security(("bearer" = [])), request_body = CreateTournament,
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 128 visible ASCII characters, new for each request.", max_length = 128)),
    responses(
        (status = 201, description = "Entries are open.", body = TournamentDetails, headers(("Location" = String, description = "The tournament's path"))),
        (status = 409, description = "`too_many`: the account has as many that have not ended as it may have."),
    ),
)]
pub(super) async fn create_tournament(
    State(app): State<App>,
    Player(caller): Player,
    request: RawJson,
) -> ApiResult<Response> {
    let key = IdempotencyKey::of(&request)?;
    let body = match validate(&app, &caller, &request).await {
        Ok(new) => {
            let idempotency =
                |created: &LoadedTournament| key.map(|key| key.with_response(json_body(&view::details(created))));
            match app.tournaments.create(new, idempotency).await? {
                CreatedTournament::New(created) => json_body(&view::details(&created)),
                CreatedTournament::Replayed(first_response) => first_response,
            }
        }
        Err(refusal) => first_response_or(&app, caller.account, key.as_ref(), refusal).await?,
    };
    let location = location(&body)?;
    let mut response = json_response(StatusCode::CREATED, body);
    response.headers_mut().insert(header::LOCATION, location);
    Ok(response)
}

/// Where the tournament of this response is.
fn location(body: &[u8]) -> ApiResult<HeaderValue> {
    #[derive(Deserialize)]
    struct Created {
        id: String,
    }
    let unreadable = |error: &dyn Display| ApiError::Internal(format!("the response of a creation: {error}"));
    let Created { id } = serde_json::from_slice(body).map_err(|error| unreadable(&error))?;
    HeaderValue::try_from(format!("/api/tournaments/{id}")).map_err(|error| unreadable(&error))
}

async fn validate(app: &App, caller: &Caller, request: &RawJson) -> ApiResult<NewTournament> {
    let account = caller.account;
    let wanted: CreateTournament = request.parse()?;
    let given = AssignedValues {
        now: app.node.clock.now(),
        seed: Seed(u64::from_be_bytes(random_bytes())),
        may_choose_seed: caller.role >= Role::Operator,
        turns_max: app.config.turns_max,
        timeout_ms_default: u16::try_from(app.config.bot_timeout_default.as_millis()).unwrap_or(u16::MAX),
    };
    let (name, definition) = parse_tournament(&wanted, &given)?;
    if let Seeding::Ladder { ladder } = definition.seeding {
        check_ladder(app, ladder, account).await?;
    }
    Ok(NewTournament { account, name, is_public: wanted.is_public.unwrap_or(true), definition })
}

/// A ladder by which the caller may seed: a public one, or an own one.
async fn check_ladder(app: &App, ladder: CompetitionId, account: AccountId) -> ApiResult<()> {
    let row = app.node.store.read(move |reader| reader.competition(ladder)).await?;
    let is_known =
        row.is_some_and(|row| row.kind == CompetitionKind::Ladder && (row.is_public || row.account == account));
    let unknown = || ApiError::bad_value("/ladder_id", "there is no such ladder: GET /api/leaderboards lists them");
    if is_known { Ok(()) } else { Err(unknown()) }
}
