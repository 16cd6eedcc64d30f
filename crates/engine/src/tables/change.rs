//! A change of a table that is decided and not yet saved: what a store has to commit in one transaction.

use super::entry::{LoggedEntry, TableLogRow};
use super::index::IndexChange;
use std::fmt;

/// What a load of a table starts from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSnapshot {
    /// Entries that it holds already, counted from the beginning: rows with a lower version are deleted. Never lower
    /// than that of the snapshot before, never higher than what the log holds with this append.
    pub version: u32,
    /// The state after them, as the table's machine writes it.
    pub bytes: Vec<u8>,
}

/// What is to be committed. The caller commits it, then passes it to [`super::Table::apply`], and sends no response
/// before that.
///
/// Its `Debug` prints counts only: entries contain hands.
#[derive(Clone, PartialEq, Eq)]
pub struct Change {
    /// Entries that the log holds before it.
    pub expected_version: u32,
    /// Entries to be added.
    pub rows: Vec<TableLogRow>,
    /// What follows from them for the lists.
    pub index_changes: Vec<IndexChange>,
    /// What loads start from from now on, when that moves.
    pub snapshot: Option<TableSnapshot>,
    /// Whether the table acts by itself after it, and so must have an owner.
    pub is_live: bool,
    pub(super) entries: Vec<LoggedEntry>,
}

impl fmt::Debug for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("Change");
        out.field("expected_version", &self.expected_version).field("rows", &self.rows.len()).finish_non_exhaustive()
    }
}

impl Change {
    /// Whether there is nothing to commit: the action was allowed and changes nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.snapshot.is_none()
    }

    pub(super) fn rows(entries: &[LoggedEntry], version: u32) -> Vec<TableLogRow> {
        entries.iter().zip(version..).map(|(logged, version)| TableLogRow { version, bytes: logged.encode() }).collect()
    }
}
