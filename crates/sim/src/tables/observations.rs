//! What players received, recorded as it came and checked at the end.

use engine::ids::{PlayerId, TableId};
use engine::tables::{TableEvent, TableView};
use std::time::Duration;

/// One response to a player.
#[derive(Clone, Debug)]
pub(super) struct Observation {
    pub(super) table: TableId,
    pub(super) viewer: Option<PlayerId>,
    /// Time of the request, since the beginning.
    pub(super) sent_at: Duration,
    /// Time of the response.
    pub(super) received_at: Duration,
    pub(super) kind: ObservedKind,
}

#[derive(Clone, Debug)]
pub(super) enum ObservedKind {
    /// Events that followed on this cursor.
    Update { after: u64, events: Vec<TableEvent> },
    /// The cursor was too old: this is the table.
    TooOld { view: Box<TableView> },
    /// A look.
    View(Box<TableView>),
    /// An action was done; its line of chat, if it was one.
    ActionDone { view: Box<TableView>, chat_line: Option<String> },
    /// An action was certainly not done.
    ActionRejected { chat_line: Option<String> },
    /// It is unknown whether an action was done.
    ActionUnknown { chat_line: Option<String> },
}
