//! Who may see a tournament, and who organizes it.

use crate::app::App;
use crate::auth::Caller;
use crate::problem::{ApiError, ApiResult, Resource, TournamentRefusal};
use arena::tournaments::LoadedTournament;
use engine::ids::CompetitionId;
use engine::rows::Role;

/// The tournament, if this caller may know of it: a private one exists for its organizer, for those who are invited or entered, and for
/// operators.
pub(super) async fn find_visible(app: &App, id: CompetitionId, caller: Option<&Caller>) -> ApiResult<LoadedTournament> {
    let loaded = app.tournaments.load(id).await?;
    if is_visible(&loaded, caller) { Ok(loaded) } else { Err(ApiError::NotFound(Resource::Tournament)) }
}

fn is_visible(loaded: &LoadedTournament, caller: Option<&Caller>) -> bool {
    let Some(caller) = caller else { return loaded.row.is_public };
    let account = caller.account;
    loaded.row.is_public
        || may_organize(loaded, caller)
        || loaded.state.invited().contains(&account)
        || loaded.state.entrants().iter().any(|entrant| entrant.info.account == account)
}

/// Whether the caller is the organizer, or acts for everyone.
pub(super) fn may_organize(loaded: &LoadedTournament, caller: &Caller) -> bool {
    caller.account == loaded.row.account || caller.role >= Role::Operator
}

/// The tournament, for its organizer alone; for others who may see it, a refusal.
pub(super) async fn find_organized(app: &App, id: CompetitionId, caller: &Caller) -> ApiResult<LoadedTournament> {
    let loaded = find_visible(app, id, Some(caller)).await?;
    if may_organize(&loaded, caller) { Ok(loaded) } else { Err(TournamentRefusal::NotOrganizer.into()) }
}
