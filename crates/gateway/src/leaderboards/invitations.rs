//! Invitations to leaderboards that are not public: for their owners.

use super::{find, require_owner, view};
use crate::app::App;
use crate::auth::{Caller, Principal};
use crate::extract::{JsonBody, PathId, PathIds, Player, QueryParams};
use crate::pagination::{ListResponse, Page, PageQuery};
use crate::problem::{ApiError, ApiResult, LeaderboardRefusal, Resource};
use axum::extract::State;
use axum::http::StatusCode;
use engine::commands::{Command, LadderCommand, Outcome};
use engine::competitions::CompetitionRow;
use engine::ids::{AccountId, CompetitionId};
use engine::limits::PAGE_DEFAULT;
use wire::api::{CreateInvitation, InvitationView};

async fn own(app: &App, caller: Caller, id: CompetitionId) -> ApiResult<CompetitionRow> {
    let row = find(app, Some(&Principal::Account(caller)), id).await?;
    require_owner(&row, caller.account, caller.role)?;
    Ok(row)
}

/// List the accounts that are invited
#[utoipa::path(get, path = "/api/leaderboards/{id}/invitations", tag = "leaderboards", security(("bearer" = [])), params(("id" = String, Path), PageQuery), responses(
    (status = 200, description = "A page of invitations, 20 when no limit is given.", body = Vec<InvitationView>, headers(("Link" = String, description = "The next page's URL, if there is one"))),
))]
pub(super) async fn list_invitations(
    State(app): State<App>,
    Player(caller): Player,
    PathId(id): PathId<CompetitionId>,
    QueryParams(page): QueryParams<PageQuery>,
) -> ApiResult<ListResponse<InvitationView>> {
    let (limit, after) = (page.limit(PAGE_DEFAULT)?, page.after::<AccountId>()?);
    own(&app, caller, id).await?;
    let read = move |reader: &mut dyn store::Reader| reader.ladders().ladder_invitations(id, after, limit + 1);
    let rows = app.node.store.read(read).await?;
    let path = format!("/api/leaderboards/{id}/invitations");
    Ok(Page::new(&path, "", rows, limit, |row| Some(row.account)).response(view::invitation))
}

/// Invite an account
///
/// It may see the leaderboard and enter its snakes. Inviting again changes nothing.
#[utoipa::path(post, path = "/api/leaderboards/{id}/invitations", tag = "leaderboards", security(("bearer" = [])), params(("id" = String, Path)), request_body = CreateInvitation, responses(
    (status = 204, description = "It is invited."),
    (status = 403, description = "`not_owner`: the leaderboard is another account's."),
    (status = 404, description = "`no_such_leaderboard`, `no_such_account`"),
    (status = 409, description = "`leaderboard_public`, `too_many`"),
))]
pub(super) async fn create_invitation(
    State(app): State<App>,
    Player(caller): Player,
    PathId(id): PathId<CompetitionId>,
    JsonBody(request): JsonBody<CreateInvitation>,
) -> ApiResult<StatusCode> {
    let row = own(&app, caller, id).await?;
    if row.is_public {
        return Err(LeaderboardRefusal::Public.into());
    }
    let invited = app.node.store.read(move |reader| reader.account_named(&request.account)).await?;
    let account = invited.ok_or(LeaderboardRefusal::NoSuchAccount)?.id;
    let invite = LadderCommand::Invite { ladder: id, account, now: app.node.clock.now() };
    match app.node.store.commit(Command::Ladder(invite)).await? {
        Outcome::Done => Ok(StatusCode::NO_CONTENT),
        Outcome::LimitReached => Err(LeaderboardRefusal::TooManyInvitations.into()),
        other => Err(ApiError::from_outcome(&other, Resource::Leaderboard)),
    }
}

/// Take an invitation back
///
/// The account's entries are taken out.
#[utoipa::path(delete, path = "/api/leaderboards/{id}/invitations/{account}", tag = "leaderboards", security(("bearer" = [])), params(("id" = String, Path), ("account" = String, Path, description = "The account's id.")), responses(
    (status = 204, description = "It is not invited any more."),
    (status = 403, description = "`not_owner`: the leaderboard is another account's."),
    (status = 404, description = "`no_such_leaderboard`, `no_such_account`"),
))]
pub(super) async fn delete_invitation(
    State(app): State<App>,
    Player(caller): Player,
    PathIds(id, account): PathIds<CompetitionId, AccountId>,
) -> ApiResult<StatusCode> {
    own(&app, caller, id).await?;
    match app.node.store.commit(Command::Ladder(LadderCommand::Uninvite { ladder: id, account })).await? {
        Outcome::Done => Ok(StatusCode::NO_CONTENT),
        Outcome::NotFound => Err(ApiError::NotFound(Resource::Account)),
        other => Err(ApiError::from_outcome(&other, Resource::Leaderboard)),
    }
}
