//! `POST /api/games/batch`: up to a thousand games in one request and one commit, each judged alone.

use super::intake::{enqueue, validate_games};
use crate::admission::RateLimitSubject;
use crate::app::App;
use crate::extract::{Player, RawJson, parse_value};
use crate::idempotency::{IdempotencyKey, first_response, json_response};
use crate::problem::{ApiError, ApiResult};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use engine::limits::BULK_GAMES_MAX;
use engine::matches::spec::MatchSpec;
use wire::api::{BatchAnswer, BatchItem, CreateBatch, CreateGame};

/// Create many games
///
/// Every game is judged alone, and all good ones are saved in one commit. With an `Idempotency-Key`, the same request sent
/// again gets the same answer and creates nothing.
///
/// Under a rate limit, the request is worth as many units as it has games, good or not, repeated or not. The first is taken
/// when it arrives, the others together once it is read: where they are refused (429), no game was created, and the first unit
/// stays taken.
#[utoipa::path(
    post, path = "/api/games/batch", tag = "games", security(("bearer" = [])), request_body = CreateBatch,
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 128 visible ASCII characters, new for each request.", max_length = 128)),
    responses((status = 200, description = "What became of each game, in order.", body = BatchAnswer)),
)]
pub(super) async fn create_games(
    State(app): State<App>,
    Player(caller): Player,
    payer: RateLimitSubject,
    request: RawJson,
) -> ApiResult<Response> {
    let key = IdempotencyKey::of(&request)?;
    let (wanted, now) = (parse_games(request.parse()?)?, app.clock.now());
    let paid = payer.charge_remaining(&app.limits, wanted.len())?;
    let judged = validate_games(&app, caller.account, wanted, now).await?;
    let items = judged.iter().map(batch_item).collect();
    let body = serde_json::to_vec(&BatchAnswer { items }).expect("an answer of text and numbers");
    let good: Vec<MatchSpec> = judged.into_iter().flatten().collect();
    if good.is_empty() {
        let first_answer = first_response(&app, caller.account, key.as_ref()).await?;
        return Ok(paid.add_headers(json_response(StatusCode::OK, first_answer.unwrap_or(body))));
    }
    let body = enqueue(&app, caller.account, good, key, body, now).await?;
    Ok(paid.add_headers(json_response(StatusCode::OK, body)))
}

fn parse_games(batch: CreateBatch) -> ApiResult<Vec<ApiResult<CreateGame>>> {
    let count = batch.games.len();
    if !(1..=BULK_GAMES_MAX).contains(&count) {
        let reason = format!("a batch has 1 to {BULK_GAMES_MAX} games, not {count}");
        return Err(ApiError::bad_value("/games", reason));
    }
    Ok(batch.games.into_iter().map(parse_value).collect())
}

fn batch_item(judged: &ApiResult<MatchSpec>) -> BatchItem {
    match judged {
        Ok(spec) => BatchItem { status: StatusCode::CREATED.as_u16(), id: Some(spec.id.to_string()), problem: None },
        Err(refusal) => {
            let problem = refusal.to_problem();
            BatchItem { status: problem.status, id: None, problem: Some(problem) }
        }
    }
}
