//! What players heard, written down as they heard it and judged when all is over.

use engine::ids::{PlayerId, TableId};
use engine::tables::{Event, TableView};
use std::time::Duration;

/// One answer that somebody got.
#[derive(Clone, Debug)]
pub(super) struct Sight {
    pub(super) table: TableId,
    pub(super) viewer: Option<PlayerId>,
    /// When he asked, since the beginning.
    pub(super) asked: Duration,
    /// When he heard.
    pub(super) heard: Duration,
    pub(super) what: Heard,
}

/// What was in it.
#[derive(Clone, Debug)]
pub(super) enum Heard {
    /// Events that followed on this cursor.
    News { after: u64, events: Vec<Event> },
    /// His cursor was too old: this is the table.
    TooOld { view: Box<TableView> },
    /// A look.
    View(Box<TableView>),
    /// An action was done; his line of chat, if it was one.
    Done { view: Box<TableView>, said: Option<String> },
    /// An action was certainly not done.
    NotDone { said: Option<String> },
    /// Nobody knows whether an action was done.
    Unknown { said: Option<String> },
}
