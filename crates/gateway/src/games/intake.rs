//! The way of every creation, single or in bulk: read all of it, look the bots up once, seat them, commit once.

use super::request::{AssignedParams, ValidatedGame, seat_bots, validate_game};
use crate::app::App;
use crate::idempotency::IdempotencyKey;
use crate::problem::{ApiError, ApiResult, Resource};
use engine::commands::{Command, CreateMatches, Outcome};
use engine::ids::{AccountId, BotId, MatchId};
use engine::matches::spec::MatchSpec;
use engine::rows::Bot;
use engine::time::UnixMs;
use node::clock::random_bytes;
use rules::chance::Seed;
use std::collections::HashMap;
use wire::api::CreateGame;

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

async fn load_bots(app: &App, plans: &[ApiResult<ValidatedGame>]) -> ApiResult<HashMap<BotId, Bot>> {
    let mut ids: Vec<BotId> = plans.iter().flatten().flat_map(|plan| plan.bots.iter().copied()).collect();
    ids.sort_unstable();
    ids.dedup();
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let bots = app.store.read(move |reader| reader.bots_by_id(&ids)).await?;
    Ok(bots.into_iter().map(|bot| (bot.id, bot)).collect())
}

/// Puts the matches into the queue, durably, and gives the bytes to answer: these, or those of the first time.
pub(super) async fn enqueue(
    app: &App,
    account: AccountId,
    matches: Vec<MatchSpec>,
    key: Option<IdempotencyKey>,
    answer: Vec<u8>,
    now: UnixMs,
) -> ApiResult<Vec<u8>> {
    let idempotency = key.map(|key| key.with_response(answer.clone()));
    let create = CreateMatches { account, idempotency, matches, now };
    match app.store.commit(Command::CreateMatches(create)).await? {
        Outcome::Done => {
            app.notifier.notify_queue();
            Ok(answer)
        }
        Outcome::Replayed(first_answer) => Ok(first_answer),
        Outcome::NotFound => Err(ApiError::NotFound(Resource::Account)),
        refusal => Err(ApiError::from_outcome(&refusal, Resource::Game)),
    }
}
