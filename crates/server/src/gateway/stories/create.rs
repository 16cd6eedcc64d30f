//! `POST /api/stories/games`: a game at a new table, or the next one at a table.

use super::extract::ActingPlayer;
use super::{read, settings, view};
use crate::app::App;
use crate::clock::random_bytes;
use crate::gateway::extract::RawJson;
use crate::gateway::idempotency::IdempotencyKey;
use crate::gateway::problem::{ApiError, ApiResult};
use crate::gateway::quota::QuotaSubject;
use crate::tables::{NewTable, OpenResult, TableError};
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderName, StatusCode, header};
use engine::ids::{GameId, TableId};
use engine::tables::Action;
use wire::api::{CreateStory, StoryState};
use wire::problem::Problem;

/// The number of a table's first game.
const FIRST_GAME_NUMBER: u32 = 1;

/// A game that was opened, and where it is.
type Created = (StatusCode, [(HeaderName, String); 1], Json<StoryState>);

/// Open a game
///
/// **Who:** anybody with a player's or a guest's token; they are the storyteller, and are dealt a hand. **When:** at a new table, at any
/// time. With `table`, the next game there, once the table's game is over: only the `next_storyteller` as long as the table waits for
/// them, and anybody otherwise. It is durable before the answer. With an `Idempotency-Key` (remembered for a day), the same request sent again opens nothing
/// and shows the game that the first one opened.
#[utoipa::path(
    post, path = "/api/stories/games", tag = "stories", security(("bearer" = []), ("cookie" = [])), request_body = CreateStory,
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 128 visible ASCII characters, new for each request.", max_length = 128)),
    responses(
        (status = 201, description = "The game, as its storyteller sees it.", body = StoryState, headers(("Location" = String, description = "Where the game is"))),
        (status = 404, description = "`no_such_table`", body = Problem, content_type = "application/problem+json"),
        (status = 409, description = "`game_live`: the table's game goes on; `not_your_turn`: the table waits for another player to tell the next story.", body = Problem, content_type = "application/problem+json"),
        (status = 422, description = "`idempotency_key_reused`: the key came with another request before; or the body is JSON of another shape: a member is missing or has another type.", body = Problem, content_type = "application/problem+json"),
        (status = 429, description = "`too_many_tables`: the caller, or the clients of this address, have opened as many as may be in memory, and some game must end first; `address_quota`: as many as one address may make in an hour; or a rate limit. `Retry-After` says when to come again.", body = Problem, content_type = "application/problem+json"),
    ),
)]
pub(super) async fn create_game(
    State(app): State<App>,
    sitter: ActingPlayer,
    counted: QuotaSubject,
    request: RawJson,
) -> ApiResult<Created> {
    let key = IdempotencyKey::of(&request)?;
    let wanted: CreateStory = request.parse()?;
    let state = match wanted.table {
        None => open_table(&app, &sitter, counted, &wanted, key).await,
        Some(ref table) => next_game(&app, &sitter, table, &wanted, key.is_some()).await,
    }?;
    let place = state.game.as_ref().map(|game| format!("/api/stories/games/{}", game.id)).unwrap_or_default();
    Ok((StatusCode::CREATED, [(header::LOCATION, place)], Json(state)))
}

async fn open_table(
    app: &App,
    sitter: &ActingPlayer,
    counted: QuotaSubject,
    wanted: &CreateStory,
    key: Option<IdempotencyKey>,
) -> ApiResult<StoryState> {
    let settings =
        settings::parse_settings(settings::defaults(&app.config), &wanted.settings.clone().unwrap_or_default())?;
    app.quotas.charge_table(counted.address, app.limits.now())?;
    let id = TableId::new(app.clock.now(), random_bytes());
    let game = GameId { table: id, number: FIRST_GAME_NUMBER };
    let opening = NewTable {
        id,
        opener: sitter.newcomer(app).await?,
        address: counted.address,
        is_operator: counted.is_operator,
        settings,
        bots: wanted.bots.unwrap_or(false),
        idempotency: key.map(|key| key.with_response(game.to_string().into_bytes())),
    };
    match app.tables.open(opening).await? {
        OpenResult::New { view, committed_at_us } => Ok(view::state(&view, &[sitter.player()], Some(committed_at_us))),
        OpenResult::Replayed(first) => {
            let first = String::from_utf8_lossy(&first);
            let game = first.parse().map_err(|_| ApiError::Internal(format!("a remembered game is {first:?}")))?;
            read::view_game(app, game, Some(sitter.player())).await
        }
    }
}

async fn next_game(
    app: &App,
    sitter: &ActingPlayer,
    table: &str,
    wanted: &CreateStory,
    may_be_repeated: bool,
) -> ApiResult<StoryState> {
    let table: TableId =
        table.parse().map_err(|error| ApiError::bad_value("/table", format!("the table is {error}")))?;
    for (field, is_given) in [("bots", wanted.bots.is_some()), ("settings", wanted.settings.is_some())] {
        if is_given {
            let reason = format!("{field} are chosen with a new table: leave them out for the next game at one");
            return Err(ApiError::bad_value(format!("/{field}"), reason));
        }
    }
    let newcomer = sitter.newcomer(app).await?;
    match app.tables.act(table, None, sitter.player(), Action::NextGame(newcomer)).await {
        Ok(acted) => Ok(view::state(&acted.view, &acted.online, acted.committed_at_us)),
        Err(refusal @ TableError::Refused(_)) if may_be_repeated => {
            find_opened_game(app, sitter, table).await?.ok_or_else(|| refusal.into())
        }
        Err(error) => Err(error.into()),
    }
}

/// The game that this storyteller has just opened, if there is one: a table has one game at a time, so a repetition needs no key to be
/// known by.
async fn find_opened_game(app: &App, sitter: &ActingPlayer, table: TableId) -> ApiResult<Option<StoryState>> {
    let player = sitter.player();
    let seen = app.tables.view(table, Some(player)).await?;
    let is_it = seen.view.game.as_ref().is_some_and(|game| {
        game.storyteller == Some(player)
            && game.phase == engine::tables::Phase::Create
            && game.id.number > FIRST_GAME_NUMBER
    });
    Ok(is_it.then(|| view::state(&seen.view, &seen.online, None)))
}
