//! Commands to a store about tables: entries for a table's log, the lists that follow from them, and ownership.

use super::Idempotency;
use crate::ids::{PlayerId, TableId, WorkerId};
use crate::tables::{IndexChange, TableLogRow, TableSnapshot};
use crate::time::UnixMs;

/// A table to be opened, and the answer to repeat should the same request come again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenTable {
    /// Who owns it from the start.
    pub worker: WorkerId,
    pub now: UnixMs,
    /// The player and what to remember about the request, when it came with an idempotency key. The key is the player's
    /// own.
    pub idempotency: Option<(PlayerId, Idempotency)>,
    /// Its first entries: epoch 1, expected version 0.
    pub append: TableAppend,
}

/// Entries for a table's log, what follows from them for the lists, and the two fences that guard all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableAppend {
    pub id: TableId,
    /// The owner's fencing token: a later claim makes it void.
    pub epoch: u32,
    /// How many entries were ever added before these, those under the snapshot included.
    pub expected_version: u32,
    /// The entries, in order; the first one's version is `expected_version`. There may be none.
    pub rows: Vec<TableLogRow>,
    /// Changes of the lists. Games come first, then seats, then ends, then awards; among one kind the order given counts.
    pub index_changes: Vec<IndexChange>,
    /// A new snapshot, when it moves.
    pub snapshot: Option<TableSnapshot>,
    /// Whether the table has something to do by itself from here on, and so must always have an owner.
    pub is_live: bool,
}

/// A table in a worker's hands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimedTable {
    pub id: TableId,
    /// The fencing token of this claim.
    pub epoch: u32,
    /// The snapshot's bytes; empty when there was never one.
    pub snapshot: Vec<u8>,
    /// Entries under the snapshot; 0 when there was never one.
    pub snapshot_version: u32,
    /// The entries after it, in order.
    pub rows: Vec<TableLogRow>,
}
