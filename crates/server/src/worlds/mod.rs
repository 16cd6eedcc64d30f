//! The worlds of this process: each has one writer, a thread behind a bounded mailbox of inputs in batches, and whoever moves in it
//! talks to that mailbox: connections, actors, everybody alike.
//!
//! `life` owns them under one lease and brings them into memory for whoever visits; `writer` alone changes one world, and `lending` says on
//! which thread; `teller` encodes and sends what writers hand over; `door` is the way in; `pictures` is what everybody else reads; `actors` are movers of our
//! own. What a world may do, `engine::worlds` decides. A world that nobody visits is not in memory.

pub mod actors;
mod built_in;
mod capacity;
mod client_sink;
mod config;
mod environment;
mod handle;
mod inline_rounds;
mod mailbox;
mod ownership;
mod pictures;
mod production;
mod sender_pool;
mod subscribers;
#[cfg(test)]
mod tests;
mod timer_ring;
mod writer;

pub use built_in::{BuiltInWorldsError, HUNT, PLAZA, ensure_built_in, world_row};
pub use client_sink::{ClientSink, CloseReason, OutboundMessage};
pub use config::WorldsConfig;
pub use environment::WorldEnvironment;
pub use handle::{MoverHandle, RegisterError, SendError, SowError, WorldHandle, WorldInfo};
pub use ownership::run as run_with;

use crate::address_key::AddressKey;
use crate::app::App;
use crate::fair_semaphore::FairSemaphore;
use crate::keyed_permits::{KeyedPermit, KeyedPermits};
use crate::lease::LeaseSlot;
use crate::metrics::Metrics;
use crate::quotas::QuotaKind;
use capacity::{CapacityClass, Loaded, LoadedWorlds};
use engine::ids::{WorldId, WorldName};
use engine::limits::{WORLD_LOADS_WAITING_MAX, WORLD_PICTURES_READ_AT_ONCE, WORLD_VISIT_TIMEOUT};
use engine::rows::WorldRow;
use engine::worlds::Picture;
use handle::ControlMessage;
use ownership::OwnershipMessage;
use sender_pool::SenderPool;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use store::StoreError;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

/// Owns worlds until the process drains, then gives them up and returns. Actors that the configuration wants move from the start, or
/// from when their world can be had here.
pub async fn run(app: App) {
    let plan = actors::ActorPlan::of_config(&app.config);
    if plan.count > 0 {
        app.worlds.start_actors(&built_in::plaza_name(), plan);
    }
    ownership::run(app.clone(), app.worlds.clone(), app.drain.clone()).await;
}

/// The worlds of this process, for everybody who visits one. Cheap to clone.
#[derive(Clone)]
pub struct Worlds {
    shared: Arc<WorldsState>,
}

/// What the handles, the life and the writers share.
struct WorldsState {
    config: WorldsConfig,
    metrics: Arc<Metrics>,
    entries: Mutex<BTreeMap<WorldName, LoadState>>,
    /// Worlds that are over and cannot be read: at most as many as there are.
    broken: Mutex<BTreeSet<WorldId>>,
    ownership: mpsc::UnboundedSender<OwnershipMessage>,
    /// Held by the life that goes on.
    inbox: Arc<tokio::sync::Mutex<mpsc::UnboundedReceiver<OwnershipMessage>>>,
    senders: OnceLock<SenderPool>,
    actors: actors::ActorRegistry,
    /// The place of whoever owns this process's worlds.
    lease_slot: LeaseSlot,
    /// Worlds that are claimed, coming in, here, or going.
    loaded: Mutex<LoadedWorlds>,
    /// Those who read pictures.
    picture_permits: Arc<FairSemaphore<Option<AddressKey>>>,
    /// Whether this process is leaving: no world is brought in any more.
    is_draining: AtomicBool,
    /// Worlds by the address that brought them in.
    address_permits: Arc<KeyedPermits<AddressKey>>,
}

/// A world that is here, or on its way in or out.
enum LoadState {
    /// Somebody visits it, and it is being brought in.
    Loading(watch::Sender<Option<Result<WorldHandle, VisitError>>>, QuotaCharge),
    /// It takes a share of whoever brought it in, if it is one that needs a share.
    Loaded(
        WorldHandle,
        #[expect(dead_code, reason = "it is given back when it is dropped")] Option<KeyedPermit<AddressKey>>,
    ),
    /// It goes: whoever visits it waits until it has gone.
    Unloading(watch::Sender<()>),
}

/// What a visitor has of the share of his address.
enum QuotaCharge {
    /// He is not counted.
    Exempt,
    Permit(KeyedPermit<AddressKey>),
    /// His address has as many as it may have.
    Exceeded,
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
    TooManyWorlds {
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
    pub fn new(settings: WorldsConfig, metrics: Arc<Metrics>) -> Self {
        let (to_life, inbox) = mpsc::unbounded_channel();
        let shared = WorldsState {
            config: settings,
            metrics,
            entries: Mutex::default(),
            broken: Mutex::default(),
            ownership: to_life,
            inbox: Arc::new(tokio::sync::Mutex::new(inbox)),
            senders: OnceLock::new(),
            actors: actors::ActorRegistry::default(),
            lease_slot: LeaseSlot::default(),
            loaded: Mutex::default(),
            picture_permits: FairSemaphore::new(WORLD_PICTURES_READ_AT_ONCE),
            is_draining: AtomicBool::new(false),
            address_permits: Arc::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The way into a world. The first who visits it brings it into memory; who comes meanwhile waits for the same.
    ///
    /// # Errors
    /// See [`VisitError`].
    pub async fn visit(&self, name: &WorldName) -> Result<WorldHandle, VisitError> {
        self.visit_from(name, None).await
    }

    /// The same, by a client of this address: what it brings into memory counts against its quota as long as it is there.
    ///
    /// # Errors
    /// See [`VisitError`].
    pub async fn visit_from(&self, name: &WorldName, address: Option<AddressKey>) -> Result<WorldHandle, VisitError> {
        timeout(WORLD_VISIT_TIMEOUT, self.visit_until_settled(name, address)).await.unwrap_or(Err(VisitError::Busy))
    }

    /// Drops a world that is in this process's memory, and that the store has fenced: whoever is in it is told to connect again.
    pub fn drop_world(&self, name: &WorldName) {
        if let Some(door) = self.loaded(name) {
            // A writer that has ended is on its way out already.
            let _ = door.context.inbox.mailbox.send_control(ControlMessage::Abandon(CloseReason::WorldMoved));
        }
    }

    /// Has a world that is over brought into memory, where its last round ends, unless that was done or another node does it.
    ///
    /// # Errors
    /// See [`VisitError`]. One that cannot be read is not tried again by this process.
    pub async fn finish(&self, row: WorldRow) -> Result<(), VisitError> {
        let (id, name) = (row.id, row.name.clone());
        let Some(mut opening) = self.shared.start_finishing(row) else { return Ok(()) };
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
        let new = Loaded::new(CapacityClass::of(row), address, now_us);
        capacity::giving_way(&new, &self.shared.loaded(), &self.shared.config, now_us).map(drop)
    }

    /// Makes something of a world's newest picture for a client of this address: beside the runtime, and in turn by address, as it may take
    /// milliseconds. `None` when the world has left memory.
    pub async fn read_picture<T: Send + 'static>(
        &self,
        door: &WorldHandle,
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
    pub fn loaded(&self, name: &WorldName) -> Option<WorldHandle> {
        match self.shared.entries().get(name) {
            Some(LoadState::Loaded(door, _)) => Some(door.clone()),
            Some(LoadState::Loading(..) | LoadState::Unloading(..)) | None => None,
        }
    }

    /// The worlds that are in this process's memory.
    #[must_use]
    pub fn all_loaded(&self) -> Vec<WorldHandle> {
        let entries = self.shared.entries();
        entries
            .values()
            .filter_map(|entry| if let LoadState::Loaded(door, _) = entry { Some(door.clone()) } else { None })
            .collect()
    }

    /// What is in force.
    #[must_use]
    pub fn config(&self) -> &WorldsConfig {
        &self.shared.config
    }

    async fn visit_until_settled(
        &self,
        name: &WorldName,
        address: Option<AddressKey>,
    ) -> Result<WorldHandle, VisitError> {
        loop {
            let (mut opening, is_own) = match self.shared.lookup(name, address)? {
                Lookup::Loaded(door) => return Ok(door),
                Lookup::Loading { opening, is_own } => (opening, is_own),
                Lookup::Unloading(mut gone) => {
                    // An error says that it has gone.
                    let _ = gone.changed().await;
                    continue;
                }
            };
            // The sender lives until it has said something: an error is a life that ended by a defect of ours.
            let settled = opening.wait_for(Option::is_some).await;
            if let Ok(settled) = &settled
                && matches!(**settled, Some(Err(VisitError::TooManyWorlds { .. })))
            {
                if is_own {
                    self.shared.metrics.quota_exceeded(QuotaKind::Worlds);
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
type LoadReceiver = watch::Receiver<Option<Result<WorldHandle, VisitError>>>;

/// What a visitor finds.
enum Lookup {
    Loaded(WorldHandle),
    Loading {
        opening: LoadReceiver,
        /// Whether it is this visitor who has it brought in.
        is_own: bool,
    },
    Unloading(watch::Receiver<()>),
}

impl WorldsState {
    /// What there is of a world; the life is told to bring it in if there is nothing.
    fn lookup(&self, name: &WorldName, address: Option<AddressKey>) -> Result<Lookup, VisitError> {
        let mut entries = self.entries();
        match entries.get(name) {
            Some(LoadState::Loaded(door, _)) if door.context.inbox.is_refusing() => {
                // Its writer ends, and the life has not heard of it yet.
                let (sender, gone) = watch::channel(());
                entries.insert(name.clone(), LoadState::Unloading(sender));
                return Ok(Lookup::Unloading(gone));
            }
            Some(LoadState::Loaded(door, _)) => return Ok(Lookup::Loaded(door.clone())),
            Some(LoadState::Loading(opening, _)) => {
                return Ok(Lookup::Loading { opening: opening.subscribe(), is_own: false });
            }
            Some(LoadState::Unloading(gone)) => return Ok(Lookup::Unloading(gone.subscribe())),
            None => {}
        }
        if self.is_draining.load(Ordering::Acquire) {
            return Err(VisitError::Draining);
        }
        if entries.len() >= self.config.loaded_max + WORLD_LOADS_WAITING_MAX {
            return Err(VisitError::Busy);
        }
        let (sender, opening) = watch::channel(None);
        let share = address
            .map(|address| KeyedPermit::try_acquire(&self.address_permits, address, self.config.per_address_max));
        let paid = share.map_or(QuotaCharge::Exempt, |share| share.map_or(QuotaCharge::Exceeded, QuotaCharge::Permit));
        entries.insert(name.clone(), LoadState::Loading(sender, paid));
        // The receiver lives as long as this.
        let _ = self.ownership.send(OwnershipMessage::Visit(name.clone()));
        Ok(Lookup::Loading { opening, is_own: true })
    }

    /// The address that has this world brought in, if it is counted.
    ///
    /// # Errors
    /// [`VisitError::TooManyWorlds`] when it has no share left, and the world needs one.
    fn holder(&self, name: &WorldName, needs_share: bool) -> Result<Option<AddressKey>, VisitError> {
        match self.entries().get(name) {
            Some(LoadState::Loading(_, QuotaCharge::Exceeded)) if needs_share => {
                Err(VisitError::TooManyWorlds { max: self.config.per_address_max })
            }
            Some(LoadState::Loading(_, QuotaCharge::Permit(share))) => Ok(Some(share.key())),
            Some(_) | None => Ok(None),
        }
    }

    /// Orders a world to leave memory for this reason, if it is here.
    fn unload(&self, name: &WorldName, why: CloseReason) {
        if let Some(LoadState::Loaded(door, _)) = self.entries().get(name) {
            // A writer that has ended is on its way out already.
            let _ = door.context.inbox.mailbox.send_control(ControlMessage::Drain(why));
        }
    }

    /// No change spans two of them.
    fn loaded(&self) -> MutexGuard<'_, LoadedWorlds> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the life to bring a world in that is over; nothing to be done when it is here, on its way, or known to be unreadable.
    fn start_finishing(&self, row: WorldRow) -> Option<LoadReceiver> {
        let mut entries = self.entries();
        let is_known = entries.contains_key(&row.name) || self.broken().contains(&row.id);
        if is_known || self.is_draining.load(Ordering::Acquire) {
            return None;
        }
        let (sender, opening) = watch::channel(None);
        entries.insert(row.name.clone(), LoadState::Loading(sender, QuotaCharge::Exempt));
        // The receiver lives as long as this.
        let _ = self.ownership.send(OwnershipMessage::Finish(row));
        Some(opening)
    }

    fn broken(&self) -> MutexGuard<'_, BTreeSet<WorldId>> {
        self.broken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says what came of bringing a world in.
    fn finish_loading(&self, name: &WorldName, settled: Result<WorldHandle, VisitError>) {
        let mut entries = self.entries();
        let before = entries.remove(name);
        let (opening, share) = match before {
            Some(LoadState::Loading(sender, QuotaCharge::Permit(share))) => (Some(sender), Some(share)),
            Some(LoadState::Loading(sender, QuotaCharge::Exempt | QuotaCharge::Exceeded)) => (Some(sender), None),
            Some(LoadState::Loaded(..) | LoadState::Unloading(..)) | None => (None, None),
        };
        if let Ok(door) = &settled {
            let share = share.filter(|_| CapacityClass::of(&door.context.info.row).is_limited());
            entries.insert(name.clone(), LoadState::Loaded(door.clone(), share));
        }
        drop(entries);
        if let Some(opening) = opening {
            opening.send_replace(Some(settled));
        }
    }

    /// Lets a world go if nobody holds a door but this list and `others`; from then on nobody finds it.
    fn unload_if_unused(&self, name: &WorldName, others: usize) -> bool {
        let mut entries = self.entries();
        let Some(LoadState::Loaded(door, _)) = entries.get(name) else { return false };
        if Arc::strong_count(&door.context) > 1 + others {
            return false;
        }
        entries.insert(name.clone(), LoadState::Unloading(watch::channel(()).0));
        true
    }

    /// A world goes, whoever is in it: who visits it now waits until it has gone.
    fn mark_unloading(&self, name: &WorldName) {
        let mut entries = self.entries();
        if let Some(LoadState::Loaded(..)) = entries.get(name) {
            entries.insert(name.clone(), LoadState::Unloading(watch::channel(()).0));
        }
    }

    /// A world has gone.
    fn remove_unloaded(&self, name: &WorldName) {
        let mut entries = self.entries();
        if let Some(LoadState::Unloading(..)) = entries.get(name) {
            entries.remove(name);
        }
    }

    /// The tellers, started with the first world.
    fn senders(&self) -> std::io::Result<SenderPool> {
        if let Some(tellers) = self.senders.get() {
            return Ok(tellers.clone());
        }
        let tellers = SenderPool::start(self.config.sender_threads, &self.metrics)?;
        Ok(self.senders.get_or_init(|| tellers).clone())
    }

    /// The map is whole even if a holder of the lock panicked: no change spans two entries.
    fn entries(&self) -> MutexGuard<'_, BTreeMap<WorldName, LoadState>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
