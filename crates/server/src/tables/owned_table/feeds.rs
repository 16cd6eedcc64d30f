//! The door to a table's machine: what it says, in the words of the store and of those who wait; and its panics end here.

use crate::tables::waiters::WaitResult;
use crate::tables::{Feed, FeedResponse, TableError};
use engine::commands::TableAppend;
use engine::ids::{PlayerId, TableId};
use engine::tables::{self, Change, Table};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Answers with which a new one is compared: most changes look one way to whoever made them and another to all others.
const RECENT_KEPT: usize = 2;

/// The change, as the store is asked for it.
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
        Feed::News(news) if news.events.is_empty() => None,
        feed => Some(feed),
    }
}

/// One telling of what is new, to everybody who waits for it. Each is cut their own; whose cut comes out the same share one answer,
/// so that it is put into words once.
pub(super) struct FeedFanout<'t> {
    table: &'t Table,
    online: Vec<PlayerId>,
    /// What visitors with the same cursor get, without being cut again: there may be many of them.
    visitors: Option<(u64, Option<WaitResult>)>,
    /// The latest answers that differ.
    recent: Vec<Arc<FeedResponse>>,
}

impl<'t> FeedFanout<'t> {
    pub(super) fn new(table: &'t Table, online: Vec<PlayerId>) -> Self {
        Self { table, online, visitors: None, recent: Vec::new() }
    }

    /// What this viewer gets, if anything happened since.
    pub(super) fn response_for(&mut self, viewer: Option<PlayerId>, after: u64) -> Option<WaitResult> {
        match (viewer, &self.visitors) {
            (None, Some((known, answer))) if *known == after => answer.clone(),
            (None, _) => {
                let answer = self.cut(None, after);
                self.visitors = Some((after, answer.clone()));
                answer
            }
            (Some(_), _) => self.cut(viewer, after),
        }
    }

    fn cut(&mut self, viewer: Option<PlayerId>, after: u64) -> Option<WaitResult> {
        let feed = feed_if_new(self.table, viewer, after)?;
        if let Some(same) = self.recent.iter().find(|told| told.feed == feed) {
            return Some(Ok(same.clone()));
        }
        let answer = Arc::new(FeedResponse::new(feed, self.online.clone()));
        if self.recent.len() == RECENT_KEPT {
            self.recent.remove(0);
        }
        self.recent.push(answer.clone());
        Some(Ok(answer))
    }
}

/// What happened since; a full view for whom the table cannot say it.
pub(super) fn feed(table: &Table, viewer: Option<PlayerId>, after: u64) -> Feed {
    match table.feed(viewer, after) {
        tables::Feed::Update(news) => Feed::News(news),
        tables::Feed::TooOld => Feed::TooOld(Box::new(table.view(viewer))),
    }
}

/// A panic in one table's machine ends that table's stay here, and nothing else.
pub(super) fn catch_panic<T>(table: TableId, deed: impl FnOnce() -> T) -> Result<T, TableError> {
    catch_unwind(AssertUnwindSafe(deed)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let why = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
        tracing::error!(table.id = %table, why, "a table broke; it leaves memory and is kept on disk as it is");
        TableError::Broken
    })
}
