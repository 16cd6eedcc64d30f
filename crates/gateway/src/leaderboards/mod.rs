//! `/api/leaderboards`: ladders of rated bots. Who may see one is decided here, for all routes.

mod boards;
mod entries;
mod games;
mod invitations;
mod note;
mod rankings;
mod recompute;
mod seasons;
mod view;

pub(super) use boards::end_now;
pub(super) use view::{entry as entry_view, leaderboard as leaderboard_view};

use super::auth::Principal;
use super::problem::{ApiError, ApiResult, LeaderboardRefusal, Resource};
use crate::app::App;
use engine::competitions::{CompetitionKind, CompetitionRow};
use engine::ids::{AccountId, CompetitionId};
use engine::ladders::season::current_season;
use engine::rows::Role;
use serde::Deserialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(boards::list_leaderboards, boards::create_leaderboard))
        .routes(routes!(boards::get_leaderboard, boards::end_leaderboard))
        .routes(routes!(rankings::rankings))
        .routes(routes!(entries::list_own_entries, entries::create_entry))
        .routes(routes!(entries::get_entry, entries::delete_entry))
        .routes(routes!(entries::entry_games))
        .routes(routes!(entries::entry_opponents))
        .routes(routes!(games::list_leaderboard_games))
        .routes(routes!(seasons::list_seasons))
        .routes(routes!(seasons::list_seats))
        .routes(routes!(invitations::list_invitations, invitations::create_invitation))
        .routes(routes!(invitations::delete_invitation))
        .routes(routes!(recompute::recompute_ratings))
}

/// The season that a request is about.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
struct SeasonQuery {
    /// A season, from 1; the one under way when absent.
    #[param(value_type = Option<u32>, minimum = 1)]
    season: Option<String>,
}

impl SeasonQuery {
    /// The season that is named.
    fn named(&self) -> ApiResult<Option<u32>> {
        let season = self.season.as_deref().map(str::parse).transpose();
        season.map_err(|_| ApiError::bad_value("season", "season must be a whole number from 1, or absent"))
    }

    /// A season of this leaderboard.
    fn of(&self, row: &CompetitionRow) -> ApiResult<u32> {
        let current = current_season(row);
        let Some(season) = self.named()? else { return Ok(current) };
        if !(1..=current).contains(&season) {
            return Err(LeaderboardRefusal::NoSuchSeason { season, current }.into());
        }
        Ok(season)
    }
}

/// A leaderboard that this caller may see: it is public, or the caller owns it, is invited, or is an operator. For all others there is none.
async fn find(app: &App, caller: Option<&Principal>, id: CompetitionId) -> ApiResult<CompetitionRow> {
    let account = caller.and_then(Principal::account).map(|caller| caller.account);
    let is_operator = caller.is_some_and(Principal::is_operator);
    let found = app.node.store.read(move |reader| {
        let Some(row) = reader.competition(id)?.filter(|row| row.kind == CompetitionKind::Ladder) else {
            return Ok(None);
        };
        let is_visible = row.is_public || is_operator || account == Some(row.account);
        let is_invited = match account {
            Some(account) if !is_visible => reader.ladders().is_invited(id, account)?,
            _ => false,
        };
        Ok((is_visible || is_invited).then_some(row))
    });
    found.await?.ok_or(ApiError::NotFound(Resource::Leaderboard))
}

/// Refuses callers who neither own it nor operate this server.
fn require_owner(row: &CompetitionRow, account: AccountId, role: Role) -> ApiResult<()> {
    if row.account == account || role >= Role::Operator { Ok(()) } else { Err(LeaderboardRefusal::NotOwner.into()) }
}
