//! Following duels: lists, one with all that is known, its games.

use super::view;
use crate::app::App;
use crate::auth::{Caller, Principal};
use crate::extract::{AnyAccount, MaybePrincipal, PathId, QueryParams};
use crate::games::{Related, summary};
use crate::idempotency::json_body;
use crate::pagination::{ListResponse, Page, PageQuery, readable_rows};
use crate::problem::{ApiError, ApiResult, Resource};
use crate::view_cache::{ViewKind, ViewVersion};
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use engine::competitions::{CompetitionKind, CompetitionRow};
use engine::duels::{Duel, GameKey};
use engine::ids::CompetitionId;
use engine::limits::PAGE_DEFAULT;
use engine::rows::{MatchRow, Role};
use std::sync::Arc;
use store::CompetitionFilter;
use wire::api::{DuelDetails, DuelGame, DuelSummary};

/// How much of a duel a caller may see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DuelAccess {
    /// Everything, the bots' URLs included.
    Owner,
    Everyone,
}

impl DuelAccess {
    /// `None`: for this caller there is no such duel.
    pub(super) fn of(row: &CompetitionRow, caller: Option<Caller>) -> Option<Self> {
        match caller {
            Some(caller) if caller.account == row.account => Some(Self::Owner),
            Some(caller) if caller.role >= Role::Operator => Some(Self::Everyone),
            Some(_) | None => row.is_public.then_some(Self::Everyone),
        }
    }
}

/// List your duels, newest first
#[utoipa::path(get, path = "/api/duels", tag = "duels", security(("bearer" = [])), params(PageQuery), responses(
    (status = 200, description = "A page of duels.", body = Vec<DuelSummary>, headers(("Link" = String, description = "The next page's URL, if there is one"))),
))]
pub(super) async fn list_duels(
    State(app): State<App>,
    AnyAccount(caller): AnyAccount,
    QueryParams(query): QueryParams<PageQuery>,
) -> ApiResult<ListResponse<DuelSummary>> {
    let (limit, before) = (query.limit(PAGE_DEFAULT)?, query.after()?);
    let filter =
        CompetitionFilter { kind: CompetitionKind::Duel, account: Some(caller.account), before, limit: limit + 1 };
    let rows = app.node.store.read(move |reader| reader.competitions(&filter)).await?;
    let Page { rows, link } = Page::new("/api/duels", "", rows, limit, |row| Some(row.id));
    Ok((link, Json(readable_rows(rows.iter().map(|row| view::summary_of_row(row, DuelAccess::Owner))))))
}

/// Get a duel
///
/// Public duels need no token.
#[utoipa::path(get, path = "/api/duels/{id}", tag = "duels", security((), ("bearer" = [])), params(("id" = String, Path)), responses(
    (status = 200, description = "The duel.", body = DuelDetails, headers(("ETag" = String, description = "Stands for this content"))),
    (status = 304, description = "Nothing has changed since the content of the tag in `If-None-Match`."),
    (status = 404, description = "There is no such duel, or it is another account's and not public."),
))]
pub(super) async fn duel_details(
    State(app): State<App>,
    MaybePrincipal(principal): MaybePrincipal,
    PathId(id): PathId<CompetitionId>,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let (row, duel) = find_duel(&app, id).await?;
    let caller = principal.as_ref().and_then(Principal::account);
    let access = DuelAccess::of(&row, caller).ok_or(ApiError::NotFound(Resource::Duel))?;
    let kind = match access {
        DuelAccess::Owner => ViewKind::DuelOfOwner,
        DuelAccess::Everyone => ViewKind::Duel,
    };
    let version = ViewVersion { log: row.version, results: row.results };
    let shown = app.views.get(id, kind, version, move || json_body(&view::details(&row, &duel, access))).await?;
    Ok(shown.into_response(&headers, HeaderValue::from_static("application/json")))
}

/// List the games of a duel, newest first
///
/// Games are deleted some time after their end, as all games are; what counted stays in the duel.
#[utoipa::path(get, path = "/api/duels/{id}/games", tag = "duels", security((), ("bearer" = [])), params(("id" = String, Path), PageQuery), responses(
    (status = 200, description = "A page of games.", body = Vec<DuelGame>, headers(("Link" = String, description = "The next page's URL, if there is one"))),
    (status = 404, description = "There is no such duel, or it is another account's and not public."),
))]
pub(super) async fn list_duel_games(
    State(app): State<App>,
    MaybePrincipal(principal): MaybePrincipal,
    PathId(id): PathId<CompetitionId>,
    QueryParams(query): QueryParams<PageQuery>,
) -> ApiResult<ListResponse<DuelGame>> {
    let (limit, before) = (query.limit(PAGE_DEFAULT)?, query.after()?);
    let caller = principal.as_ref().and_then(Principal::account);
    find_row(&app, id)
        .await?
        .filter(|row| DuelAccess::of(row, caller).is_some())
        .ok_or(ApiError::NotFound(Resource::Duel))?;
    let read = app.node.store.read(move |reader| {
        let rows = reader.competition_matches(id, false, before, limit + 1)?;
        Ok((Related::read(reader, &rows, caller.map(Caller::viewer))?, rows))
    });
    let (related, rows) = read.await?;
    let page = Page::new(&format!("/api/duels/{id}/games"), "", rows, limit, |row| Some(row.spec.id));
    Ok((page.link, Json(page.rows.iter().filter_map(|row| duel_game(row, &related)).collect())))
}

fn duel_game(row: &MatchRow, related: &Related) -> Option<DuelGame> {
    let key = GameKey::from_u64(row.spec.origin?.key)?;
    Some(DuelGame {
        pairing: key.pairing,
        pair: key.pair,
        game_of_pair: key.game,
        attempt: key.attempt,
        game: summary(row, related),
    })
}

async fn find_row(app: &App, id: CompetitionId) -> ApiResult<Option<CompetitionRow>> {
    let row = app.node.store.read(move |reader| reader.competition(id)).await?;
    Ok(row.filter(|row| row.kind == CompetitionKind::Duel))
}

/// The duel as it is now.
pub(super) async fn find_duel(app: &App, id: CompetitionId) -> ApiResult<(CompetitionRow, Arc<Duel>)> {
    let states = app.duels.clone();
    let found = app.node.store.read(move |reader| {
        let row = reader.competition(id)?.filter(|row| row.kind == CompetitionKind::Duel);
        row.map(|mut row| Ok((states.read(reader, &mut row)?, row))).transpose()
    });
    let (duel, row) = found.await?.ok_or(ApiError::NotFound(Resource::Duel))?;
    let duel = duel.map_err(|error| ApiError::Internal(format!("duel {id}: {error}")))?;
    Ok((row, duel))
}
