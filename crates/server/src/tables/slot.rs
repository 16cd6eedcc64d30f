//! One table in its keeper's hands: decide, commit, apply, and only then answer and tell. At most one commit is under way; what
//! else is to be done waits behind it, up to a limit. What is read is what is committed.
//!
//! When nobody knows whether a commit was saved, the table is claimed anew, which fences whatever is still on its way, and read
//! from the store before anything else is said about it. An error from a deed here means that the table leaves this keeper.

use super::keeper::Ways;
use super::load::{Claim, Unheard};
use super::message::{Act, Reply, Request};
use super::outside::{Committed, Outside};
use super::room::{Answer, Room, Waiting};
use super::wheel::Timer;
use super::{Acted, Feed, FeedAnswer, Opened, Opening, Seen, TableError};
use engine::commands::{ClaimedTable, Command, OpenTable, Outcome, TableAppend};
use engine::ids::{PlayerId, TableId};
use engine::limits::TABLE_QUEUE_MAX;
use engine::tables::{self, Change, Table};
use engine::time::UnixMs;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;
use store::StoreError;
use tokio::time::Instant;

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

/// What a commit of ours came to.
enum Verdict {
    Saved(i64),
    /// The table is not as we believed, or not ours: nothing was saved.
    Fenced,
    /// Certainly nothing was saved.
    NotSaved(StoreError),
    /// Nobody knows.
    Unsure(StoreError),
    /// Something that only an opening gets.
    Refused(Outcome),
}

type Deed = Result<(), TableError>;

impl Slot {
    pub(super) fn new(id: TableId) -> Self {
        Self {
            id,
            epoch: 0,
            table: None,
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

    /// Whether it can be looked at.
    pub(super) fn is_here(&self) -> bool {
        self.table.is_some()
    }

    /// Does what somebody asks, or lets it wait.
    pub(super) fn request<O: Outside>(&mut self, ways: &mut Ways<O>, request: Request) -> Deed {
        self.asked_at = ways.outside.now();
        let must_wait = match &request {
            Request::Act(_) => self.table.is_none() || self.doing.is_some() || !self.queue.is_empty(),
            Request::View { .. } | Request::Feed { .. } | Request::Wait { .. } => self.table.is_none(),
        };
        if !must_wait {
            return self.serve(ways, request);
        }
        if ways.is_leaving {
            request.refuse(&TableError::Draining);
        } else if self.queue.len() >= TABLE_QUEUE_MAX {
            request.refuse(&TableError::Busy);
        } else {
            self.queue.push_back(request);
        }
        Ok(())
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
                drop(reply.send(Ok(Arc::new(FeedAnswer { feed, online: self.online() }))));
                Ok(())
            }
            Request::Wait { viewer, after, place, reply } => {
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
                    None => Ok(self.room(ways).enter(viewer, after, place)),
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
        let now = ways.outside.now();
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
        let (now, seed, opener) = (ways.outside.now(), ways.outside.seed(), opening.opener.id);
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
        ways.commit(self.id, vec![Command::OpenTable(OpenTable { worker: ways.worker, now, idempotency, append })]);
        self.doing = Some(Box::new(Doing::Opening { table: Box::new(table), change, opener, reply }));
        Ok(())
    }

    /// A commit of ours is over.
    pub(super) fn committed<O: Outside>(
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
            Doing::Ticking { change } => self.ticked(ways, verdict, &change)?,
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
                // It may be there and ours, with timers that somebody must keep.
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

    fn ticked<O: Outside>(&mut self, ways: &mut Ways<O>, verdict: Verdict, change: &Change) -> Deed {
        match verdict {
            Verdict::Saved(committed_at_us) => self.apply(ways, change, committed_at_us)?,
            Verdict::NotSaved(_) => self.not_before = ways.outside.now().after(TIMER_PAUSE),
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

    fn tell<O: Outside>(&self, ways: &Ways<O>, committed_at_us: Option<i64>) -> Deed {
        let (Some(table), Some(room)) = (&self.table, &self.room) else { return Ok(()) };
        let told = guarded(self.id, || {
            room.know(table.members());
            let online = room.online();
            // Visitors who know as much get the same, and there may be many of them.
            let mut visitors: Option<(u64, Option<Answer>)> = None;
            room.tell(|viewer, after| match (viewer, &visitors) {
                (None, Some((known, answer))) if *known == after => answer.clone(),
                (None, _) => {
                    let answer = news(table, None, after, &online);
                    visitors = Some((after, answer.clone()));
                    answer
                }
                (Some(_), _) => news(table, viewer, after, &online),
            })
        })?;
        if let Some(committed_at_us) = committed_at_us.filter(|_| told > 0) {
            let late_us = ways.outside.now_us().saturating_sub(committed_at_us);
            ways.shared.metrics.table_told(told, Duration::from_micros(u64::try_from(late_us).unwrap_or(0)));
        }
        Ok(())
    }

    /// Goes on with what waits.
    fn go_on<O: Outside>(&mut self, ways: &mut Ways<O>) -> Deed {
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

    /// Claims the table and reads it as it is in the store; until then nothing is said about it.
    pub(super) fn load<O: Outside>(&mut self, ways: &mut Ways<O>, asks_first: bool) {
        self.table = None;
        self.disarm(ways);
        if ways.is_leaving {
            return self.refuse_all(&TableError::Draining);
        }
        ways.shared.metrics.table_loading();
        ways.claim(self.id, asks_first);
        self.doing = Some(Box::new(Doing::Loading));
    }

    /// A claim of ours is over.
    pub(super) fn claimed<O: Outside>(&mut self, ways: &mut Ways<O>, claimed: Result<Claim, Unheard>) -> Deed {
        self.doing = None;
        match claimed {
            Ok(Claim::Ours(claimed)) => self.adopt(ways, &claimed),
            // Our own address: an earlier life of this process, whose lease has not ended yet.
            Ok(Claim::Elsewhere(address)) if address == ways.outside.address() => Err(TableError::NotServing),
            Ok(Claim::Elsewhere(address)) => Err(TableError::Elsewhere { address }),
            Ok(Claim::Missing) => Err(TableError::NoSuchTable),
            Ok(Claim::LeaseLost) => {
                ways.is_lost = true;
                Err(TableError::NotServing)
            }
            Err(Unheard { why, may_be_ours: false }) if self.room.is_none() => Err(TableError::Store(why)),
            Err(Unheard { why, .. }) => {
                self.refuse_all(&TableError::Store(why));
                ways.rest(self.id, self.rest);
                self.rest = (self.rest * 2).min(REST_MAX);
                self.doing = Some(Box::new(Doing::Resting));
                Ok(())
            }
        }
    }

    /// The pause after a claim that was not answered is over.
    pub(super) fn rested<O: Outside>(&mut self, ways: &mut Ways<O>) -> Deed {
        self.doing = None;
        self.load(ways, false);
        Ok(())
    }

    /// Takes the table as the store gave it.
    pub(super) fn adopt<O: Outside>(&mut self, ways: &mut Ways<O>, claimed: &ClaimedTable) -> Deed {
        let restored = guarded(self.id, || Table::restore(&claimed.base, &claimed.rows))?;
        let table = restored.map_err(|corrupt| {
            tracing::error!(table.id = %self.id, %corrupt, "a table cannot be read");
            TableError::Broken
        })?;
        self.epoch = claimed.epoch;
        self.table = Some(Box::new(table));
        self.rest = REST_MIN;
        self.asked_at = ways.outside.now();
        self.assumed_until = Some(self.asked_at.after(ways.shared.settings.presence_grace));
        self.tell(ways, None)?;
        self.go_on(ways)
    }

    /// The life has claimed the table, too. What is under way settles who has the higher epoch.
    pub(super) fn claimed_meanwhile<O: Outside>(&mut self, ways: &mut Ways<O>, epoch: u32) {
        if self.doing.is_none() && epoch > self.epoch {
            self.load(ways, false);
        }
    }

    /// The table's timer has fired.
    pub(super) fn wake<O: Outside>(&mut self, ways: &mut Ways<O>) -> Deed {
        self.timer = None;
        // What is under way arms the timer again when it is over.
        if self.doing.is_some() || self.table.is_none() {
            return Ok(());
        }
        let somebody_went = self.room.as_ref().is_some_and(|room| room.forget_absent());
        self.leave_empty_room();
        let now = ways.outside.now();
        let is_assumed_no_more = self.assumed_until.take_if(|until| *until <= now).is_some();
        let is_due = self.next_due().is_some_and(|due| due <= now);
        if (is_due || somebody_went || is_assumed_no_more) && self.tick(ways, now)? {
            return Ok(());
        }
        if self.retires_at(ways).is_some_and(|at| at <= now) {
            return self.retire(ways);
        }
        if is_due {
            // Due and nothing to do: it must not spin.
            self.not_before = now.after(TIMER_PAUSE);
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

    /// Nobody plays and nobody is here: the table goes back to disk, and may be anybody's.
    fn retire<O: Outside>(&mut self, ways: &mut Ways<O>) -> Deed {
        if ways.is_leaving || !ways.lease.holds() {
            return Ok(());
        }
        let Some(table) = &self.table else { return Ok(()) };
        let change = guarded(self.id, || table.retire())?;
        let release = Command::ReleaseTable { id: self.id, epoch: self.epoch };
        ways.commit(self.id, vec![Command::AppendTable(append(self.id, self.epoch, &change)), release]);
        ways.shared.metrics.table_retired();
        (self.table, self.room) = (None, None);
        self.doing = Some(Box::new(Doing::Retiring));
        Ok(())
    }

    /// Somebody came or went.
    pub(super) fn presence_changed<O: Outside>(&mut self, ways: &mut Ways<O>) -> Deed {
        if let Some(room) = &self.room {
            room.looked_at();
        }
        let Some(table) = self.table.as_ref().filter(|_| self.doing.is_none()) else { return Ok(()) };
        // While a game is played, nothing depends on who is here.
        if table.live_game().is_some() || !self.tick(ways, ways.outside.now())? {
            self.arm(ways);
        }
        Ok(())
    }

    /// Sets the timer to the first thing that will happen by itself.
    fn arm<O: Outside>(&mut self, ways: &mut Ways<O>) {
        self.leave_empty_room();
        let absence = self.room.as_ref().and_then(|room| room.next_absence());
        let absence = absence.map(|at| ways.outside.now().after(at.saturating_duration_since(Instant::now())));
        let due = [self.next_due(), absence, self.assumed_until, self.retires_at(ways)].into_iter().flatten().min();
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

    fn disarm<O: Outside>(&mut self, ways: &mut Ways<O>) {
        if let Some((_, timer)) = self.timer.take() {
            ways.wheel.disarm(timer);
        }
    }

    fn next_due(&self) -> Option<UnixMs> {
        self.table.as_ref().and_then(|table| table.next_due())
    }

    /// When the table may leave memory, should nobody come; `None` while somebody plays or is here.
    fn retires_at<O: Outside>(&self, ways: &Ways<O>) -> Option<UnixMs> {
        let is_idle = self.room.is_none() && self.table.as_ref().is_some_and(|table| table.live_game().is_none());
        is_idle.then(|| self.asked_at.after(ways.shared.settings.presence_grace))
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
        Ok(Seen { view, committed_at_us: table.committed_at_us(), online: self.online() })
    }
}

fn append(id: TableId, epoch: u32, change: &Change) -> TableAppend {
    TableAppend {
        id,
        epoch,
        expected_version: change.expected_version,
        rows: change.rows.clone(),
        index: change.index.clone(),
        base: change.base.clone(),
        is_live: change.is_live,
    }
}

/// What this viewer gets, if anything happened since.
fn news(table: &Table, viewer: Option<PlayerId>, after: u64, online: &[PlayerId]) -> Option<Answer> {
    match feed(table, viewer, after) {
        Feed::News(news) if news.events.is_empty() => None,
        feed => Some(Ok(Arc::new(FeedAnswer { feed, online: online.to_vec() }))),
    }
}

/// What happened since; a full view for whom the table cannot say it.
fn feed(table: &Table, viewer: Option<PlayerId>, after: u64) -> Feed {
    match table.feed(viewer, after) {
        tables::Feed::News(news) => Feed::News(news),
        tables::Feed::TooOld => Feed::TooOld(Box::new(table.view(viewer))),
    }
}

/// Nobody knows what became of a commit whose connection was lost; what was never tried, or cannot be written, is not saved.
fn verdict(committed: Result<Committed, StoreError>) -> Verdict {
    let Committed { outcomes, at_us } = match committed {
        Ok(committed) => committed,
        Err(why @ (StoreError::Overloaded { .. } | StoreError::Corrupt { .. })) => return Verdict::NotSaved(why),
        Err(why @ (StoreError::Unavailable { .. } | StoreError::WrongSchema { .. })) => return Verdict::Unsure(why),
    };
    match outcomes.into_iter().next() {
        Some(Outcome::Done) => Verdict::Saved(at_us),
        Some(Outcome::Fenced) => Verdict::Fenced,
        Some(Outcome::VersionIs(have)) => {
            tracing::error!(have, "a table's log is not as long as its owner believed; it is read again");
            Verdict::Fenced
        }
        Some(other) => Verdict::Refused(other),
        None => Verdict::Unsure(StoreError::Unavailable { why: "the store gave no answer".to_owned() }),
    }
}

/// A panic in one table's machine ends that table's stay here, and nothing else.
fn guarded<T>(table: TableId, deed: impl FnOnce() -> T) -> Result<T, TableError> {
    catch_unwind(AssertUnwindSafe(deed)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let why = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
        tracing::error!(table.id = %table, why, "a table broke; it leaves memory and is kept on disk as it is");
        TableError::Broken
    })
}
