//! Looking at games: lists, details, and where many of them are.

use super::related::Related;
use super::view;
use crate::app::App;
use crate::auth::{Caller, Principal};
use crate::budget::BudgetOwner;
use crate::extract::{AnyAccount, JsonBody, MaybePrincipal, PathId, QueryParams};
use crate::pagination::{ListResponse, Page, PageQuery, query_id};
use crate::problem::{ApiError, ApiResult, Resource};
use crate::spectate::ReplayRequest;
use axum::Json;
use axum::extract::State;
use axum::response::Response;
use engine::ids::{AccountId, BotId, MatchId};
use engine::limits::{PAGE_DEFAULT, STATUS_IDS_MAX};
use engine::matches::result::SeatOutcome;
use engine::rows::{MatchRow, Role};
use serde::Deserialize;
use store::{MatchFilter, MatchList, Reader, StoreError};
use wire::api::{GameDetails, GameStatus, GameSummary, StatusRequest};

/// Which games a list is to show.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct GamesQuery {
    /// Only games in which this snake plays; of the caller's own one all games, of another account's public one
    /// public games and those that the caller created.
    snake_id: Option<String>,
    /// With `snake_id`: only games that ended like this for that snake: `won`, `drawn` or `lost`.
    outcome: Option<String>,
}

impl GamesQuery {
    fn outcome(&self) -> ApiResult<Option<SeatOutcome>> {
        let Some(text) = &self.outcome else { return Ok(None) };
        if self.snake_id.is_none() {
            return Err(ApiError::bad_value("outcome", "outcome is that of a snake: name one in snake_id"));
        }
        parse_outcome(text).map(Some)
    }
}

fn parse_outcome(text: &str) -> ApiResult<SeatOutcome> {
    SeatOutcome::from_name(text).ok_or_else(|| {
        let names = SeatOutcome::ALL.map(SeatOutcome::name).join(", ");
        ApiError::bad_value("outcome", format!("there is no such outcome: expected one of {names}"))
    })
}

/// List games, newest first
///
/// Without `snake_id`: the own account's games, or those of all accounts for operators.
#[utoipa::path(get, path = "/api/games", tag = "games", security(("bearer" = [])), params(GamesQuery, PageQuery), responses(
    (status = 400, description = "`unknown_snake`: there is no such snake that the caller may see."),
    (status = 200, description = "A page of games, 20 when no limit is given.", body = Vec<GameSummary>, headers(("Link" = String, description = "Where the next page is, if there is one"))),
))]
pub(super) async fn list_games(
    State(app): State<App>,
    AnyAccount(caller): AnyAccount,
    QueryParams(query): QueryParams<GamesQuery>,
    QueryParams(page): QueryParams<PageQuery>,
) -> ApiResult<ListResponse<GameSummary>> {
    let bot: Option<BotId> = query_id("snake_id", query.snake_id.as_deref())?;
    let wanted = ListFilter { bot, outcome: query.outcome()?, limit: page.limit(PAGE_DEFAULT)?, before: page.after()? };
    let mut filter = bot.map(|bot| format!("snake_id={bot}&")).unwrap_or_default();
    if let Some(outcome) = wanted.outcome {
        filter += &format!("outcome={}&", outcome.name());
    }
    let rows = app.node.store.read(move |reader| wanted.read(reader, Some(caller))).await?;
    let rows = rows.ok_or_else(|| {
        let id = bot.map(|bot| bot.to_string()).unwrap_or_default();
        ApiError::UnknownSnake { field: "snake_id".to_owned(), id }
    })?;
    Ok(wanted.respond("/api/games", &filter, rows))
}

/// Which games a snake's list is to show.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct OutcomeQuery {
    /// Only games that ended like this for the snake: `won`, `drawn` or `lost`.
    outcome: Option<String>,
}

/// List the games of a snake, newest first
///
/// Of the caller's own snake all games; of another account's public one public games and those that the caller created; without a token, public
/// games of a public snake. `outcome=lost` lists the
/// games that it lost, each with the turn that decided it and where its evidence is.
#[utoipa::path(get, path = "/api/snakes/{id}/games", tag = "snakes", security((), ("bearer" = [])), params(("id" = String, Path), OutcomeQuery, PageQuery), responses(
    (status = 200, description = "A page of games, 20 when no limit is given.", body = Vec<GameSummary>, headers(("Link" = String, description = "Where the next page is, if there is one"))),
    (status = 404, description = "`no_such_snake`: there is none, or it is another account's and private"),
))]
pub(super) async fn list_games_of_snake(
    State(app): State<App>,
    MaybePrincipal(principal): MaybePrincipal,
    PathId(bot): PathId<BotId>,
    QueryParams(query): QueryParams<OutcomeQuery>,
    QueryParams(page): QueryParams<PageQuery>,
) -> ApiResult<ListResponse<GameSummary>> {
    let outcome = query.outcome.as_deref().map(parse_outcome).transpose()?;
    let wanted = ListFilter { bot: Some(bot), outcome, limit: page.limit(PAGE_DEFAULT)?, before: page.after()? };
    let caller = principal.as_ref().and_then(Principal::account);
    let rows = app.node.store.read(move |reader| wanted.read(reader, caller)).await?;
    let rows = rows.ok_or(ApiError::NotFound(Resource::Snake))?;
    let filter = outcome.map(|outcome| format!("outcome={}&", outcome.name())).unwrap_or_default();
    Ok(wanted.respond(&format!("/api/snakes/{bot}/games"), &filter, rows))
}

/// Games with what their views show besides.
type Games = (Related, Vec<MatchRow>);

/// Which page of which list.
#[derive(Clone, Copy)]
struct ListFilter {
    bot: Option<BotId>,
    outcome: Option<SeatOutcome>,
    before: Option<MatchId>,
    limit: usize,
}

impl ListFilter {
    /// Without a snake, the caller's own games, and those of all accounts for operators. Of a snake, all games for its owner and for operators;
    /// of another account's public one, public games and those that the caller created. `None`: the caller may not see this snake, or there
    /// is none.
    fn read(&self, reader: &mut dyn Reader, caller: Option<Caller>) -> Result<Option<Games>, StoreError> {
        let is_operator = caller.is_some_and(|caller| caller.role >= Role::Operator);
        // No match was created by the account of the number zero: a caller without an account sees what is public.
        let account = caller.map_or(AccountId(0), |caller| caller.account);
        let list = match self.bot {
            None if is_operator => MatchList::All,
            None => MatchList::OfAccount(account),
            Some(bot) => {
                let row = reader.bots_by_id(&[bot])?.into_iter().next();
                let sees_all = is_operator || row.as_ref().is_some_and(|row| row.account == account);
                if !sees_all && !row.is_some_and(|row| row.is_public) {
                    return Ok(None);
                }
                MatchList::OfBot { bot, outcome: self.outcome, viewer: (!sees_all).then_some(account) }
            }
        };
        let rows = reader.matches(&MatchFilter { list, before: self.before, limit: self.limit + 1 })?;
        Ok(Some((Related::read(reader, &rows, caller.map(Caller::viewer))?, rows)))
    }

    fn respond(&self, path: &str, filter: &str, (related, rows): Games) -> ListResponse<GameSummary> {
        let page = Page::new(path, filter, rows, self.limit, |row| Some(row.spec.id));
        page.response(|row| view::summary(&row, &related))
    }
}

/// Everything about a game, frames included
#[utoipa::path(get, path = "/api/games/{id}/details", tag = "games", security(("bearer" = [])), params(("id" = String, Path)), responses(
    (status = 200, description = "The game.", body = GameDetails),
    (status = 404, description = "There is no such game."),
))]
pub(super) async fn game_details(
    State(app): State<App>,
    AnyAccount(caller): AnyAccount,
    owner: BudgetOwner,
    PathId(id): PathId<MatchId>,
) -> ApiResult<Response> {
    let wanted = ReplayRequest::new(app, &owner)?;
    let viewer = caller.viewer();
    let read = wanted.read(move |reader| {
        let row = reader.match_by_id(id)?;
        row.map(|row| Ok((Related::read(reader, std::slice::from_ref(&row), Some(viewer))?, row))).transpose()
    });
    let (related, row) = read.await?.ok_or(ApiError::NotFound(Resource::Game))?;
    let details = view::details(&row, &related, knows_seed(&caller, &row));
    wanted.respond_frames(&row, 0..u32::MAX, &details).await
}

/// Who knows the seed of a running game can foresee its food: the account that created it may have chosen it, others learn it at the end,
/// and of a match of a competition everybody does.
fn knows_seed(caller: &Caller, row: &MatchRow) -> bool {
    let has_created = caller.account == row.account && row.spec.origin.is_none();
    row.status.state.is_ended() || has_created || caller.role >= Role::Operator
}

/// Where many games are
///
/// In the order asked; unknown ids are left out.
#[utoipa::path(post, path = "/api/games/status", tag = "games", security(("bearer" = [])), request_body = StatusRequest, responses(
    (status = 200, description = "Where the known ones are.", body = Vec<GameStatus>),
))]
pub(super) async fn game_statuses(
    State(app): State<App>,
    AnyAccount(_): AnyAccount,
    JsonBody(wanted): JsonBody<StatusRequest>,
) -> ApiResult<Json<Vec<GameStatus>>> {
    let ids = parse_match_ids(&wanted.game_ids)?;
    let statuses = app.node.store.read(move |reader| reader.statuses(&ids)).await?;
    Ok(Json(statuses.iter().map(view::status).collect()))
}

fn parse_match_ids(texts: &[String]) -> ApiResult<Vec<MatchId>> {
    if texts.len() > STATUS_IDS_MAX {
        let reason = format!("one request asks for at most {STATUS_IDS_MAX} games, not {}", texts.len());
        return Err(ApiError::bad_value("/game_ids", reason));
    }
    let id = |(at, text): (usize, &String)| {
        text.parse()
            .map_err(|error| ApiError::bad_value(format!("/game_ids/{at}"), format!("the game's id is {error}")))
    };
    texts.iter().enumerate().map(id).collect()
}
