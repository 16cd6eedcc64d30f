//! What happens at a table by itself: what is due in its game, players who went, and the end of its stay in memory.

use super::{Deed, Doing, Slot, TIMER_PAUSE, append, guarded};
use crate::tables::TableError;
use crate::tables::keeper::Ways;
use crate::tables::outside::Outside;
use engine::commands::Command;
use engine::tables::Action;
use engine::time::UnixMs;
use tokio::time::Instant;

impl Slot {
    /// The table's timer has fired.
    pub(in crate::tables) fn wake<O: Outside>(&mut self, ways: &mut Ways<O>) -> Deed {
        self.timer = None;
        // What is under way arms the timer again when it is over.
        if self.doing.is_some() || self.table.is_none() {
            return Ok(());
        }
        let somebody_went = self.room.as_ref().is_some_and(|room| room.forget_absent());
        self.leave_empty_room();
        let now = ways.outside.steady();
        let is_assumed_no_more = self.assumed_until.take_if(|until| *until <= now).is_some();
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
    fn tick<O: Outside>(&mut self, ways: &mut Ways<O>, now: UnixMs) -> Result<bool, TableError> {
        let Some(table) = self.table.as_ref().filter(|_| !ways.is_leaving && ways.lease.holds()) else {
            return Ok(false);
        };
        let change = guarded(self.id, || table.tick(now, &|player| self.is_present(player)))?;
        let Some(change) = change else { return Ok(false) };
        ways.commit(self.id, vec![Command::AppendTable(append(self.id, self.epoch, &change))]);
        self.doing = Some(Box::new(Doing::Ticking { change }));
        Ok(true)
    }

    /// Ends a game that nobody joined, and for which nobody waits. Whether there was anything to do.
    fn close<O: Outside>(&mut self, ways: &mut Ways<O>, now: UnixMs) -> Result<bool, TableError> {
        let Some(table) = self.table.as_ref().filter(|_| !ways.is_leaving && ways.lease.holds()) else {
            return Ok(false);
        };
        let closed = guarded(self.id, || table.decide(table.opener(), None, &Action::Close, now, &|_| false))?;
        let Some(change) = closed.ok().filter(|change| !change.is_empty()) else { return Ok(false) };
        ways.commit(self.id, vec![Command::AppendTable(append(self.id, self.epoch, &change))]);
        self.doing = Some(Box::new(Doing::Ticking { change }));
        Ok(true)
    }

    /// Nobody plays and nobody is here: the table goes back to disk, and may be anybody's.
    fn retire<O: Outside>(&mut self, ways: &mut Ways<O>) -> Deed {
        if ways.is_leaving || !ways.lease.holds() {
            return Ok(());
        }
        let Some(table) = &self.table else { return Ok(()) };
        let change = guarded(self.id, || table.snapshot_change())?;
        let release = Command::ReleaseTable { id: self.id, epoch: self.epoch };
        ways.commit(self.id, vec![Command::AppendTable(append(self.id, self.epoch, &change)), release]);
        ways.shared.metrics.table_retired();
        (self.table, self.room) = (None, None);
        self.doing = Some(Box::new(Doing::Retiring));
        Ok(())
    }

    /// Somebody came or went.
    pub(in crate::tables) fn presence_changed<O: Outside>(&mut self, ways: &mut Ways<O>) -> Deed {
        if let Some(room) = &self.room {
            room.looked_at();
        }
        let Some(table) = self.table.as_ref().filter(|_| self.doing.is_none()) else { return Ok(()) };
        // While a game is played, nothing depends on who is here.
        if table.live_game().is_some() || !self.tick(ways, ways.outside.steady())? {
            self.arm(ways);
        }
        Ok(())
    }

    /// Sets the timer to the first thing that will happen by itself.
    pub(super) fn arm<O: Outside>(&mut self, ways: &mut Ways<O>) {
        self.leave_empty_room();
        let absence = self.room.as_ref().and_then(|room| room.next_absence());
        let absence = absence.map(|at| ways.outside.steady().plus(at.saturating_duration_since(Instant::now())));
        let due = [self.next_due(), absence, self.assumed_until, self.retires_at(ways), self.abandoned_at(ways)]
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

    fn leave_empty_room(&mut self) {
        if self.room.as_ref().is_some_and(|room| room.is_empty()) {
            self.room = None;
        }
    }

    pub(super) fn disarm<O: Outside>(&mut self, ways: &mut Ways<O>) {
        if let Some((_, timer)) = self.timer.take() {
            ways.wheel.disarm(timer);
        }
    }

    fn next_due(&self) -> Option<UnixMs> {
        self.table.as_ref().and_then(|table| table.next_due())
    }

    /// When a game is closed that nobody joined, should nobody come; `None` while somebody is here.
    fn abandoned_at<O: Outside>(&self, ways: &Ways<O>) -> Option<UnixMs> {
        let is_abandoned = self.room.is_none() && self.table.as_ref().is_some_and(|table| table.has_lone_storyteller());
        is_abandoned.then(|| self.asked_at.plus(ways.shared.settings.unjoined))
    }

    /// When the table may leave memory, should nobody come; `None` while somebody plays or is here.
    fn retires_at<O: Outside>(&self, ways: &Ways<O>) -> Option<UnixMs> {
        let is_idle = self.room.is_none() && self.table.as_ref().is_some_and(|table| table.live_game().is_none());
        is_idle.then(|| self.asked_at.plus(ways.shared.settings.presence_grace))
    }
}
