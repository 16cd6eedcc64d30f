//! The door to a table's machine: what it says, in the words of the store and of those who wait; and its panics end here.

use crate::tables::room::Answer;
use crate::tables::{Feed, FeedAnswer, TableError};
use engine::commands::TableAppend;
use engine::ids::{PlayerId, TableId};
use engine::tables::{self, Change, Table};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The change, as the store is asked for it.
pub(super) fn append(id: TableId, epoch: u32, change: &Change) -> TableAppend {
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
pub(super) fn news(table: &Table, viewer: Option<PlayerId>, after: u64, online: &[PlayerId]) -> Option<Answer> {
    match feed(table, viewer, after) {
        Feed::News(news) if news.events.is_empty() => None,
        feed => Some(Ok(Arc::new(FeedAnswer { feed, online: online.to_vec() }))),
    }
}

/// What happened since; a full view for whom the table cannot say it.
pub(super) fn feed(table: &Table, viewer: Option<PlayerId>, after: u64) -> Feed {
    match table.feed(viewer, after) {
        tables::Feed::News(news) => Feed::News(news),
        tables::Feed::TooOld => Feed::TooOld(Box::new(table.view(viewer))),
    }
}

/// A panic in one table's machine ends that table's stay here, and nothing else.
pub(super) fn guarded<T>(table: TableId, deed: impl FnOnce() -> T) -> Result<T, TableError> {
    catch_unwind(AssertUnwindSafe(deed)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().copied();
        let why = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
        tracing::error!(table.id = %table, why, "a table broke; it leaves memory and is kept on disk as it is");
        TableError::Broken
    })
}
