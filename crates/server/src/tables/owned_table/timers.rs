//! What happens at a table by itself: what is due in its game, players who went, and the end of its stay in memory.

use super::{Operation, OwnedTable, TIMER_PAUSE, TableResult, append, catch_panic};
use crate::tables::TableError;
use crate::tables::environment::TableEnvironment;
use crate::tables::owner_task::OwnerContext;
use engine::commands::Command;
use engine::tables::Action;
use engine::time::UnixMs;
use tokio::time::Instant;

impl OwnedTable {
    /// The table's timer has fired.
    pub(in crate::tables) fn timer_fired<O: TableEnvironment>(&mut self, ways: &mut OwnerContext<O>) -> TableResult {
        self.timer = None;
        // What is under way arms the timer again when it is over.
        if self.operation.is_some() || self.table.is_none() {
            return Ok(());
        }
        let somebody_went = self.waiters.as_ref().is_some_and(|room| room.forget_absent());
        self.drop_empty_waiters();
        let now = ways.environment.steady_now();
        let is_assumed_no_more = self.presence_assumed_until.take_if(|until| *until <= now).is_some();
        let is_due = self.next_due().is_some_and(|due| due <= now);
        if (is_due || somebody_went || is_assumed_no_more) && self.tick(ways, now)? {
            return Ok(());
        }
        if self.retires_at(ways).is_some_and(|at| at <= now) {
            return self.retire(ways);
        }
        let is_abandoned = self.abandoned_at(ways).is_some_and(|at| at <= now);
        if is_abandoned && self.close(ways, now)? {
            return Ok(());
        }
        if is_due || is_abandoned {
            // Due and nothing to do: it must not spin.
            self.not_before = now.plus(TIMER_PAUSE);
        }
        self.arm(ways);
        Ok(())
    }

    /// Does what is due by itself. Whether there was anything.
    fn tick<O: TableEnvironment>(&mut self, ways: &mut OwnerContext<O>, now: UnixMs) -> Result<bool, TableError> {
        let Some(table) = self.table.as_ref().filter(|_| !ways.is_draining && ways.lease.is_valid()) else {
            return Ok(false);
        };
        let change = catch_panic(self.id, || table.tick(now, &|player| self.is_present(player)))?;
        let Some(change) = change else { return Ok(false) };
        ways.commit(self.id, vec![Command::AppendTable(append(self.id, self.epoch, &change))]);
        self.operation = Some(Box::new(Operation::Ticking { change }));
        Ok(true)
    }

    /// Ends a game that nobody joined, and for which nobody waits. Whether there was anything to do.
    fn close<O: TableEnvironment>(&mut self, ways: &mut OwnerContext<O>, now: UnixMs) -> Result<bool, TableError> {
        let Some(table) = self.table.as_ref().filter(|_| !ways.is_draining && ways.lease.is_valid()) else {
            return Ok(false);
        };
        let closed = catch_panic(self.id, || table.decide(table.opener(), None, &Action::Close, now, &|_| false))?;
        let Some(change) = closed.ok().filter(|change| !change.is_empty()) else { return Ok(false) };
        ways.commit(self.id, vec![Command::AppendTable(append(self.id, self.epoch, &change))]);
        self.operation = Some(Box::new(Operation::Ticking { change }));
        Ok(true)
    }

    /// Nobody plays and nobody is here: the table goes back to disk, and may be anybody's.
    fn retire<O: TableEnvironment>(&mut self, ways: &mut OwnerContext<O>) -> TableResult {
        if ways.is_draining || !ways.lease.is_valid() {
            return Ok(());
        }
        let Some(table) = &self.table else { return Ok(()) };
        let change = catch_panic(self.id, || table.snapshot_change())?;
        let release = Command::ReleaseTable { id: self.id, epoch: self.epoch };
        ways.commit(self.id, vec![Command::AppendTable(append(self.id, self.epoch, &change)), release]);
        ways.shared.metrics.table_retired();
        (self.table, self.waiters) = (None, None);
        self.operation = Some(Box::new(Operation::Retiring));
        Ok(())
    }

    /// Somebody came or went.
    pub(in crate::tables) fn presence_changed<O: TableEnvironment>(
        &mut self,
        ways: &mut OwnerContext<O>,
    ) -> TableResult {
        if let Some(room) = &self.waiters {
            room.clear_changed();
        }
        let Some(table) = self.table.as_ref().filter(|_| self.operation.is_none()) else { return Ok(()) };
        // While a game is played, nothing depends on who is here.
        if table.live_game().is_some() || !self.tick(ways, ways.environment.steady_now())? {
            self.arm(ways);
        }
        Ok(())
    }

    /// Sets the timer to the first thing that will happen by itself.
    pub(super) fn arm<O: TableEnvironment>(&mut self, ways: &mut OwnerContext<O>) {
        self.drop_empty_waiters();
        let absence = self.waiters.as_ref().and_then(|room| room.next_absence());
        let absence =
            absence.map(|at| ways.environment.steady_now().plus(at.saturating_duration_since(Instant::now())));
        let due =
            [self.next_due(), absence, self.presence_assumed_until, self.retires_at(ways), self.abandoned_at(ways)]
                .into_iter()
                .flatten()
                .min();
        let due = due.map(|due| due.max(self.not_before));
        if due == self.timer.map(|(due, _)| due) {
            return;
        }
        self.disarm(ways);
        self.timer = due.map(|due| (due, ways.wheel.arm(due, self.id)));
    }

    fn drop_empty_waiters(&mut self) {
        if self.waiters.as_ref().is_some_and(|room| room.is_empty()) {
            self.waiters = None;
        }
    }

    pub(super) fn disarm<O: TableEnvironment>(&mut self, ways: &mut OwnerContext<O>) {
        if let Some((_, timer)) = self.timer.take() {
            ways.wheel.disarm(timer);
        }
    }

    fn next_due(&self) -> Option<UnixMs> {
        self.table.as_ref().and_then(|table| table.next_due())
    }

    /// When a game is closed that nobody joined, should nobody come; `None` while somebody is here.
    fn abandoned_at<O: TableEnvironment>(&self, ways: &OwnerContext<O>) -> Option<UnixMs> {
        let is_abandoned =
            self.waiters.is_none() && self.table.as_ref().is_some_and(|table| table.has_lone_storyteller());
        is_abandoned.then(|| self.last_request_at.plus(ways.shared.config.unjoined_timeout))
    }

    /// When the table may leave memory, should nobody come; `None` while somebody plays or is here.
    fn retires_at<O: TableEnvironment>(&self, ways: &OwnerContext<O>) -> Option<UnixMs> {
        let is_idle = self.waiters.is_none() && self.table.as_ref().is_some_and(|table| table.live_game().is_none());
        is_idle.then(|| self.last_request_at.plus(ways.shared.config.presence_grace))
    }
}
