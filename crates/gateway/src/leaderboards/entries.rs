//! Entries: a snake enters and leaves, and what is kept of it.

use super::note::entry_note;
use super::{SeasonQuery, find, view};
use crate::app::App;
use crate::auth::Principal;
use crate::extract::{AnyAccount, JsonBody, MaybePrincipal, PathId, PathIds, Player, QueryParams};
use crate::pagination::{ListResponse, Page, PageQuery};
use crate::problem::{ApiError, ApiResult, LeaderboardRefusal, Resource};
use arena::ladders::recompute::results_of_season;
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use engine::commands::{Command, LadderCommand, Outcome};
use engine::competitions::CompetitionRow;
use engine::ids::{AccountId, BotId, CompetitionId, EntryId};
use engine::ladders::entry::{LadderEntry, RatedGame};
use engine::ladders::ranking::{RankingCursor, RankingOrder};
use engine::ladders::season::current_season;
use engine::limits::{LADDER_PAIR_GAMES_READ, LADDER_PAIR_GAMES_SHOWN, PAGE_DEFAULT, PAGE_MAX};
use engine::rows::Role;
use node::clock::random_bytes;
use serde::Deserialize;
use std::str::FromStr;
use store::BotFilter;
use wire::api::{CreateEntry, EntryDetails, LeaderboardEntry, OpponentView, RatedGameView};

/// A leaderboard and a snake in the path.
type EntryPath = PathIds<CompetitionId, BotId>;

/// Enter a snake
///
/// One of your public snakes. Entering again gives the same entry, active again if it had left.
#[utoipa::path(post, path = "/api/leaderboards/{id}/entries", tag = "leaderboards", security(("bearer" = [])), params(("id" = String, Path)), request_body = CreateEntry, responses(
    (status = 201, description = "The entry.", body = LeaderboardEntry),
    (status = 400, description = "`private_snake`: the snake is private."),
    (status = 403, description = "`not_snake_owner`: the snake is another account's."),
    (status = 409, description = "`leaderboard_ended`, `leaderboard_full`, `too_many`"),
))]
pub(super) async fn create_entry(
    State(app): State<App>,
    Player(caller): Player,
    PathId(id): PathId<CompetitionId>,
    JsonBody(request): JsonBody<CreateEntry>,
) -> ApiResult<(StatusCode, Json<LeaderboardEntry>)> {
    let bot: BotId = request
        .battlesnake_id
        .parse()
        .map_err(|error| ApiError::bad_value("/battlesnake_id", format!("the snake's id is {error}")))?;
    let row = find(&app, Some(&Principal::Account(caller)), id).await?;
    require_enterable(&app, bot, caller.account).await?;
    let now = app.node.clock.now();
    let (entry, account) = (EntryId::new(now, random_bytes()), caller.account);
    let enter = LadderCommand::Enter { ladder: row.id, entry, bot, account, now };
    match app.node.store.commit(Command::Ladder(enter)).await? {
        Outcome::LadderEntry(entry) => Ok((StatusCode::CREATED, Json(view::entry(&entry)))),
        Outcome::NotOpen => Err(LeaderboardRefusal::Ended.into()),
        Outcome::LimitReached => Err(LeaderboardRefusal::TooManyEntries.into()),
        Outcome::Full => Err(LeaderboardRefusal::Full.into()),
        Outcome::NotFound => {
            // The snake may have been deleted or made private just now; if not, an operator sees the leaderboard without being invited.
            require_enterable(&app, bot, caller.account).await?;
            Err(ApiError::NotFound(Resource::Leaderboard))
        }
        other => Err(ApiError::from_outcome(&other, Resource::Leaderboard)),
    }
}

/// List your entries
///
/// Of each page of your snakes, newest first, those that have entered in the season under way, active or not: a page may have fewer
/// than its limit, and the next one follows while there is a `Link`.
#[utoipa::path(get, path = "/api/leaderboards/{id}/entries", tag = "leaderboards", security(("bearer" = [])), params(("id" = String, Path), PageQuery), responses(
    (status = 200, description = "Your entries, of 100 snakes when no limit is given.", body = Vec<LeaderboardEntry>, headers(("Link" = String, description = "The next page's URL, if there is one"))),
))]
pub(super) async fn list_own_entries(
    State(app): State<App>,
    AnyAccount(caller): AnyAccount,
    PathId(id): PathId<CompetitionId>,
    QueryParams(page): QueryParams<PageQuery>,
) -> ApiResult<ListResponse<LeaderboardEntry>> {
    let (limit, before) = (page.limit(PAGE_MAX)?, page.after::<BotId>()?);
    let row = find(&app, Some(&Principal::Account(caller)), id).await?;
    let filter = BotFilter { account: caller.account, before, limit: limit + 1 };
    let bots = app.node.store.read(move |reader| reader.bots(&filter)).await?;
    let Page { rows, link } =
        Page::new(&format!("/api/leaderboards/{id}/entries"), "", bots, limit, |bot| Some(bot.id));
    let bots: Vec<BotId> = rows.iter().map(|bot| bot.id).collect();
    let season = current_season(&row);
    let entries = app.node.store.read(move |reader| reader.ladders().ladder_entries_of(id, season, &bots)).await?;
    Ok((link, Json(entries.iter().map(view::entry).collect())))
}

/// Refuses a snake that is not this account's, or is private.
async fn require_enterable(app: &App, bot: BotId, account: AccountId) -> ApiResult<()> {
    let known = app.node.store.read(move |reader| reader.bots_by_id(&[bot])).await?;
    match known.first() {
        None => Err(ApiError::NotFound(Resource::Snake)),
        Some(known) if known.account != account => Err(LeaderboardRefusal::NotSnakeOwner.into()),
        Some(known) if !known.is_public => Err(LeaderboardRefusal::PrivateSnake.into()),
        Some(_) => Ok(()),
    }
}

/// Take a snake out
///
/// It is not paired any more. Its games under way still count, its rating stays: entering again goes on from there.
#[utoipa::path(delete, path = "/api/leaderboards/{id}/entries/{snake}", tag = "leaderboards", security(("bearer" = [])), params(("id" = String, Path), ("snake" = String, Path)), responses(
    (status = 204, description = "It is out."),
    (status = 403, description = "`not_snake_owner`: the snake is another account's."),
    (status = 404, description = "`no_such_leaderboard`, `no_such_entry`"),
))]
pub(super) async fn delete_entry(
    State(app): State<App>,
    Player(caller): Player,
    PathIds(id, bot): EntryPath,
) -> ApiResult<StatusCode> {
    let row = find(&app, Some(&Principal::Account(caller)), id).await?;
    let entry = read_entry(&app, id, current_season(&row), bot).await?;
    let is_operator = caller.role >= Role::Operator;
    if entry.entrant.account != Some(caller.account) && !is_operator {
        return Err(LeaderboardRefusal::NotSnakeOwner.into());
    }
    let account = (!is_operator).then_some(caller.account);
    let leave = LadderCommand::Leave { ladder: id, bot, account };
    match app.node.store.commit(Command::Ladder(leave)).await? {
        Outcome::Done => Ok(StatusCode::NO_CONTENT),
        Outcome::NotFound => Err(LeaderboardRefusal::NoSuchEntry.into()),
        other => Err(ApiError::from_outcome(&other, Resource::Leaderboard)),
    }
}

async fn read_entry(app: &App, id: CompetitionId, season: u32, bot: BotId) -> ApiResult<LadderEntry> {
    let found = app.node.store.read(move |reader| reader.ladders().ladder_entries_of(id, season, &[bot])).await?;
    found.into_iter().next().ok_or_else(|| LeaderboardRefusal::NoSuchEntry.into())
}

/// Get an entry
#[utoipa::path(get, path = "/api/leaderboards/{id}/entries/{snake}", tag = "leaderboards", security((), ("bearer" = [])), params(("id" = String, Path), ("snake" = String, Path), SeasonQuery), responses(
    (status = 200, description = "The entry.", body = EntryDetails),
    (status = 404, description = "`no_such_leaderboard`, `no_such_entry`, `no_such_season`"),
))]
pub(super) async fn get_entry(
    State(app): State<App>,
    MaybePrincipal(caller): MaybePrincipal,
    PathIds(id, bot): EntryPath,
    QueryParams(season): QueryParams<SeasonQuery>,
) -> ApiResult<Json<EntryDetails>> {
    let row = find(&app, caller.as_ref(), id).await?;
    let season = season.of(&row)?;
    let entry = read_entry(&app, id, season, bot).await?;
    let players = usize::from(view::definition(&row)?.players);
    let is_paired = season == current_season(&row) && entry.is_active;
    let note =
        if is_paired { app.node.store.read(move |reader| entry_note(reader, &row, players, bot)).await? } else { None };
    let rank = if entry.is_active && entry.record.is_ranked() {
        let at = RankingCursor::of(&entry, RankingOrder::Rating);
        Some(app.node.store.read(move |reader| reader.ladders().ladder_rank(id, season, at)).await? + 1)
    } else {
        None
    };
    Ok(Json(view::entry_details(&entry, rank, note)))
}

/// List the rated games of an entry, most recent first
///
/// Of all seasons, with the rating before and after each.
#[utoipa::path(get, path = "/api/leaderboards/{id}/entries/{snake}/games", tag = "leaderboards", security((), ("bearer" = [])), params(("id" = String, Path), ("snake" = String, Path), PageQuery), responses(
    (status = 200, description = "A page of games, 20 when no limit is given.", body = Vec<RatedGameView>, headers(("Link" = String, description = "The next page's URL, if there is one"))),
    (status = 404, description = "`no_such_entry`: this snake never entered."),
))]
pub(super) async fn entry_games(
    State(app): State<App>,
    MaybePrincipal(caller): MaybePrincipal,
    PathIds(id, bot): EntryPath,
    QueryParams(page): QueryParams<PageQuery>,
) -> ApiResult<ListResponse<RatedGameView>> {
    let (limit, before) = (page.limit(PAGE_DEFAULT)?, page.after::<GameNumber>()?.map(|GameNumber(number)| number));
    let season = current_season(&find(&app, caller.as_ref(), id).await?);
    let read = app.node.store.read(move |reader| {
        let games = reader.ladders().ladder_games_of(id, bot, before, limit + 1)?;
        let has_played = !games.is_empty() || !reader.ladders().ladder_games_of(id, bot, None, 1)?.is_empty();
        let is_known = has_played || !reader.ladders().ladder_entries_of(id, season, &[bot])?.is_empty();
        Ok(is_known.then_some(games))
    });
    let games = read.await?.ok_or(LeaderboardRefusal::NoSuchEntry)?;
    let path = format!("/api/leaderboards/{id}/entries/{bot}/games");
    Ok(Page::new(&path, "", games, limit, |game: &RatedGame| Some(game.number))
        .response(|game| view::rated_game(&game)))
}

/// The number of a game behind which a page begins.
struct GameNumber(u64);

impl FromStr for GameNumber {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        text.parse().map(Self).map_err(|_| "not the number of a game: use one that this list gave")
    }
}

#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct OpponentQuery {
    /// The id of one opponent: the list has this one alone, with the last games of the two; it is empty if they have not met.
    opponent: Option<String>,
}

/// List a snake's opponents with what it has against each
///
/// Or one of them, with their last games.
#[utoipa::path(get, path = "/api/leaderboards/{id}/entries/{snake}/opponents", tag = "leaderboards", security((), ("bearer" = [])), params(("id" = String, Path), ("snake" = String, Path), PageQuery, SeasonQuery, OpponentQuery), responses(
    (status = 200, description = "A page of opponents by id, 20 when no limit is given.", body = Vec<OpponentView>, headers(("Link" = String, description = "The next page's URL, if there is one"))),
    (status = 404, description = "`no_such_entry`: this snake did not enter in that season."),
))]
pub(super) async fn entry_opponents(
    State(app): State<App>,
    MaybePrincipal(caller): MaybePrincipal,
    PathIds(id, bot): EntryPath,
    QueryParams(page): QueryParams<PageQuery>,
    QueryParams(season): QueryParams<SeasonQuery>,
    QueryParams(one): QueryParams<OpponentQuery>,
) -> ApiResult<ListResponse<OpponentView>> {
    let (limit, after) = (page.limit(PAGE_DEFAULT)?, page.after::<BotId>()?);
    let opponent = one.opponent.as_deref().map(str::parse::<BotId>).transpose();
    let opponent =
        opponent.map_err(|error| ApiError::bad_value("opponent", format!("the opponent's id is {error}")))?;
    let row = find(&app, caller.as_ref(), id).await?;
    let season = season.of(&row)?;
    read_entry(&app, id, season, bot).await?;
    let path = format!("/api/leaderboards/{id}/entries/{bot}/opponents");
    let filter = format!("season={season}&");
    if let Some(opponent) = opponent {
        let found = app.node.store.read(move |reader| read_pair(reader, &row, season, bot, opponent)).await?;
        let found: Vec<OpponentView> = found.into_iter().collect();
        return Ok(Page::new(&path, &filter, found, 1, |_| None::<BotId>).response(|pair| pair));
    }
    let read =
        move |reader: &mut dyn store::Reader| reader.ladders().ladder_meetings_of(id, season, bot, after, limit + 1);
    let meetings = app.node.store.read(read).await?;
    Ok(Page::new(&path, &filter, meetings, limit, |(meeting, _)| Some(meeting.opponent)).response(view::opponent))
}

/// What a bot has against one opponent, with their last games; `None` if they have not met in that season.
fn read_pair(
    reader: &mut dyn store::Reader,
    row: &CompetitionRow,
    season: u32,
    bot: BotId,
    opponent: BotId,
) -> Result<Option<OpponentView>, store::StoreError> {
    let id = row.id;
    let before = opponent.0.checked_sub(1).map(BotId);
    let meetings = reader.ladders().ladder_meetings_of(id, season, bot, before, 1)?;
    let Some(pair) = meetings.into_iter().find(|(meeting, _)| meeting.opponent == opponent) else { return Ok(None) };
    let (after, last) = results_of_season(reader, row, season)?;
    let mut last_games_of = |bot| -> Result<Vec<RatedGame>, store::StoreError> {
        let before = last.saturating_add(1);
        let mut games = reader.ladders().ladder_games_of(id, bot, Some(before), LADDER_PAIR_GAMES_READ)?;
        games.retain(|game| game.number > after);
        Ok(games)
    };
    let (own, of_opponent) = (last_games_of(bot)?, last_games_of(opponent)?);
    let last_games = view::games_of_pair(&own, &of_opponent, LADDER_PAIR_GAMES_SHOWN);
    Ok(Some(OpponentView { last_games: Some(last_games), ..view::opponent(pair) }))
}
