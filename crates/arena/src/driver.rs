//! Drives all competitions of a kind: finds those that have results to apply or are due, and has each advanced; calls off the matches of bots
//! that were deleted.

use crate::cancellation::cancel_matches_of_deleted_bots;
use crate::environment::ArenaEnvironment;
use crate::retries::Retries;
use crate::states::UnreadableState;
use engine::competitions::{CompetitionKind, CompetitionRow};
use engine::ids::CompetitionId;
use engine::limits::COMPETITIONS_PAGE;
use engine::time::UnixMs;
use node::lease::Lease;
use std::collections::BTreeSet;
use std::time::Duration;
use store::StoreError;
use tokio::time::sleep;

/// How often competitions are looked for: a result is applied within a fraction of a second, on whichever node its match ended.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How often matches of bots that were deleted are looked for: a bot's URL is called no longer than this, and its call under way.
const LOOK_FOR_DELETED_BOTS_EVERY: Duration = Duration::from_secs(2);

/// What became of one competition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driven {
    /// It was advanced, and may have more to do at once.
    Advanced,
    /// There was nothing to do, or another writer came first.
    Unchanged,
}

/// Why one competition was not advanced. It is tried again.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdvanceError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Unreadable(#[from] UnreadableState),
    /// What is stored of it does not go together, or the store answered what it does not answer.
    #[error("{0}")]
    Unexpected(String),
}

/// Advances the competitions of a kind, one after the other, for as long as the lease is valid.
pub async fn drive<E, F>(
    environment: E,
    lease: Lease,
    kind: CompetitionKind,
    advance: impl Fn(CompetitionRow) -> F + Send + Sync,
) where
    E: ArenaEnvironment,
    F: Future<Output = Result<Driven, AdvanceError>> + Send,
{
    let mut driver = Driver::new(environment, kind, advance);
    let mut is_failing = false;
    while lease.is_valid() {
        let passed = driver.pass(&|| lease.is_valid()).await;
        if let (Err(error), false) = (&passed, is_failing) {
            tracing::warn!(kind = kind.name(), %error, "competitions cannot be looked for; tried again");
        }
        is_failing = passed.is_err();
        if !matches!(passed, Ok(Driven::Advanced)) {
            sleep(LOOK_EVERY).await;
        }
    }
}

/// The competitions of a kind, and which of them could not be advanced.
pub(crate) struct Driver<E: ArenaEnvironment, A> {
    environment: E,
    kind: CompetitionKind,
    advance: A,
    retries: Retries,
    /// When matches of deleted bots were looked for last.
    looked_for_deleted_at: Option<UnixMs>,
}

/// What came of one look at all of them.
struct Pass {
    driven: Driven,
    /// Those that had something to do, tried or not.
    found: BTreeSet<CompetitionId>,
    /// Results that waited to be applied when it looked.
    results_waiting: u64,
}

impl<E, A, F> Driver<E, A>
where
    E: ArenaEnvironment,
    A: Fn(CompetitionRow) -> F + Sync,
    F: Future<Output = Result<Driven, AdvanceError>> + Send,
{
    pub(crate) fn new(environment: E, kind: CompetitionKind, advance: A) -> Self {
        Self { environment, kind, advance, retries: Retries::default(), looked_for_deleted_at: None }
    }

    /// Calls off matches of deleted bots now and then. Advances each competition that has results to apply, then each that is due. It goes through all before it begins again: however
    /// many there are, each has its turn, and one that fails does not keep the others from theirs.
    ///
    /// # Errors
    /// The competitions cannot be read.
    pub(crate) async fn pass(&mut self, is_leading: &(impl Fn() -> bool + Sync)) -> Result<Driven, StoreError> {
        let kind = self.kind;
        let now = self.environment.now();
        if self.looked_for_deleted_at.is_none_or(|at| at.plus(LOOK_FOR_DELETED_BOTS_EVERY) <= now) {
            self.looked_for_deleted_at = Some(now);
            cancel_matches_of_deleted_bots(&self.environment, kind).await?;
        }
        let mut pass = Pass { driven: Driven::Unchanged, found: BTreeSet::new(), results_waiting: 0 };
        let mut after = None;
        while is_leading() {
            let rows =
                self.environment.read(move |reader| reader.competitions_unapplied(kind, after, COMPETITIONS_PAGE));
            let rows = rows.await?;
            let Some(last) = rows.last() else { break };
            after = Some(last.id);
            pass.results_waiting += rows.iter().map(CompetitionRow::results_waiting).sum::<u64>();
            self.advance_all(rows, &mut pass).await;
        }
        let now = self.environment.now();
        let mut after = None;
        while is_leading() {
            let rows =
                self.environment.read(move |reader| reader.competitions_due(kind, now, after, COMPETITIONS_PAGE));
            let rows = rows.await?;
            let Some(last) = rows.last() else { break };
            after = Some((last.due_at.unwrap_or(now), last.id));
            self.advance_all(rows, &mut pass).await;
        }
        if is_leading() {
            self.retries.retain(|id| pass.found.contains(&id));
            if kind == CompetitionKind::Ladder {
                self.environment.metrics().ladders.results_waiting.set(pass.results_waiting);
            }
        }
        self.set_failing(self.retries.len() as u64);
        Ok(pass.driven)
    }

    async fn advance_all(&mut self, rows: Vec<CompetitionRow>, pass: &mut Pass) {
        for row in rows {
            let id = row.id;
            pass.found.insert(id);
            if !self.retries.is_due(id, self.environment.now()) {
                continue;
            }
            match (self.advance)(row).await {
                Ok(driven) => {
                    if driven == Driven::Advanced {
                        pass.driven = driven;
                    }
                    self.retries.record_success(self.kind, id);
                }
                Err(error) => self.retries.record_failure(self.kind, id, self.environment.now(), &error),
            }
        }
    }
}

impl<E: ArenaEnvironment, A> Driver<E, A> {
    fn set_failing(&self, count: u64) {
        let metrics = self.environment.metrics();
        let failing = match self.kind {
            CompetitionKind::Duel => &metrics.duels.failing,
            CompetitionKind::Ladder => &metrics.ladders.failing,
            CompetitionKind::Tournament => &metrics.tournaments.failing,
        };
        failing.set(count);
    }
}

/// The next driver has the figures: here they would stand still.
impl<E: ArenaEnvironment, A> Drop for Driver<E, A> {
    fn drop(&mut self) {
        self.set_failing(0);
        if self.kind == CompetitionKind::Ladder {
            self.environment.metrics().ladders.results_waiting.set(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestArena;
    use engine::commands::{Command, CompetitionCommand, Outcome};
    use engine::ids::AccountId;
    use node::lease::LeaseContext;
    use std::sync::Mutex;

    /// Duels that are due: `true` fails. How often each was tried in two passes of one moment.
    async fn check(are_failing: &[bool], want: &[usize]) {
        let arena = TestArena::new(0);
        let due_at = Some(arena.now());
        for n in 0..are_failing.len() {
            let (id, account) = (CompetitionId(n as u128), AccountId(1));
            let row = CompetitionRow::new(id, CompetitionKind::Duel, account, "duel".to_owned(), Vec::new(), UnixMs(0));
            let create = CompetitionCommand::Create {
                row: CompetitionRow { due_at, ..row },
                live_max: 9_999,
                idempotency: None,
            };
            assert_eq!(arena.commit_now(Command::Competition(create)), Outcome::Done);
        }
        let tried = Mutex::new(vec![0; are_failing.len()]);
        let advance = |row: CompetitionRow| {
            let n = row.id.0 as usize;
            tried.lock().unwrap()[n] += 1;
            let is_failing = are_failing[n];
            async move {
                match is_failing {
                    true => Err(AdvanceError::Unexpected("so it is".to_owned())),
                    false => Ok(Driven::Unchanged),
                }
            }
        };
        let metrics = arena.metrics.clone();
        let mut driver = Driver::new(arena, CompetitionKind::Duel, advance);
        for _ in 0..2 {
            assert_eq!(driver.pass(&|| true).await, Ok(Driven::Unchanged));
            assert_eq!(driver.retries.len(), are_failing.iter().filter(|is_failing| **is_failing).count());
        }
        assert_eq!(driver.pass(&|| false).await, Ok(Driven::Unchanged));
        let failing = || metrics.duels.failing.get();
        assert_eq!(failing() as usize, are_failing.iter().filter(|is_failing| **is_failing).count());
        drop(driver);
        assert_eq!(failing(), 0, "another process has it, or nobody");
        assert_eq!(*tried.lock().unwrap(), want);
    }

    #[tokio::test]
    async fn one_that_fails_is_tried_less_often_and_does_not_keep_others_from_their_turn() {
        check(&[true, false, true, false], &[1, 2, 1, 2]).await;
    }

    #[tokio::test]
    async fn more_than_a_page_that_nothing_becomes_of_keep_no_other_from_its_turn() {
        check(&[false; 2 * COMPETITIONS_PAGE + 1], &[2; 2 * COMPETITIONS_PAGE + 1]).await;
    }
}
