//! The actions of players in a game: one route each. The table decides who may act, and when; the documentation repeats it for the reader.
//!
//! Each responds with what the actor may see afterwards, once the change is durable. An action that was done already (the same card
//! picked again) gets the same response and changes nothing.

use super::extract::ActingPlayer;
use super::view;
use crate::app::App;
use crate::extract::{JsonBody, PathId};
use crate::problem::{ApiError, ApiResult, Resource};
use crate::text;
use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use engine::ids::{GameId, PlayerId, TableId};
use engine::limits::{CHAT_CHARS_MAX, STORY_CHARS_MAX, STORY_INVITED_MAX};
use engine::tables::Action;
use rules::stories::{CARDS, Card};
use std::time::Duration;
use tables::TableError;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use wire::api::{InvitePlayers, SayText, SetBots, SetCountdown, ShowCard, StoryState, TellSentence};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(join))
        .routes(routes!(leave))
        .routes(routes!(choose_card))
        .routes(routes!(submit_sentence))
        .routes(routes!(invite))
        .routes(routes!(pick))
        .routes(routes!(open_voting))
        .routes(routes!(vote))
        .routes(routes!(complete))
        .routes(routes!(set_countdown))
        .routes(routes!(set_bots))
        .routes(routes!(send_chat))
}

/// The game, as the actor sees it afterwards.
type ActionResult = ApiResult<Json<StoryState>>;

/// A player who acts in the game in the path.
struct PlayerInGame {
    app: App,
    player: ActingPlayer,
    game: GameId,
}

impl FromRequestParts<App> for PlayerInGame {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> ApiResult<Self> {
        let player = ActingPlayer::from_request_parts(parts, app).await?;
        let PathId(game) = PathId::from_request_parts(parts, app).await?;
        Ok(Self { app: app.clone(), player, game })
    }
}

impl PlayerInGame {
    /// Performs an action in this game and no other of the table's.
    async fn perform(&self, action: Action) -> ActionResult {
        let Self { app, player, game } = self;
        match app.tables.act(game.table, Some(game.number), player.player(), action).await {
            Ok(acted) => Ok(Json(view::state(&acted.view, &acted.online, acted.committed_at_us))),
            Err(TableError::NoSuchTable) => Err(ApiError::NotFound(Resource::Game)),
            Err(error) => Err(error.into()),
        }
    }
}

/// Join a table
///
/// **Who:** anyone with a player's or a guest's token who is not a member yet, invited or not. **When:** in `create` and `invitation`, while
/// a seat is free. The player gets the hand that they left in this game, else one that another player left, else a new one. The last seat goes
/// to the first who joins.
#[utoipa::path(post, path = "/api/stories/games/{game}/join", operation_id = "join_story", tag = "stories", security(("bearer" = []), ("cookie" = [])), params(("game" = String, Path)), responses(
    (status = 200, description = "The game, as the player sees it.", body = StoryState),
    (status = 409, description = "`already_joined`, `table_full`, `wrong_phase`, `game_not_live`"),
))]
async fn join(player: PlayerInGame) -> ActionResult {
    let newcomer = player.player.newcomer(&player.app).await?;
    player.perform(Action::Join(newcomer)).await
}

/// Leave the table
///
/// **Who:** members. **When:** at any time. A player's cards do not return to the deck: before the vote, a player who
/// comes back gets the same hand, and a player who takes the seat takes over its hand. Once many have left a game before its vote, a player who has just
/// joined must stay for ten seconds (`leave_too_soon`). A storyteller who leaves in `create` or
/// `invitation` ends the game (`canceled`); in `vote` the game continues by its timers, and cast votes count.
#[utoipa::path(post, path = "/api/stories/games/{game}/leave", tag = "stories", security(("bearer" = []), ("cookie" = [])), params(("game" = String, Path)), responses(
    (status = 200, description = "The game, as a visitor sees it.", body = StoryState),
    (status = 403, description = "`not_a_member`"),
    (status = 409, description = "`game_not_live`: it is not the table's game"),
    (status = 429, description = "`leave_too_soon`: in ten seconds at the latest; or a rate limit"),
))]
async fn leave(player: PlayerInGame) -> ActionResult {
    player.perform(Action::Leave).await
}

/// Choose the card that the story is about
///
/// **Who:** the storyteller. **When:** in `create`; can be changed 64 times at most, until the sentence is submitted.
#[utoipa::path(post, path = "/api/stories/games/{game}/card", tag = "stories", security(("bearer" = []), ("cookie" = [])), params(("game" = String, Path)), request_body = ShowCard, responses(
    (status = 200, description = "The game, as the storyteller sees it.", body = StoryState),
    (status = 403, description = "`not_storyteller`"),
    (status = 409, description = "`not_in_hand`, `too_many_changes`, `wrong_phase`, `game_not_live`"),
))]
async fn choose_card(player: PlayerInGame, JsonBody(request): JsonBody<ShowCard>) -> ActionResult {
    player.perform(Action::ChooseCard(parse_card(request)?)).await
}

/// Submit the sentence
///
/// **Who:** the storyteller. **When:** in `create`, once a card is chosen. The game is then in `invitation`: others may pick.
#[utoipa::path(post, path = "/api/stories/games/{game}/sentence", tag = "stories", security(("bearer" = []), ("cookie" = [])), params(("game" = String, Path)), request_body = TellSentence, responses(
    (status = 200, description = "The game, as the storyteller sees it.", body = StoryState),
    (status = 403, description = "`not_storyteller`"),
    (status = 409, description = "`card_not_set`, `wrong_phase`, `game_not_live`"),
))]
async fn submit_sentence(player: PlayerInGame, JsonBody(request): JsonBody<TellSentence>) -> ActionResult {
    let sentence = text::check_line("/sentence", "sentence", &request.sentence, STORY_CHARS_MAX)?;
    player.perform(Action::TellStory(sentence)).await
}

/// Invite players
///
/// **Who:** the storyteller. **When:** in `create` and `invitation`. An invited player finds the game among their own (`my-games`) until
/// voting begins. An invitation reserves no seat, and joining does not require one.
#[utoipa::path(post, path = "/api/stories/games/{game}/invite", tag = "stories", security(("bearer" = []), ("cookie" = [])), params(("game" = String, Path)), request_body = InvitePlayers, responses(
    (status = 200, description = "The game, as the storyteller sees it.", body = StoryState),
    (status = 403, description = "`not_storyteller`"),
    (status = 409, description = "`too_many_invited`, `too_many_changes`, `wrong_phase`, `game_not_live`"),
))]
async fn invite(player: PlayerInGame, JsonBody(request): JsonBody<InvitePlayers>) -> ActionResult {
    player.perform(Action::Invite(parse_players(&request.players)?)).await
}

/// Pick a card that could be the storyteller's
///
/// **Who:** players of the game except the storyteller. **When:** in `invitation`; can be changed 64 times at most, until voting begins. With enough
/// picks a countdown begins.
#[utoipa::path(post, path = "/api/stories/games/{game}/pick", tag = "stories", security(("bearer" = []), ("cookie" = [])), params(("game" = String, Path)), request_body = ShowCard, responses(
    (status = 200, description = "The game, as the player sees it.", body = StoryState),
    (status = 403, description = "`not_a_player`, `storyteller_may_not_pick`"),
    (status = 409, description = "`not_in_hand`, `too_many_changes`, `wrong_phase`, `game_not_live`"),
))]
async fn pick(player: PlayerInGame, JsonBody(request): JsonBody<ShowCard>) -> ActionResult {
    player.perform(Action::Pick(parse_card(request)?)).await
}

/// Begin the vote
///
/// **Who:** the storyteller. **When:** in `invitation`, with enough picks. Players without a pick are out of the game.
#[utoipa::path(post, path = "/api/stories/games/{game}/voting", tag = "stories", security(("bearer" = []), ("cookie" = [])), params(("game" = String, Path)), responses(
    (status = 200, description = "The game, as the storyteller sees it.", body = StoryState),
    (status = 403, description = "`not_storyteller`"),
    (status = 409, description = "`too_few_picks`, `wrong_phase`, `game_not_live`"),
))]
async fn open_voting(player: PlayerInGame) -> ActionResult {
    player.perform(Action::OpenVoting).await
}

/// Vote for the card that may be the storyteller's
///
/// **Who:** players of the game except the storyteller. **When:** in `vote`; can be changed 64 times at most, until the votes are counted. Not for
/// one's own card. With enough votes a countdown begins.
#[utoipa::path(post, path = "/api/stories/games/{game}/vote", tag = "stories", security(("bearer" = []), ("cookie" = [])), params(("game" = String, Path)), request_body = ShowCard, responses(
    (status = 200, description = "The game, as the player sees it.", body = StoryState),
    (status = 403, description = "`not_a_player`, `storyteller_may_not_vote`"),
    (status = 409, description = "`not_on_board`, `own_card`, `too_many_changes`, `wrong_phase`, `game_not_live`"),
))]
async fn vote(player: PlayerInGame, JsonBody(request): JsonBody<ShowCard>) -> ActionResult {
    player.perform(Action::Vote(parse_card(request)?)).await
}

/// Count the votes
///
/// **Who:** the storyteller. **When:** in `vote`, with enough votes. Everything is then visible to every viewer.
#[utoipa::path(post, path = "/api/stories/games/{game}/complete", tag = "stories", security(("bearer" = []), ("cookie" = [])), params(("game" = String, Path)), responses(
    (status = 200, description = "The game, as every viewer sees it.", body = StoryState),
    (status = 403, description = "`not_storyteller`"),
    (status = 409, description = "`too_few_votes`, `wrong_phase`, `game_not_live`"),
))]
async fn complete(player: PlayerInGame) -> ActionResult {
    player.perform(Action::Complete).await
}

/// Set the length of the countdown
///
/// **Who:** the storyteller. **When:** in `invitation` and `vote`. A running countdown restarts now; the next phase has the
/// table's own length again.
#[utoipa::path(post, path = "/api/stories/games/{game}/countdown", tag = "stories", security(("bearer" = []), ("cookie" = [])), params(("game" = String, Path)), request_body = SetCountdown, responses(
    (status = 200, description = "The game, as the storyteller sees it.", body = StoryState),
    (status = 403, description = "`not_storyteller`"),
    (status = 409, description = "`too_many_changes`, `wrong_phase`, `game_not_live`"),
))]
async fn set_countdown(player: PlayerInGame, JsonBody(request): JsonBody<SetCountdown>) -> ActionResult {
    let ms = u64::try_from(request.countdown_ms)
        .map_err(|_| ApiError::bad_value("/countdown_ms", "a countdown is not negative"))?;
    player.perform(Action::SetCountdown(Duration::from_millis(ms))).await
}

/// Allow or exclude bots
///
/// **Who:** the storyteller. **When:** while the game is live. Bots that have joined already continue to play; while bots are excluded, none is
/// named as the next storyteller.
#[utoipa::path(post, path = "/api/stories/games/{game}/bots", tag = "stories", security(("bearer" = []), ("cookie" = [])), params(("game" = String, Path)), request_body = SetBots, responses(
    (status = 200, description = "The game, as the storyteller sees it.", body = StoryState),
    (status = 403, description = "`not_storyteller`"),
    (status = 409, description = "`too_many_changes`, `wrong_phase`, `game_not_live`"),
))]
async fn set_bots(player: PlayerInGame, JsonBody(request): JsonBody<SetBots>) -> ActionResult {
    player.perform(Action::SetBots(request.are_on)).await
}

/// Send a chat message to the table
///
/// **Who:** members. **When:** at any time, one message every few seconds. Only members receive it. Plain text: clients that display it must escape it.
#[utoipa::path(post, path = "/api/stories/tables/{table}/chat", tag = "stories", security(("bearer" = []), ("cookie" = [])), params(("table" = String, Path)), request_body = SayText, responses(
    (status = 200, description = "The table, as the member sees it.", body = StoryState),
    (status = 403, description = "`not_a_member`"),
    (status = 429, description = "`chat_too_fast`, or a rate limit; `Retry-After` says when to try again."),
))]
async fn send_chat(
    State(app): State<App>,
    player: ActingPlayer,
    PathId(table): PathId<TableId>,
    JsonBody(request): JsonBody<SayText>,
) -> ActionResult {
    let text = text::check_line("/text", "text", &request.text, CHAT_CHARS_MAX)?;
    let acted = app.tables.act(table, None, player.player(), Action::Chat(text)).await?;
    Ok(Json(view::state(&acted.view, &acted.online, acted.committed_at_us)))
}

fn parse_card(request: ShowCard) -> ApiResult<Card> {
    let card = u8::try_from(request.card).ok().and_then(Card::new);
    card.ok_or_else(|| {
        ApiError::bad_value("/card", format!("there is no such card: expected a number from 1 to {CARDS}"))
    })
}

fn parse_players(texts: &[String]) -> ApiResult<Vec<PlayerId>> {
    if texts.is_empty() || texts.len() > STORY_INVITED_MAX {
        let reason = format!("invite 1 to {STORY_INVITED_MAX} players at once, not {}", texts.len());
        return Err(ApiError::bad_value("/players", reason));
    }
    let id = |(at, text): (usize, &String)| {
        text.parse()
            .map_err(|error| ApiError::bad_value(format!("/players/{at}"), format!("the player's id is {error}")))
    };
    texts.iter().enumerate().map(id).collect()
}
