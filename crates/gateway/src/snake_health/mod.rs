//! The health of a snake, for its owner: checks on request, history, latency by hour of the day, and the secret that signs its calls.
//!
//! A check makes this server call a URL that a client chose. So only the owner may request one, only a few in a minute, and what an address
//! that may not be called answers is the same whatever stands behind it.

mod view;

use super::client_address::ClientAddress;
use super::extract::{PathId, Player};
use super::problem::{ApiError, ApiResult, Resource};
use crate::app::App;
use arena::health::{HealthChange, HttpProber, check_up, record};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use bot_client::statistics::hour_of;
use engine::commands::{BotCommand, Command, Outcome};
use engine::health::EvidenceSource;
use engine::ids::{AccountId, BotId};
use engine::limits::{BOT_CALLS_RETENTION, HEALTH_MOVES_REPEATED, SIGNING_SECRET_OVERLAP};
use engine::rows::Bot;
use engine::time::UnixMs;
use node::clock::random_bytes;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use wire::api::{SigningSecret, SnakeCheck, SnakeHealth, SnakeLatency};
use wire::time::Timestamp;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(check_snake))
        .routes(routes!(get_health))
        .routes(routes!(get_latency))
        .routes(routes!(rotate_signing_secret, stop_signing))
}

/// Check a snake
///
/// Calls the snake as a game does: GET /, then POST /start, /move and /end of a game of its own, each on a new connection; the call for a
/// move is repeated on its connection, as games make it. The answer says what was sent, what came back, how long each step took, what is wrong and
/// what to do about it. It counts as evidence of the snake's health.
#[utoipa::path(post, path = "/api/snakes/{id}/check", tag = "snakes", security(("bearer" = [])), params(("id" = String, Path)), responses(
    (status = 200, description = "What was found, whether the snake passed or not.", body = SnakeCheck),
    (status = 403, description = "`not_owner`: the snake is another account's and public."),
    (status = 404, description = "There is no such snake, or it is another account's and private."),
    (status = 429, description = "`too_many_checks`: the account, the client's address or the snake's host had as many checks in this minute as it may have."),
    (status = 503, description = "`snake_busy`: other evidence about the snake was saved at the same time, again and again, and this check counts for nothing; `store_unavailable`, `overloaded` as elsewhere. Try again after `Retry-After`."),
))]
async fn check_snake(
    State(app): State<App>,
    Player(caller): Player,
    ClientAddress(address): ClientAddress,
    PathId(id): PathId<BotId>,
) -> ApiResult<Json<SnakeCheck>> {
    let bot = find_own_bot(&app, caller.account, id).await?;
    let _permit = app.check_quotas.charge(caller.account, address, &bot.url, app.limits.now())?;
    let prober = HttpProber::new(app.bots.clone(), app.signing_secrets.clone(), app.node.store.clone());
    let now = app.node.clock.now();
    let checkup = check_up(&prober, &bot, now, random_bytes(), HEALTH_MOVES_REPEATED).await?;
    let health = match record(&app.arena, id, checkup.record(EvidenceSource::Request)).await? {
        HealthChange::Saved(health) => health,
        HealthChange::NoSuchBot => return Err(ApiError::NotFound(Resource::Snake)),
        HealthChange::Busy => return Err(ApiError::SnakeBusy),
    };
    Ok(Json(view::check(&bot, &checkup, &health)))
}

/// Get the health of a snake
#[utoipa::path(get, path = "/api/snakes/{id}/health", operation_id = "get_snake_health", tag = "snakes", security(("bearer" = [])), params(("id" = String, Path)), responses(
    (status = 200, description = "Its status, why it is paused if it is, and the latest evidence.", body = SnakeHealth),
    (status = 403, description = "`not_owner`: the snake is another account's and public."),
    (status = 404, description = "There is no such snake, or it is another account's and private."),
))]
async fn get_health(
    State(app): State<App>,
    Player(caller): Player,
    PathId(id): PathId<BotId>,
) -> ApiResult<Json<SnakeHealth>> {
    find_own_bot(&app, caller.account, id).await?;
    let rows = app.node.store.read(move |reader| reader.bot_health(&[id])).await?;
    let health = rows.into_iter().next().map(|row| row.health).unwrap_or_default();
    Ok(Json(view::health(&health)))
}

/// Get how fast a snake answered, by hour of the day
///
/// Counted in games, over the last two weeks; new answers appear after some seconds.
#[utoipa::path(get, path = "/api/snakes/{id}/latency", tag = "snakes", security(("bearer" = [])), params(("id" = String, Path)), responses(
    (status = 200, description = "Percentiles of its latency and the classes of its answers, for each hour of the day.", body = SnakeLatency),
    (status = 403, description = "`not_owner`: the snake is another account's and public."),
    (status = 404, description = "There is no such snake, or it is another account's and private."),
))]
async fn get_latency(
    State(app): State<App>,
    Player(caller): Player,
    PathId(id): PathId<BotId>,
) -> ApiResult<Json<SnakeLatency>> {
    find_own_bot(&app, caller.account, id).await?;
    let from_hour = hour_of(app.node.clock.now().minus(BOT_CALLS_RETENTION));
    let rows = app.node.store.read(move |reader| reader.bot_calls(id, from_hour)).await?;
    Ok(Json(view::latency(from_hour, &rows)))
}

/// Sign the calls of a snake, with a new secret
///
/// Every call then has the header `Gauntlet-Signature`. Games that run already go on as they began. For a day calls are signed with the secret
/// before too, so that the snake can be given the new one in peace.
#[utoipa::path(post, path = "/api/snakes/{id}/signing-secret", tag = "snakes", security(("bearer" = [])), params(("id" = String, Path)), responses(
    (status = 201, description = "The secret. It is shown this once.", body = SigningSecret),
    (status = 403, description = "`not_owner`: the snake is another account's and public."),
    (status = 404, description = "There is no such snake, or it is another account's and private."),
))]
async fn rotate_signing_secret(
    State(app): State<App>,
    Player(caller): Player,
    PathId(id): PathId<BotId>,
) -> ApiResult<(StatusCode, Json<SigningSecret>)> {
    find_own_bot(&app, caller.account, id).await?;
    let now = app.node.clock.now();
    let overlap_until = now.plus(SIGNING_SECRET_OVERLAP);
    let rotate = BotCommand::RotateSigningSecret { bot: id, account: caller.account, now, overlap_until };
    let row = match app.node.store.commit(Command::Bot(rotate)).await? {
        Outcome::Signing(row) => row,
        refusal => return Err(ApiError::from_outcome(&refusal, Resource::Snake)),
    };
    let secret = app.signing_secrets.secret(id, row.state.generation).await?;
    let previous_until = Some(row.state.previous_until).filter(|until| *until > now);
    let shown = SigningSecret {
        secret: secret.expose().to_owned(),
        created_at: timestamp(row.created_at),
        previous_until: previous_until.map(timestamp),
    };
    Ok((StatusCode::CREATED, Json(shown)))
}

/// Stop signing the calls of a snake
#[utoipa::path(delete, path = "/api/snakes/{id}/signing-secret", tag = "snakes", security(("bearer" = [])), params(("id" = String, Path)), responses(
    (status = 204, description = "Its calls are not signed any more, from the next game on."),
    (status = 403, description = "`not_owner`: the snake is another account's and public."),
    (status = 404, description = "There is no such snake, it is another account's and private, or its calls are not signed."),
))]
async fn stop_signing(
    State(app): State<App>,
    Player(caller): Player,
    PathId(id): PathId<BotId>,
) -> ApiResult<StatusCode> {
    find_own_bot(&app, caller.account, id).await?;
    let stop = BotCommand::StopSigning { bot: id, account: caller.account };
    match app.node.store.commit(Command::Bot(stop)).await? {
        Outcome::Done => Ok(StatusCode::NO_CONTENT),
        refusal => Err(ApiError::from_outcome(&refusal, Resource::Snake)),
    }
}

async fn find_own_bot(app: &App, account: AccountId, id: BotId) -> ApiResult<Bot> {
    let bots = app.node.store.read(move |reader| reader.bots_by_id(&[id])).await?;
    match bots.into_iter().next() {
        Some(bot) if bot.account == account => Ok(bot),
        Some(bot) if bot.is_public => Err(ApiError::NotOwner(Resource::Snake)),
        Some(_) | None => Err(ApiError::NotFound(Resource::Snake)),
    }
}

fn timestamp(at: UnixMs) -> Timestamp {
    Timestamp(at.0)
}
