//! The handle of one world: inputs go into its mailbox in batches, control messages beside them; only a registration waits for the writer.

use super::client_sink::ClientSink;
use super::inbox::{ControlMessage, MoverHandle, RegisterError, SendError, WriterInbox};
use super::inline_rounds;
use super::mailbox::{SendOutcome, TrySendError};
use super::pictures::Pictures;
use super::sender_pool::SenderPool;
use crate::actor_inbox::ActorInbox;
use engine::ids::{WorldId, WorldName};
use engine::limits::WORLD_INLINE_SENDS_MAX;
use engine::rows::WorldRow;
use engine::worlds::{Input, MoverRef, Picture, Registered, Registration};
use metrics::Metrics;
use node::lease::Lease;
use rules::world::{Cell, WorldSettings};
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
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
            inline_rounds::run_round_inline(&mailbox.mailbox, &mailbox.parked_writer);
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
        let inbox = &self.context.inbox;
        if let Some(reason) = inbox.close_reason.get() {
            return Err(SendError::Gone(*reason));
        }
        let put = if self.context.senders.is_behind() { Err(TrySendError::Full) } else { put(inputs) };
        put.map_err(|reason| {
            if reason == TrySendError::Full {
                self.context.metrics.worlds.inputs_refused.add(inputs.len() as u64);
            }
            inbox.send_error(reason)
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
        let registration = Box::new(registration);
        self.context.inbox.send_control(ControlMessage::Register { registration, sink, reply })?;
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
        self.context.inbox.send_control(ControlMessage::Sow { cells, reply })?;
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

    /// Attaches an actor worker, which then receives its number; false when the world is gone.
    pub(super) fn add_actor_worker(&self, inbox: Arc<ActorInbox>) -> bool {
        self.context.inbox.mailbox.send_control(ControlMessage::AddActorWorker(inbox)).is_ok()
    }

    /// Registers an actor; the reply goes to its worker's inbox.
    pub(super) fn register_actor(&self, worker: u16, actor: u32, registration: Registration) -> Result<(), SendError> {
        let registration = Box::new(registration);
        self.context.inbox.send_control(ControlMessage::RegisterActor { worker, actor, registration })
    }

    pub(super) fn remove_actor(&self, seat: MoverRef) {
        // A world that is gone has no actors.
        let _ = self.context.inbox.mailbox.send_control(ControlMessage::RemoveActor(seat));
    }
}
