//! `POST /api/games`: one game, durable before it is answered.

use super::intake::{enqueue, validate_games};
use crate::app::App;
use crate::extract::{Player, RawJson};
use crate::idempotency::{IdempotencyKey, first_response, json_response};
use crate::problem::{ApiError, ApiResult};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use engine::matches::lifecycle::MatchState;
use wire::api::{CreateGame, GameCreated};

/// Create a game
///
/// It is durable before the answer. With an `Idempotency-Key`, the same request sent again gets the same answer and creates
/// nothing; keys are remembered for a day.
#[utoipa::path(
    post, path = "/api/games", tag = "games", security(("bearer" = [])), request_body = CreateGame,
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 128 visible ASCII characters, new for each request.", max_length = 128)),
    responses((status = 201, description = "It waits to be played.", body = GameCreated)),
)]
pub(super) async fn create_game(
    State(app): State<App>,
    Player(caller): Player,
    request: RawJson,
) -> ApiResult<Response> {
    let key = IdempotencyKey::of(&request)?;
    let (wanted, now) = (request.parse(), app.clock.now());
    let mut judged = validate_games(&app, caller.account, vec![wanted], now).await?;
    let judgement = judged.pop().ok_or_else(|| ApiError::Internal("no judgement on a creation".to_owned()))?;
    let spec = match judgement {
        Ok(spec) => spec,
        Err(refusal) => {
            let first_answer = first_response(&app, caller.account, key.as_ref()).await?;
            return first_answer.map(|first_answer| json_response(StatusCode::CREATED, first_answer)).ok_or(refusal);
        }
    };
    let created = GameCreated { id: spec.id.to_string(), status: MatchState::Waiting.name().to_owned() };
    let body = serde_json::to_vec(&created).expect("an answer of text and numbers");
    let body = enqueue(&app, caller.account, vec![spec], key, body, now).await?;
    Ok(json_response(StatusCode::CREATED, body))
}
