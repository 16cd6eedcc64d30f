//! One table in its keeper's hands: decide, commit, apply, and only then answer and tell. At most one commit is under way; what
//! else is to be done waits behind it, up to a limit. What is read is what is committed.
//!
//! When nobody knows whether a commit was saved, the table is claimed anew, which fences whatever is still on its way, and read
//! from the store before anything else is said about it. An error from a deed here means that the table leaves this keeper.

mod commits;
mod loads;
mod machine;
mod queue;
mod timers;
mod verdict;

use super::keeper::Ways;
use super::message::{Act, Reply, Request};
use super::openers::{Opener, Unsure};
use super::outside::Outside;
use super::room::{Room, Waiting};
use super::wheel::Timer;
use super::{Acted, FeedAnswer, Opened, Opening, Seen, TableError};
use engine::commands::{Command, OpenTable};
use engine::ids::{PlayerId, TableId};
use engine::tables::{Change, Table};
use engine::time::UnixMs;
use machine::{append, feed, guarded, news};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// An action whose commit was fenced so often is given back to its asker.
const ATTEMPTS_MAX: u32 = 3;
/// The first pause before a claim that was not answered is repeated; it doubles up to the longest.
const REST_MIN: Duration = Duration::from_millis(50);
/// See [`REST_MIN`].
const REST_MAX: Duration = Duration::from_secs(1);
/// A timer that could not do its work is tried again after this time.
const TIMER_PAUSE: Duration = Duration::from_secs(1);

pub(super) struct Slot {
    id: TableId,
    epoch: u32,
    /// `None` until it is opened, or loaded.
    table: Option<Box<Table>>,
    /// Whose table it is; `None` until it is opened, or loaded.
    opener: Option<Opener>,
    /// Its opening may have been saved, or not.
    unsure: Option<Unsure>,
    doing: Option<Box<Doing>>,
    queue: VecDeque<Request>,
    room: Option<Arc<Room>>,
    timer: Option<(UnixMs, Timer)>,
    /// When somebody last asked for it.
    asked_at: UnixMs,
    /// Until then everybody counts as present: those who were here before the table was loaded must find it again first.
    assumed_until: Option<UnixMs>,
    /// No timer fires before: the last one could not do its work.
    not_before: UnixMs,
    rest: Duration,
}

/// What is under way.
enum Doing {
    Opening { table: Box<Table>, change: Change, opener: PlayerId, reply: Reply<Opened> },
    Acting { act: Act, change: Change },
    Ticking { change: Change },
    Retiring,
    Loading,
    Resting,
}

/// An error means that the table leaves this keeper: everybody who asks for it is told it.
type Deed = Result<(), TableError>;

impl Slot {
    pub(super) fn new(id: TableId) -> Self {
        Self {
            id,
            epoch: 0,
            table: None,
            opener: None,
            unsure: None,
            doing: None,
            queue: VecDeque::new(),
            room: None,
            timer: None,
            asked_at: UnixMs(0),
            assumed_until: None,
            not_before: UnixMs(0),
            rest: REST_MIN,
        }
    }

    pub(super) fn opened_by(id: TableId, opener: Opener) -> Self {
        Self { opener: Some(opener), ..Self::new(id) }
    }

    /// Whether it can be looked at.
    pub(super) fn is_here(&self) -> bool {
        self.table.is_some()
    }

    /// Does what somebody asks, or lets it wait.
    pub(super) fn request<O: Outside>(&mut self, ways: &mut Ways<O>, request: Request) -> Deed {
        self.asked_at = ways.outside.steady();
        let must_wait = match &request {
            Request::Act(_) => self.table.is_none() || self.doing.is_some() || !self.queue.is_empty(),
            Request::View { .. } | Request::Feed { .. } | Request::Wait { .. } => self.table.is_none(),
        };
        if !must_wait {
            return self.serve(ways, request);
        }
        if ways.is_leaving {
            request.refuse(&TableError::Draining);
            return Ok(());
        }
        self.let_wait(ways, request)
    }

    fn serve<O: Outside>(&mut self, ways: &mut Ways<O>, request: Request) -> Deed {
        // Once the lease is not to be trusted somebody else may have gone on with the table: what we know may be old.
        if !ways.lease.holds() {
            request.refuse(&TableError::NotServing);
            return Ok(());
        }
        match request {
            Request::Act(act) => self.act(ways, *act),
            Request::View { viewer, reply } => {
                let seen = self.seen(viewer)?;
                drop(reply.send(Ok(seen)));
                Ok(())
            }
            Request::Feed { viewer, after, reply } => {
                if let Some(player) = viewer {
                    self.room(ways).touch(player);
                }
                let Some(table) = &self.table else { return Ok(()) };
                let feed = guarded(self.id, || feed(table, viewer, after))?;
                drop(reply.send(Ok(Arc::new(FeedAnswer::new(feed, self.online())))));
                Ok(())
            }
            Request::Wait { after, place, reply } => {
                let viewer = place.waiter().player;
                let news = match &self.table {
                    Some(table) => guarded(self.id, || news(table, viewer, after, &self.online()))?,
                    None => None,
                };
                let waiting = match news {
                    Some(answer) => {
                        if let Some(player) = viewer {
                            self.room(ways).touch(player);
                        }
                        answer.map(Waiting::ready)
                    }
                    None => Ok(self.room(ways).enter(after, place)),
                };
                drop(reply.send(waiting));
                Ok(())
            }
        }
    }

    fn act<O: Outside>(&mut self, ways: &mut Ways<O>, act: Act) -> Deed {
        if ways.is_leaving {
            drop(act.reply.send(Err(TableError::Draining)));
            return Ok(());
        }
        let Some(table) = &self.table else { return Ok(()) };
        let now = ways.outside.steady();
        let decided =
            guarded(self.id, || table.decide(act.actor, act.game, &act.action, now, &|player| self.is_present(player)));
        let decided = match decided {
            Ok(decided) => decided,
            Err(broken) => {
                drop(act.reply.send(Err(broken.clone())));
                return Err(broken);
            }
        };
        match decided {
            Err(refusal) => drop(act.reply.send(Err(TableError::Refused(refusal)))),
            Ok(change) if change.is_empty() => {
                let seen = self.seen(Some(act.actor))?;
                drop(act.reply.send(Ok(Acted { view: seen.view, committed_at_us: None, online: seen.online })));
            }
            Ok(change) => {
                ways.commit(self.id, vec![Command::AppendTable(append(self.id, self.epoch, &change))]);
                self.doing = Some(Box::new(Doing::Acting { act, change }));
            }
        }
        Ok(())
    }

    /// Makes the table.
    pub(super) fn open<O: Outside>(&mut self, ways: &mut Ways<O>, opening: Opening, reply: Reply<Opened>) -> Deed {
        if !ways.lease.holds() {
            return Err(TableError::NotServing);
        }
        let (now, seed, opener) = (ways.outside.steady(), ways.outside.seed(), opening.opener.id);
        let opened =
            guarded(self.id, || Table::open(opening.id, opening.settings, seed, opening.bots, &opening.opener, now));
        let (table, change) = match opened {
            Ok(Ok(opened)) => opened,
            Ok(Err(refusal)) => {
                drop(reply.send(Err(TableError::Refused(refusal.clone()))));
                return Err(TableError::Refused(refusal));
            }
            Err(broken) => {
                drop(reply.send(Err(broken.clone())));
                return Err(broken);
            }
        };
        self.asked_at = now;
        self.epoch = 1;
        let append = append(self.id, self.epoch, &change);
        let idempotency = opening.idempotency.map(|idempotency| (opener, idempotency));
        // Leases and idempotency keys are matters of dates.
        let (worker, now) = (ways.worker, ways.outside.now());
        ways.commit(self.id, vec![Command::OpenTable(OpenTable { worker, now, idempotency, append })]);
        self.doing = Some(Box::new(Doing::Opening { table: Box::new(table), change, opener, reply }));
        Ok(())
    }

    /// Refuses everything that waits to be done.
    pub(super) fn refuse_all(&mut self, why: &TableError) {
        std::mem::take(&mut self.queue).into_iter().for_each(|request| request.refuse(why));
    }

    /// Leaves memory. Whoever waits for anything here is told why.
    pub(super) fn leave<O: Outside>(mut self, ways: &mut Ways<O>, why: &TableError) {
        self.disarm(ways);
        self.refuse_all(why);
        if let Some(room) = &self.room {
            room.close(why);
        }
    }

    fn room<O: Outside>(&mut self, ways: &Ways<O>) -> &Arc<Room> {
        self.room.get_or_insert_with(|| {
            let room = Room::new(self.id, ways.hall.clone());
            if let Some(table) = &self.table {
                room.know(table.members());
            }
            room
        })
    }

    fn online(&self) -> Vec<PlayerId> {
        self.room.as_ref().map(|room| room.online()).unwrap_or_default()
    }

    fn is_present(&self, player: PlayerId) -> bool {
        self.assumed_until.is_some() || self.room.as_ref().is_some_and(|room| room.is_present(player))
    }

    fn seen(&self, viewer: Option<PlayerId>) -> Result<Seen, TableError> {
        let table = self.table.as_ref().ok_or(TableError::NotServing)?;
        let view = guarded(self.id, || Box::new(table.view(viewer)))?;
        Ok(Seen { view, online: self.online() })
    }
}
