//! What becomes of a commit: it is applied and told, or the table is read again.

use super::machine::Telling;
use super::verdict::{Verdict, verdict};
use super::{ATTEMPTS_MAX, Deed, Doing, Slot, TIMER_PAUSE, guarded};
use crate::tables::keeper::Ways;
use crate::tables::message::{Act, Reply, Request};
use crate::tables::outside::{Committed, Outside};
use crate::tables::{Acted, Opened, Seen, TableError};
use engine::commands::Outcome;
use engine::ids::PlayerId;
use engine::tables::{Change, Table};
use std::time::Duration;
use store::StoreError;

impl Slot {
    /// A commit of ours is over.
    pub(in crate::tables) fn committed<O: Outside>(
        &mut self,
        ways: &mut Ways<O>,
        committed: Result<Committed, StoreError>,
    ) -> Deed {
        let Some(doing) = self.doing.take() else { return Ok(()) };
        let verdict = verdict(committed);
        match *doing {
            Doing::Opening { table, change, opener, reply } => {
                return self.opened(ways, verdict, table, &change, opener, reply);
            }
            Doing::Acting { act, change } => self.acted(ways, verdict, act, &change)?,
            Doing::Ticking { change } => self.ticked(ways, &verdict, &change)?,
            // Nobody was here, and what we knew is gone: somebody who came meanwhile needs a new claim.
            Doing::Retiring if self.queue.is_empty() => return Err(TableError::NotServing),
            Doing::Retiring => self.load(ways, false),
            Doing::Loading | Doing::Resting => {}
        }
        self.go_on(ways)
    }

    fn opened<O: Outside>(
        &mut self,
        ways: &mut Ways<O>,
        verdict: Verdict,
        table: Box<Table>,
        change: &Change,
        opener: PlayerId,
        reply: Reply<Opened>,
    ) -> Deed {
        let (answer, then) = match verdict {
            Verdict::Saved(committed_at_us) => {
                self.table = Some(table);
                self.apply(ways, change, committed_at_us)?;
                let view = self.seen(Some(opener))?.view;
                (Ok(Opened::New { view, committed_at_us }), Ok(()))
            }
            Verdict::Refused(Outcome::Replayed(bytes)) => (Ok(Opened::Replayed(bytes)), Err(TableError::NoSuchTable)),
            Verdict::Refused(Outcome::KeyReused) => (Err(TableError::KeyReused), Err(TableError::NoSuchTable)),
            Verdict::Refused(Outcome::LeaseLost) => {
                ways.is_lost = true;
                (Err(TableError::NotServing), Err(TableError::NotServing))
            }
            Verdict::NotSaved(why) => (Err(TableError::Store(why)), Err(TableError::NoSuchTable)),
            Verdict::Unsure(why) => {
                // It may be there and ours, with timers that somebody must keep; its player was told that it failed.
                self.opener = None;
                self.unsure = Some(ways.shared.openers.unsure());
                self.load(ways, false);
                (Err(TableError::Store(why)), Ok(()))
            }
            Verdict::Fenced | Verdict::Refused(_) => (Err(TableError::NotServing), Err(TableError::NotServing)),
        };
        drop(reply.send(answer));
        then?;
        self.go_on(ways)
    }

    fn acted<O: Outside>(&mut self, ways: &mut Ways<O>, verdict: Verdict, mut act: Act, change: &Change) -> Deed {
        match verdict {
            Verdict::Saved(committed_at_us) => {
                self.apply(ways, change, committed_at_us)?;
                let Seen { view, online, .. } = self.seen(Some(act.actor))?;
                drop(act.reply.send(Ok(Acted { view, committed_at_us: Some(committed_at_us), online })));
            }
            Verdict::Fenced if act.attempts < ATTEMPTS_MAX => {
                act.attempts += 1;
                self.queue.push_front(Request::Act(Box::new(act)));
                self.load(ways, false);
            }
            Verdict::Fenced | Verdict::Refused(_) => {
                drop(act.reply.send(Err(TableError::NotServing)));
                self.load(ways, false);
            }
            Verdict::NotSaved(why) => drop(act.reply.send(Err(TableError::Store(why)))),
            Verdict::Unsure(why) => {
                drop(act.reply.send(Err(TableError::Store(why))));
                self.load(ways, false);
            }
        }
        Ok(())
    }

    fn ticked<O: Outside>(&mut self, ways: &mut Ways<O>, verdict: &Verdict, change: &Change) -> Deed {
        match verdict {
            Verdict::Saved(committed_at_us) => self.apply(ways, change, *committed_at_us)?,
            Verdict::NotSaved(_) => self.not_before = ways.outside.steady().plus(TIMER_PAUSE),
            Verdict::Fenced | Verdict::Unsure(_) | Verdict::Refused(_) => self.load(ways, false),
        }
        Ok(())
    }

    /// What was committed is so, and everybody who waits for it hears of it.
    fn apply<O: Outside>(&mut self, ways: &Ways<O>, change: &Change, committed_at_us: i64) -> Deed {
        if let Some(table) = &mut self.table {
            guarded(self.id, || table.apply(change, committed_at_us))?;
        }
        ways.shared.metrics.table_changed();
        self.tell(ways, Some(committed_at_us))
    }

    pub(super) fn tell<O: Outside>(&self, ways: &Ways<O>, committed_at_us: Option<i64>) -> Deed {
        let (Some(table), Some(room)) = (&self.table, &self.room) else { return Ok(()) };
        let told = guarded(self.id, || {
            room.know(table.members());
            let mut telling = Telling::new(table, room.online());
            room.tell(|viewer, after| telling.tell(viewer, after))
        })?;
        if let Some(committed_at_us) = committed_at_us.filter(|_| told > 0) {
            let late_us = ways.outside.now_us().saturating_sub(committed_at_us);
            ways.shared.metrics.table_told(told, Duration::from_micros(u64::try_from(late_us).unwrap_or(0)));
        }
        Ok(())
    }

    /// Goes on with what waits.
    pub(super) fn go_on<O: Outside>(&mut self, ways: &mut Ways<O>) -> Deed {
        if self.table.is_some() && !self.queue.is_empty() {
            let mut queue = std::mem::take(&mut self.queue);
            while let Some(request) = queue.pop_front() {
                if self.doing.is_some() && matches!(request, Request::Act(_)) {
                    self.queue.push_back(request);
                } else if let Err(why) = self.serve(ways, request) {
                    self.queue.extend(queue);
                    return Err(why);
                }
            }
        }
        if self.doing.is_none() {
            self.arm(ways);
        }
        Ok(())
    }
}
