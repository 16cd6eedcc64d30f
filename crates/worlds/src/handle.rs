//! The handle of one world: inputs go into its mailbox in batches, control messages beside them; only a registration waits for the writer.

use super::actors::inbox::ActorInbox;
use super::client_sink::{ClientSink, CloseReason};
use super::inline_rounds::{self, ParkedWriter};
use super::mailbox::{Mailbox, SendOutcome, TrySendError};
use super::pictures::Pictures;
use super::sender_pool::SenderPool;
use engine::commands::Outcome;
use engine::ids::{WorldId, WorldName};
use engine::limits::{WORLD_CONTROL_MESSAGES_MAX, WORLD_INLINE_SENDS_MAX};
use engine::rows::WorldRow;
use engine::worlds::{Input, MoverRef, Picture, Refusal, Registered, Registration, ViewOptions};
use metrics::Metrics;
use node::lease::Lease;
use rules::world::{Cell, WorldSettings};
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, OnceLock};
use store::StoreError;
use tokio::sync::oneshot;

/// What does not change while a world is in memory.
#[derive(Clone, Debug)]
pub struct WorldInfo {
    pub id: WorldId,
    pub name: WorldName,
    pub settings: WorldSettings,
    /// The stored row, with who may enter among others.
    pub row: WorldRow,
}

/// The handle of a world in this process's memory. Cheap to clone; the world stays in memory while one exists.
#[derive(Clone)]
pub struct WorldHandle {
    pub(super) context: Arc<WorldContext>,
}

/// What the handles of a world share with its writer.
pub(super) struct WorldContext {
    pub(super) info: WorldInfo,
    pub(super) inbox: Arc<WriterInbox>,
    pub(super) pictures: Arc<Pictures>,
    /// The lease under which the world is owned.
    pub(super) lease: Lease,
    pub(super) senders: SenderPool,
    pub(super) metrics: Arc<Metrics>,
    pub(super) now_us: Box<dyn Fn() -> i64 + Send + Sync>,
    /// When a mover last did something, for the choice of the world to evict.
    pub(super) active_at_us: Arc<AtomicI64>,
}

pub(super) struct WriterInbox {
    pub(super) mailbox: Mailbox<Input, ControlMessage>,
    /// Holds the writer while its thread sleeps.
    pub(super) parked_writer: ParkedWriter,
    close_reason: OnceLock<CloseReason>,
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

/// Why no bacteria were put.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SowError {
    /// The world was made without life.
    #[error("nothing lives in this world: it was made without life")]
    NoLife,
    /// As for inputs: everything is to be sent again.
    #[error(transparent)]
    SendError(#[from] SendError),
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

impl WorldHandle {
    #[must_use]
    pub fn info(&self) -> &WorldInfo {
        &self.context.info
    }

    /// Puts inputs into the mailbox, in order; the list is empty afterwards. Answers go to the sink of each input's seat, perhaps before
    /// this returns: a few inputs are decided on this thread while the writer's thread sleeps.
    ///
    /// # Errors
    /// Why some were not taken; those stay in the list.
    pub fn send(&self, inputs: &mut Vec<Input>) -> Result<(), SendError> {
        let mailbox = &self.context.inbox;
        if self.enqueue_with(inputs, |inputs| mailbox.mailbox.send_or_run_inline(inputs, WORLD_INLINE_SENDS_MAX))?
            == SendOutcome::RunInline
        {
            inline_rounds::run_round_inline(mailbox);
        }
        Ok(())
    }

    /// Puts inputs into the mailbox for the writer's thread; returns how many are queued then.
    ///
    /// # Errors
    /// As for [`WorldHandle::send`].
    pub(super) fn enqueue(&self, inputs: &mut Vec<Input>) -> Result<usize, SendError> {
        self.enqueue_with(inputs, |inputs| self.context.inbox.mailbox.send(inputs))
    }

    fn enqueue_with<R>(
        &self,
        inputs: &mut Vec<Input>,
        put: impl FnOnce(&mut Vec<Input>) -> Result<R, TrySendError>,
    ) -> Result<R, SendError> {
        if let Some(reason) = self.context.inbox.close_reason.get() {
            return Err(SendError::Gone(*reason));
        }
        let put = if self.context.senders.is_behind() { Err(TrySendError::Full) } else { put(inputs) };
        put.map_err(|reason| match reason {
            TrySendError::Full => {
                self.context.metrics.worlds().inputs_refused.add(inputs.len() as u64);
                SendError::Busy
            }
            TrySendError::Closed => SendError::Gone(self.context.inbox.close_reason()),
        })
    }

    /// Now, on the clock of [`Input::at_us`].
    #[must_use]
    pub fn now_us(&self) -> i64 {
        (self.context.now_us)()
    }

    /// Inputs that are queued for the writer.
    #[must_use]
    pub fn queued_inputs(&self) -> usize {
        self.context.inbox.mailbox.len()
    }

    /// Registers a mover. When the returned handle is dropped, the mover is lost.
    ///
    /// # Errors
    /// See [`RegisterError`].
    pub async fn register(
        &self,
        registration: Registration,
        sink: Arc<dyn ClientSink>,
    ) -> Result<(Registered, MoverHandle), RegisterError> {
        let (reply, response) = oneshot::channel();
        let message = ControlMessage::Register { registration: Box::new(registration), sink, reply };
        self.context.inbox.send_control(message).map_err(|reason| match reason {
            TrySendError::Full => RegisterError::Busy,
            TrySendError::Closed => RegisterError::Gone(self.context.inbox.close_reason()),
        })?;
        // The writer ended before it replied.
        response.await.unwrap_or_else(|_| Err(RegisterError::Gone(self.context.inbox.close_reason())))
    }

    /// Puts bacteria on those of these cells that are free; returns how many were put.
    ///
    /// # Errors
    /// See [`SowError`].
    pub async fn sow(&self, cells: Vec<Cell>) -> Result<usize, SowError> {
        if self.context.info.settings.life.is_none() {
            return Err(SowError::NoLife);
        }
        let (reply, sown) = oneshot::channel();
        self.context.inbox.send_control(ControlMessage::Sow { cells, reply }).map_err(|reason| match reason {
            TrySendError::Full => SendError::Busy,
            TrySendError::Closed => SendError::Gone(self.context.inbox.close_reason()),
        })?;
        // The writer ended before it replied.
        sown.await.map_err(|_| SendError::Gone(self.context.inbox.close_reason()).into())
    }

    /// The world as it was at most a tick ago, or when it was last read; `None` when it has left memory, or another node may own it by now.
    pub async fn picture(&self) -> Option<Arc<Picture>> {
        if !self.context.lease.is_valid() {
            return None;
        }
        self.context
            .pictures
            .get(|| self.context.inbox.mailbox.send_control(ControlMessage::PublishPicture).is_ok())
            .await
    }

    /// The newest picture, however old.
    pub(super) fn last_picture(&self) -> Option<Arc<Picture>> {
        self.context.pictures.last().filter(|_| self.context.lease.is_valid())
    }

    /// Attaches an actor worker, which then receives its number.
    pub(super) fn add_actor_worker(&self, inbox: Arc<ActorInbox>) -> Result<(), CloseReason> {
        self.context
            .inbox
            .mailbox
            .send_control(ControlMessage::AddActorWorker(inbox))
            .map_err(|_| self.context.inbox.close_reason())
    }

    /// Registers an actor; the reply goes to its worker's inbox.
    pub(super) fn register_actor(
        &self,
        worker: u16,
        actor: u32,
        registration: Registration,
    ) -> Result<(), RegisterError> {
        let message = ControlMessage::RegisterActor { worker, actor, registration: Box::new(registration) };
        self.context.inbox.send_control(message).map_err(|reason| match reason {
            TrySendError::Full => RegisterError::Busy,
            TrySendError::Closed => RegisterError::Gone(self.context.inbox.close_reason()),
        })
    }

    pub(super) fn remove_actor(&self, seat: MoverRef) {
        // A world that is gone has no actors.
        let _ = self.context.inbox.mailbox.send_control(ControlMessage::RemoveActor(seat));
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
    fn send_control(&self, message: ControlMessage) -> Result<(), TrySendError> {
        if self.is_refusing() {
            return Err(TrySendError::Closed);
        }
        self.mailbox.try_send_control(message, WORLD_CONTROL_MESSAGES_MAX).map_err(|(reason, _)| reason)
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
        let message = ControlMessage::Watch { occupancy: self.occupancy, options };
        self.inbox.send_control(message).map_err(|reason| match reason {
            TrySendError::Full => SendError::Busy,
            TrySendError::Closed => SendError::Gone(self.inbox.close_reason()),
        })
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
