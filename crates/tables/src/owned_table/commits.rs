//! After a commit: what the store's response means for the table. The change is applied and sent, or the table is loaded again.

use super::feeds::FeedFanout;
use super::{ATTEMPTS_MAX, Operation, OwnedTable, TIMER_PAUSE, TableResult, catch_panic};
use crate::environment::{Committed, TableEnvironment};
use crate::message::{ActionRequest, ReplySender, Request};
use crate::owner_context::OwnerContext;
use crate::{ActionResult, OpenResult, TableError, ViewResult};
use engine::commands::Outcome;
use engine::ids::PlayerId;
use engine::tables::{Change, Table};
use std::time::Duration;
use store::StoreError;

/// The outcome of a commit.
enum CommitOutcome {
    Saved(i64),
    /// The table has another version than expected, or another owner: nothing was saved.
    Fenced,
    /// Nothing was saved.
    NotSaved(StoreError),
    /// Whether it was saved is unknown.
    Unknown(StoreError),
    /// An outcome that only an opening can have.
    Refused(Outcome),
}

impl OwnedTable {
    /// A commit has ended.
    pub(crate) fn committed<O: TableEnvironment>(
        &mut self,
        context: &mut OwnerContext<O>,
        committed: Result<Committed, StoreError>,
    ) -> TableResult {
        let Some(doing) = self.operation.take() else { return Ok(()) };
        let verdict = commit_outcome(committed);
        match *doing {
            Operation::Opening { table, change, opener, reply } => {
                return self.opened(context, verdict, table, &change, opener, reply);
            }
            Operation::Acting { act, change } => self.acted(context, verdict, act, &change)?,
            Operation::Ticking { change } => self.ticked(context, &verdict, &change)?,
            // The table was idle, and its state is dropped: requests that came meanwhile need a new claim.
            Operation::Retiring if self.queue.is_empty() => return Err(TableError::NotServing),
            Operation::Retiring => self.load(context, false),
            Operation::Loading | Operation::WaitingToRetry => {}
        }
        self.resume_queue(context)
    }

    fn opened<O: TableEnvironment>(
        &mut self,
        context: &mut OwnerContext<O>,
        verdict: CommitOutcome,
        table: Box<Table>,
        change: &Change,
        opener: PlayerId,
        reply: ReplySender<OpenResult>,
    ) -> TableResult {
        let (response, then) = match verdict {
            CommitOutcome::Saved(committed_at_us) => {
                self.table = Some(table);
                self.apply(context, change, committed_at_us)?;
                let view = self.view(Some(opener))?.view;
                (Ok(OpenResult::New { view, committed_at_us }), Ok(()))
            }
            CommitOutcome::Refused(Outcome::Replayed(bytes)) => {
                (Ok(OpenResult::Replayed(bytes)), Err(TableError::NoSuchTable))
            }
            CommitOutcome::Refused(Outcome::KeyReused) => (Err(TableError::KeyReused), Err(TableError::NoSuchTable)),
            CommitOutcome::Refused(Outcome::LeaseLost) => {
                context.is_lease_lost = true;
                (Err(TableError::NotServing), Err(TableError::NotServing))
            }
            CommitOutcome::NotSaved(error) => (Err(TableError::Store(error)), Err(TableError::NoSuchTable)),
            CommitOutcome::Unknown(error) => {
                // The table may exist and be ours, with timers that need an owner; its player got an error.
                self.permit = None;
                self.unknown_opening = Some(context.shared.table_permits.count_unknown());
                self.load(context, false);
                (Err(TableError::Store(error)), Ok(()))
            }
            CommitOutcome::Fenced | CommitOutcome::Refused(_) => {
                (Err(TableError::NotServing), Err(TableError::NotServing))
            }
        };
        drop(reply.send(response));
        then?;
        self.resume_queue(context)
    }

    fn acted<O: TableEnvironment>(
        &mut self,
        context: &mut OwnerContext<O>,
        verdict: CommitOutcome,
        mut act: ActionRequest,
        change: &Change,
    ) -> TableResult {
        match verdict {
            CommitOutcome::Saved(committed_at_us) => {
                self.apply(context, change, committed_at_us)?;
                let ViewResult { view, online, .. } = self.view(Some(act.actor))?;
                drop(act.reply.send(Ok(ActionResult { view, committed_at_us: Some(committed_at_us), online })));
            }
            CommitOutcome::Fenced if act.attempts < ATTEMPTS_MAX => {
                act.attempts += 1;
                self.queue.push_front(Request::Act(Box::new(act)));
                self.load(context, false);
            }
            CommitOutcome::Fenced | CommitOutcome::Refused(_) => {
                drop(act.reply.send(Err(TableError::NotServing)));
                self.load(context, false);
            }
            CommitOutcome::NotSaved(error) => drop(act.reply.send(Err(TableError::Store(error)))),
            CommitOutcome::Unknown(error) => {
                drop(act.reply.send(Err(TableError::Store(error))));
                self.load(context, false);
            }
        }
        Ok(())
    }

    fn ticked<O: TableEnvironment>(
        &mut self,
        context: &mut OwnerContext<O>,
        verdict: &CommitOutcome,
        change: &Change,
    ) -> TableResult {
        match verdict {
            CommitOutcome::Saved(committed_at_us) => self.apply(context, change, *committed_at_us)?,
            CommitOutcome::NotSaved(_) => self.not_before = context.environment.steady_now().plus(TIMER_PAUSE),
            CommitOutcome::Fenced | CommitOutcome::Unknown(_) | CommitOutcome::Refused(_) => self.load(context, false),
        }
        Ok(())
    }

    /// Applies a committed change, and notifies waiting clients.
    fn apply<O: TableEnvironment>(
        &mut self,
        context: &OwnerContext<O>,
        change: &Change,
        committed_at_us: i64,
    ) -> TableResult {
        if let Some(table) = &mut self.table {
            catch_panic(self.id, || table.apply(change, committed_at_us))?;
        }
        context.shared.metrics.tables.changes.inc();
        self.notify_waiters(context, Some(committed_at_us))
    }

    pub(super) fn notify_waiters<O: TableEnvironment>(
        &self,
        context: &OwnerContext<O>,
        committed_at_us: Option<i64>,
    ) -> TableResult {
        let (Some(table), Some(waiters)) = (&self.table, &self.waiters) else { return Ok(()) };
        let notified = catch_panic(self.id, || {
            waiters.set_members(table.members());
            let mut fanout = FeedFanout::new(table, waiters.online());
            waiters.answer_waiters(|viewer, after| fanout.response_for(viewer, after))
        })?;
        if let Some(committed_at_us) = committed_at_us.filter(|_| notified > 0) {
            let late_us = context.environment.now_us().saturating_sub(committed_at_us);
            let metrics = &context.shared.metrics.tables;
            metrics.waiters_notified.add(notified as u64);
            metrics.wake.observe(Duration::from_micros(u64::try_from(late_us).unwrap_or(0)));
        }
        Ok(())
    }

    /// Continues with the queue.
    pub(super) fn resume_queue<O: TableEnvironment>(&mut self, context: &mut OwnerContext<O>) -> TableResult {
        if self.table.is_some() && !self.queue.is_empty() {
            let mut queue = std::mem::take(&mut self.queue);
            while let Some(request) = queue.pop_front() {
                if self.operation.is_some() && matches!(request, Request::Act(_)) {
                    self.queue.push_back(request);
                } else if let Err(error) = self.serve(context, request) {
                    self.queue.extend(queue);
                    return Err(error);
                }
            }
        }
        if self.operation.is_none() {
            self.arm(context);
        }
        Ok(())
    }
}

/// The outcome is unknown when the connection was lost; what was never tried, or cannot be written, is not saved.
fn commit_outcome(committed: Result<Committed, StoreError>) -> CommitOutcome {
    let Committed { outcomes, at_us } = match committed {
        Ok(committed) => committed,
        Err(error @ (StoreError::Overloaded { .. } | StoreError::Corrupt { .. } | StoreError::Damaged(_))) => {
            return CommitOutcome::NotSaved(error);
        }
        Err(error @ (StoreError::Unavailable { .. } | StoreError::WrongSchema { .. })) => {
            return CommitOutcome::Unknown(error);
        }
    };
    match outcomes.into_iter().next() {
        Some(Outcome::Done) => CommitOutcome::Saved(at_us),
        Some(Outcome::Fenced) => CommitOutcome::Fenced,
        Some(Outcome::VersionConflict(have)) => {
            tracing::error!(have, "a table's log has another length than its owner expected; it is loaded again");
            CommitOutcome::Fenced
        }
        Some(other) => CommitOutcome::Refused(other),
        None => CommitOutcome::Unknown(StoreError::Unavailable { why: "the store gave no answer".to_owned() }),
    }
}
