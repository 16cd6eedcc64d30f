//! One table of an owner task: decide, commit, apply, and only then answer and notify. At most one commit is in flight; other requests wait
//! behind it, up to a limit. Reads see committed state.
//!
//! When it is unknown whether a commit was saved, the table is claimed again, which fences what may still be in flight, and loaded from the
//! store before it answers another request. An error from a function here means that the table leaves this owner task.

mod commits;
mod feeds;
mod loads;
mod queue;
mod timers;

use super::environment::TableEnvironment;
use super::message::{ActionRequest, ReplySender, Request};
use super::owner_context::OwnerContext;
use super::table_permits::{TablePermit, UnknownOpening};
use super::waiters::{FeedWait, Waiters};
use super::{ActionResult, FeedResponse, NewTable, OpenResult, TableError, ViewResult};
use engine::commands::{Command, OpenTable};
use engine::ids::{PlayerId, TableId};
use engine::tables::{Change, Table};
use engine::time::UnixMs;
use feeds::{append, catch_panic, feed, feed_response_if_new};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// An action whose commit was fenced so often is refused.
const ATTEMPTS_MAX: u32 = 3;
/// The first pause before a claim without an answer is repeated; it doubles up to the longest.
const RETRY_PAUSE_MIN: Duration = Duration::from_millis(50);
/// See [`RETRY_PAUSE_MIN`].
const RETRY_PAUSE_MAX: Duration = Duration::from_secs(1);
/// A timer that could not do its work fires again after this time.
const TIMER_PAUSE: Duration = Duration::from_secs(1);

pub(super) struct OwnedTable {
    id: TableId,
    epoch: u32,
    /// `None` until it is opened or loaded.
    table: Option<Box<Table>>,
    /// Counts it against its opener's limits; `None` until it is opened or loaded.
    permit: Option<TablePermit>,
    /// Whether its opening was saved is unknown.
    unknown_opening: Option<UnknownOpening>,
    operation: Option<Box<Operation>>,
    queue: VecDeque<Request>,
    waiters: Option<Arc<Waiters>>,
    /// When its timer fires.
    timer: Option<UnixMs>,
    /// When it last got a request.
    last_request_at: UnixMs,
    /// Until then all players count as present: they need time to find the table again after it was loaded.
    presence_assumed_until: Option<UnixMs>,
    /// No timer fires before: the last one could not do its work.
    not_before: UnixMs,
    retry_pause: Duration,
}

enum Operation {
    Opening { table: Box<Table>, change: Change, opener: PlayerId, reply: ReplySender<OpenResult> },
    Acting { act: ActionRequest, change: Change },
    Ticking { change: Change },
    Retiring,
    Loading,
    WaitingToRetry,
}

/// An error means that the table leaves this owner task: all its requests get this error.
type TableResult = Result<(), TableError>;

impl OwnedTable {
    pub(super) fn new(id: TableId) -> Self {
        Self {
            id,
            epoch: 0,
            table: None,
            permit: None,
            unknown_opening: None,
            operation: None,
            queue: VecDeque::new(),
            waiters: None,
            timer: None,
            last_request_at: UnixMs(0),
            presence_assumed_until: None,
            not_before: UnixMs(0),
            retry_pause: RETRY_PAUSE_MIN,
        }
    }

    pub(super) fn with_permit(id: TableId, opener: TablePermit) -> Self {
        Self { permit: Some(opener), ..Self::new(id) }
    }

    pub(super) fn is_loaded(&self) -> bool {
        self.table.is_some()
    }

    /// Serves a request, or queues it.
    pub(super) fn handle_request<O: TableEnvironment>(
        &mut self,
        context: &mut OwnerContext<O>,
        request: Request,
    ) -> TableResult {
        self.last_request_at = context.environment.steady_now();
        let must_wait = match &request {
            Request::Act(_) => self.table.is_none() || self.operation.is_some() || !self.queue.is_empty(),
            Request::View { .. } | Request::Feed { .. } | Request::Wait { .. } => self.table.is_none(),
        };
        if !must_wait {
            return self.serve(context, request);
        }
        if context.is_draining {
            request.refuse(&TableError::Draining);
            return Ok(());
        }
        self.enqueue(context, request)
    }

    fn serve<O: TableEnvironment>(&mut self, context: &mut OwnerContext<O>, request: Request) -> TableResult {
        // Once the lease may have expired, another worker may have changed the table: our state may be old.
        if !context.lease.is_valid() {
            request.refuse(&TableError::NotServing);
            return Ok(());
        }
        match request {
            Request::Act(act) => self.act(context, *act),
            Request::View { viewer, reply } => {
                let seen = self.view(viewer)?;
                drop(reply.send(Ok(seen)));
                Ok(())
            }
            Request::Feed { viewer, after, reply } => {
                if let Some(player) = viewer {
                    self.waiters(context).touch(player);
                }
                let Some(table) = &self.table else { return Ok(()) };
                let feed = catch_panic(self.id, || feed(table, viewer, after))?;
                drop(reply.send(Ok(Arc::new(FeedResponse::new(feed, self.online())))));
                Ok(())
            }
            Request::Wait { after, permit, reply } => {
                let viewer = permit.waiter().player;
                let update = match &self.table {
                    Some(table) => catch_panic(self.id, || feed_response_if_new(table, viewer, after, &self.online()))?,
                    None => None,
                };
                let waiting = match update {
                    Some(response) => {
                        if let Some(player) = viewer {
                            self.waiters(context).touch(player);
                        }
                        response.map(FeedWait::ready)
                    }
                    None => Ok(self.waiters(context).add(after, permit)),
                };
                drop(reply.send(waiting));
                Ok(())
            }
        }
    }

    fn act<O: TableEnvironment>(&mut self, context: &mut OwnerContext<O>, act: ActionRequest) -> TableResult {
        if context.is_draining {
            drop(act.reply.send(Err(TableError::Draining)));
            return Ok(());
        }
        let Some(table) = &self.table else { return Ok(()) };
        let now = context.environment.steady_now();
        let decided = catch_panic(self.id, || {
            table.decide(act.actor, act.game, &act.action, now, &|player| self.is_present(player))
        });
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
                let seen = self.view(Some(act.actor))?;
                drop(act.reply.send(Ok(ActionResult { view: seen.view, committed_at_us: None, online: seen.online })));
            }
            Ok(change) => {
                context.commit(self.id, vec![Command::AppendTable(append(self.id, self.epoch, &change))]);
                self.operation = Some(Box::new(Operation::Acting { act, change }));
            }
        }
        Ok(())
    }

    /// Creates the table.
    pub(super) fn open<O: TableEnvironment>(
        &mut self,
        context: &mut OwnerContext<O>,
        opening: NewTable,
        reply: ReplySender<OpenResult>,
    ) -> TableResult {
        if !context.lease.is_valid() {
            return Err(TableError::NotServing);
        }
        let (now, seed, opener) = (context.environment.steady_now(), context.environment.seed(), opening.opener.id);
        let opened = catch_panic(self.id, || {
            Table::open(opening.id, opening.settings, seed, opening.bots, &opening.opener, now)
        });
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
        self.last_request_at = now;
        self.epoch = 1;
        let append = append(self.id, self.epoch, &change);
        let idempotency = opening.idempotency.map(|idempotency| (opener, idempotency));
        // Leases and idempotency keys use dates.
        let (worker, now) = (context.worker, context.environment.now());
        context.commit(self.id, vec![Command::OpenTable(OpenTable { worker, now, idempotency, append })]);
        self.operation = Some(Box::new(Operation::Opening { table: Box::new(table), change, opener, reply }));
        Ok(())
    }

    /// Refuses all queued requests.
    pub(super) fn refuse_all(&mut self, error: &TableError) {
        std::mem::take(&mut self.queue).into_iter().for_each(|request| request.refuse(error));
    }

    /// Unloads the table. All waiting clients get the reason.
    pub(super) fn unload<O: TableEnvironment>(mut self, context: &mut OwnerContext<O>, error: &TableError) {
        self.disarm(context);
        self.refuse_all(error);
        if let Some(waiters) = &self.waiters {
            waiters.close(error);
        }
    }

    fn waiters<O: TableEnvironment>(&mut self, context: &OwnerContext<O>) -> &Arc<Waiters> {
        self.waiters.get_or_insert_with(|| {
            let waiters = Waiters::new(self.id, context.presence.clone());
            if let Some(table) = &self.table {
                waiters.set_members(table.members());
            }
            waiters
        })
    }

    fn online(&self) -> Vec<PlayerId> {
        self.waiters.as_ref().map(|waiters| waiters.online()).unwrap_or_default()
    }

    fn is_present(&self, player: PlayerId) -> bool {
        self.presence_assumed_until.is_some() || self.waiters.as_ref().is_some_and(|waiters| waiters.is_present(player))
    }

    fn view(&self, viewer: Option<PlayerId>) -> Result<ViewResult, TableError> {
        let table = self.table.as_ref().ok_or(TableError::NotServing)?;
        let view = catch_panic(self.id, || Box::new(table.view(viewer)))?;
        Ok(ViewResult { view, online: self.online() })
    }
}
