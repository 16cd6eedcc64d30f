//! What is left of deleted accounts, deleted in portions by a job that finds out for itself what there is to do: a process that dies in between
//! leaves an account that the next look finds, of whichever process.

use super::problem::{ApiError, ApiResult, Resource};
use super::{admin, duels, leaderboards, worlds};
use crate::app::App;
use engine::commands::{AccountCommand, Command, Outcome};
use engine::competitions::CompetitionKind;
use engine::ids::AccountId;
use engine::time::UnixMs;
use metrics::RetiredKind;
use std::collections::BTreeMap;
use std::time::Duration;
use store::StoreError;
use tokio::time::{Instant, sleep};

/// Accounts of one look, beside those that are known to wait.
const ACCOUNTS_AT_ONCE: usize = 256;
/// Portions of each account in one look: what has more left goes on at the next one.
const PORTIONS_MAX: usize = 256;
/// Bots deleted by one commit: each has some hundreds of rows.
const BOTS_AT_ONCE: usize = 16;
/// Rows of each kind deleted by one command.
const ROWS_AT_ONCE: usize = 256;
/// Rows looked at by one command that takes names out: few of them change.
const NAMES_AT_ONCE: usize = 4_096;
/// Between two portions others write.
const REST_MAX: Duration = Duration::from_millis(500);
/// When an account that cannot be cleared is tried again: after this time at first, and each time after twice as long.
const RETRY_AFTER_MIN: Duration = Duration::from_secs(5);
const RETRY_AFTER_MAX: Duration = Duration::from_secs(600);

/// What this process knows of accounts that are being cleared. Another one finds it out for itself.
#[derive(Debug, Default)]
pub struct AccountClearing {
    stuck: BTreeMap<AccountId, Retry>,
    /// Accounts of the last look in whose games something is under way.
    waiting: usize,
}

/// When an account that could not be cleared is tried again.
#[derive(Clone, Copy, Debug)]
struct Retry {
    after: Duration,
    at: Instant,
}

impl AccountClearing {
    /// Deletes what is left of accounts that were deleted by `until`, of one after the other a portion, but not for ever: what is left then is found
    /// again at the next look.
    ///
    /// # Errors
    /// The store takes nothing now.
    pub async fn look(&mut self, app: &App, until: UnixMs) -> Result<(), StoreError> {
        let limit = ACCOUNTS_AT_ONCE + self.stuck.len() + std::mem::take(&mut self.waiting);
        let found = app.node.store.read(move |reader| reader.deletions().uncleared_accounts(until, limit)).await?;
        self.stuck.retain(|id, _| found.contains(id));
        let now = Instant::now();
        let due = found.into_iter().filter(|id| self.stuck.get(id).is_none_or(|retry| retry.at <= now));
        let mut open: Vec<AccountToClear> = due.map(AccountToClear::new).collect();
        for _ in 0..PORTIONS_MAX {
            let mut next = Vec::new();
            for mut account in open {
                let (id, began) = (account.id, Instant::now());
                match account.clear_portion(app).await {
                    Ok(Progress::More) => {
                        next.push(account);
                        sleep(began.elapsed().min(REST_MAX)).await;
                    }
                    Ok(Progress::Waits) => self.waiting += 1,
                    Ok(Progress::Done) => {
                        self.stuck.remove(&id);
                        app.metrics.process.retired.add(RetiredKind::Accounts, 1);
                        tracing::info!(account = %id, "all that a deleted account had is gone");
                    }
                    Err(ApiError::Store(error)) if is_of_all(&error) => return Err(error),
                    Err(error) => {
                        // The store reports damage by itself.
                        let is_reported = matches!(error, ApiError::Store(StoreError::Damaged(_)));
                        if self.postpone(id, Instant::now()) && !is_reported {
                            tracing::warn!(account = %id, %error, "a deleted account could not be cleared; it is tried again, less and less often");
                        }
                    }
                }
            }
            if next.is_empty() {
                break;
            }
            open = next;
        }
        Ok(())
    }

    /// Whether this is the first time.
    fn postpone(&mut self, id: AccountId, now: Instant) -> bool {
        let before = self.stuck.get(&id).map(|retry| retry.after);
        let after = before.map_or(RETRY_AFTER_MIN, |before| (2 * before).min(RETRY_AFTER_MAX));
        self.stuck.insert(id, Retry { after, at: now + after });
        before.is_none()
    }
}

/// Whether the next command would fail as well. Damage is of one thing, and holds up nothing else.
fn is_of_all(error: &StoreError) -> bool {
    !matches!(error, StoreError::Damaged(_) | StoreError::Corrupt { .. })
}

/// One account in one look.
struct AccountToClear {
    id: AccountId,
    stage: Stage,
}

enum Stage {
    /// What waits or runs is ended.
    Ending,
    /// What is its own is deleted. With the error of the first thing that could not be ended, if there was one.
    Deleting(ApiResult<()>),
    /// Copies of its name are taken out.
    Walking,
}

enum Progress {
    /// There is another portion.
    More,
    /// Something is under way that ends by itself.
    Waits,
    Done,
}

impl AccountToClear {
    fn new(id: AccountId) -> Self {
        Self { id, stage: Stage::Ending }
    }

    /// Names are taken out last, when no game of the account or with a snake of it is under way: another process that takes one over reads the
    /// snakes' URLs again.
    async fn clear_portion(&mut self, app: &App) -> ApiResult<Progress> {
        let id = self.id;
        match &mut self.stage {
            Stage::Ending => {
                admin::cancel_waiting(app, id).await?;
                let ended = end_competitions(app, id).await?.and(end_hunts(app, id).await?);
                self.stage = Stage::Deleting(ended);
                Ok(Progress::More)
            }
            Stage::Deleting(ended) => {
                let (has_bots, has_rows) = (delete_bots(app, id).await?, delete_rows(app, id).await?);
                if has_bots || has_rows {
                    return Ok(Progress::More);
                }
                std::mem::replace(ended, Ok(()))?;
                if app.node.store.read(move |reader| reader.deletions().has_live_seats(id)).await? {
                    return Ok(Progress::Waits);
                }
                self.stage = Stage::Walking;
                Ok(Progress::More)
            }
            Stage::Walking => {
                let forget = AccountCommand::ForgetNames { id, max: NAMES_AT_ONCE, now: app.node.clock.now() };
                match commit(app, forget).await? {
                    Outcome::NamesForgotten(Some(_)) => Ok(Progress::More),
                    Outcome::NamesForgotten(None) => Ok(Progress::Done),
                    other => Err(ApiError::from_outcome(&other, Resource::Account)),
                }
            }
        }
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

/// Whether there may be more.
async fn delete_bots(app: &App, account: AccountId) -> ApiResult<bool> {
    let bots = app.node.store.read(move |reader| reader.deletions().bots_left(account, BOTS_AT_ONCE)).await?;
    let delete: Vec<_> = bots.iter().map(|&id| Command::DeleteBot { id, account }).collect();
    if !delete.is_empty() {
        app.node.store.commit_all(delete).await?;
    }
    Ok(bots.len() == BOTS_AT_ONCE)
}

/// Whether there may be more.
async fn delete_rows(app: &App, id: AccountId) -> ApiResult<bool> {
    match commit(app, AccountCommand::Clear { id, max: ROWS_AT_ONCE }).await? {
        Outcome::Retired(count) => Ok(count == ROWS_AT_ONCE),
        other => Err(ApiError::from_outcome(&other, Resource::Account)),
    }
}

async fn commit(app: &App, command: AccountCommand) -> Result<Outcome, StoreError> {
    app.node.store.commit(Command::Account(command)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_cleared_is_tried_less_and_less_often() {
        let (mut clearing, now) = (AccountClearing::default(), Instant::now());
        let waits: Vec<_> = (0..9)
            .map(|_| {
                let is_first = clearing.postpone(AccountId(1), now);
                let retry = clearing.stuck[&AccountId(1)];
                assert_eq!(retry.at - now, retry.after);
                (is_first, retry.after.as_secs())
            })
            .collect();
        let rest = [10, 20, 40, 80, 160, 320, 600, 600].map(|seconds| (false, seconds));
        assert_eq!(waits, [vec![(true, 5)], rest.to_vec()].concat());
        assert!(clearing.postpone(AccountId(2), now));
    }
}
