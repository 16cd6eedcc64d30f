//! The worlds of this process: each has one writer, a thread behind a bounded mailbox of inputs in batches, and whoever moves in it
//! talks to that mailbox: connections, actors, everybody alike.
//!
//! `life` owns them under one lease and brings them into memory for whoever visits; `writer` alone changes one world, and `lending` says on
//! which thread; `teller` encodes and sends what writers hand over; `door` is the way in; `pictures` is what everybody else reads; `actors` are movers of our
//! own. What a world may do, `engine::worlds` decides. A world that nobody visits is not in memory.

pub mod actors;
mod door;
mod house;
mod lending;
mod life;
mod outlet;
mod outside;
mod pictures;
mod posts;
mod real;
mod ring;
mod room;
mod settings;
mod teller;
#[cfg(test)]
mod tests;
mod tray;
mod writer;

pub use door::{Door, Facts, Place, RegisterError, SendError, SowError};
pub use house::{FurnishError, HUNT, PLAZA, ensure, row};
pub use life::run as run_with;
pub use outlet::{Ending, Outlet, Tiding};
pub use outside::Outside;
pub use settings::Settings;

use crate::address_key::AddressKey;
use crate::app::App;
use crate::fair::FairPermits;
use crate::lease::Seat;
use crate::metrics::Metrics;
use crate::quotas::Kind;
use crate::shares::{Share, Shares};
use door::Order;
use engine::ids::{WorldId, WorldName};
use engine::limits::{WORLD_LOADS_WAITING_MAX, WORLD_PICTURES_READ_AT_ONCE, WORLD_VISIT_TIMEOUT};
use engine::rows::WorldRow;
use engine::worlds::Picture;
use life::Message;
use room::{Loaded, LoadedWorlds, Owned};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use store::StoreError;
use teller::Tellers;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

/// Owns worlds until the process drains, then gives them up and returns. Actors that the configuration wants move from the start, or
/// from when their world can be had here.
pub async fn run(app: App) {
    let plan = actors::Plan::of_config(&app.config);
    if plan.count > 0 {
        app.worlds.post_actors(&house::plaza(), plan);
    }
    life::run(app.clone(), app.worlds.clone(), app.drain.clone()).await;
}

/// The worlds of this process, for everybody who visits one. Cheap to clone.
#[derive(Clone)]
pub struct Worlds {
    shared: Arc<Shared>,
}

/// What the handles, the life and the writers share.
struct Shared {
    settings: Settings,
    metrics: Arc<Metrics>,
    entries: Mutex<BTreeMap<WorldName, Entry>>,
    /// Worlds that are over and cannot be read: at most as many as there are.
    broken: Mutex<BTreeSet<WorldId>>,
    to_life: mpsc::UnboundedSender<Message>,
    /// Held by the life that goes on.
    inbox: Arc<tokio::sync::Mutex<mpsc::UnboundedReceiver<Message>>>,
    tellers: OnceLock<Tellers>,
    actors: actors::Register,
    /// The place of whoever owns this process's worlds.
    seat: Seat,
    /// Worlds that are claimed, coming in, here, or going.
    loaded: Mutex<LoadedWorlds>,
    /// Those who read pictures.
    picture_permits: Arc<FairPermits<Option<AddressKey>>>,
    /// Whether this process is leaving: no world is brought in any more.
    is_leaving: AtomicBool,
    /// Worlds by the address that brought them in.
    shares: Arc<Shares<AddressKey>>,
}

/// A world that is here, or on its way in or out.
enum Entry {
    /// Somebody visits it, and it is being brought in.
    Opening(watch::Sender<Option<Result<Door, VisitError>>>, Paid),
    /// It takes a share of whoever brought it in, if it is one that needs a share.
    Here(Door, #[expect(dead_code, reason = "it is given back when it is dropped")] Option<Share<AddressKey>>),
    /// It goes: whoever visits it waits until it has gone.
    Going(watch::Sender<()>),
}

/// What a visitor has of the share of his address.
enum Paid {
    /// He is not counted.
    Nothing,
    Share(Share<AddressKey>),
    /// His address has as many as it may have.
    Beyond,
}

/// Why a world cannot be had.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum VisitError {
    /// No world has this name.
    #[error("no world has this name")]
    NoSuchWorld,
    /// It is over: nobody comes in any more.
    #[error("this world is over")]
    Over,
    /// Another node owns it: visit it there.
    #[error("another node has this world: ask at {address}")]
    Elsewhere {
        /// Where: `host:port`.
        address: String,
    },
    /// The process is leaving.
    #[error("this node is leaving: ask another one")]
    Draining,
    /// As many worlds are in memory as may be, and none gives way to this one.
    #[error(
        "as many worlds are in this server's memory as it can hold, and none gives way to this one: try again later"
    )]
    WorldsFull,
    /// The same, and no address holds more than the visitor's.
    #[error(
        "this server can hold no more worlds in memory, and clients of no address hold more than those of yours: leave one of them, or try again later"
    )]
    YourShare,
    /// It took too long to bring it in.
    #[error("this node cannot take this world in at the moment: ask again")]
    Busy,
    /// Clients of this address have brought in as many as they may.
    #[error(
        "clients of your address have brought as many worlds into this server's memory as one address may ({max}): leave one of them, or come in a minute later"
    )]
    TooMany {
        /// How many.
        max: usize,
    },
    /// The store did not answer as it should.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What is kept of it breaks an invariant of ours. It is left as it is, for study.
    #[error("what is kept of this world cannot be read, by damage or by a defect: the server's log says more")]
    Broken,
}

impl Worlds {
    /// The worlds of a process that begins now; none comes in before [`run`].
    #[must_use]
    pub fn new(settings: Settings, metrics: Arc<Metrics>) -> Self {
        let (to_life, inbox) = mpsc::unbounded_channel();
        let shared = Shared {
            settings,
            metrics,
            entries: Mutex::default(),
            broken: Mutex::default(),
            to_life,
            inbox: Arc::new(tokio::sync::Mutex::new(inbox)),
            tellers: OnceLock::new(),
            actors: actors::Register::default(),
            seat: Seat::default(),
            loaded: Mutex::default(),
            picture_permits: FairPermits::new(WORLD_PICTURES_READ_AT_ONCE),
            is_leaving: AtomicBool::new(false),
            shares: Arc::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The way into a world. The first who visits it brings it into memory; who comes meanwhile waits for the same.
    ///
    /// # Errors
    /// See [`VisitError`].
    pub async fn visit(&self, name: &WorldName) -> Result<Door, VisitError> {
        self.visit_from(name, None).await
    }

    /// The same, by a client of this address: what it brings into memory counts against its quota as long as it is there.
    ///
    /// # Errors
    /// See [`VisitError`].
    pub async fn visit_from(&self, name: &WorldName, address: Option<AddressKey>) -> Result<Door, VisitError> {
        timeout(WORLD_VISIT_TIMEOUT, self.visit_patiently(name, address)).await.unwrap_or(Err(VisitError::Busy))
    }

    /// Drops a world that is in this process's memory, and that the store has fenced: whoever is in it is told to connect again.
    pub fn drop_world(&self, name: &WorldName) {
        if let Some(door) = self.here(name) {
            // A writer that has ended is on its way out already.
            let _ = door.inside.mailbox.tray.order(Order::Drop(Ending::WorldMoved));
        }
    }

    /// Has a world that is over brought into memory, where its last round ends, unless that was done or another node does it.
    ///
    /// # Errors
    /// See [`VisitError`]. One that cannot be read is not tried again by this process.
    pub async fn finish(&self, row: WorldRow) -> Result<(), VisitError> {
        let (id, name) = (row.id, row.name.clone());
        let Some(mut opening) = self.shared.begin_to_finish(row) else { return Ok(()) };
        let settled = timeout(WORLD_VISIT_TIMEOUT, opening.wait_for(Option::is_some)).await;
        let settled = settled.map_or(Err(VisitError::Busy), |settled| {
            settled.map_or(Err(VisitError::Busy), |settled| settled.clone().unwrap_or(Err(VisitError::Busy)))
        });
        if settled.as_ref().err() == Some(&VisitError::Broken) {
            self.shared.broken().insert(id);
            tracing::warn!(world = %name, "the last round of a hunt that is over is not ended by this process");
        }
        settled.map(drop)
    }

    /// Whether a world like this could be brought in now by a client of this address.
    ///
    /// # Errors
    /// [`VisitError::WorldsFull`] or [`VisitError::YourShare`].
    pub fn check_room(&self, row: &WorldRow, address: Option<AddressKey>, now_us: i64) -> Result<(), VisitError> {
        let new = Loaded::new(Owned::of(row), address, now_us);
        room::giving_way(&new, &self.shared.loaded(), &self.shared.settings, now_us).map(drop)
    }

    /// Makes something of a world's newest picture for a client of this address: beside the runtime, and in turn by address, as it may take
    /// milliseconds. `None` when the world has left memory.
    pub async fn read_picture<T: Send + 'static>(
        &self,
        door: &Door,
        address: Option<AddressKey>,
        read: impl FnOnce(&Picture) -> T + Send + 'static,
    ) -> Option<T> {
        // A fresh one is waited for; which one is read is decided when it is this address's turn, so that who waits holds none.
        drop(door.picture().await?);
        let permit = self.shared.picture_permits.acquire(address).await;
        let picture = door.last_picture()?;
        let reading = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            read(&picture)
        });
        match reading.await {
            Ok(read) => Some(read),
            Err(ended) if ended.is_panic() => std::panic::resume_unwind(ended.into_panic()),
            Err(_) => None,
        }
    }

    /// The way into a world that is in this process's memory.
    #[must_use]
    pub fn here(&self, name: &WorldName) -> Option<Door> {
        match self.shared.entries().get(name) {
            Some(Entry::Here(door, _)) => Some(door.clone()),
            Some(Entry::Opening(..) | Entry::Going(..)) | None => None,
        }
    }

    /// The worlds that are in this process's memory.
    #[must_use]
    pub fn all_here(&self) -> Vec<Door> {
        let entries = self.shared.entries();
        entries
            .values()
            .filter_map(|entry| if let Entry::Here(door, _) = entry { Some(door.clone()) } else { None })
            .collect()
    }

    /// What is in force.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.shared.settings
    }

    async fn visit_patiently(&self, name: &WorldName, address: Option<AddressKey>) -> Result<Door, VisitError> {
        loop {
            let (mut opening, is_own) = match self.shared.look(name, address)? {
                Look::Here(door) => return Ok(door),
                Look::Opening { opening, is_own } => (opening, is_own),
                Look::Going(mut gone) => {
                    // An error says that it has gone.
                    let _ = gone.changed().await;
                    continue;
                }
            };
            // The sender lives until it has said something: an error is a life that ended by a defect of ours.
            let settled = opening.wait_for(Option::is_some).await;
            if let Ok(settled) = &settled
                && matches!(**settled, Some(Err(VisitError::TooMany { .. })))
            {
                if is_own {
                    self.shared.metrics.quota_exceeded(Kind::Worlds);
                } else {
                    // Another address has no share left: this one may have.
                    continue;
                }
            }
            return settled.map_or(Err(VisitError::Busy), |settled| settled.clone().unwrap_or(Err(VisitError::Busy)));
        }
    }
}

/// What came of bringing a world in, once that is known.
type Opened = watch::Receiver<Option<Result<Door, VisitError>>>;

/// What a visitor finds.
enum Look {
    Here(Door),
    Opening {
        opening: Opened,
        /// Whether it is this visitor who has it brought in.
        is_own: bool,
    },
    Going(watch::Receiver<()>),
}

impl Shared {
    /// What there is of a world; the life is told to bring it in if there is nothing.
    fn look(&self, name: &WorldName, address: Option<AddressKey>) -> Result<Look, VisitError> {
        let mut entries = self.entries();
        match entries.get(name) {
            Some(Entry::Here(door, _)) if door.inside.mailbox.is_refusing() => {
                // Its writer ends, and the life has not heard of it yet.
                let (sender, gone) = watch::channel(());
                entries.insert(name.clone(), Entry::Going(sender));
                return Ok(Look::Going(gone));
            }
            Some(Entry::Here(door, _)) => return Ok(Look::Here(door.clone())),
            Some(Entry::Opening(opening, _)) => {
                return Ok(Look::Opening { opening: opening.subscribe(), is_own: false });
            }
            Some(Entry::Going(gone)) => return Ok(Look::Going(gone.subscribe())),
            None => {}
        }
        if self.is_leaving.load(Ordering::Acquire) {
            return Err(VisitError::Draining);
        }
        if entries.len() >= self.settings.loaded_max + WORLD_LOADS_WAITING_MAX {
            return Err(VisitError::Busy);
        }
        let (sender, opening) = watch::channel(None);
        let share = address.map(|address| Share::take(&self.shares, address, self.settings.per_address_max));
        let paid = share.map_or(Paid::Nothing, |share| share.map_or(Paid::Beyond, Paid::Share));
        entries.insert(name.clone(), Entry::Opening(sender, paid));
        // The receiver lives as long as this.
        let _ = self.to_life.send(Message::Visit(name.clone()));
        Ok(Look::Opening { opening, is_own: true })
    }

    /// The address that has this world brought in, if it is counted.
    ///
    /// # Errors
    /// [`VisitError::TooMany`] when it has no share left, and the world needs one.
    fn holder(&self, name: &WorldName, needs_share: bool) -> Result<Option<AddressKey>, VisitError> {
        match self.entries().get(name) {
            Some(Entry::Opening(_, Paid::Beyond)) if needs_share => {
                Err(VisitError::TooMany { max: self.settings.per_address_max })
            }
            Some(Entry::Opening(_, Paid::Share(share))) => Ok(Some(share.key())),
            Some(_) | None => Ok(None),
        }
    }

    /// Orders a world to leave memory for this reason, if it is here.
    fn unload(&self, name: &WorldName, why: Ending) {
        if let Some(Entry::Here(door, _)) = self.entries().get(name) {
            // A writer that has ended is on its way out already.
            let _ = door.inside.mailbox.tray.order(Order::Leaving(why));
        }
    }

    /// No change spans two of them.
    fn loaded(&self) -> MutexGuard<'_, LoadedWorlds> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the life to bring a world in that is over; nothing to be done when it is here, on its way, or known to be unreadable.
    fn begin_to_finish(&self, row: WorldRow) -> Option<Opened> {
        let mut entries = self.entries();
        let is_known = entries.contains_key(&row.name) || self.broken().contains(&row.id);
        if is_known || self.is_leaving.load(Ordering::Acquire) {
            return None;
        }
        let (sender, opening) = watch::channel(None);
        entries.insert(row.name.clone(), Entry::Opening(sender, Paid::Nothing));
        // The receiver lives as long as this.
        let _ = self.to_life.send(Message::Finish(row));
        Some(opening)
    }

    fn broken(&self) -> MutexGuard<'_, BTreeSet<WorldId>> {
        self.broken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says what came of bringing a world in.
    fn settle(&self, name: &WorldName, settled: Result<Door, VisitError>) {
        let mut entries = self.entries();
        let before = entries.remove(name);
        let (opening, share) = match before {
            Some(Entry::Opening(sender, Paid::Share(share))) => (Some(sender), Some(share)),
            Some(Entry::Opening(sender, Paid::Nothing | Paid::Beyond)) => (Some(sender), None),
            Some(Entry::Here(..) | Entry::Going(..)) | None => (None, None),
        };
        if let Ok(door) = &settled {
            let share = share.filter(|_| Owned::of(&door.inside.facts.row).needs_share());
            entries.insert(name.clone(), Entry::Here(door.clone(), share));
        }
        drop(entries);
        if let Some(opening) = opening {
            opening.send_replace(Some(settled));
        }
    }

    /// Lets a world go if nobody holds a door but this list and `others`; from then on nobody finds it.
    fn retire(&self, name: &WorldName, others: usize) -> bool {
        let mut entries = self.entries();
        let Some(Entry::Here(door, _)) = entries.get(name) else { return false };
        if Arc::strong_count(&door.inside) > 1 + others {
            return false;
        }
        entries.insert(name.clone(), Entry::Going(watch::channel(()).0));
        true
    }

    /// A world goes, whoever is in it: who visits it now waits until it has gone.
    fn going(&self, name: &WorldName) {
        let mut entries = self.entries();
        if let Some(Entry::Here(..)) = entries.get(name) {
            entries.insert(name.clone(), Entry::Going(watch::channel(()).0));
        }
    }

    /// A world has gone.
    fn gone(&self, name: &WorldName) {
        let mut entries = self.entries();
        if let Some(Entry::Going(..)) = entries.get(name) {
            entries.remove(name);
        }
    }

    /// The tellers, started with the first world.
    fn tellers(&self) -> std::io::Result<Tellers> {
        if let Some(tellers) = self.tellers.get() {
            return Ok(tellers.clone());
        }
        let tellers = Tellers::start(self.settings.tellers, &self.metrics)?;
        Ok(self.tellers.get_or_init(|| tellers).clone())
    }

    /// The map is whole even if a holder of the lock panicked: no change spans two entries.
    fn entries(&self) -> MutexGuard<'_, BTreeMap<WorldName, Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
