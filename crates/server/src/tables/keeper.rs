//! A keeper: one task that owns a share of the process's tables. It takes messages from its mailbox, commits that have ended,
//! timers that are due and the news that somebody came or went, one after the other, and never waits for any of them alone.
//!
//! What happens at one table stands in `slot`; here stands what comes when, and to which table.

use super::load::{self, Claim, Unheard};
use super::message::{Message, Reply};
use super::outside::{Committed, Outside};
use super::room::Hall;
use super::slot::Slot;
use super::wheel::Wheel;
use super::{Seen, Shared, TableError, Whose};
use crate::lease::Lease;
use engine::commands::{ClaimedTable, Command};
use engine::ids::{PlayerId, TableId, WorkerId};
use engine::limits::TABLES_RESERVED_SHARE;
use engine::time::UnixMs;
use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use store::StoreError;
use tokio::sync::{OwnedMutexGuard, mpsc};
use tokio::time::{Instant, sleep, sleep_until};

/// Messages, or commits, that are handled before timers and the other side get their turn.
const BURST: usize = 64;
/// The wall clock is looked at this often, at least: it may be corrected while a timer waits.
const ALARM_MAX: Duration = Duration::from_secs(1);
/// A claim by the life that took longer than this on its way may have been overtaken: the store is asked again.
const ADOPTED_FRESH: Duration = Duration::from_secs(2);

/// Why a keeper ends.
pub(super) enum End {
    /// It was told to, and nothing is under way.
    Left,
    /// The store says that the lease has ended.
    LeaseLost,
}

/// What a table's doings need of their keeper.
pub(super) struct Ways<O> {
    pub(super) outside: O,
    pub(super) worker: WorkerId,
    pub(super) lease: Lease,
    pub(super) shared: Arc<Shared>,
    pub(super) hall: Arc<Hall>,
    pub(super) wheel: Wheel<TableId>,
    /// The store said that our lease has ended.
    pub(super) is_lost: bool,
    /// Nothing is begun any more.
    pub(super) is_leaving: bool,
    flights: FuturesUnordered<Flight>,
}

type Flight = Pin<Box<dyn Future<Output = Landed> + Send>>;

/// Something of a table's that was under way, and is over.
struct Landed {
    table: TableId,
    what: Landing,
}

enum Landing {
    Committed(Result<Committed, StoreError>),
    Claimed(Result<Claim, Unheard>),
    Rested,
}

pub(super) struct Keeper<O: Outside> {
    ways: Ways<O>,
    tables: BTreeMap<TableId, Slot>,
}

impl<O: Outside> Ways<O> {
    /// Saves these commands for a table; it hears of them.
    pub(super) fn commit(&self, table: TableId, commands: Vec<Command>) {
        let outside = self.outside.clone();
        let flight = async move { Landed { table, what: Landing::Committed(outside.commit_all(commands).await) } };
        self.flights.push(Box::pin(flight));
    }

    /// Claims a table; it hears of it.
    pub(super) fn claim(&self, table: TableId, asks_first: bool) {
        let claim = load::claim(self.outside.clone(), table, self.worker, asks_first);
        self.flights.push(Box::pin(async move { Landed { table, what: Landing::Claimed(claim.await) } }));
    }

    /// Lets a table rest.
    pub(super) fn rest(&self, table: TableId, pause: Duration) {
        self.flights.push(Box::pin(async move {
            sleep(pause).await;
            Landed { table, what: Landing::Rested }
        }));
    }
}

impl<O: Outside> Keeper<O> {
    pub(super) fn new(outside: O, worker: WorkerId, lease: Lease, shared: Arc<Shared>, hall: Arc<Hall>) -> Self {
        let wheel = Wheel::new(outside.steady());
        let flights = FuturesUnordered::new();
        let ways = Ways { outside, worker, lease, shared, hall, wheel, is_lost: false, is_leaving: false, flights };
        Self { ways, tables: BTreeMap::new() }
    }

    /// Keeps tables until it is told to leave, or the lease is lost.
    pub(super) async fn keep(mut self, mut inbox: OwnedMutexGuard<mpsc::Receiver<Message>>) -> End {
        let mut alarm = pin!(sleep_until(Instant::now()));
        let mut alarm_for = None;
        loop {
            if self.ways.is_lost {
                return End::LeaseLost;
            }
            if self.ways.is_leaving && self.ways.flights.is_empty() {
                return End::Left;
            }
            let due = self.ways.wheel.next();
            if due != alarm_for {
                alarm.as_mut().reset(self.alarm_at(due));
                alarm_for = due;
            }
            let hall = self.ways.hall.clone();
            tokio::select! {
                biased;
                () = &mut alarm, if due.is_some() => {
                    self.fire();
                    alarm_for = None;
                }
                Some(landed) = self.ways.flights.next(), if !self.ways.flights.is_empty() => self.land(landed),
                () = hall.rung() => self.look_around(),
                Some(message) = inbox.recv() => self.handle_all(message, &mut inbox),
            }
        }
    }

    fn alarm_at(&self, due: Option<UnixMs>) -> Instant {
        let wait = due.map_or(ALARM_MAX, |due| due.since(self.ways.outside.steady()));
        Instant::now() + wait.min(ALARM_MAX)
    }

    fn handle_all(&mut self, first: Message, inbox: &mut mpsc::Receiver<Message>) {
        let mut message = Some(first);
        for _ in 0..BURST {
            let Some(next) = message.or_else(|| inbox.try_recv().ok()) else { return };
            self.ways.shared.metrics.table_mail_went(1);
            self.handle(next);
            message = None;
        }
    }

    fn handle(&mut self, message: Message) {
        match message {
            Message::Request { request, .. } if request.is_void() => {}
            Message::Request { table, request } => {
                if let Err(why) = self.enter(table) {
                    return request.refuse(&why);
                }
                self.with(table, |slot, ways| slot.request(ways, request));
            }
            Message::Open { opening, reply } => {
                let table = opening.id;
                let opener = self.ways.shared.openers.open(opening.opener.id, opening.address);
                let reserved = if opening.is_operator { 0 } else { self.reserved_for_operators() };
                let opener = match opener.and_then(|opener| self.room_for_one_more(table, reserved).map(|()| opener)) {
                    Ok(opener) => opener,
                    Err(why) => return drop(reply.send(Err(why))),
                };
                self.tables.insert(table, Slot::opened_by(table, opener));
                self.with(table, |slot, ways| slot.open(ways, *opening, reply));
            }
            Message::Look { table, viewer, reply } => self.look(table, viewer, reply),
            Message::Adopt { claimed, asked_at } => self.adopt(&claimed, asked_at),
            Message::Leave => {
                self.ways.is_leaving = true;
                self.tables.values_mut().for_each(|slot| slot.refuse_all(&TableError::Draining));
            }
        }
    }

    /// Makes sure that the table is in memory, or on its way there.
    fn enter(&mut self, table: TableId) -> Result<(), TableError> {
        if self.tables.contains_key(&table) {
            return Ok(());
        }
        self.room_for_one_more(table, 0)?;
        let mut slot = Slot::new(table);
        slot.load(&mut self.ways, true);
        self.tables.insert(table, slot);
        Ok(())
    }

    /// Tables that players cannot open, so that operators can, and that tables which exist can be loaded.
    fn reserved_for_operators(&self) -> usize {
        self.ways.shared.settings.tables_max / TABLES_RESERVED_SHARE
    }

    /// Counts one more table, if there may be one more beside those that are reserved.
    fn room_for_one_more(&self, table: TableId, reserved: usize) -> Result<(), TableError> {
        let shared = &self.ways.shared;
        if self.ways.is_leaving {
            return Err(TableError::Draining);
        }
        if self.tables.contains_key(&table) {
            return Err(TableError::Busy);
        }
        let max = shared.settings.tables_max - reserved;
        if shared.loaded.fetch_add(1, Ordering::Relaxed) >= max {
            shared.loaded.fetch_sub(1, Ordering::Relaxed);
            return Err(TableError::TooManyTables { max, whose: Whose::All });
        }
        shared.metrics.table_entered();
        Ok(())
    }

    fn look(&mut self, table: TableId, viewer: Option<PlayerId>, reply: Reply<Seen>) {
        match self.tables.get_mut(&table) {
            Some(slot) if slot.is_here() => {
                self.with(table, |slot, ways| slot.request(ways, super::message::Request::View { viewer, reply }));
            }
            Some(_) | None => drop(reply.send(Err(TableError::NoSuchTable))),
        }
    }

    /// Takes a table that the life has claimed. One that is here already was claimed by its keeper at the same time: the later
    /// claim has the higher epoch, and the store fences the other.
    fn adopt(&mut self, claimed: &ClaimedTable, asked_at: Instant) {
        let table = claimed.id;
        if let Entry::Vacant(place) = self.tables.entry(table) {
            let slot = place.insert(Slot::new(table));
            // More than may be: the life asks for no more until some have left.
            self.ways.shared.loaded.fetch_add(1, Ordering::Relaxed);
            self.ways.shared.metrics.table_entered();
            if asked_at.elapsed() > ADOPTED_FRESH {
                return slot.load(&mut self.ways, false);
            }
            return self.with(table, |slot, ways| slot.adopt(ways, claimed));
        }
        self.with(table, |slot, ways| {
            slot.claimed_meanwhile(ways, claimed.epoch);
            Ok(())
        });
    }

    fn fire(&mut self) {
        let mut due = Vec::new();
        self.ways.wheel.expire(self.ways.outside.steady(), &mut due);
        for table in due {
            self.with(table, Slot::wake);
        }
    }

    fn land(&mut self, first: Landed) {
        let mut landed = Some(first);
        for _ in 0..BURST {
            let Some(next) = landed.or_else(|| self.ways.flights.next().now_or_never().flatten()) else { return };
            self.with(next.table, |slot, ways| match next.what {
                Landing::Committed(committed) => slot.committed(ways, committed),
                Landing::Claimed(claimed) => slot.claimed(ways, claimed),
                Landing::Rested => slot.rested(ways),
            });
            landed = None;
        }
    }

    fn look_around(&mut self) {
        for table in self.ways.hall.take_changed() {
            self.with(table, Slot::presence_changed);
        }
    }

    /// Does something with a table. If that ends its stay here, everybody who asks for it is told why.
    fn with(&mut self, table: TableId, deed: impl FnOnce(&mut Slot, &mut Ways<O>) -> Result<(), TableError>) {
        let Some(slot) = self.tables.get_mut(&table) else { return };
        if let Err(why) = deed(slot, &mut self.ways)
            && let Some(slot) = self.tables.remove(&table)
        {
            self.let_go(slot, &why);
        }
    }

    fn let_go(&mut self, slot: Slot, why: &TableError) {
        slot.leave(&mut self.ways, why);
        self.ways.shared.loaded.fetch_sub(1, Ordering::Relaxed);
        self.ways.shared.metrics.table_left();
    }
}

/// However a keeper ends, nobody waits for it for ever.
impl<O: Outside> Drop for Keeper<O> {
    fn drop(&mut self) {
        let why = self.ways.shared.why_not_serving();
        for slot in std::mem::take(&mut self.tables).into_values() {
            self.let_go(slot, &why);
        }
    }
}
