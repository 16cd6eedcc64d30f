//! Creating a duel, and calling it off.

use super::read::{DuelAccess, find_duel};
use super::request::{Assigned, ChosenBot, parse_bots, parse_duel};
use super::view;
use crate::app::App;
use crate::extract::{PathId, Player, RawJson};
use crate::idempotency::{
    IdempotencyKey, NewCompetition, create_competition, first_response_or, json_body, json_response,
};
use crate::problem::{ApiError, ApiResult, Resource};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use engine::commands::Outcome;
use engine::competitions::{CompetitionKind, CompetitionRow};
use engine::duels::Duel;
use engine::ids::{AccountId, BotId, CompetitionId};
use engine::limits::{DUEL_CANCEL_ATTEMPTS_MAX, DUELS_PER_ACCOUNT_MAX};
use engine::rows::OwnedBot;
use node::clock::random_bytes;
use rules::chance::Seed;
use std::collections::HashMap;
use std::sync::Arc;
use wire::api::{CreateDuel, DuelDetails};

/// Create a duel
///
/// Two bots play pairs of games, each pair from one seed with seats exchanged, until a sequential test knows whether the
/// second bot is better; three to eight play a league. Bots that are named by a URL are not registered. With an `Idempotency-Key`, the same
/// request sent again gets the same answer and creates nothing; keys are remembered for a day.
#[utoipa::path(
    post, path = "/api/duels", tag = "duels", security(("bearer" = [])), request_body = CreateDuel,
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 128 visible ASCII characters, new for each request.", max_length = 128)),
    responses(
        (status = 201, description = "It begins within a second.", body = DuelDetails),
        (status = 409, description = "`too_many`: the account has as many duels under way as it may have."),
    ),
)]
pub(super) async fn create_duel(
    State(app): State<App>,
    Player(caller): Player,
    request: RawJson,
) -> ApiResult<Response> {
    let key = IdempotencyKey::of(&request)?;
    let body = match validate(&app, caller.account, &request).await {
        Ok(new) => {
            let refusal = |outcome: &Outcome| match outcome {
                Outcome::NotFound => ApiError::NotFound(Resource::Account),
                other => ApiError::from_outcome(other, Resource::Duel),
            };
            create_competition(&app, new, key, refusal).await?
        }
        Err(refusal) => first_response_or(&app, caller.account, key.as_ref(), refusal).await?,
    };
    Ok(json_response(StatusCode::CREATED, body))
}

async fn validate(app: &App, account: AccountId, request: &RawJson) -> ApiResult<NewCompetition> {
    let wanted: CreateDuel = request.parse()?;
    let chosen = parse_bots(&wanted, app.config.allow_private_bots)?;
    let known = load_bots(app, &chosen).await?;
    let now = app.node.clock.now();
    let assigned = Assigned {
        seed: Seed(u64::from_be_bytes(random_bytes())),
        bots: chosen.iter().map(|_| BotId::new(now, random_bytes())).collect(),
        turns_max: app.config.turns_max,
        timeout_ms_default: u16::try_from(app.config.bot_timeout_default.as_millis()).unwrap_or(u16::MAX),
    };
    let (definition, name) = parse_duel(&wanted, &chosen, &known, account, &assigned)?;
    let id = CompetitionId::new(now, random_bytes());
    let row = CompetitionRow {
        is_public: definition.is_public,
        due_at: Some(now),
        ..CompetitionRow::new(id, CompetitionKind::Duel, account, name, definition.encode(), now)
    };
    let response = json_body(&view::details(&row, &Duel::new(definition), DuelAccess::Owner));
    Ok(NewCompetition { row, live_max: DUELS_PER_ACCOUNT_MAX, response })
}

async fn load_bots(app: &App, chosen: &[ChosenBot]) -> ApiResult<HashMap<BotId, OwnedBot>> {
    let registered = chosen.iter().filter_map(|bot| match bot {
        ChosenBot::Registered(id) => Some(*id),
        ChosenBot::Url { .. } => None,
    });
    let mut ids: Vec<BotId> = registered.collect();
    ids.sort_unstable();
    ids.dedup();
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let bots = app.node.store.read(move |reader| reader.bots_with_owners(&ids)).await?;
    Ok(bots.into_iter().map(|known| (known.bot.id, known)).collect())
}

/// Call off one of your duels
///
/// Its games that are under way are called off as well. What counted so far stays.
#[utoipa::path(post, path = "/api/duels/{id}/cancel", tag = "duels", security(("bearer" = [])), params(("id" = String, Path)), responses(
    (status = 200, description = "It is over: called off, or it had ended before.", body = DuelDetails),
    (status = 404, description = "The account has no such duel."),
    (status = 503, description = "`duel_busy`: results are being counted at this moment. Try again."),
))]
pub(super) async fn cancel_duel(
    State(app): State<App>,
    Player(caller): Player,
    PathId(id): PathId<CompetitionId>,
) -> ApiResult<Json<DuelDetails>> {
    let (row, _) = find_duel(&app, id).await?;
    if DuelAccess::of(&row, Some(caller)) != Some(DuelAccess::Owner) {
        return Err(ApiError::NotFound(Resource::Duel));
    }
    let (row, duel) = call_off(&app, id).await?;
    Ok(Json(view::details(&row, &duel, DuelAccess::Owner)))
}

/// Calls a duel off, unless it is over.
pub(crate) async fn call_off(app: &App, id: CompetitionId) -> ApiResult<(CompetitionRow, Arc<Duel>)> {
    for _ in 0..DUEL_CANCEL_ATTEMPTS_MAX {
        let (row, duel) = find_duel(app, id).await?;
        if duel.end().is_some() {
            return Ok((row, duel));
        }
        arena::duels::cancel(&app.arena, &app.duels, &row, &duel).await?;
    }
    // It is over now, or other writers came first each time.
    let (row, duel) = find_duel(app, id).await?;
    if duel.end().is_none() { Err(ApiError::DuelBusy) } else { Ok((row, duel)) }
}
