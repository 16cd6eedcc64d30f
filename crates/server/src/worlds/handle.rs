//! The way into one world: inputs go into its mailbox in batches, orders beside them, and nobody waits for the writer but who comes in.

use super::actors::inbox::ActorInbox;
use super::client_sink::{ClientSink, CloseReason};
use super::inline_rounds::{self, ParkedWriter};
use super::mailbox::{Mailbox, SendOutcome, TrySendError};
use super::pictures::Pictures;
use super::sender_pool::SenderPool;
use crate::lease::Lease;
use crate::metrics::Metrics;
use engine::commands::Outcome;
use engine::ids::{WorldId, WorldName};
use engine::limits::{WORLD_CONTROL_MESSAGES_MAX, WORLD_INLINE_SENDS_MAX};
use engine::rows::WorldRow;
use engine::worlds::{Input, MoverRef, Picture, Refusal, Registered, Registration, ViewOptions};
use rules::world::{Cell, WorldSettings};
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, OnceLock};
use store::StoreError;
use tokio::sync::oneshot;

/// What stays as it is while a world is in memory.
#[derive(Clone, Debug)]
pub struct WorldInfo {
    /// Which.
    pub id: WorldId,
    /// What it is called.
    pub name: WorldName,
    /// Its rules.
    pub settings: WorldSettings,
    /// All that is kept of it beside what happens in it: who may come in, for one.
    pub row: WorldRow,
}

/// The way into a world in this process's memory. Cheap to clone; while one is held, the world stays in memory.
#[derive(Clone)]
pub struct WorldHandle {
    pub(super) context: Arc<WorldContext>,
}

/// What the doors of a world share with its writer.
pub(super) struct WorldContext {
    pub(super) info: WorldInfo,
    pub(super) inbox: Arc<WriterInbox>,
    pub(super) pictures: Arc<Pictures>,
    /// Under which the world is here.
    pub(super) lease: Lease,
    pub(super) senders: SenderPool,
    pub(super) metrics: Arc<Metrics>,
    pub(super) now_us: Box<dyn Fn() -> i64 + Send + Sync>,
    /// When a mover did something last, for whoever decides which world leaves memory.
    pub(super) active_at_us: Arc<AtomicI64>,
}

/// What a writer takes in.
pub(super) struct WriterInbox {
    pub(super) mailbox: Mailbox<Input, ControlMessage>,
    /// Where the writer lies while its thread sleeps.
    pub(super) parked_writer: ParkedWriter,
    /// Why it was closed.
    close_reason: OnceLock<CloseReason>,
}

/// What a writer is told beside inputs.
pub(super) enum ControlMessage {
    /// Somebody comes in through a connection.
    Register { registration: Box<Registration>, outlet: Arc<dyn ClientSink>, reply: RegisterReply },
    /// Somebody wants other views, or none.
    Watch { hold: Occupancy, options: Option<ViewOptions> },
    /// Somebody goes, for good.
    Leave(Occupancy),
    /// A connection is gone; its mover may come back for a while.
    ConnectionLost(Occupancy),
    /// A crew of actors sits down; it is told its number.
    AddActorWorker(Arc<ActorInbox>),
    /// One actor of a crew comes in; its crew is told under this number.
    RegisterActor { crew: u16, actor: u32, registration: Box<Registration> },
    /// One actor goes.
    RemoveActor(MoverRef),
    /// What came of saving claims.
    ClaimsSaved(Result<Outcome, StoreError>),
    /// What came of saving a snapshot.
    SnapshotSaved(Result<Outcome, StoreError>),
    /// Bacteria are put on cells; whoever wants them there is told how many could be.
    Sow { cells: Vec<Cell>, reply: oneshot::Sender<usize> },
    /// Somebody looks: a picture is wanted.
    PublishPicture,
    /// Ends what is under way, and goes, for this reason.
    Drain(CloseReason),
    /// Drops everything at once.
    Abandon(CloseReason),
}

pub(super) type RegisterReply = oneshot::Sender<Result<(Registered, MoverHandle), RegisterError>>;

/// Who sits in a seat, and since which registration: a mover that came back is not the one whose old connection ends late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Occupancy {
    pub(super) seat: MoverRef,
    pub(super) generation: u32,
}

/// A mover's place in its world, held by its connection. Dropped, the mover counts as lost: it goes after its grace unless it
/// comes back. So no mover outlives its connection, however that ends.
pub struct MoverHandle {
    inbox: Arc<WriterInbox>,
    occupancy: Occupancy,
    has_left: bool,
}

/// Why inputs were not taken, all or some of them; those are still in their list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// Too many wait. Nothing was tried: again in a moment.
    #[error("too many inputs wait for this world: try again in a moment")]
    Busy,
    /// The world is not here any more: the outlet is told, or was.
    #[error("this world has left this server: connect again")]
    Gone(CloseReason),
}

/// Why nothing was sown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SowError {
    /// Nothing lives in this world.
    #[error("nothing lives in this world: it was made without life")]
    NoLife,
    /// As for inputs: all of it is to be sent again.
    #[error(transparent)]
    TicketError(#[from] SendError),
}

/// Why somebody did not come in.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RegisterError {
    /// The world says no.
    #[error("the world refuses: {0:?}")]
    Refused(Refusal),
    /// Too many come in at once. Nothing was tried.
    #[error("too many come into this world at once: try again in a moment")]
    Busy,
    /// The world left memory meanwhile: visit it again.
    #[error("this world has left this server: connect again")]
    Gone(CloseReason),
}

impl WorldHandle {
    /// What the world is.
    #[must_use]
    pub fn info(&self) -> &WorldInfo {
        &self.context.info
    }

    /// Puts inputs into the mailbox, in order; the list is empty afterwards. Answers come to the outlet of each input's seat, perhaps
    /// before this returns: a few inputs are decided here and now while the writer's thread sleeps.
    ///
    /// # Errors
    /// Why some were not taken; those stay in the list.
    pub fn send(&self, inputs: &mut Vec<Input>) -> Result<(), SendError> {
        let mailbox = &self.context.inbox;
        if self.enqueue_with(inputs, |inputs| mailbox.mailbox.send_or_run_inline(inputs, WORLD_INLINE_SENDS_MAX))?
            == SendOutcome::RunInline
        {
            inline_rounds::round_aside(mailbox);
        }
        Ok(())
    }

    /// Puts inputs into the mailbox for the writer's thread; how many wait then.
    ///
    /// # Errors
    /// As for [`GrpcListener::send`].
    pub(super) fn enqueue(&self, inputs: &mut Vec<Input>) -> Result<usize, SendError> {
        self.enqueue_with(inputs, |inputs| self.context.inbox.mailbox.send(inputs))
    }

    fn enqueue_with<R>(
        &self,
        inputs: &mut Vec<Input>,
        put: impl FnOnce(&mut Vec<Input>) -> Result<R, TrySendError>,
    ) -> Result<R, SendError> {
        if let Some(why) = self.context.inbox.close_reason.get() {
            return Err(SendError::Gone(*why));
        }
        let put = if self.context.senders.is_behind() { Err(TrySendError::Full) } else { put(inputs) };
        put.map_err(|why| match why {
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

    /// Inputs that wait for the writer now.
    #[must_use]
    pub fn queued_inputs(&self) -> usize {
        self.context.inbox.mailbox.len()
    }

    /// Brings somebody in. The place that comes back is his: dropped, he is lost.
    ///
    /// # Errors
    /// See [`RegisterError`].
    pub async fn register(
        &self,
        registration: Registration,
        outlet: Arc<dyn ClientSink>,
    ) -> Result<(Registered, MoverHandle), RegisterError> {
        let (reply, answer) = oneshot::channel();
        let order = ControlMessage::Register { registration: Box::new(registration), outlet, reply };
        self.context.inbox.send_control(order).map_err(|why| match why {
            TrySendError::Full => RegisterError::Busy,
            TrySendError::Closed => RegisterError::Gone(self.context.inbox.close_reason()),
        })?;
        // The writer ended with it under way.
        answer.await.unwrap_or_else(|_| Err(RegisterError::Gone(self.context.inbox.close_reason())))
    }

    /// Puts bacteria on those of these cells that are free; gives how many there are that were put.
    ///
    /// # Errors
    /// See [`SowError`].
    pub async fn sow(&self, cells: Vec<Cell>) -> Result<usize, SowError> {
        if self.context.info.settings.life.is_none() {
            return Err(SowError::NoLife);
        }
        let (reply, sown) = oneshot::channel();
        self.context.inbox.send_control(ControlMessage::Sow { cells, reply }).map_err(|why| match why {
            TrySendError::Full => SendError::Busy,
            TrySendError::Closed => SendError::Gone(self.context.inbox.close_reason()),
        })?;
        // The writer ended with it under way.
        sown.await.map_err(|_| SendError::Gone(self.context.inbox.close_reason()).into())
    }

    /// The world as it was at most a tick ago, or when somebody last looked; `None` when it has left memory, or may be another
    /// node's by now.
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

    /// Lets a crew of actors sit down, which is told its number.
    pub(super) fn add_actor_worker(&self, desk: Arc<ActorInbox>) -> Result<(), CloseReason> {
        self.context
            .inbox
            .mailbox
            .send_control(ControlMessage::AddActorWorker(desk))
            .map_err(|_| self.context.inbox.close_reason())
    }

    /// Brings an actor in; its crew's desk is told.
    pub(super) fn register_actor(
        &self,
        crew: u16,
        actor: u32,
        registration: Registration,
    ) -> Result<(), RegisterError> {
        let order = ControlMessage::RegisterActor { crew, actor, registration: Box::new(registration) };
        self.context.inbox.send_control(order).map_err(|why| match why {
            TrySendError::Full => RegisterError::Busy,
            TrySendError::Closed => RegisterError::Gone(self.context.inbox.close_reason()),
        })
    }

    /// Takes an actor out.
    pub(super) fn remove_actor(&self, seat: MoverRef) {
        // In a world that is gone nobody stands.
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

    /// Refuses what comes from outside, and says why. The first reason stands.
    pub(super) fn start_refusing(&self, why: CloseReason) {
        let _ = self.close_reason.set(why);
    }

    /// Whether what comes from outside is refused.
    pub(super) fn is_refusing(&self) -> bool {
        self.close_reason.get().is_some()
    }

    /// Takes nothing more in at all.
    pub(super) fn close(&self, why: CloseReason) {
        self.start_refusing(why);
        self.mailbox.close();
    }

    /// Takes an order from outside.
    fn send_control(&self, order: ControlMessage) -> Result<(), TrySendError> {
        if self.is_refusing() {
            return Err(TrySendError::Closed);
        }
        self.mailbox.try_send_control(order, WORLD_CONTROL_MESSAGES_MAX).map_err(|(why, _)| why)
    }

    /// Why it was closed.
    pub(super) fn close_reason(&self) -> CloseReason {
        self.close_reason.get().copied().unwrap_or(CloseReason::WorldMoved)
    }
}

impl MoverHandle {
    pub(super) fn new(mailbox: Arc<WriterInbox>, hold: Occupancy) -> Self {
        Self { inbox: mailbox, occupancy: hold, has_left: false }
    }

    /// Where the mover sits.
    #[must_use]
    pub fn seat(&self) -> MoverRef {
        self.occupancy.seat
    }

    /// Asks for other views, or none; the outlet is told when they are in force.
    ///
    /// # Errors
    /// When too many ask for something, or the world is gone.
    pub fn watch(&self, options: Option<ViewOptions>) -> Result<(), SendError> {
        let order = ControlMessage::Watch { hold: self.occupancy, options };
        self.inbox.send_control(order).map_err(|why| match why {
            TrySendError::Full => SendError::Busy,
            TrySendError::Closed => SendError::Gone(self.inbox.close_reason()),
        })
    }

    /// Goes for good: the mover is taken out at once.
    pub fn leave(mut self) {
        self.has_left = true;
    }
}

impl Drop for MoverHandle {
    fn drop(&mut self) {
        let order = if self.has_left {
            ControlMessage::Leave(self.occupancy)
        } else {
            ControlMessage::ConnectionLost(self.occupancy)
        };
        // In a world that is gone nobody stands.
        let _ = self.inbox.mailbox.send_control(order);
    }
}
