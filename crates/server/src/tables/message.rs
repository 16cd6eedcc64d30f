//! What a keeper is told and asked. Every question has its own way back; one whose asker went away is answered into the void.

use super::wait_permits::WaitPermit;
use super::{ActionResult, FeedResponse, FeedWait, NewTable, OpenResult, TableError, ViewResult};
use engine::commands::ClaimedTable;
use engine::ids::{PlayerId, TableId};
use engine::tables::Action;
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// The way back to whoever asks.
pub(super) type ReplySender<T> = oneshot::Sender<Result<T, TableError>>;

/// One message in a keeper's mailbox.
pub(super) enum OwnerMessage {
    /// Make a table.
    Open { opening: Box<NewTable>, reply: ReplySender<OpenResult> },
    /// Something about one table, which comes into memory for it.
    Request { table: TableId, request: Request },
    /// A look at a table if it is in memory.
    ViewIfLoaded { table: TableId, viewer: Option<PlayerId>, reply: ReplySender<ViewResult> },
    /// This table was claimed by the life, which asked the store for it at that time.
    Adopt { claimed: Box<ClaimedTable>, asked_at: Instant },
    /// Finish what is under way and end.
    Drain,
}

/// What somebody wants of a table.
pub(super) enum Request {
    Act(Box<ActionRequest>),
    View { viewer: Option<PlayerId>, reply: ReplySender<ViewResult> },
    Feed { viewer: Option<PlayerId>, after: u64, reply: ReplySender<Arc<FeedResponse>> },
    Wait { after: u64, place: WaitPermit, reply: ReplySender<FeedWait> },
}

/// An action on its way.
pub(super) struct ActionRequest {
    pub(super) game: Option<u32>,
    pub(super) actor: PlayerId,
    pub(super) action: Action,
    pub(super) reply: ReplySender<ActionResult>,
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
    pub(super) fn requester(&self) -> Option<PlayerId> {
        match self {
            Self::Act(act) => Some(act.actor),
            Self::View { viewer, .. } | Self::Feed { viewer, .. } => *viewer,
            Self::Wait { place, .. } => place.waiter().player,
        }
    }

    /// Whether its asker has gone away.
    pub(super) fn is_abandoned(&self) -> bool {
        match self {
            // An action counts even if its client does not wait for the answer.
            Self::Act(_) => false,
            Self::View { reply, .. } => reply.is_closed(),
            Self::Feed { reply, .. } => reply.is_closed(),
            Self::Wait { reply, .. } => reply.is_closed(),
        }
    }
}
