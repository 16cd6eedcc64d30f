//! A keeper: one task that owns a share of the process's tables. It takes messages from its mailbox, commits that have ended,
//! timers that are due and the news that somebody came or went, one after the other, and never waits for any of them alone.
//!
//! What happens at one table stands in `slot`; here stands what comes when, and to which table.

use super::environment::{Committed, TableEnvironment};
use super::load::{self, ClaimError, ClaimOutcome};
use super::message::{OwnerMessage, ReplySender};
use super::owned_table::OwnedTable;
use super::timing_wheel::TimingWheel;
use super::waiters::PresenceNotifier;
use super::{LimitScope, TableError, TablesState, ViewResult};
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
const TIMER_WAIT_MAX: Duration = Duration::from_secs(1);
/// A claim by the life that took longer than this on its way may have been overtaken: the store is asked again.
const CLAIM_FRESH_MAX: Duration = Duration::from_secs(2);

/// Why a keeper ends.
pub(super) enum OwnerTaskEnd {
    /// It was told to, and nothing is under way.
    Drained,
    /// The store says that the lease has ended.
    LeaseLost,
}

/// What a table's doings need of their keeper.
pub(super) struct OwnerContext<O> {
    pub(super) environment: O,
    pub(super) worker: WorkerId,
    pub(super) lease: Lease,
    pub(super) shared: Arc<TablesState>,
    pub(super) presence: Arc<PresenceNotifier>,
    pub(super) wheel: TimingWheel<TableId>,
    /// The store said that our lease has ended.
    pub(super) is_lease_lost: bool,
    /// Nothing is begun any more.
    pub(super) is_draining: bool,
    in_flight: FuturesUnordered<OperationFuture>,
}

type OperationFuture = Pin<Box<dyn Future<Output = CompletedOperation> + Send>>;

/// Something of a table's that was under way, and is over.
struct CompletedOperation {
    table: TableId,
    completion: Completion,
}

enum Completion {
    Committed(Result<Committed, StoreError>),
    Claimed(Result<ClaimOutcome, ClaimError>),
    RetryDue,
}

pub(super) struct OwnerTask<O: TableEnvironment> {
    context: OwnerContext<O>,
    tables: BTreeMap<TableId, OwnedTable>,
}

impl<O: TableEnvironment> OwnerContext<O> {
    /// Saves these commands for a table; it hears of them.
    pub(super) fn commit(&self, table: TableId, commands: Vec<Command>) {
        let outside = self.environment.clone();
        let flight = async move {
            CompletedOperation { table, completion: Completion::Committed(outside.commit_all(commands).await) }
        };
        self.in_flight.push(Box::pin(flight));
    }

    /// Claims a table; it hears of it.
    pub(super) fn claim(&self, table: TableId, asks_first: bool) {
        let claim = load::claim(self.environment.clone(), table, self.worker, asks_first);
        self.in_flight
            .push(Box::pin(async move { CompletedOperation { table, completion: Completion::Claimed(claim.await) } }));
    }

    /// Lets a table rest.
    pub(super) fn schedule_retry(&self, table: TableId, pause: Duration) {
        self.in_flight.push(Box::pin(async move {
            sleep(pause).await;
            CompletedOperation { table, completion: Completion::RetryDue }
        }));
    }
}

impl<O: TableEnvironment> OwnerTask<O> {
    pub(super) fn new(
        outside: O,
        worker: WorkerId,
        lease: Lease,
        shared: Arc<TablesState>,
        hall: Arc<PresenceNotifier>,
    ) -> Self {
        let wheel = TimingWheel::new(outside.steady_now());
        let flights = FuturesUnordered::new();
        let ways = OwnerContext {
            environment: outside,
            worker,
            lease,
            shared,
            presence: hall,
            wheel,
            is_lease_lost: false,
            is_draining: false,
            in_flight: flights,
        };
        Self { context: ways, tables: BTreeMap::new() }
    }

    /// Keeps tables until it is told to leave, or the lease is lost.
    pub(super) async fn run(mut self, mut inbox: OwnedMutexGuard<mpsc::Receiver<OwnerMessage>>) -> OwnerTaskEnd {
        let mut alarm = pin!(sleep_until(Instant::now()));
        let mut alarm_for = None;
        loop {
            if self.context.is_lease_lost {
                return OwnerTaskEnd::LeaseLost;
            }
            if self.context.is_draining && self.context.in_flight.is_empty() {
                return OwnerTaskEnd::Drained;
            }
            let due = self.context.wheel.next();
            if due != alarm_for {
                alarm.as_mut().reset(self.alarm_at(due));
                alarm_for = due;
            }
            let hall = self.context.presence.clone();
            tokio::select! {
                biased;
                () = &mut alarm, if due.is_some() => {
                    self.fire_timers();
                    alarm_for = None;
                }
                Some(landed) = self.context.in_flight.next(), if !self.context.in_flight.is_empty() => self.complete(landed),
                () = hall.notified() => self.handle_presence_changes(),
                Some(message) = inbox.recv() => self.handle_all(message, &mut inbox),
            }
        }
    }

    fn alarm_at(&self, due: Option<UnixMs>) -> Instant {
        let wait = due.map_or(TIMER_WAIT_MAX, |due| due.since(self.context.environment.steady_now()));
        Instant::now() + wait.min(TIMER_WAIT_MAX)
    }

    fn handle_all(&mut self, first: OwnerMessage, inbox: &mut mpsc::Receiver<OwnerMessage>) {
        let mut message = Some(first);
        for _ in 0..BURST {
            let Some(next) = message.or_else(|| inbox.try_recv().ok()) else { return };
            self.context.shared.metrics.table_messages_dequeued(1);
            self.handle(next);
            message = None;
        }
    }

    fn handle(&mut self, message: OwnerMessage) {
        match message {
            OwnerMessage::Request { request, .. } if request.is_abandoned() => {}
            OwnerMessage::Request { table, request } => {
                if let Err(why) = self.ensure_loaded(table) {
                    return request.refuse(&why);
                }
                self.with_table(table, |slot, ways| slot.handle_request(ways, request));
            }
            OwnerMessage::Open { opening, reply } => {
                let table = opening.id;
                let opener = self.context.shared.table_permits.try_acquire(opening.opener.id, opening.address);
                let reserved = if opening.is_operator { 0 } else { self.operator_reserve() };
                let opener = match opener.and_then(|opener| self.reserve_table(table, reserved).map(|()| opener)) {
                    Ok(opener) => opener,
                    Err(why) => return drop(reply.send(Err(why))),
                };
                self.tables.insert(table, OwnedTable::with_permit(table, opener));
                self.with_table(table, |slot, ways| slot.open(ways, *opening, reply));
            }
            OwnerMessage::ViewIfLoaded { table, viewer, reply } => self.view_if_loaded(table, viewer, reply),
            OwnerMessage::Adopt { claimed, asked_at } => self.adopt(&claimed, asked_at),
            OwnerMessage::Drain => {
                self.context.is_draining = true;
                self.tables.values_mut().for_each(|slot| slot.refuse_all(&TableError::Draining));
            }
        }
    }

    /// Makes sure that the table is in memory, or on its way there.
    fn ensure_loaded(&mut self, table: TableId) -> Result<(), TableError> {
        if self.tables.contains_key(&table) {
            return Ok(());
        }
        self.reserve_table(table, 0)?;
        let mut slot = OwnedTable::new(table);
        slot.load(&mut self.context, true);
        self.tables.insert(table, slot);
        Ok(())
    }

    /// Tables that players cannot open, so that operators can, and that tables which exist can be loaded.
    fn operator_reserve(&self) -> usize {
        self.context.shared.config.tables_max / TABLES_RESERVED_SHARE
    }

    /// Counts one more table, if there may be one more beside those that are reserved.
    fn reserve_table(&self, table: TableId, reserved: usize) -> Result<(), TableError> {
        let shared = &self.context.shared;
        if self.context.is_draining {
            return Err(TableError::Draining);
        }
        if self.tables.contains_key(&table) {
            return Err(TableError::Busy);
        }
        let max = shared.config.tables_max - reserved;
        if shared.loaded.fetch_add(1, Ordering::Relaxed) >= max {
            shared.loaded.fetch_sub(1, Ordering::Relaxed);
            return Err(TableError::TooManyTables { max, whose: LimitScope::All });
        }
        shared.metrics.table_entered();
        Ok(())
    }

    fn view_if_loaded(&mut self, table: TableId, viewer: Option<PlayerId>, reply: ReplySender<ViewResult>) {
        match self.tables.get_mut(&table) {
            Some(slot) if slot.is_loaded() => {
                self.with_table(table, |slot, ways| {
                    slot.handle_request(ways, super::message::Request::View { viewer, reply })
                });
            }
            Some(_) | None => drop(reply.send(Err(TableError::NoSuchTable))),
        }
    }

    /// Takes a table that the life has claimed. One that is here already was claimed by its keeper at the same time: the later
    /// claim has the higher epoch, and the store fences the other.
    fn adopt(&mut self, claimed: &ClaimedTable, asked_at: Instant) {
        let table = claimed.id;
        if let Entry::Vacant(place) = self.tables.entry(table) {
            let slot = place.insert(OwnedTable::new(table));
            // More than may be: the life asks for no more until some have left.
            self.context.shared.loaded.fetch_add(1, Ordering::Relaxed);
            self.context.shared.metrics.table_entered();
            if asked_at.elapsed() > CLAIM_FRESH_MAX {
                return slot.load(&mut self.context, false);
            }
            return self.with_table(table, |slot, ways| slot.adopt(ways, claimed));
        }
        self.with_table(table, |slot, ways| {
            slot.claimed_concurrently(ways, claimed.epoch);
            Ok(())
        });
    }

    fn fire_timers(&mut self) {
        let mut due = Vec::new();
        self.context.wheel.expire(self.context.environment.steady_now(), &mut due);
        for table in due {
            self.with_table(table, OwnedTable::timer_fired);
        }
    }

    fn complete(&mut self, first: CompletedOperation) {
        let mut landed = Some(first);
        for _ in 0..BURST {
            let Some(next) = landed.or_else(|| self.context.in_flight.next().now_or_never().flatten()) else { return };
            self.with_table(next.table, |slot, ways| match next.completion {
                Completion::Committed(committed) => slot.committed(ways, committed),
                Completion::Claimed(claimed) => slot.claimed(ways, claimed),
                Completion::RetryDue => slot.retry_due(ways),
            });
            landed = None;
        }
    }

    fn handle_presence_changes(&mut self) {
        for table in self.context.presence.take_changed() {
            self.with_table(table, OwnedTable::presence_changed);
        }
    }

    /// Does something with a table. If that ends its stay here, everybody who asks for it is told why.
    fn with_table(
        &mut self,
        table: TableId,
        deed: impl FnOnce(&mut OwnedTable, &mut OwnerContext<O>) -> Result<(), TableError>,
    ) {
        let Some(slot) = self.tables.get_mut(&table) else { return };
        if let Err(why) = deed(slot, &mut self.context)
            && let Some(slot) = self.tables.remove(&table)
        {
            self.unload(slot, &why);
        }
    }

    fn unload(&mut self, slot: OwnedTable, why: &TableError) {
        slot.unload(&mut self.context, why);
        self.context.shared.loaded.fetch_sub(1, Ordering::Relaxed);
        self.context.shared.metrics.table_left();
    }
}

/// However a keeper ends, nobody waits for it for ever.
impl<O: TableEnvironment> Drop for OwnerTask<O> {
    fn drop(&mut self) {
        let why = self.context.shared.not_serving_error();
        for slot in std::mem::take(&mut self.tables).into_values() {
            self.unload(slot, &why);
        }
    }
}
