//! Leaderboards themselves: made, listed, read, ended.

use super::note::note;
use super::{find, require_owner, view};
use crate::app::App;
use crate::auth::{Caller, Principal};
use crate::extract::{MaybePrincipal, PathId, Player, QueryParams, RawJson};
use crate::games::{GameParams, parse_game_params};
use crate::idempotency::{
    IdempotencyKey, NewCompetition, create_competition, first_response_or, json_body, json_response,
};
use crate::pagination::{ListResponse, Page, PageQuery, readable_rows};
use crate::problem::{ApiError, ApiResult, LeaderboardRefusal, Resource};
use crate::text;
use arena::ladders::{EndLadderError, end};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use engine::commands::Outcome;
use engine::competitions::{CompetitionKind, CompetitionRow, CompetitionStatus};
use engine::ids::CompetitionId;
use engine::ladders::definition::{LadderDefinition, LadderError, STANDARD_LADDER};
use engine::ladders::season::current_season;
use engine::limits::{LADDERS_OF_OPERATOR_MAX, LADDERS_PER_ACCOUNT_MAX, PAGE_MAX};
use engine::matches::settings::MatchSettings;
use engine::rows::Role;
use engine::time::UnixMs;
use node::clock::random_bytes;
use serde::Deserialize;
use std::time::Duration;
use store::CompetitionFilter;
use wire::api::{CreateGame, CreateLeaderboard, Leaderboard, LeaderboardDetails};

const DAY: Duration = Duration::from_secs(24 * 3_600);

#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct OfQuery {
    /// `me`: your own leaderboards, or those to which you are `invited`; public ones when absent.
    of: Option<String>,
}

/// List leaderboards, newest first
///
/// Public ones; with `of=me` your own, with `of=invited` those to which you are invited (oldest first).
#[utoipa::path(get, path = "/api/leaderboards", tag = "leaderboards", security((), ("bearer" = [])), params(PageQuery, OfQuery), responses(
    (status = 200, description = "A page of leaderboards, 100 when no limit is given.", body = Vec<Leaderboard>, headers(("Link" = String, description = "The next page's URL, if there is one"))),
))]
pub(super) async fn list_leaderboards(
    State(app): State<App>,
    MaybePrincipal(caller): MaybePrincipal,
    QueryParams(page): QueryParams<PageQuery>,
    QueryParams(OfQuery { of }): QueryParams<OfQuery>,
) -> ApiResult<ListResponse<Leaderboard>> {
    let (limit, after) = (page.limit(PAGE_MAX)?, page.after::<CompetitionId>()?);
    let account = match (of.as_deref(), caller) {
        (None, _) => None,
        (Some("me" | "invited"), Some(Principal::Account(caller))) => Some(caller.account),
        (Some("me" | "invited"), Some(Principal::Guest(_))) => return Err(ApiError::AccountNeeded),
        (Some("me" | "invited"), None) => return Err(ApiError::TokenMissing),
        (Some(_), _) => {
            return Err(ApiError::bad_value("of", "of is me or invited, or absent for public leaderboards"));
        }
    };
    let is_invited = of.as_deref() == Some("invited");
    let rows = app.node.store.read(move |reader| {
        let rows: Vec<CompetitionRow> = match account.filter(|_| is_invited) {
            Some(account) => {
                let (mut rows, mut after) = (Vec::new(), after);
                loop {
                    let ids = reader.ladders().ladders_invited_to(account, after, limit + 1)?;
                    rows.extend(reader.competitions_by_id(&ids)?);
                    after = ids.last().copied();
                    if ids.len() <= limit || rows.len() > limit {
                        break;
                    }
                }
                rows
            }
            None => {
                let kind = CompetitionKind::Ladder;
                reader.competitions(&CompetitionFilter { kind, account, before: after, limit: limit + 1 })?
            }
        };
        let mut counted = Vec::with_capacity(rows.len());
        for row in rows {
            let entries_active = reader.ladders().ladder_active_entries(row.id, current_season(&row))?;
            counted.push((row, entries_active));
        }
        Ok(counted)
    });
    let filter = of.map_or_else(String::new, |of| format!("of={of}&"));
    let Page { rows, link } = Page::new("/api/leaderboards", &filter, rows.await?, limit, |(row, _)| Some(row.id));
    Ok((link, Json(readable_rows(rows.iter().map(|(row, entries)| view::leaderboard(row, *entries))))))
}

/// Make a leaderboard
///
/// Snakes that enter are paired and rated until it is ended. With an `Idempotency-Key`, the same request sent again gets the same answer and
/// makes nothing; keys are remembered for a day.
#[utoipa::path(
    post, path = "/api/leaderboards", tag = "leaderboards", security(("bearer" = [])), request_body = CreateLeaderboard,
    params(("Idempotency-Key" = Option<String>, Header, description = "1 to 128 visible ASCII characters, new for each request.", max_length = 128)),
    responses(
        (status = 201, description = "It is open.", body = Leaderboard),
        (status = 409, description = "`too_many`: the account has as many as it may have."),
    ),
)]
pub(super) async fn create_leaderboard(
    State(app): State<App>,
    Player(caller): Player,
    request: RawJson,
) -> ApiResult<Response> {
    let key = IdempotencyKey::of(&request)?;
    let body = match new_leaderboard(&app, caller, &request) {
        Ok(new) => {
            let refusal = |outcome: &Outcome| match outcome {
                Outcome::LimitReached => LeaderboardRefusal::TooMany.into(),
                other => ApiError::from_outcome(other, Resource::Account),
            };
            create_competition(&app, new, key, refusal).await?
        }
        Err(refusal) => first_response_or(&app, caller.account, key.as_ref(), refusal).await?,
    };
    Ok(json_response(StatusCode::CREATED, body))
}

fn new_leaderboard(app: &App, caller: Caller, request: &RawJson) -> ApiResult<NewCompetition> {
    let wanted: CreateLeaderboard = request.parse()?;
    let name = text::check_name("/name", &wanted.name)?;
    let definition = validate(app, &wanted)?;
    let now = app.node.clock.now();
    let season_ms = definition.season.map(|season| i64::try_from(season.as_millis()).unwrap_or(i64::MAX));
    let (id, kind) = (CompetitionId::new(now, random_bytes()), CompetitionKind::Ladder);
    let row = CompetitionRow {
        status: CompetitionStatus::Running,
        is_public: wanted.is_public,
        due_at: season_ms.map(|ms| UnixMs(now.0.saturating_add(ms))),
        ..CompetitionRow::new(id, kind, caller.account, name, definition.encode(), now)
    };
    let live_max = if caller.role >= Role::Operator { LADDERS_OF_OPERATOR_MAX } else { LADDERS_PER_ACCOUNT_MAX };
    let response = json_body(&view::leaderboard(&row, 0)?);
    Ok(NewCompetition { row, live_max, response })
}

fn validate(app: &App, wanted: &CreateLeaderboard) -> ApiResult<LadderDefinition> {
    let standard = LadderDefinition::standard();
    let players = wanted.players.unwrap_or_else(|| standard.players.into());
    let players = u8::try_from(players).map_err(|_| LeaderboardRefusal::from(LadderError::Players(u8::MAX)))?;
    LadderDefinition { players, ..standard }.validate().map_err(LeaderboardRefusal::from)?;
    let season = match wanted.season_days {
        Some(days) => Some(DAY * u32::try_from(days).map_err(|_| LeaderboardRefusal::from(LadderError::Season))?),
        None => None,
    };
    let game = CreateGame {
        snakes: Vec::new(),
        board: wanted.board.clone(),
        game_type: wanted.game_type.clone(),
        map: wanted.map.clone(),
        seed: None,
        timeout_ms: wanted.timeout_ms,
        settings: wanted.settings.clone(),
    };
    let timeout_ms_default = u16::try_from(app.config.bot_timeout_default.as_millis()).unwrap_or(u16::MAX);
    let GameParams { rules, width, height, timeout_ms } = parse_game_params(&game, players, timeout_ms_default)?;
    let settings = MatchSettings { rules, width, height, timeout_ms, turns_max: app.config.turns_max };
    let definition = LadderDefinition { settings, players, season };
    definition.validate().map_err(LeaderboardRefusal::from)?;
    Ok(definition)
}

/// Get a leaderboard
#[utoipa::path(get, path = "/api/leaderboards/{id}", tag = "leaderboards", security((), ("bearer" = [])), params(("id" = String, Path)), responses(
    (status = 200, description = "The leaderboard.", body = LeaderboardDetails),
))]
pub(super) async fn get_leaderboard(
    State(app): State<App>,
    MaybePrincipal(caller): MaybePrincipal,
    PathId(id): PathId<CompetitionId>,
) -> ApiResult<Json<LeaderboardDetails>> {
    let row = find(&app, caller.as_ref(), id).await?;
    let players = usize::from(view::definition(&row)?.players);
    let (row, entries_active, note) = app
        .node
        .store
        .read(move |reader| {
            let entries_active = reader.ladders().ladder_active_entries(id, current_season(&row))?;
            let note = note(reader, &row, players, entries_active)?;
            Ok((row, entries_active, note))
        })
        .await?;
    Ok(Json(LeaderboardDetails { leaderboard: view::leaderboard(&row, entries_active)?, note }))
}

/// End a leaderboard
///
/// No snake can enter any more and no game begins. Games under way still count. Its standings stay.
#[utoipa::path(delete, path = "/api/leaderboards/{id}", tag = "leaderboards", security(("bearer" = [])), params(("id" = String, Path)), responses(
    (status = 204, description = "It has ended."),
    (status = 403, description = "`not_owner`: it is another account's."),
    (status = 409, description = "`built_in`: every server has this one."),
))]
pub(super) async fn end_leaderboard(
    State(app): State<App>,
    Player(caller): Player,
    PathId(id): PathId<CompetitionId>,
) -> ApiResult<StatusCode> {
    let row = find(&app, Some(&Principal::Account(caller)), id).await?;
    require_owner(&row, caller.account, caller.role)?;
    if row.id == STANDARD_LADDER {
        return Err(LeaderboardRefusal::BuiltIn.into());
    }
    end_now(&app, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Ends a leaderboard, unless it has ended.
pub(crate) async fn end_now(app: &App, id: CompetitionId) -> ApiResult<()> {
    match end(&app.arena, id).await {
        Ok(()) => Ok(()),
        Err(EndLadderError::Busy) => Err(LeaderboardRefusal::Busy.into()),
        Err(EndLadderError::Advance(error)) => Err(error.into()),
    }
}
