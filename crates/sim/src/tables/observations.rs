//! What players heard, written down as they heard it and judged when all is over.

use engine::ids::{PlayerId, TableId};
use engine::tables::{TableEvent, TableView};
use std::time::Duration;

/// One answer that somebody got.
#[derive(Clone, Debug)]
pub(super) struct Observation {
    pub(super) table: TableId,
    pub(super) viewer: Option<PlayerId>,
    /// When he asked, since the beginning.
    pub(super) sent_at: Duration,
    /// When he heard.
    pub(super) received_at: Duration,
    pub(super) kind: ObservedKind,
}

#[derive(Clone, Debug)]
pub(super) enum ObservedKind {
    /// Events that followed on this cursor.
    Update { after: u64, events: Vec<TableEvent> },
    /// His cursor was too old: this is the table.
    TooOld { view: Box<TableView> },
    /// A look.
    View(Box<TableView>),
    /// An action was done; his line of chat, if it was one.
    ActionDone { view: Box<TableView>, said: Option<String> },
    /// An action was certainly not done.
    ActionRejected { said: Option<String> },
    /// Nobody knows whether an action was done.
    ActionUnknown { said: Option<String> },
}
