//! Messages to an owner task. Every request has its own reply channel; a reply to a requester that is gone is dropped.

use super::wait_permits::WaitPermit;
use super::{ActionResult, FeedResponse, FeedWait, NewTable, OpenResult, TableError, ViewResult};
use engine::commands::ClaimedTable;
use engine::ids::{PlayerId, TableId};
use engine::tables::Action;
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio::time::Instant;

/// The reply channel of a request.
pub(super) type ReplySender<T> = oneshot::Sender<Result<T, TableError>>;

/// One message in an owner task's mailbox.
pub(super) enum OwnerMessage {
    /// Create a table.
    Open { opening: Box<NewTable>, reply: ReplySender<OpenResult> },
    /// A request for one table, which is loaded for it.
    Request { table: TableId, request: Request },
    /// View a table if it is loaded.
    ViewIfLoaded { table: TableId, viewer: Option<PlayerId>, reply: ReplySender<ViewResult> },
    /// The ownership claimed this table in a claim that began at `claim_began_at`.
    Adopt { claimed: Box<ClaimedTable>, claim_began_at: Instant },
    /// Finish what is in flight and end.
    Drain,
}

/// A request for one table.
pub(super) enum Request {
    Act(Box<ActionRequest>),
    View { viewer: Option<PlayerId>, reply: ReplySender<ViewResult> },
    Feed { viewer: Option<PlayerId>, after: u64, reply: ReplySender<Arc<FeedResponse>> },
    Wait { after: u64, permit: WaitPermit, reply: ReplySender<FeedWait> },
}

/// An action that waits or is being committed.
pub(super) struct ActionRequest {
    pub(super) game: Option<u32>,
    pub(super) actor: PlayerId,
    pub(super) action: Action,
    pub(super) reply: ReplySender<ActionResult>,
    /// How often it was tried and its commit was fenced.
    pub(super) attempts: u32,
}

impl Request {
    /// Refuses the request. The requester may be gone.
    pub(super) fn refuse(self, error: &TableError) {
        let error = error.clone();
        match self {
            Self::Act(act) => drop(act.reply.send(Err(error))),
            Self::View { reply, .. } => drop(reply.send(Err(error))),
            Self::Feed { reply, .. } => drop(reply.send(Err(error))),
            Self::Wait { reply, .. } => drop(reply.send(Err(error))),
        }
    }

    /// The player who asks, if authenticated.
    pub(super) fn requester(&self) -> Option<PlayerId> {
        match self {
            Self::Act(act) => Some(act.actor),
            Self::View { viewer, .. } | Self::Feed { viewer, .. } => *viewer,
            Self::Wait { permit, .. } => permit.waiter().player,
        }
    }

    /// Whether its requester is gone.
    pub(super) fn is_abandoned(&self) -> bool {
        match self {
            // An action counts even if its client does not wait for the response.
            Self::Act(_) => false,
            Self::View { reply, .. } => reply.is_closed(),
            Self::Feed { reply, .. } => reply.is_closed(),
            Self::Wait { reply, .. } => reply.is_closed(),
        }
    }
}
