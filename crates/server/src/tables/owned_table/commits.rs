//! What becomes of a commit: it is applied and told, or the table is read again.

use super::commit_outcome::{CommitOutcome, commit_outcome};
use super::feeds::FeedFanout;
use super::{ATTEMPTS_MAX, Operation, OwnedTable, TIMER_PAUSE, TableResult, catch_panic};
use crate::tables::environment::{Committed, TableEnvironment};
use crate::tables::message::{ActionRequest, ReplySender, Request};
use crate::tables::owner_task::OwnerContext;
use crate::tables::{ActionResult, OpenResult, TableError, ViewResult};
use engine::commands::Outcome;
use engine::ids::PlayerId;
use engine::tables::{Change, Table};
use std::time::Duration;
use store::StoreError;

impl OwnedTable {
    /// A commit of ours is over.
    pub(in crate::tables) fn committed<O: TableEnvironment>(
        &mut self,
        ways: &mut OwnerContext<O>,
        committed: Result<Committed, StoreError>,
    ) -> TableResult {
        let Some(doing) = self.operation.take() else { return Ok(()) };
        let verdict = commit_outcome(committed);
        match *doing {
            Operation::Opening { table, change, opener, reply } => {
                return self.opened(ways, verdict, table, &change, opener, reply);
            }
            Operation::Acting { act, change } => self.acted(ways, verdict, act, &change)?,
            Operation::Ticking { change } => self.ticked(ways, &verdict, &change)?,
            // Nobody was here, and what we knew is gone: somebody who came meanwhile needs a new claim.
            Operation::Retiring if self.queue.is_empty() => return Err(TableError::NotServing),
            Operation::Retiring => self.load(ways, false),
            Operation::Loading | Operation::WaitingToRetry => {}
        }
        self.resume_queue(ways)
    }

    fn opened<O: TableEnvironment>(
        &mut self,
        ways: &mut OwnerContext<O>,
        verdict: CommitOutcome,
        table: Box<Table>,
        change: &Change,
        opener: PlayerId,
        reply: ReplySender<OpenResult>,
    ) -> TableResult {
        let (answer, then) = match verdict {
            CommitOutcome::Saved(committed_at_us) => {
                self.table = Some(table);
                self.apply(ways, change, committed_at_us)?;
                let view = self.view(Some(opener))?.view;
                (Ok(OpenResult::New { view, committed_at_us }), Ok(()))
            }
            CommitOutcome::Refused(Outcome::Replayed(bytes)) => {
                (Ok(OpenResult::Replayed(bytes)), Err(TableError::NoSuchTable))
            }
            CommitOutcome::Refused(Outcome::KeyReused) => (Err(TableError::KeyReused), Err(TableError::NoSuchTable)),
            CommitOutcome::Refused(Outcome::LeaseLost) => {
                ways.is_lease_lost = true;
                (Err(TableError::NotServing), Err(TableError::NotServing))
            }
            CommitOutcome::NotSaved(why) => (Err(TableError::Store(why)), Err(TableError::NoSuchTable)),
            CommitOutcome::Unknown(why) => {
                // It may be there and ours, with timers that somebody must keep; its player was told that it failed.
                self.permit = None;
                self.unknown_opening = Some(ways.shared.table_permits.count_unknown());
                self.load(ways, false);
                (Err(TableError::Store(why)), Ok(()))
            }
            CommitOutcome::Fenced | CommitOutcome::Refused(_) => {
                (Err(TableError::NotServing), Err(TableError::NotServing))
            }
        };
        drop(reply.send(answer));
        then?;
        self.resume_queue(ways)
    }

    fn acted<O: TableEnvironment>(
        &mut self,
        ways: &mut OwnerContext<O>,
        verdict: CommitOutcome,
        mut act: ActionRequest,
        change: &Change,
    ) -> TableResult {
        match verdict {
            CommitOutcome::Saved(committed_at_us) => {
                self.apply(ways, change, committed_at_us)?;
                let ViewResult { view, online, .. } = self.view(Some(act.actor))?;
                drop(act.reply.send(Ok(ActionResult { view, committed_at_us: Some(committed_at_us), online })));
            }
            CommitOutcome::Fenced if act.attempts < ATTEMPTS_MAX => {
                act.attempts += 1;
                self.queue.push_front(Request::Act(Box::new(act)));
                self.load(ways, false);
            }
            CommitOutcome::Fenced | CommitOutcome::Refused(_) => {
                drop(act.reply.send(Err(TableError::NotServing)));
                self.load(ways, false);
            }
            CommitOutcome::NotSaved(why) => drop(act.reply.send(Err(TableError::Store(why)))),
            CommitOutcome::Unknown(why) => {
                drop(act.reply.send(Err(TableError::Store(why))));
                self.load(ways, false);
            }
        }
        Ok(())
    }

    fn ticked<O: TableEnvironment>(
        &mut self,
        ways: &mut OwnerContext<O>,
        verdict: &CommitOutcome,
        change: &Change,
    ) -> TableResult {
        match verdict {
            CommitOutcome::Saved(committed_at_us) => self.apply(ways, change, *committed_at_us)?,
            CommitOutcome::NotSaved(_) => self.not_before = ways.environment.steady_now().plus(TIMER_PAUSE),
            CommitOutcome::Fenced | CommitOutcome::Unknown(_) | CommitOutcome::Refused(_) => self.load(ways, false),
        }
        Ok(())
    }

    /// What was committed is so, and everybody who waits for it hears of it.
    fn apply<O: TableEnvironment>(
        &mut self,
        ways: &OwnerContext<O>,
        change: &Change,
        committed_at_us: i64,
    ) -> TableResult {
        if let Some(table) = &mut self.table {
            catch_panic(self.id, || table.apply(change, committed_at_us))?;
        }
        ways.shared.metrics.table_changed();
        self.notify_waiters(ways, Some(committed_at_us))
    }

    pub(super) fn notify_waiters<O: TableEnvironment>(
        &self,
        ways: &OwnerContext<O>,
        committed_at_us: Option<i64>,
    ) -> TableResult {
        let (Some(table), Some(room)) = (&self.table, &self.waiters) else { return Ok(()) };
        let told = catch_panic(self.id, || {
            room.set_members(table.members());
            let mut telling = FeedFanout::new(table, room.online());
            room.answer_waiters(|viewer, after| telling.response_for(viewer, after))
        })?;
        if let Some(committed_at_us) = committed_at_us.filter(|_| told > 0) {
            let late_us = ways.environment.now_us().saturating_sub(committed_at_us);
            ways.shared
                .metrics
                .table_waiters_notified(told, Duration::from_micros(u64::try_from(late_us).unwrap_or(0)));
        }
        Ok(())
    }

    /// Goes on with what waits.
    pub(super) fn resume_queue<O: TableEnvironment>(&mut self, ways: &mut OwnerContext<O>) -> TableResult {
        if self.table.is_some() && !self.queue.is_empty() {
            let mut queue = std::mem::take(&mut self.queue);
            while let Some(request) = queue.pop_front() {
                if self.operation.is_some() && matches!(request, Request::Act(_)) {
                    self.queue.push_back(request);
                } else if let Err(why) = self.serve(ways, request) {
                    self.queue.extend(queue);
                    return Err(why);
                }
            }
        }
        if self.operation.is_none() {
            self.arm(ways);
        }
        Ok(())
    }
}
