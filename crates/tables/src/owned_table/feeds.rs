//! Calls into a table's state machine: translates for the store and for waiting clients, and catches its panics.

use crate::waiters::WaitResult;
use crate::{Feed, FeedResponse, TableError};
use engine::commands::TableAppend;
use engine::ids::{PlayerId, TableId};
use engine::tables::{Change, Table};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Responses with which a new one is compared: most changes look one way to the player who made them and another to all others.
const RECENT_KEPT: usize = 2;

/// The store command that appends a change.
pub(super) fn append(id: TableId, epoch: u32, change: &Change) -> TableAppend {
    TableAppend {
        id,
        epoch,
        expected_version: change.expected_version,
        rows: change.rows.clone(),
        index_changes: change.index_changes.clone(),
        snapshot: change.snapshot.clone(),
        is_live: change.is_live,
    }
}

/// What this viewer gets, if anything happened since.
pub(super) fn feed_response_if_new(
    table: &Table,
    viewer: Option<PlayerId>,
    after: u64,
    online: &[PlayerId],
) -> Option<WaitResult> {
    feed_if_new(table, viewer, after).map(|feed| Ok(Arc::new(FeedResponse::new(feed, online.to_vec()))))
}

fn feed_if_new(table: &Table, viewer: Option<PlayerId>, after: u64) -> Option<Feed> {
    match feed(table, viewer, after) {
        Feed::News(update) if update.events.is_empty() => None,
        feed => Some(feed),
    }
}

/// Distributes one update to all waiting clients. Each viewer's part is computed separately; viewers with equal parts share one response,
/// so that it is encoded once.
pub(super) struct FeedFanout<'t> {
    table: &'t Table,
    online: Vec<PlayerId>,
    /// The response of visitors with the same cursor, computed once: there may be many of them.
    visitors: Option<(u64, Option<WaitResult>)>,
    /// The latest distinct responses.
    recent: Vec<Arc<FeedResponse>>,
}

impl<'t> FeedFanout<'t> {
    pub(super) fn new(table: &'t Table, online: Vec<PlayerId>) -> Self {
        Self { table, online, visitors: None, recent: Vec::new() }
    }

    /// What this viewer gets, if anything happened since.
    pub(super) fn response_for(&mut self, viewer: Option<PlayerId>, after: u64) -> Option<WaitResult> {
        match (viewer, &self.visitors) {
            (None, Some((known, response))) if *known == after => response.clone(),
            (None, _) => {
                let response = self.compute_response(None, after);
                self.visitors = Some((after, response.clone()));
                response
            }
            (Some(_), _) => self.compute_response(viewer, after),
        }
    }

    fn compute_response(&mut self, viewer: Option<PlayerId>, after: u64) -> Option<WaitResult> {
        let feed = feed_if_new(self.table, viewer, after)?;
        if let Some(same) = self.recent.iter().find(|recent| recent.feed == feed) {
            return Some(Ok(same.clone()));
        }
        let response = Arc::new(FeedResponse::new(feed, self.online.clone()));
        if self.recent.len() == RECENT_KEPT {
            self.recent.remove(0);
        }
        self.recent.push(response.clone());
        Some(Ok(response))
    }
}

/// What happened since; a full view for a cursor that the table cannot continue.
pub(super) fn feed(table: &Table, viewer: Option<PlayerId>, after: u64) -> Feed {
    table.feed(viewer, after).map_or_else(|| Feed::TooOld(Box::new(table.view(viewer))), Feed::News)
}

/// A panic in one table's state machine unloads that table, and affects nothing else.
pub(super) fn catch_panic<T>(table: TableId, operation: impl FnOnce() -> T) -> Result<T, TableError> {
    catch_unwind(AssertUnwindSafe(operation)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let message = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
        tracing::error!(table.id = %table, message, "a table panicked; it leaves memory and is kept on disk as it is");
        TableError::Broken
    })
}
