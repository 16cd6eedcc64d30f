//! What a table does by itself: due steps of its game, absent players, and unloading.

use super::{Operation, OwnedTable, TIMER_PAUSE, TableResult, append, catch_panic};
use crate::TableError;
use crate::environment::TableEnvironment;
use crate::owner_context::OwnerContext;
use engine::commands::Command;
use engine::ids::PlayerId;
use engine::tables::{Action, Change, Table};
use engine::time::UnixMs;
use tokio::time::Instant;

/// Timers of many tables fire together, at multiples of so many milliseconds.
const TICK_MS: i64 = 16;

impl OwnedTable {
    /// The table's timer has fired.
    pub(crate) fn timer_fired<O: TableEnvironment>(&mut self, context: &mut OwnerContext<O>) -> TableResult {
        self.timer = None;
        // The operation in flight arms the timer again when it is over.
        if self.operation.is_some() || self.table.is_none() {
            return Ok(());
        }
        let somebody_went = self.waiters.as_ref().is_some_and(|waiters| waiters.forget_absent());
        self.drop_empty_waiters();
        let now = context.environment.steady_now();
        let is_assumed_no_more = self.presence_assumed_until.take_if(|until| *until <= now).is_some();
        let is_due = self.next_due().is_some_and(|due| due <= now);
        if (is_due || somebody_went || is_assumed_no_more) && self.tick(context, now)? {
            return Ok(());
        }
        if self.retires_at(context).is_some_and(|at| at <= now) {
            return self.retire(context);
        }
        let is_abandoned = self.abandoned_at(context).is_some_and(|at| at <= now);
        if is_abandoned && self.close(context, now)? {
            return Ok(());
        }
        if is_due || is_abandoned {
            // Due, but nothing to do: avoid a busy loop.
            self.not_before = now.plus(TIMER_PAUSE);
        }
        self.arm(context);
        Ok(())
    }

    /// Does what is due in the game. Returns whether there was anything.
    fn tick<O: TableEnvironment>(&mut self, context: &mut OwnerContext<O>, now: UnixMs) -> Result<bool, TableError> {
        self.act_alone(context, |table, is_present| table.tick(now, is_present))
    }

    /// Ends a game without other players or waiting clients. Returns whether there was anything to do.
    fn close<O: TableEnvironment>(&mut self, context: &mut OwnerContext<O>, now: UnixMs) -> Result<bool, TableError> {
        self.act_alone(context, |table, _| {
            let closed = table.decide(table.opener(), None, &Action::Close, now, &|_| false);
            closed.ok().filter(|change| !change.is_empty())
        })
    }

    /// Commits what the table decides by itself, while it may. Returns whether there was anything.
    fn act_alone<O: TableEnvironment>(
        &mut self,
        context: &mut OwnerContext<O>,
        decide: impl FnOnce(&Table, &dyn Fn(PlayerId) -> bool) -> Option<Change>,
    ) -> Result<bool, TableError> {
        let Some(table) = self.table.as_ref().filter(|_| !context.is_draining && context.lease.is_valid()) else {
            return Ok(false);
        };
        let change = catch_panic(self.id, || decide(table, &|player| self.is_present(player)))?;
        let Some(change) = change else { return Ok(false) };
        context.commit(self.id, vec![Command::AppendTable(append(self.id, self.epoch, &change))]);
        self.operation = Some(Box::new(Operation::Ticking { change }));
        Ok(true)
    }

    /// Without a game and without players the table is released to the store, where any node may claim it.
    fn retire<O: TableEnvironment>(&mut self, context: &mut OwnerContext<O>) -> TableResult {
        if context.is_draining || !context.lease.is_valid() {
            return Ok(());
        }
        let Some(table) = &self.table else { return Ok(()) };
        let change = catch_panic(self.id, || table.snapshot_change())?;
        let release = Command::ReleaseTable { id: self.id, epoch: self.epoch };
        context.commit(self.id, vec![Command::AppendTable(append(self.id, self.epoch, &change)), release]);
        context.shared.metrics.tables.retired.inc();
        (self.table, self.waiters) = (None, None);
        self.operation = Some(Box::new(Operation::Retiring));
        Ok(())
    }

    /// A player came or went.
    pub(crate) fn presence_changed<O: TableEnvironment>(&mut self, context: &mut OwnerContext<O>) -> TableResult {
        if let Some(waiters) = &self.waiters {
            waiters.clear_changed();
        }
        let Some(table) = self.table.as_ref().filter(|_| self.operation.is_none()) else { return Ok(()) };
        // While a game is played, nothing depends on presence.
        if table.live_game().is_some() || !self.tick(context, context.environment.steady_now())? {
            self.arm(context);
        }
        Ok(())
    }

    /// Arms the timer for the first thing that is due.
    pub(super) fn arm<O: TableEnvironment>(&mut self, context: &mut OwnerContext<O>) {
        self.drop_empty_waiters();
        let absence = self.waiters.as_ref().and_then(|waiters| waiters.next_absence());
        let absence =
            absence.map(|at| context.environment.steady_now().plus(at.saturating_duration_since(Instant::now())));
        let due = [
            self.next_due(),
            absence,
            self.presence_assumed_until,
            self.retires_at(context),
            self.abandoned_at(context),
        ]
        .into_iter()
        .flatten()
        .min();
        let due = due.map(|due| next_tick(due.max(self.not_before)));
        if due != self.timer {
            self.disarm(context);
            self.timer = due;
            context.timers.extend(due.map(|due| (due, self.id)));
        }
    }

    fn drop_empty_waiters(&mut self) {
        if self.waiters.as_ref().is_some_and(|waiters| waiters.is_empty()) {
            self.waiters = None;
        }
    }

    pub(super) fn disarm<O: TableEnvironment>(&mut self, context: &mut OwnerContext<O>) {
        if let Some(due) = self.timer.take() {
            context.timers.remove(&(due, self.id));
        }
    }

    fn next_due(&self) -> Option<UnixMs> {
        self.table.as_ref().and_then(|table| table.next_due())
    }

    /// When a game without other players is closed, if none come; `None` while one is present.
    fn abandoned_at<O: TableEnvironment>(&self, context: &OwnerContext<O>) -> Option<UnixMs> {
        let is_abandoned =
            self.waiters.is_none() && self.table.as_ref().is_some_and(|table| table.has_lone_storyteller());
        is_abandoned.then(|| self.last_request_at.plus(context.shared.config.unjoined_timeout))
    }

    /// When the table may leave memory, if no player comes; `None` during a game and while players are present.
    fn retires_at<O: TableEnvironment>(&self, context: &OwnerContext<O>) -> Option<UnixMs> {
        let is_idle = self.waiters.is_none() && self.table.as_ref().is_some_and(|table| table.live_game().is_none());
        is_idle.then(|| self.last_request_at.plus(context.shared.config.presence_grace))
    }
}

/// The tick in which a timer fires: never early.
fn next_tick(due: UnixMs) -> UnixMs {
    UnixMs(due.0.saturating_add(TICK_MS - 1) / TICK_MS * TICK_MS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(due_ms: i64, want_ms: i64) {
        assert_eq!(next_tick(UnixMs(due_ms)), UnixMs(want_ms));
    }

    #[test]
    fn a_timer_fires_at_a_tick_and_never_early() {
        check(0, 0);
        check(1, TICK_MS);
        check(TICK_MS, TICK_MS);
        check(TICK_MS + 1, 2 * TICK_MS);
        check(i64::MAX, i64::MAX / TICK_MS * TICK_MS);
    }
}
