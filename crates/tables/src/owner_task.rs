//! An owner task: owns a share of the process's tables. It handles messages from its mailbox, completed commits, due timers and presence
//! changes one after the other, and never waits for one of them alone.
//!
//! What happens at one table is in `owned_table`; this file decides in which order events are handled, and for which table.

use super::environment::TableEnvironment;
use super::message::{OwnerMessage, ReplySender, Request};
use super::owned_table::OwnedTable;
use super::owner_context::{CompletedOperation, Completion, OwnerContext};
use super::waiters::PresenceNotifier;
use super::{LimitScope, TableError, TablesState, ViewResult};
use engine::commands::ClaimedTable;
use engine::ids::{PlayerId, TableId, WorkerId};
use engine::limits::TABLES_RESERVED_SHARE;
use engine::time::UnixMs;
use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use node::lease::Lease;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::{OwnedMutexGuard, mpsc};
use tokio::time::{Instant, sleep_until};

/// Messages, or commits, that are handled before timers and the other source get their turn.
const BURST: usize = 64;
/// The wall clock is read at least this often: it may be corrected while a timer waits.
const TIMER_WAIT_MAX: Duration = Duration::from_secs(1);
/// A claim by the ownership that took longer than this may be outdated: the table is claimed again.
const CLAIM_FRESH_MAX: Duration = Duration::from_secs(2);

/// Why an owner task ended.
pub(super) enum OwnerTaskEnd {
    /// It was drained, and nothing is in flight.
    Drained,
    /// The store says that the lease has ended.
    LeaseLost,
}

pub(super) struct OwnerTask<O: TableEnvironment> {
    context: OwnerContext<O>,
    tables: BTreeMap<TableId, OwnedTable>,
}

impl<O: TableEnvironment> OwnerTask<O> {
    pub(super) fn new(
        environment: O,
        worker: WorkerId,
        lease: Lease,
        shared: Arc<TablesState>,
        presence: Arc<PresenceNotifier>,
    ) -> Self {
        let context = OwnerContext {
            environment,
            worker,
            lease,
            shared,
            presence,
            timers: BTreeSet::new(),
            is_lease_lost: false,
            is_draining: false,
            in_flight: FuturesUnordered::new(),
        };
        Self { context, tables: BTreeMap::new() }
    }

    /// Runs until it is drained, or the lease is lost.
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
            let due = self.context.timers.first().map(|(due, _)| *due);
            if due != alarm_for {
                alarm.as_mut().reset(self.alarm_at(due));
                alarm_for = due;
            }
            let presence = self.context.presence.clone();
            tokio::select! {
                biased;
                () = &mut alarm, if due.is_some() => {
                    self.fire_timers();
                    alarm_for = None;
                }
                Some(completed) = self.context.in_flight.next(), if !self.context.in_flight.is_empty() => self.complete(completed),
                () = presence.notified() => self.handle_presence_changes(),
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
            self.context.shared.metrics.tables.messages.dec();
            self.handle(next);
            message = None;
        }
    }

    fn handle(&mut self, message: OwnerMessage) {
        match message {
            OwnerMessage::Request { request, .. } if request.is_abandoned() => {}
            OwnerMessage::Request { table, request } => {
                if let Err(error) = self.ensure_loaded(table) {
                    return request.refuse(&error);
                }
                self.with_table(table, |owned, context| owned.handle_request(context, request));
            }
            OwnerMessage::Open { opening, reply } => {
                let table = opening.id;
                let opener = self.context.shared.table_permits.try_acquire(opening.opener.id, opening.address);
                let reserved = if opening.is_operator { 0 } else { self.operator_reserve() };
                let opener = match opener.and_then(|opener| self.reserve_table(table, reserved).map(|()| opener)) {
                    Ok(opener) => opener,
                    Err(error) => return drop(reply.send(Err(error))),
                };
                self.tables.insert(table, OwnedTable::with_permit(table, opener));
                self.with_table(table, |owned, context| owned.open(context, *opening, reply));
            }
            OwnerMessage::ViewIfLoaded { table, viewer, reply } => self.view_if_loaded(table, viewer, reply),
            OwnerMessage::Adopt { claimed, claim_began_at } => self.adopt(&claimed, claim_began_at),
            OwnerMessage::Drain => {
                self.context.is_draining = true;
                self.tables.values_mut().for_each(|owned| owned.refuse_all(&TableError::Draining));
            }
        }
    }

    /// Loads a table unless it is in memory or being loaded.
    fn ensure_loaded(&mut self, table: TableId) -> Result<(), TableError> {
        if self.tables.contains_key(&table) {
            return Ok(());
        }
        self.reserve_table(table, 0)?;
        let mut owned = OwnedTable::new(table);
        owned.load(&mut self.context, true);
        self.tables.insert(table, owned);
        Ok(())
    }

    /// The number of tables that players cannot open, so that operators can, and that existing tables can be loaded.
    fn operator_reserve(&self) -> usize {
        self.context.shared.config.tables_max / TABLES_RESERVED_SHARE
    }

    /// Counts one more table, if there is room besides the reserved ones.
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
            return Err(TableError::TooManyTables { max, scope: LimitScope::All });
        }
        shared.metrics.tables.loaded.inc();
        Ok(())
    }

    fn view_if_loaded(&mut self, table: TableId, viewer: Option<PlayerId>, reply: ReplySender<ViewResult>) {
        match self.tables.get_mut(&table) {
            Some(owned) if owned.is_loaded() => {
                self.with_table(table, |owned, context| owned.handle_request(context, Request::View { viewer, reply }));
            }
            Some(_) | None => drop(reply.send(Err(TableError::NoSuchTable))),
        }
    }

    /// Takes a table that the ownership has claimed. If its owner task claimed it at the same time, the later claim has the higher epoch,
    /// and the store fences the other.
    fn adopt(&mut self, claimed: &ClaimedTable, claim_began_at: Instant) {
        let table = claimed.id;
        if let Entry::Vacant(entry) = self.tables.entry(table) {
            let owned = entry.insert(OwnedTable::new(table));
            // Beyond the limit: the ownership claims no more until some tables have left.
            self.context.shared.loaded.fetch_add(1, Ordering::Relaxed);
            self.context.shared.metrics.tables.loaded.inc();
            if claim_began_at.elapsed() > CLAIM_FRESH_MAX {
                return owned.load(&mut self.context, false);
            }
            return self.with_table(table, |owned, context| owned.adopt(context, claimed));
        }
        self.with_table(table, |owned, context| {
            owned.claimed_concurrently(context, claimed.epoch);
            Ok(())
        });
    }

    fn fire_timers(&mut self) {
        let later = (self.context.environment.steady_now().plus(Duration::from_millis(1)), TableId(0));
        let later = self.context.timers.split_off(&later);
        for (_, table) in std::mem::replace(&mut self.context.timers, later) {
            self.with_table(table, OwnedTable::timer_fired);
        }
    }

    fn complete(&mut self, first: CompletedOperation) {
        let mut completed = Some(first);
        for _ in 0..BURST {
            let Some(next) = completed.or_else(|| self.context.in_flight.next().now_or_never().flatten()) else {
                return;
            };
            self.with_table(next.table, |owned, context| match next.completion {
                Completion::Committed(committed) => owned.committed(context, committed),
                Completion::Claimed(claimed) => owned.claimed(context, claimed),
                Completion::RetryDue => owned.retry_due(context),
            });
            completed = None;
        }
    }

    fn handle_presence_changes(&mut self) {
        for table in self.context.presence.take_changed() {
            self.with_table(table, OwnedTable::presence_changed);
        }
    }

    /// Runs an operation on a table. If it fails, the table is unloaded, and its clients get the reason.
    fn with_table(
        &mut self,
        table: TableId,
        operation: impl FnOnce(&mut OwnedTable, &mut OwnerContext<O>) -> Result<(), TableError>,
    ) {
        let Some(owned) = self.tables.get_mut(&table) else { return };
        if let Err(error) = operation(owned, &mut self.context)
            && let Some(owned) = self.tables.remove(&table)
        {
            self.unload(owned, &error);
        }
    }

    fn unload(&mut self, owned: OwnedTable, error: &TableError) {
        owned.unload(&mut self.context, error);
        self.context.shared.loaded.fetch_sub(1, Ordering::Relaxed);
        self.context.shared.metrics.tables.loaded.dec();
    }
}

/// However an owner task ends, no client waits for it for ever.
impl<O: TableEnvironment> Drop for OwnerTask<O> {
    fn drop(&mut self) {
        let error = self.context.shared.not_serving_error();
        for owned in std::mem::take(&mut self.tables).into_values() {
            self.unload(owned, &error);
        }
    }
}
