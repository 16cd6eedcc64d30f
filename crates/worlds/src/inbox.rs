//! What a writer receives: inputs in batches, control messages beside them, and who may still send any.

use super::actor_inbox::ActorInbox;
use super::client_sink::{ClientSink, CloseReason};
use super::inline_rounds::ParkedWriter;
use super::mailbox::{Mailbox, TrySendError};
use engine::commands::Outcome;
use engine::ids::PlayerId;
use engine::limits::WORLD_CONTROL_MESSAGES_MAX;
use engine::worlds::{Input, MoverRef, Refusal, Registered, Registration, ViewOptions};
use rules::world::Cell;
use std::sync::{Arc, OnceLock};
use store::StoreError;
use tokio::sync::oneshot;

pub(super) struct WriterInbox {
    pub(super) mailbox: Mailbox<Input, ControlMessage>,
    /// Holds the writer while its thread sleeps.
    pub(super) parked_writer: ParkedWriter,
    pub(super) close_reason: OnceLock<CloseReason>,
}

/// What a writer receives besides inputs.
pub(super) enum ControlMessage {
    /// A client enters through a connection.
    Register { registration: Box<Registration>, sink: Arc<dyn ClientSink>, reply: RegisterReply },
    /// A client wants other views, or none.
    Watch { occupancy: Occupancy, options: Option<ViewOptions> },
    /// A client leaves for good.
    Leave(Occupancy),
    /// A connection is gone; its mover may come back during its grace period.
    ConnectionLost(Occupancy),
    /// A player has left the hunt: its mover goes, and its connection ends.
    RemovePlayer(PlayerId),
    /// An actor worker attaches; it receives its number.
    AddActorWorker(Arc<ActorInbox>),
    /// An actor of a worker enters; the reply goes to the worker with this number.
    RegisterActor { worker: u16, actor: u32, registration: Box<Registration> },
    /// An actor leaves.
    RemoveActor(MoverRef),
    /// The result of saving claims.
    ClaimsSaved(Result<Outcome, StoreError>),
    /// The result of saving a snapshot.
    SnapshotSaved(Result<Outcome, StoreError>),
    /// Puts bacteria on cells; the reply is how many were put.
    Sow { cells: Vec<Cell>, reply: oneshot::Sender<usize> },
    /// A reader wants a picture.
    PublishPicture,
    /// Finishes what is in flight, and unloads the world, for this reason.
    Drain(CloseReason),
    /// Drops everything at once.
    Abandon(CloseReason),
}

pub(super) type RegisterReply = oneshot::Sender<Result<(Registered, MoverHandle), RegisterError>>;

/// A seat and the registration that took it: a mover that came back is not the one whose old connection ends late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Occupancy {
    pub(super) seat: MoverRef,
    pub(super) generation: u32,
}

/// A mover's registration, held by its connection. When dropped, the mover counts as lost: it is removed after its grace period unless it
/// comes back. So no mover outlives its connection, however that ends.
pub struct MoverHandle {
    inbox: Arc<WriterInbox>,
    occupancy: Occupancy,
    has_left: bool,
}

/// Why some or all inputs were not taken; those are still in their list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// Too many are queued. Nothing was tried: send again in a moment.
    #[error("too many inputs wait for this world: try again in a moment")]
    Busy,
    /// The world is not in this process any more: the sink has received the reason, or will.
    #[error("this world has left this server: connect again")]
    Gone(CloseReason),
}

/// Why a client could not enter.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RegisterError {
    #[error("the world refuses: {0:?}")]
    Refused(Refusal),
    /// Too many enter at once. Nothing was tried.
    #[error("too many come into this world at once: try again in a moment")]
    Busy,
    /// The world left memory meanwhile: visit it again.
    #[error("this world has left this server: connect again")]
    Gone(CloseReason),
}

impl From<SendError> for RegisterError {
    fn from(error: SendError) -> Self {
        match error {
            SendError::Busy => Self::Busy,
            SendError::Gone(reason) => Self::Gone(reason),
        }
    }
}

impl WriterInbox {
    pub(super) fn new(inputs_max: usize) -> Self {
        Self {
            mailbox: Mailbox::new(inputs_max),
            parked_writer: ParkedWriter::default(),
            close_reason: OnceLock::new(),
        }
    }

    /// Refuses messages from outside, for this reason. The first reason stays.
    pub(super) fn start_refusing(&self, reason: CloseReason) {
        let _ = self.close_reason.set(reason);
    }

    /// Whether messages from outside are refused.
    pub(super) fn is_refusing(&self) -> bool {
        self.close_reason.get().is_some()
    }

    /// Closes the mailbox for all messages.
    pub(super) fn close(&self, reason: CloseReason) {
        self.start_refusing(reason);
        self.mailbox.close();
    }

    /// Sends a control message from outside.
    pub(super) fn send_control(&self, message: ControlMessage) -> Result<(), SendError> {
        if self.is_refusing() {
            return Err(self.send_error(TrySendError::Closed));
        }
        let sent = self.mailbox.try_send_control(message, WORLD_CONTROL_MESSAGES_MAX);
        sent.map_err(|(reason, _)| self.send_error(reason))
    }

    pub(super) fn send_error(&self, reason: TrySendError) -> SendError {
        match reason {
            TrySendError::Full => SendError::Busy,
            TrySendError::Closed => SendError::Gone(self.close_reason()),
        }
    }

    pub(super) fn close_reason(&self) -> CloseReason {
        self.close_reason.get().copied().unwrap_or(CloseReason::WorldMoved)
    }
}

impl MoverHandle {
    pub(super) fn new(mailbox: Arc<WriterInbox>, occupancy: Occupancy) -> Self {
        Self { inbox: mailbox, occupancy, has_left: false }
    }

    #[must_use]
    pub fn seat(&self) -> MoverRef {
        self.occupancy.seat
    }

    /// Asks for other views, or none; the sink gets a message when they are in force.
    ///
    /// # Errors
    /// When too many control messages are queued, or the world is gone.
    pub fn watch(&self, options: Option<ViewOptions>) -> Result<(), SendError> {
        self.inbox.send_control(ControlMessage::Watch { occupancy: self.occupancy, options })
    }

    /// Leaves for good: the mover is removed at once.
    pub fn leave(mut self) {
        self.has_left = true;
    }
}

impl Drop for MoverHandle {
    fn drop(&mut self) {
        let message = if self.has_left {
            ControlMessage::Leave(self.occupancy)
        } else {
            ControlMessage::ConnectionLost(self.occupancy)
        };
        // A world that is gone has no movers.
        let _ = self.inbox.mailbox.send_control(message);
    }
}
