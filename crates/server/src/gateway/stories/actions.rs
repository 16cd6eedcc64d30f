//! What players do in a game: one route an action. Who may, and when, is the table's to judge; it stands here for the reader.
//!
//! Each answers with what the actor may see afterwards, once the change is durable. An action that was done already (the same
//! card picked again) is answered in the same way and changes nothing.

use super::extract::ActingPlayer;
use super::view;
use crate::app::App;
use crate::gateway::extract::{JsonBody, PathId};
use crate::gateway::problem::{ApiError, ApiResult, Resource};
use crate::gateway::text;
use crate::tables::TableError;
use axum::Json;
use axum::extract::State;
use engine::ids::{GameId, PlayerId, TableId};
use engine::limits::{CHAT_CHARS_MAX, STORY_CHARS_MAX, STORY_INVITED_MAX};
use engine::tables::Action;
use rules::stories::{CARDS, Card};
use std::time::Duration;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use wire::api::{InvitePlayers, SayText, SetBots, SetCountdown, ShowCard, StoryState, TellSentence};
use wire::problem::Problem;

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

/// Sit down
///
/// **Who:** anybody with a player's or a guest's token who does not sit there yet, invited or not. **When:** in `create` and `invitation`, while
/// a seat is free. The player gets the hand that he left in this game, else one that somebody else left, else a new one. Who comes first to
/// the last seat has it.
#[utoipa::path(post, path = "/api/stories/games/{game}/join", tag = "stories", security(("bearer" = []), ("cookie" = [])), params(("game" = String, Path)), responses(
    (status = 200, description = "The game, as the player sees it.", body = StoryState),
    (status = 404, description = "`no_such_game`", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "`already_joined`, `table_full`, `wrong_phase`, `game_not_live`", body = Problem, content_type = "application/problem+json"),
))]
async fn join(
    State(app): State<App>,
    sitter: ActingPlayer,
    PathId(game): PathId<GameId>,
) -> ApiResult<Json<StoryState>> {
    let newcomer = sitter.newcomer(&app).await?;
    perform(&app, game, &sitter, Action::Join(newcomer)).await
}

/// Leave the table
///
/// **Who:** members. **When:** at any time. A player's cards do not come back into the deck: before the vote, who
/// comes back gets the same hand, and who takes the seat takes over its hand. Once many have left a game before its vote, who has just sat
/// down stays for ten seconds (`leave_too_soon`). A storyteller who leaves in `create` or
/// `invitation` ends the game (`canceled`); in `vote` the game goes on by its timers, and votes that were cast count.
#[utoipa::path(post, path = "/api/stories/games/{game}/leave", tag = "stories", security(("bearer" = []), ("cookie" = [])), params(("game" = String, Path)), responses(
    (status = 200, description = "The game, as a visitor sees it.", body = StoryState),
    (status = 403, description = "`not_a_member`", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "`no_such_game`", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "`game_not_live`: it is not the table's game", body = Problem, content_type = "application/problem+json"),
    (status = 429, description = "`leave_too_soon`: in ten seconds at the latest; or a rate limit", body = Problem, content_type = "application/problem+json"),
))]
async fn leave(
    State(app): State<App>,
    sitter: ActingPlayer,
    PathId(game): PathId<GameId>,
) -> ApiResult<Json<StoryState>> {
    perform(&app, game, &sitter, Action::Leave).await
}

/// Choose the card that the story is about
///
/// **Who:** the storyteller. **When:** in `create`; another at most 64 times, until the sentence is told.
#[utoipa::path(post, path = "/api/stories/games/{game}/card", tag = "stories", security(("bearer" = []), ("cookie" = [])), params(("game" = String, Path)), request_body = ShowCard, responses(
    (status = 200, description = "The game, as the storyteller sees it.", body = StoryState),
    (status = 403, description = "`not_storyteller`", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "`no_such_game`", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "`not_in_hand`, `too_many_changes`, `wrong_phase`, `game_not_live`", body = Problem, content_type = "application/problem+json"),
))]
async fn choose_card(
    State(app): State<App>,
    sitter: ActingPlayer,
    PathId(game): PathId<GameId>,
    JsonBody(wanted): JsonBody<ShowCard>,
) -> ApiResult<Json<StoryState>> {
    perform(&app, game, &sitter, Action::ChooseCard(parse_card(wanted)?)).await
}

/// Tell the sentence
///
/// **Who:** the storyteller. **When:** in `create`, once a card is chosen. The game is in `invitation` then: others may pick.
#[utoipa::path(post, path = "/api/stories/games/{game}/sentence", tag = "stories", security(("bearer" = []), ("cookie" = [])), params(("game" = String, Path)), request_body = TellSentence, responses(
    (status = 200, description = "The game, as the storyteller sees it.", body = StoryState),
    (status = 403, description = "`not_storyteller`", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "`no_such_game`", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "`card_not_set`, `wrong_phase`, `game_not_live`", body = Problem, content_type = "application/problem+json"),
))]
async fn submit_sentence(
    State(app): State<App>,
    sitter: ActingPlayer,
    PathId(game): PathId<GameId>,
    JsonBody(wanted): JsonBody<TellSentence>,
) -> ApiResult<Json<StoryState>> {
    let sentence = text::check_line("/sentence", "sentence", &wanted.sentence, STORY_CHARS_MAX)?;
    perform(&app, game, &sitter, Action::TellStory(sentence)).await
}

/// Invite players
///
/// **Who:** the storyteller. **When:** in `create` and `invitation`. Whoever is invited finds the game among their own (`my-games`) until
/// voting begins. An invitation holds no seat, and nobody needs one.
#[utoipa::path(post, path = "/api/stories/games/{game}/invite", tag = "stories", security(("bearer" = []), ("cookie" = [])), params(("game" = String, Path)), request_body = InvitePlayers, responses(
    (status = 200, description = "The game, as the storyteller sees it.", body = StoryState),
    (status = 403, description = "`not_storyteller`", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "`no_such_game`", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "`too_many_invited`, `too_many_changes`, `wrong_phase`, `game_not_live`", body = Problem, content_type = "application/problem+json"),
))]
async fn invite(
    State(app): State<App>,
    sitter: ActingPlayer,
    PathId(game): PathId<GameId>,
    JsonBody(wanted): JsonBody<InvitePlayers>,
) -> ApiResult<Json<StoryState>> {
    perform(&app, game, &sitter, Action::Invite(parse_players(&wanted.players)?)).await
}

/// Pick a card that might be meant
///
/// **Who:** players of the game but the storyteller. **When:** in `invitation`; another at most 64 times, until voting begins. With enough
/// picks a countdown begins.
#[utoipa::path(post, path = "/api/stories/games/{game}/pick", tag = "stories", security(("bearer" = []), ("cookie" = [])), params(("game" = String, Path)), request_body = ShowCard, responses(
    (status = 200, description = "The game, as the player sees it.", body = StoryState),
    (status = 403, description = "`not_a_player`, `storyteller_may_not_pick`", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "`no_such_game`", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "`not_in_hand`, `too_many_changes`, `wrong_phase`, `game_not_live`", body = Problem, content_type = "application/problem+json"),
))]
async fn pick(
    State(app): State<App>,
    sitter: ActingPlayer,
    PathId(game): PathId<GameId>,
    JsonBody(wanted): JsonBody<ShowCard>,
) -> ApiResult<Json<StoryState>> {
    perform(&app, game, &sitter, Action::Pick(parse_card(wanted)?)).await
}

/// Begin the vote
///
/// **Who:** the storyteller. **When:** in `invitation`, with enough picks. Players without a pick are out of the game.
#[utoipa::path(post, path = "/api/stories/games/{game}/voting", tag = "stories", security(("bearer" = []), ("cookie" = [])), params(("game" = String, Path)), responses(
    (status = 200, description = "The game, as the storyteller sees it.", body = StoryState),
    (status = 403, description = "`not_storyteller`", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "`no_such_game`", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "`too_few_picks`, `wrong_phase`, `game_not_live`", body = Problem, content_type = "application/problem+json"),
))]
async fn open_voting(
    State(app): State<App>,
    sitter: ActingPlayer,
    PathId(game): PathId<GameId>,
) -> ApiResult<Json<StoryState>> {
    perform(&app, game, &sitter, Action::OpenVoting).await
}

/// Vote for the card that may be the storyteller's
///
/// **Who:** players of the game but the storyteller. **When:** in `vote`; another at most 64 times, until the votes are counted. Not for
/// one's own card. With enough votes a countdown begins.
#[utoipa::path(post, path = "/api/stories/games/{game}/vote", tag = "stories", security(("bearer" = []), ("cookie" = [])), params(("game" = String, Path)), request_body = ShowCard, responses(
    (status = 200, description = "The game, as the player sees it.", body = StoryState),
    (status = 403, description = "`not_a_player`, `storyteller_may_not_vote`", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "`no_such_game`", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "`not_on_board`, `own_card`, `too_many_changes`, `wrong_phase`, `game_not_live`", body = Problem, content_type = "application/problem+json"),
))]
async fn vote(
    State(app): State<App>,
    sitter: ActingPlayer,
    PathId(game): PathId<GameId>,
    JsonBody(wanted): JsonBody<ShowCard>,
) -> ApiResult<Json<StoryState>> {
    perform(&app, game, &sitter, Action::Vote(parse_card(wanted)?)).await
}

/// Count the votes
///
/// **Who:** the storyteller. **When:** in `vote`, with enough votes. Everything is everybody's to see then.
#[utoipa::path(post, path = "/api/stories/games/{game}/complete", tag = "stories", security(("bearer" = []), ("cookie" = [])), params(("game" = String, Path)), responses(
    (status = 200, description = "The game, as everybody sees it.", body = StoryState),
    (status = 403, description = "`not_storyteller`", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "`no_such_game`", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "`too_few_votes`, `wrong_phase`, `game_not_live`", body = Problem, content_type = "application/problem+json"),
))]
async fn complete(
    State(app): State<App>,
    sitter: ActingPlayer,
    PathId(game): PathId<GameId>,
) -> ApiResult<Json<StoryState>> {
    perform(&app, game, &sitter, Action::Complete).await
}

/// Say how long the countdown is
///
/// **Who:** the storyteller. **When:** in `invitation` and `vote`. A countdown that runs begins anew from now; the next phase has the
/// table's own length again.
#[utoipa::path(post, path = "/api/stories/games/{game}/countdown", tag = "stories", security(("bearer" = []), ("cookie" = [])), params(("game" = String, Path)), request_body = SetCountdown, responses(
    (status = 200, description = "The game, as the storyteller sees it.", body = StoryState),
    (status = 403, description = "`not_storyteller`", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "`no_such_game`", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "`too_many_changes`, `wrong_phase`, `game_not_live`", body = Problem, content_type = "application/problem+json"),
))]
async fn set_countdown(
    State(app): State<App>,
    sitter: ActingPlayer,
    PathId(game): PathId<GameId>,
    JsonBody(wanted): JsonBody<SetCountdown>,
) -> ApiResult<Json<StoryState>> {
    let ms = u64::try_from(wanted.countdown_ms)
        .map_err(|_| ApiError::bad_value("/countdown_ms", "a countdown is not negative"))?;
    perform(&app, game, &sitter, Action::SetCountdown(Duration::from_millis(ms))).await
}

/// Let bots play, or no more
///
/// **Who:** the storyteller. **When:** while the game is live. Bots that sit there already play on.
#[utoipa::path(post, path = "/api/stories/games/{game}/bots", tag = "stories", security(("bearer" = []), ("cookie" = [])), params(("game" = String, Path)), request_body = SetBots, responses(
    (status = 200, description = "The game, as the storyteller sees it.", body = StoryState),
    (status = 403, description = "`not_storyteller`", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "`no_such_game`", body = Problem, content_type = "application/problem+json"),
    (status = 409, description = "`too_many_changes`, `wrong_phase`, `game_not_live`", body = Problem, content_type = "application/problem+json"),
))]
async fn set_bots(
    State(app): State<App>,
    sitter: ActingPlayer,
    PathId(game): PathId<GameId>,
    JsonBody(wanted): JsonBody<SetBots>,
) -> ApiResult<Json<StoryState>> {
    perform(&app, game, &sitter, Action::SetBots(wanted.are_on)).await
}

/// Say something to the table
///
/// **Who:** members. **When:** at any time, a line every few seconds. Only members hear it. Plain text: whoever shows it escapes it.
#[utoipa::path(post, path = "/api/stories/tables/{table}/chat", tag = "stories", security(("bearer" = []), ("cookie" = [])), params(("table" = String, Path)), request_body = SayText, responses(
    (status = 200, description = "The table, as the member sees it.", body = StoryState),
    (status = 403, description = "`not_a_member`", body = Problem, content_type = "application/problem+json"),
    (status = 404, description = "`no_such_table`", body = Problem, content_type = "application/problem+json"),
    (status = 429, description = "`chat_too_fast`, or a rate limit; `Retry-After` says when to come again.", body = Problem, content_type = "application/problem+json"),
))]
async fn send_chat(
    State(app): State<App>,
    sitter: ActingPlayer,
    PathId(table): PathId<TableId>,
    JsonBody(wanted): JsonBody<SayText>,
) -> ApiResult<Json<StoryState>> {
    let text = text::check_line("/text", "text", &wanted.text, CHAT_CHARS_MAX)?;
    let acted = app.tables.act(table, None, sitter.player(), Action::Chat(text)).await?;
    Ok(Json(view::state(&acted.view, &acted.online, acted.committed_at_us)))
}

/// Does it, in this game and no other of the table's.
async fn perform(app: &App, game: GameId, sitter: &ActingPlayer, action: Action) -> ApiResult<Json<StoryState>> {
    match app.tables.act(game.table, Some(game.number), sitter.player(), action).await {
        Ok(acted) => Ok(Json(view::state(&acted.view, &acted.online, acted.committed_at_us))),
        Err(TableError::NoSuchTable) => Err(ApiError::NotFound(Resource::Game)),
        Err(error) => Err(error.into()),
    }
}

fn parse_card(wanted: ShowCard) -> ApiResult<Card> {
    let card = u8::try_from(wanted.card).ok().and_then(Card::new);
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
