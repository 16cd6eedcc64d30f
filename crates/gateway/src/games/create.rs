//! Creating games: one (`POST /api/games`), or up to a thousand in one request and one commit, each validated alone. Both take the same way:
//! parse, look the bots up once, seat them, commit once.

use super::request::{AssignedParams, ValidatedGame, seat_bots, validate_game};
use crate::admission::RateLimitSubject;
use crate::app::App;
use crate::extract::{Player, RawJson, parse_value};
use crate::idempotency::{IdempotencyKey, first_response, first_response_or, json_response};
use crate::problem::{ApiError, ApiResult, Resource};
use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use engine::commands::{Command, CreateMatches, Outcome};
use engine::ids::{AccountId, BotId, MatchId};
use engine::limits::BULK_GAMES_MAX;
use engine::matches::lifecycle::MatchState;
use engine::matches::spec::MatchSpec;
use engine::rows::OwnedBot;
use engine::time::UnixMs;
use node::clock::random_bytes;
use rules::chance::Seed;
use std::collections::HashMap;
use telemetry::RequestTrace;
use wire::api::{BatchAnswer, BatchItem, CreateBatch, CreateGame, GameCreated};

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
    trace: Option<Extension<RequestTrace>>,
    request: RawJson,
) -> ApiResult<Response> {
    let key = IdempotencyKey::of(&request)?;
    let (wanted, now) = (request.parse(), app.node.clock.now());
    let mut judged = validate_games(&app, caller.account, vec![wanted], now).await?;
    let judgement = judged.pop().ok_or_else(|| ApiError::Internal("no judgement on a creation".to_owned()))?;
    let spec = match judgement {
        Ok(spec) => spec,
        Err(refusal) => {
            let first_answer = first_response_or(&app, caller.account, key.as_ref(), refusal).await?;
            return Ok(json_response(StatusCode::CREATED, first_answer));
        }
    };
    let created = GameCreated { id: spec.id.to_string(), status: MatchState::Waiting.name().to_owned() };
    let body = serde_json::to_vec(&created).expect("an answer of text and numbers");
    let body = enqueue(&app, caller.account, vec![spec], key, body, (now, trace)).await?;
    Ok(json_response(StatusCode::CREATED, body))
}

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
    subject: RateLimitSubject,
    trace: Option<Extension<RequestTrace>>,
    request: RawJson,
) -> ApiResult<Response> {
    let key = IdempotencyKey::of(&request)?;
    let (wanted, now) = (parse_games(request.parse()?)?, app.node.clock.now());
    let charge = subject.charge_remaining(&app.limits, wanted.len())?;
    let judged = validate_games(&app, caller.account, wanted, now).await?;
    let items = judged.iter().map(batch_item).collect();
    let body = serde_json::to_vec(&BatchAnswer { items }).expect("an answer of text and numbers");
    let good: Vec<MatchSpec> = judged.into_iter().flatten().collect();
    if good.is_empty() {
        let first_answer = first_response(&app, caller.account, key.as_ref()).await?;
        return Ok(charge.add_headers(json_response(StatusCode::OK, first_answer.unwrap_or(body))));
    }
    let body = enqueue(&app, caller.account, good, key, body, (now, trace)).await?;
    Ok(charge.add_headers(json_response(StatusCode::OK, body)))
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

/// Judges creations, each alone; the order is kept.
pub(super) async fn validate_games(
    app: &App,
    account: AccountId,
    wanted: Vec<ApiResult<CreateGame>>,
    now: UnixMs,
) -> ApiResult<Vec<ApiResult<MatchSpec>>> {
    let timeout_ms_default = u16::try_from(app.config.bot_timeout_default.as_millis()).unwrap_or(u16::MAX);
    let plans: Vec<ApiResult<ValidatedGame>> =
        wanted.into_iter().map(|wanted| wanted.and_then(|wanted| validate_game(&wanted, timeout_ms_default))).collect();
    let known = load_bots(app, &plans).await?;
    let given = || AssignedParams {
        id: MatchId::new(now, random_bytes()),
        seed: Seed(u64::from_be_bytes(random_bytes())),
        turns_max: app.config.turns_max,
    };
    Ok(plans.into_iter().map(|plan| plan.and_then(|plan| seat_bots(&plan, &known, account, &given()))).collect())
}

async fn load_bots(app: &App, plans: &[ApiResult<ValidatedGame>]) -> ApiResult<HashMap<BotId, OwnedBot>> {
    let mut ids: Vec<BotId> = plans.iter().flatten().flat_map(|plan| plan.bots.iter().copied()).collect();
    ids.sort_unstable();
    ids.dedup();
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let bots = app.node.store.read(move |reader| reader.bots_with_owners(&ids)).await?;
    Ok(bots.into_iter().map(|owned| (owned.bot.id, owned)).collect())
}

/// Puts the matches into the queue, durably, and gives the bytes to answer: these, or those of the first time.
pub(super) async fn enqueue(
    app: &App,
    account: AccountId,
    matches: Vec<MatchSpec>,
    key: Option<IdempotencyKey>,
    answer: Vec<u8>,
    (now, trace): (UnixMs, Option<Extension<RequestTrace>>),
) -> ApiResult<Vec<u8>> {
    if let Some(Extension(trace)) = trace {
        // A worker may take them as soon as they are saved.
        trace.remember_matches(matches.iter().map(|spec| spec.id.0));
    }
    let idempotency = key.map(|key| key.with_response(answer.clone()));
    let create = CreateMatches { account, idempotency, matches, now };
    match app.node.store.commit(Command::CreateMatches(create)).await? {
        Outcome::Done => {
            app.notifier.notify_queue();
            Ok(answer)
        }
        Outcome::Replayed(first_answer) => Ok(first_answer),
        Outcome::NotFound => Err(ApiError::NotFound(Resource::Account)),
        Outcome::LimitReached => Err(ApiError::TooManyWaiting),
        refusal => Err(ApiError::from_outcome(&refusal, Resource::Game)),
    }
}
