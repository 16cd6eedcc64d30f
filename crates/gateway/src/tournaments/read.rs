//! Lists of tournaments, and one with all that can be known of it.

use super::access::find_visible;
use super::view;
use crate::app::App;
use crate::extract::{MaybePrincipal, PathId, QueryParams};
use crate::idempotency::json_body;
use crate::pagination::{ListResponse, Page, PageQuery, query_flag, readable_rows};
use crate::problem::{ApiError, ApiResult};
use crate::view_cache::{ViewKind, ViewVersion};
use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use engine::competitions::CompetitionKind;
use engine::ids::CompetitionId;
use engine::limits::PAGE_DEFAULT;
use serde::Deserialize;
use store::CompetitionFilter;
use wire::api::{TournamentDetails, TournamentSummary};

#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
pub(super) struct TournamentsQuery {
    /// `true`: the caller's own, private ones included.
    #[param(value_type = Option<bool>)]
    own: Option<String>,
}

/// List tournaments, newest first
///
/// Public ones; with `own=true`, those that the caller organizes.
#[utoipa::path(get, path = "/api/tournaments", tag = "tournaments", security((), ("bearer" = [])), params(PageQuery, TournamentsQuery), responses(
    (status = 200, description = "A page of tournaments, 20 when no limit is given.", body = Vec<TournamentSummary>, headers(("Link" = String, description = "Where the next page is, if there is one"))),
))]
pub(super) async fn list_tournaments(
    State(app): State<App>,
    MaybePrincipal(principal): MaybePrincipal,
    QueryParams(page): QueryParams<PageQuery>,
    QueryParams(query): QueryParams<TournamentsQuery>,
) -> ApiResult<ListResponse<TournamentSummary>> {
    let (limit, before) = (page.limit(PAGE_DEFAULT)?, page.after::<CompetitionId>()?);
    let is_own = query_flag("own", query.own.as_deref())?;
    let account = match principal.and_then(|principal| principal.account()) {
        Some(caller) if is_own => Some(caller.account),
        None if is_own => return Err(ApiError::TokenMissing),
        _ => None,
    };
    let filter = CompetitionFilter { kind: CompetitionKind::Tournament, account, before, limit: limit + 1 };
    let rows = app.node.store.read(move |reader| reader.competitions(&filter)).await?;
    let own = if is_own { "own=true&" } else { "" };
    let Page { rows, link } = Page::new("/api/tournaments", own, rows, limit, |row| Some(row.id));
    Ok((link, Json(readable_rows(rows.iter().map(view::summary_of_row)))))
}

/// Get a tournament
///
/// Its entrants, bracket or rounds, table, and games: those with the status `running` are being played, and can be watched at
/// `/api/games/{id}/events`. `seq` is where its feed goes on. Programs that ask again and again send the `ETag` of the last answer as
/// `If-None-Match`, and are answered 304 without a body while nothing has happened.
#[utoipa::path(get, path = "/api/tournaments/{id}", tag = "tournaments", security((), ("bearer" = [])), params(("id" = String, Path)), responses(
    (status = 200, description = "The tournament.", body = TournamentDetails, headers(("ETag" = String, description = "Stands for this content"))),
    (status = 304, description = "Nothing has changed since the content of the tag in `If-None-Match`."),
))]
pub(super) async fn get_tournament(
    State(app): State<App>,
    MaybePrincipal(principal): MaybePrincipal,
    PathId(id): PathId<CompetitionId>,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let caller = principal.and_then(|principal| principal.account());
    let tournament = find_visible(&app, id, caller.as_ref()).await?;
    // What is shown follows from the log alone.
    let version = ViewVersion { log: tournament.state.version(), results: 0 };
    let render = move || json_body(&view::details(&tournament));
    let shown = app.views.get(id, ViewKind::Tournament, version, render).await?;
    Ok(shown.into_response(&headers, HeaderValue::from_static("application/json")))
}
