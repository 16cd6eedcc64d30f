//! What is left of deleted accounts, deleted in portions by a job that finds out for itself what there is to do: a process that dies in between
//! leaves an account that the next look finds.

use super::problem::{ApiError, ApiResult, Resource};
use super::{admin, duels, leaderboards, worlds};
use crate::app::App;
use engine::commands::{AccountCommand, Command, NamesPage, Outcome};
use engine::competitions::CompetitionKind;
use engine::ids::{AccountId, BotId};
use engine::time::UnixMs;
use metrics::RetiredKind;
use std::time::Duration;
use store::{BotFilter, StoreError};
use tokio::time::{Instant, sleep};

/// Accounts of one look.
const ACCOUNTS_AT_ONCE: usize = 256;
/// Bots deleted by one commit: each has some hundreds of rows.
const BOTS_AT_ONCE: usize = 16;
/// Rows of each kind deleted by one command.
const ROWS_AT_ONCE: usize = 256;
/// Rows looked at by one command that takes names out: few of them change.
const NAMES_AT_ONCE: usize = 4_096;
/// Between two portions others write.
const REST_MAX: Duration = Duration::from_millis(500);

/// Deletes what is left of accounts that were deleted by `until`. One that cannot be finished now is found again at the next look.
///
/// # Errors
/// The store takes nothing now.
pub async fn clear_deleted_accounts(app: &App, until: UnixMs) -> Result<(), StoreError> {
    let found = app.node.store.read(move |reader| reader.deletions().uncleared_accounts(until, ACCOUNTS_AT_ONCE));
    for id in found.await? {
        match clear(app, id).await {
            Ok(true) => {
                app.metrics.process.retired.add(RetiredKind::Accounts, 1);
                tracing::info!(account = %id, "all that a deleted account had is gone");
            }
            Ok(false) => {}
            Err(ApiError::Store(error)) if is_of_all(&error) => return Err(error),
            // The store has reported it.
            Err(ApiError::Store(StoreError::Damaged(_))) => {}
            Err(error) => tracing::warn!(account = %id, %error, "a deleted account could not be cleared now"),
        }
    }
    Ok(())
}

/// Whether the next command would fail as well. Damage is of one thing, and holds up nothing else.
fn is_of_all(error: &StoreError) -> bool {
    !matches!(error, StoreError::Damaged(_) | StoreError::Corrupt { .. })
}

/// Whether nothing is left. Names are taken out last, when no game of the account or with a snake of it is under way: another process that
/// takes one over reads the snakes' URLs again.
async fn clear(app: &App, id: AccountId) -> ApiResult<bool> {
    admin::cancel_waiting(app, id).await?;
    let ended = end_competitions(app, id).await?.and(end_hunts(app, id).await?);
    delete_bots(app, id).await?;
    delete_rows(app, id).await?;
    ended?;
    if app.node.store.read(move |reader| reader.deletions().has_live_seats(id)).await? {
        return Ok(false);
    }
    for first in NamesPage::FIRST {
        forget_names(app, id, first).await?;
    }
    match commit(app, AccountCommand::Finish { id, now: app.node.clock.now() }).await? {
        Outcome::Done => Ok(true),
        other => Err(ApiError::from_outcome(&other, Resource::Account)),
    }
}

/// As their owner would: games that count for a duel or a tournament are called off with it. Inside: what became of those that alone could not be
/// ended.
async fn end_competitions(app: &App, id: AccountId) -> Result<ApiResult<()>, StoreError> {
    let mut ended = Ok(());
    for (kind, competition) in app.node.store.read(move |reader| reader.deletions().live_competitions(id)).await? {
        let one = match kind {
            CompetitionKind::Duel => duels::call_off(app, competition).await.map(drop),
            CompetitionKind::Tournament => app.tournaments.cancel(competition).await.map(drop).map_err(ApiError::from),
            CompetitionKind::Ladder => leaderboards::end_now(app, competition).await,
        };
        ended = ended.and(unless_of_all(one)?);
    }
    Ok(ended)
}

/// The error of one thing inside, that of the whole store outside.
fn unless_of_all(result: ApiResult<()>) -> Result<ApiResult<()>, StoreError> {
    match result {
        Err(ApiError::Store(error)) if is_of_all(&error) => Err(error),
        other => Ok(other),
    }
}

async fn end_hunts(app: &App, id: AccountId) -> Result<ApiResult<()>, StoreError> {
    let now = app.node.clock.now();
    let mut ended = Ok(());
    for name in app.node.store.read(move |reader| reader.deletions().live_hunts(id, now)).await? {
        let one = match app.node.store.read(move |reader| reader.world_named(&name, now)).await {
            Ok(Some(hunt)) => worlds::terminate_world(app, &hunt.row, Resource::Hunt).await.map(drop),
            Ok(None) => Ok(()),
            Err(error) => Err(error.into()),
        };
        ended = ended.and(unless_of_all(one)?);
    }
    Ok(ended)
}

async fn delete_bots(app: &App, account: AccountId) -> ApiResult<()> {
    loop {
        let filter = BotFilter { account, before: None, limit: BOTS_AT_ONCE };
        let bots = app.node.store.read(move |reader| reader.bots(&filter)).await?;
        let ids: Vec<BotId> = bots.into_iter().map(|bot| bot.id).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let began = Instant::now();
        let delete = ids.iter().map(|id| Command::DeleteBot { id: *id, account }).collect();
        app.node.store.commit_all(delete).await?;
        rest(began).await;
    }
}

async fn delete_rows(app: &App, id: AccountId) -> ApiResult<()> {
    loop {
        let began = Instant::now();
        match commit(app, AccountCommand::Clear { id, max: ROWS_AT_ONCE }).await? {
            Outcome::Retired(count) if count < ROWS_AT_ONCE => return Ok(()),
            Outcome::Retired(_) => rest(began).await,
            other => return Err(ApiError::from_outcome(&other, Resource::Account)),
        }
    }
}

async fn forget_names(app: &App, id: AccountId, first: NamesPage) -> ApiResult<()> {
    let mut next = Some(first);
    while let Some(page) = next {
        let began = Instant::now();
        next = match commit(app, AccountCommand::ForgetNames { id, page, max: NAMES_AT_ONCE }).await? {
            Outcome::NamesForgotten { next, .. } => next,
            other => return Err(ApiError::from_outcome(&other, Resource::Account)),
        };
        if next.is_some() {
            rest(began).await;
        }
    }
    Ok(())
}

async fn commit(app: &App, command: AccountCommand) -> Result<Outcome, StoreError> {
    app.node.store.commit(Command::Account(command)).await
}

async fn rest(began: Instant) {
    sleep(began.elapsed().min(REST_MAX)).await;
}
