//! What a keeper is told and asked. Every question has its own way back; one whose asker went away is answered into the void.

use super::tally::Place;
use super::{Acted, FeedAnswer, Opened, Opening, Seen, TableError, Waiting};
use engine::commands::ClaimedTable;
use engine::ids::{PlayerId, TableId};
use engine::tables::Action;
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// The way back to whoever asks.
pub(super) type Reply<T> = oneshot::Sender<Result<T, TableError>>;

/// One message in a keeper's mailbox.
pub(super) enum Message {
    /// Make a table.
    Open { opening: Box<Opening>, reply: Reply<Opened> },
    /// Something about one table, which comes into memory for it.
    Request { table: TableId, request: Request },
    /// A look at a table if it is in memory.
    Look { table: TableId, viewer: Option<PlayerId>, reply: Reply<Seen> },
    /// This table was claimed by the life, which asked the store for it at that time.
    Adopt { claimed: Box<ClaimedTable>, asked_at: Instant },
    /// Finish what is under way and end.
    Leave,
}

/// What somebody wants of a table.
pub(super) enum Request {
    Act(Box<Act>),
    View { viewer: Option<PlayerId>, reply: Reply<Seen> },
    Feed { viewer: Option<PlayerId>, after: u64, reply: Reply<Arc<FeedAnswer>> },
    Wait { after: u64, place: Place, reply: Reply<Waiting> },
}

/// An action on its way.
pub(super) struct Act {
    pub(super) game: Option<u32>,
    pub(super) actor: PlayerId,
    pub(super) action: Action,
    pub(super) reply: Reply<Acted>,
    /// How often it was begun and turned out to be fenced.
    pub(super) attempts: u32,
}

impl Request {
    /// Refuses it. That the asker may have gone away is no concern of ours.
    pub(super) fn refuse(self, why: &TableError) {
        let why = why.clone();
        match self {
            Self::Act(act) => drop(act.reply.send(Err(why))),
            Self::View { reply, .. } => drop(reply.send(Err(why))),
            Self::Feed { reply, .. } => drop(reply.send(Err(why))),
            Self::Wait { reply, .. } => drop(reply.send(Err(why))),
        }
    }

    /// Who asks, if he said so.
    pub(super) fn asker(&self) -> Option<PlayerId> {
        match self {
            Self::Act(act) => Some(act.actor),
            Self::View { viewer, .. } | Self::Feed { viewer, .. } => *viewer,
            Self::Wait { place, .. } => place.waiter().player,
        }
    }

    /// Whether its asker has gone away.
    pub(super) fn is_void(&self) -> bool {
        match self {
            // An action counts even if its client does not wait for the answer.
            Self::Act(_) => false,
            Self::View { reply, .. } => reply.is_closed(),
            Self::Feed { reply, .. } => reply.is_closed(),
            Self::Wait { reply, .. } => reply.is_closed(),
        }
    }
}
