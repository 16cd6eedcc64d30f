//! `POST /api/stories/games`: a game at a new table, or the next one at a table.

use super::extract::ActingPlayer;
use super::{read, settings, view};
use crate::app::App;
use crate::extract::RawJson;
use crate::idempotency::{IdempotencyKey, first_story_response};
use crate::problem::{ApiError, ApiResult};
use crate::quota::QuotaSubject;
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderName, StatusCode, header};
use engine::ids::{GameId, TableId};
use engine::tables::{Action, BotSettings};
use node::clock::random_bytes;
use tables::{NewTable, OpenResult, TableError};
use wire::api::{CreateStory, StoryState};

/// The number of a table's first game.
const FIRST_GAME_NUMBER: u32 = 1;

/// A created game, and its location.
type Created = (StatusCode, [(HeaderName, String); 1], Json<StoryState>);

/// Create a game
///
/// **Who:** anyone with a player's or a guest's token; they become the storyteller, and are dealt a hand. **When:** at a new table, at any
/// time. With `table`, the next game there, once the table's game is over: only the `next_storyteller` as long as the table waits for
/// them, and anyone otherwise. It is durable before the response. With an `Idempotency-Key` (stored for a day), the same request sent again creates nothing
/// and returns the game that the first one created. Of the next game at a table that is true while the game waits for its story; after that, the
/// table answers as without a key.
#[utoipa::path(
    post, path = "/api/stories/games", operation_id = "create_story", tag = "stories", security(("bearer" = []), ("cookie" = [])), request_body = CreateStory,
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 128 visible ASCII characters, new for each request.", max_length = 128)),
    responses(
        (status = 201, description = "The game, as its storyteller sees it.", body = StoryState, headers(("Location" = String, description = "The game's path"))),
        (status = 404, description = "`no_such_table`"),
        (status = 409, description = "`game_live`: the table's game goes on; `not_your_turn`: the table waits for another player to tell the next story."),
        (status = 422, description = "`idempotency_key_reused`: the key came with another request before; or the body is JSON of another shape: a member is missing or has another type."),
        (status = 429, description = "`too_many_tables`: the caller, or the clients of this address, have as many tables in memory as allowed, and some game must end first; `address_quota`: as many as one address may create in an hour; or a rate limit. `Retry-After` says when to try again."),
    ),
)]
pub(super) async fn create_game(
    State(app): State<App>,
    player: ActingPlayer,
    quota_subject: QuotaSubject,
    body: RawJson,
) -> ApiResult<Created> {
    let key = IdempotencyKey::of(&body)?;
    let request: CreateStory = body.parse()?;
    // Before anything is counted or refused: a repetition creates nothing.
    let state = match first_story_response(&app, player.player(), key.as_ref()).await? {
        Some(stored) => stored_game(&app, &player, &stored).await,
        None => create(&app, &player, quota_subject, &request, key).await,
    }?;
    let path = state.game.as_ref().map(|game| format!("/api/stories/games/{}", game.id)).unwrap_or_default();
    Ok((StatusCode::CREATED, [(header::LOCATION, path)], Json(state)))
}

async fn create(
    app: &App,
    player: &ActingPlayer,
    quota_subject: QuotaSubject,
    request: &CreateStory,
    key: Option<IdempotencyKey>,
) -> ApiResult<StoryState> {
    match request.table {
        None => open_table(app, player, quota_subject, request, key).await,
        Some(ref table) => next_game(app, player, table, request, key.is_some()).await,
    }
}

/// The game that the first request with a key created, as it is now.
async fn stored_game(app: &App, player: &ActingPlayer, stored: &[u8]) -> ApiResult<StoryState> {
    let stored = String::from_utf8_lossy(stored);
    let game = stored.parse().map_err(|_| ApiError::Internal(format!("a stored game is {stored:?}")))?;
    read::view_game(app, game, Some(player.player())).await
}

async fn open_table(
    app: &App,
    player: &ActingPlayer,
    quota_subject: QuotaSubject,
    request: &CreateStory,
    key: Option<IdempotencyKey>,
) -> ApiResult<StoryState> {
    let requested = request.settings.clone().unwrap_or_default();
    let (settings, difficulty) = settings::parse_settings(settings::defaults(&app.config), &requested)?;
    let bots = BotSettings { are_on: request.bots.unwrap_or(false), difficulty };
    app.quotas.charge_table(quota_subject.address, app.limits.now())?;
    let id = TableId::new(app.node.clock.now(), random_bytes());
    let game = GameId { table: id, number: FIRST_GAME_NUMBER };
    let new_table = NewTable {
        id,
        opener: player.newcomer(app).await?,
        address: quota_subject.address,
        is_operator: quota_subject.is_operator,
        settings,
        bots,
        idempotency: key.map(|key| key.with_response(game.to_string().into_bytes())),
    };
    match app.tables.open(new_table).await? {
        OpenResult::New { view, committed_at_us } => Ok(view::state(&view, &[player.player()], Some(committed_at_us))),
        OpenResult::Replayed(stored) => stored_game(app, player, &stored).await,
    }
}

async fn next_game(
    app: &App,
    player: &ActingPlayer,
    table: &str,
    request: &CreateStory,
    may_be_repeated: bool,
) -> ApiResult<StoryState> {
    let table: TableId =
        table.parse().map_err(|error| ApiError::bad_value("/table", format!("the table is {error}")))?;
    for (field, is_given) in [("bots", request.bots.is_some()), ("settings", request.settings.is_some())] {
        if is_given {
            let reason = format!("{field} can only be set for a new table: leave them out for the next game at one");
            return Err(ApiError::bad_value(format!("/{field}"), reason));
        }
    }
    let newcomer = player.newcomer(app).await?;
    match app.tables.act(table, None, player.player(), Action::NextGame(newcomer)).await {
        Ok(acted) => Ok(view::state(&acted.view, &acted.online, acted.committed_at_us)),
        Err(refusal @ TableError::Refused(_)) if may_be_repeated => {
            find_opened_game(app, player, table).await?.ok_or_else(|| refusal.into())
        }
        Err(error) => Err(error.into()),
    }
}

/// The game that this storyteller has just opened, if there is one: a table has one game at a time, so a repetition is recognized
/// without a key.
async fn find_opened_game(app: &App, player: &ActingPlayer, table: TableId) -> ApiResult<Option<StoryState>> {
    let id = player.player();
    let seen = app.tables.view(table, Some(id)).await?;
    let is_same = seen.view.game.as_ref().is_some_and(|game| {
        game.storyteller == Some(id)
            && game.phase == engine::tables::Phase::Create
            && game.id.number > FIRST_GAME_NUMBER
    });
    Ok(is_same.then(|| view::state(&seen.view, &seen.online, None)))
}
