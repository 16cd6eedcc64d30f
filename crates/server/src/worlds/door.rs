//! The way into one world: inputs go into its mailbox in batches, orders beside them, and nobody waits for the writer but who comes in.

use super::actors::desk::Desk;
use super::lending::{self, Bench};
use super::outlet::{Ending, Outlet};
use super::pictures::Pictures;
use super::teller::Tellers;
use super::tray::{Put, Refused, Tray};
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
pub struct Facts {
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
pub struct Door {
    pub(super) inside: Arc<Inside>,
}

/// What the doors of a world share with its writer.
pub(super) struct Inside {
    pub(super) facts: Facts,
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) pictures: Arc<Pictures>,
    /// Under which the world is here.
    pub(super) lease: Lease,
    pub(super) tellers: Tellers,
    pub(super) metrics: Arc<Metrics>,
    pub(super) now_us: Box<dyn Fn() -> i64 + Send + Sync>,
    /// When a mover did something last, for whoever decides which world leaves memory.
    pub(super) active_at_us: Arc<AtomicI64>,
}

/// What a writer takes in.
pub(super) struct Mailbox {
    pub(super) tray: Tray<Input, Order>,
    /// Where the writer lies while its thread sleeps.
    pub(super) bench: Bench,
    /// Why it was closed.
    ending: OnceLock<Ending>,
}

/// What a writer is told beside inputs.
pub(super) enum Order {
    /// Somebody comes in through a connection.
    Register { registration: Box<Registration>, outlet: Arc<dyn Outlet>, reply: Reply },
    /// Somebody wants other views, or none.
    Watch { hold: Hold, options: Option<ViewOptions> },
    /// Somebody goes, for good.
    Leave(Hold),
    /// A connection is gone; its mover may come back for a while.
    Lost(Hold),
    /// A crew of actors sits down; it is told its number.
    Crew(Arc<Desk>),
    /// One actor of a crew comes in; its crew is told under this number.
    Actor { crew: u16, actor: u32, registration: Box<Registration> },
    /// One actor goes.
    Dismiss(MoverRef),
    /// What came of saving claims.
    Claimed(Result<Outcome, StoreError>),
    /// What came of saving a snapshot.
    Kept(Result<Outcome, StoreError>),
    /// Bacteria are put on cells; whoever wants them there is told how many could be.
    Sow { cells: Vec<Cell>, reply: oneshot::Sender<usize> },
    /// Somebody looks: a picture is wanted.
    Look,
    /// Ends what is under way, and goes, for this reason.
    Leaving(Ending),
    /// Drops everything at once.
    Drop(Ending),
}

pub(super) type Reply = oneshot::Sender<Result<(Registered, Place), RegisterError>>;

/// Who sits in a seat, and since which registration: a mover that came back is not the one whose old connection ends late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hold {
    pub(super) seat: MoverRef,
    pub(super) number: u32,
}

/// A mover's place in its world, held by its connection. Dropped, the mover counts as lost: it goes after its grace unless it
/// comes back. So no mover outlives its connection, however that ends.
pub struct Place {
    mailbox: Arc<Mailbox>,
    hold: Hold,
    is_left: bool,
}

/// Why inputs were not taken, all or some of them; those are still in their list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// Too many wait. Nothing was tried: again in a moment.
    #[error("too many inputs wait for this world: try again in a moment")]
    Busy,
    /// The world is not here any more: the outlet is told, or was.
    #[error("this world has left this server: connect again")]
    Gone(Ending),
}

/// Why nothing was sown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SowError {
    /// Nothing lives in this world.
    #[error("nothing lives in this world: it was made without life")]
    NoLife,
    /// As for inputs: all of it is to be sent again.
    #[error(transparent)]
    NotTaken(#[from] SendError),
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
    Gone(Ending),
}

impl Door {
    /// What the world is.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.inside.facts
    }

    /// Puts inputs into the mailbox, in order; the list is empty afterwards. Answers come to the outlet of each input's seat, perhaps
    /// before this returns: a few inputs are decided here and now while the writer's thread sleeps.
    ///
    /// # Errors
    /// Why some were not taken; those stay in the list.
    pub fn send(&self, inputs: &mut Vec<Input>) -> Result<(), SendError> {
        let mailbox = &self.inside.mailbox;
        if self.put_by(inputs, |inputs| mailbox.tray.put_or_borrow(inputs, WORLD_INLINE_SENDS_MAX))? == Put::Lent {
            lending::round_aside(mailbox);
        }
        Ok(())
    }

    /// Puts inputs into the mailbox for the writer's thread; how many wait then.
    ///
    /// # Errors
    /// As for [`Door::send`].
    pub(super) fn put(&self, inputs: &mut Vec<Input>) -> Result<usize, SendError> {
        self.put_by(inputs, |inputs| self.inside.mailbox.tray.put(inputs))
    }

    fn put_by<R>(
        &self,
        inputs: &mut Vec<Input>,
        put: impl FnOnce(&mut Vec<Input>) -> Result<R, Refused>,
    ) -> Result<R, SendError> {
        if let Some(why) = self.inside.mailbox.ending.get() {
            return Err(SendError::Gone(*why));
        }
        let put = if self.inside.tellers.are_behind() { Err(Refused::Full) } else { put(inputs) };
        put.map_err(|why| match why {
            Refused::Full => {
                self.inside.metrics.worlds().inputs_refused.add(inputs.len() as u64);
                SendError::Busy
            }
            Refused::Closed => SendError::Gone(self.inside.mailbox.ending()),
        })
    }

    /// Now, on the clock of [`Input::at_us`].
    #[must_use]
    pub fn now_us(&self) -> i64 {
        (self.inside.now_us)()
    }

    /// Inputs that wait for the writer now.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.inside.mailbox.tray.len()
    }

    /// Brings somebody in. The place that comes back is his: dropped, he is lost.
    ///
    /// # Errors
    /// See [`RegisterError`].
    pub async fn register(
        &self,
        registration: Registration,
        outlet: Arc<dyn Outlet>,
    ) -> Result<(Registered, Place), RegisterError> {
        let (reply, answer) = oneshot::channel();
        let order = Order::Register { registration: Box::new(registration), outlet, reply };
        self.inside.mailbox.order(order).map_err(|why| match why {
            Refused::Full => RegisterError::Busy,
            Refused::Closed => RegisterError::Gone(self.inside.mailbox.ending()),
        })?;
        // The writer ended with it under way.
        answer.await.unwrap_or_else(|_| Err(RegisterError::Gone(self.inside.mailbox.ending())))
    }

    /// Puts bacteria on those of these cells that are free; gives how many there are that were put.
    ///
    /// # Errors
    /// See [`SowError`].
    pub async fn sow(&self, cells: Vec<Cell>) -> Result<usize, SowError> {
        if self.inside.facts.settings.life.is_none() {
            return Err(SowError::NoLife);
        }
        let (reply, sown) = oneshot::channel();
        self.inside.mailbox.order(Order::Sow { cells, reply }).map_err(|why| match why {
            Refused::Full => SendError::Busy,
            Refused::Closed => SendError::Gone(self.inside.mailbox.ending()),
        })?;
        // The writer ended with it under way.
        sown.await.map_err(|_| SendError::Gone(self.inside.mailbox.ending()).into())
    }

    /// The world as it was at most a tick ago, or when somebody last looked; `None` when it has left memory, or may be another
    /// node's by now.
    pub async fn picture(&self) -> Option<Arc<Picture>> {
        if !self.inside.lease.holds() {
            return None;
        }
        self.inside.pictures.get(|| self.inside.mailbox.tray.order(Order::Look).is_ok()).await
    }

    /// The newest picture, however old.
    pub(super) fn last_picture(&self) -> Option<Arc<Picture>> {
        self.inside.pictures.last().filter(|_| self.inside.lease.holds())
    }

    /// Lets a crew of actors sit down, which is told its number.
    pub(super) fn seat_crew(&self, desk: Arc<Desk>) -> Result<(), Ending> {
        self.inside.mailbox.tray.order(Order::Crew(desk)).map_err(|_| self.inside.mailbox.ending())
    }

    /// Brings an actor in; its crew's desk is told.
    pub(super) fn register_actor(
        &self,
        crew: u16,
        actor: u32,
        registration: Registration,
    ) -> Result<(), RegisterError> {
        let order = Order::Actor { crew, actor, registration: Box::new(registration) };
        self.inside.mailbox.order(order).map_err(|why| match why {
            Refused::Full => RegisterError::Busy,
            Refused::Closed => RegisterError::Gone(self.inside.mailbox.ending()),
        })
    }

    /// Takes an actor out.
    pub(super) fn dismiss_actor(&self, seat: MoverRef) {
        // In a world that is gone nobody stands.
        let _ = self.inside.mailbox.tray.order(Order::Dismiss(seat));
    }
}

impl Mailbox {
    pub(super) fn new(inputs_max: usize) -> Self {
        Self { tray: Tray::new(inputs_max), bench: Bench::default(), ending: OnceLock::new() }
    }

    /// Refuses what comes from outside, and says why. The first reason stands.
    pub(super) fn refuse(&self, why: Ending) {
        let _ = self.ending.set(why);
    }

    /// Whether what comes from outside is refused.
    pub(super) fn is_refusing(&self) -> bool {
        self.ending.get().is_some()
    }

    /// Takes nothing more in at all.
    pub(super) fn close(&self, why: Ending) {
        self.refuse(why);
        self.tray.close();
    }

    /// Takes an order from outside.
    fn order(&self, order: Order) -> Result<(), Refused> {
        if self.is_refusing() {
            return Err(Refused::Closed);
        }
        self.tray.order_within(order, WORLD_CONTROL_MESSAGES_MAX).map_err(|(why, _)| why)
    }

    /// Why it was closed.
    pub(super) fn ending(&self) -> Ending {
        self.ending.get().copied().unwrap_or(Ending::WorldMoved)
    }
}

impl Place {
    pub(super) fn new(mailbox: Arc<Mailbox>, hold: Hold) -> Self {
        Self { mailbox, hold, is_left: false }
    }

    /// Where the mover sits.
    #[must_use]
    pub fn seat(&self) -> MoverRef {
        self.hold.seat
    }

    /// Asks for other views, or none; the outlet is told when they are in force.
    ///
    /// # Errors
    /// When too many ask for something, or the world is gone.
    pub fn watch(&self, options: Option<ViewOptions>) -> Result<(), SendError> {
        let order = Order::Watch { hold: self.hold, options };
        self.mailbox.order(order).map_err(|why| match why {
            Refused::Full => SendError::Busy,
            Refused::Closed => SendError::Gone(self.mailbox.ending()),
        })
    }

    /// Goes for good: the mover is taken out at once.
    pub fn leave(mut self) {
        self.is_left = true;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let order = if self.is_left { Order::Leave(self.hold) } else { Order::Lost(self.hold) };
        // In a world that is gone nobody stands.
        let _ = self.mailbox.tray.order(order);
    }
}
