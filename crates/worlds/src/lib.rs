//! The worlds of this process. Each has one writer, a thread with a bounded mailbox; connections and actors alike send their inputs to that
//! mailbox in batches.
//!
//! `ownership` owns the worlds under one lease and loads them into memory for visitors. `writer` alone changes a world, and `inline_rounds`
//! decides on which thread. `sender_pool` encodes and sends what writers hand over; `handle` is how clients reach a world; `pictures` are
//! read by everything outside of it; `actors` are built-in movers. The rules of a world are in `engine::worlds`. A world without visitors
//! is not in memory.

mod actor_inbox;
pub mod actors;
mod built_in;
mod capacity;
mod client_sink;
mod config;
mod environment;
mod handle;
mod inbox;
mod inline_rounds;
mod mailbox;
mod ownership;
mod ownership_message;
mod pictures;
mod sender_pool;
mod subscribers;
#[cfg(test)]
mod tests;
mod timer_ring;
mod writer;

pub use built_in::{BuiltInWorldsError, HUNT, PLAZA, ensure_built_in, start_built_in_actors, world_row};
pub use client_sink::{ClientSink, CloseReason, OutboundMessage};
pub use config::WorldsConfig;
pub use environment::WorldEnvironment;
pub use handle::{SowError, WorldHandle, WorldInfo};
pub use inbox::{MoverHandle, RegisterError, SendError};
pub use ownership::run;

use capacity::{CapacityClass, Loaded, LoadedWorlds};
use engine::ids::{PlayerId, WorldId, WorldName};
use engine::limits::{WORLD_LOADS_WAITING_MAX, WORLD_PICTURES_READ_AT_ONCE, WORLD_VISIT_TIMEOUT};
use engine::rows::WorldRow;
use engine::worlds::Picture;
use inbox::ControlMessage;
use metrics::Metrics;
use node::lease::LeaseSlot;
use ownership_message::OwnershipMessage;
use quotas::QuotaKind;
use quotas::address_key::AddressKey;
use quotas::fair_semaphore::FairSemaphore;
use quotas::keyed_permits::{KeyedPermit, KeyedPermits};
use sender_pool::SenderPool;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use store::StoreError;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

/// The worlds of this process. Cheap to clone.
#[derive(Clone)]
pub struct Worlds {
    shared: Arc<WorldsState>,
}

/// What the handles, the ownership and the writers share.
struct WorldsState {
    config: WorldsConfig,
    metrics: Arc<Metrics>,
    entries: Mutex<BTreeMap<WorldName, LoadState>>,
    /// Worlds that are over and cannot be read: at most as many as exist.
    broken: Mutex<BTreeSet<WorldId>>,
    ownership: mpsc::UnboundedSender<OwnershipMessage>,
    /// Held by the running ownership.
    inbox: Arc<tokio::sync::Mutex<mpsc::UnboundedReceiver<OwnershipMessage>>>,
    senders: OnceLock<SenderPool>,
    actors: actors::ActorRegistry,
    /// The slot of the worker that owns this process's worlds.
    lease_slot: LeaseSlot,
    /// Worlds that are claimed, loading, loaded or unloading.
    loaded: Mutex<LoadedWorlds>,
    /// Limits reads of pictures, fairly by address.
    picture_permits: Arc<FairSemaphore<Option<AddressKey>>>,
    /// Whether this process is draining: no world is loaded any more.
    is_draining: AtomicBool,
    /// Loaded worlds by the address that loaded them.
    address_permits: Arc<KeyedPermits<AddressKey>>,
}

/// A world that is loaded, loading or unloading.
enum LoadState {
    /// A client visits it, and it is being loaded.
    Loading(watch::Sender<Option<Result<WorldHandle, VisitError>>>, QuotaCharge),
    /// It holds a permit of the address that loaded it, if it counts against that quota.
    Loaded(
        WorldHandle,
        #[expect(dead_code, reason = "dropping it releases the permit")] Option<KeyedPermit<AddressKey>>,
    ),
    /// It is unloading: visitors wait until it is gone.
    Unloading(watch::Sender<()>),
}

/// How a visit counts against the quota of the visitor's address.
enum QuotaCharge {
    /// It does not count.
    Exempt,
    Permit(KeyedPermit<AddressKey>),
    /// The address has reached its quota.
    Exceeded,
}

/// Why a world cannot be visited.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum VisitError {
    #[error("no world has this name")]
    NoSuchWorld,
    #[error("this world is over")]
    Over,
    /// Another node owns it: visit it there.
    #[error("another node has this world: visit it at {address}")]
    Elsewhere {
        /// `host:port`.
        address: String,
    },
    #[error("this node is draining: use another one")]
    Draining,
    /// The limit of worlds in memory is reached, and none may be evicted for this one.
    #[error(
        "as many worlds are in this server's memory as it can hold, and none gives way to this one: try again later"
    )]
    WorldsFull,
    /// The same, and no address holds more than the visitor's.
    #[error(
        "this server can hold no more worlds in memory, and clients of no address hold more than those of yours: leave one of them, or try again later"
    )]
    YourShare,
    /// Loading it took too long.
    #[error("this node cannot load this world at the moment: try again")]
    Busy,
    /// Clients of this address have loaded as many as they may.
    #[error(
        "clients of your address have brought as many worlds into this server's memory as one address may ({max}): leave one of them, or come in a minute later"
    )]
    TooManyWorlds {
        /// The limit.
        max: usize,
    },
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The stored world breaks an invariant. It is left as it is, for study.
    #[error("the stored data of this world cannot be read, because of damage or a defect: see the server's log")]
    Broken,
    /// What is stored of it is not what was written. The store has told of it; it is left as it is, so that it can be restored.
    #[error("what is stored of this world is damaged: it cannot be entered until the operator has restored it")]
    Damaged,
}

impl Worlds {
    /// An empty set of worlds; none is loaded before [`run`].
    #[must_use]
    pub fn new(settings: WorldsConfig, metrics: Arc<Metrics>) -> Self {
        let (ownership, inbox) = mpsc::unbounded_channel();
        let shared = WorldsState {
            config: settings,
            metrics,
            entries: Mutex::default(),
            broken: Mutex::default(),
            ownership,
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

    /// The handle of a world. The first visitor makes it load; further visitors wait for the same load.
    ///
    /// # Errors
    /// See [`VisitError`].
    pub async fn visit(&self, name: &WorldName) -> Result<WorldHandle, VisitError> {
        self.visit_from(name, None).await
    }

    /// The same, by a client of this address: a world that it loads counts against its quota as long as it is loaded.
    ///
    /// # Errors
    /// See [`VisitError`].
    pub async fn visit_from(&self, name: &WorldName, address: Option<AddressKey>) -> Result<WorldHandle, VisitError> {
        timeout(WORLD_VISIT_TIMEOUT, self.visit_until_settled(name, address)).await.unwrap_or(Err(VisitError::Busy))
    }

    /// Drops a loaded world that the store has fenced: its clients must connect again.
    pub fn drop_world(&self, name: &WorldName) {
        if let Some(world) = self.loaded(name) {
            // A writer that has ended is unloading already.
            let _ = world.context.inbox.mailbox.send_control(ControlMessage::Abandon(CloseReason::WorldMoved));
        }
    }

    /// Ends the mover of a player who has left a hunt, if the hunt is loaded here.
    pub fn remove_player(&self, name: &WorldName, player: PlayerId) {
        if let Some(world) = self.loaded(name) {
            // A writer that has ended has no movers.
            let _ = world.context.inbox.mailbox.send_control(ControlMessage::RemovePlayer(player));
        }
    }

    /// Loads a world that is over, so that its last round is ended, unless that was done or another node does it.
    ///
    /// # Errors
    /// See [`VisitError`]. This process does not try an unreadable one again.
    pub async fn finish(&self, row: WorldRow) -> Result<(), VisitError> {
        let (id, name) = (row.id, row.name.clone());
        let Some(mut loading) = self.shared.start_finishing(row) else { return Ok(()) };
        let settled = timeout(WORLD_VISIT_TIMEOUT, loading.wait_for(Option::is_some)).await;
        let settled = settled.map_or(Err(VisitError::Busy), |settled| {
            settled.map_or(Err(VisitError::Busy), |settled| settled.clone().unwrap_or(Err(VisitError::Busy)))
        });
        if matches!(settled, Err(VisitError::Broken | VisitError::Damaged)) {
            self.shared.broken().insert(id);
            tracing::warn!(world = %name, "this process cannot end the last round of a hunt that is over");
        }
        settled.map(drop)
    }

    /// Checks that a world like this could be loaded now by a client of this address.
    ///
    /// # Errors
    /// [`VisitError::WorldsFull`] or [`VisitError::YourShare`].
    pub fn check_room(&self, row: &WorldRow, address: Option<AddressKey>, now_us: i64) -> Result<(), VisitError> {
        let new = Loaded::new(CapacityClass::of(row), address, now_us);
        capacity::giving_way(&new, &self.shared.loaded(), &self.shared.config, now_us).map(drop)
    }

    /// Computes something from a world's newest picture for a client of this address: off the runtime's threads, and in turn by address, as
    /// it may take milliseconds. `None` when the world has left memory.
    pub async fn read_picture<T: Send + 'static>(
        &self,
        world: &WorldHandle,
        address: Option<AddressKey>,
        read: impl FnOnce(&Picture) -> T + Send + 'static,
    ) -> Option<T> {
        // Waits for a fresh picture; which one is read is decided at this address's turn, so that a waiting reader holds none.
        drop(world.picture().await?);
        let permit = self.shared.picture_permits.acquire(address).await;
        let picture = world.last_picture()?;
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

    /// The handle of a world that is in this process's memory.
    #[must_use]
    pub fn loaded(&self, name: &WorldName) -> Option<WorldHandle> {
        match self.shared.entries().get(name) {
            Some(LoadState::Loaded(world, _)) => Some(world.clone()),
            Some(LoadState::Loading(..) | LoadState::Unloading(..)) | None => None,
        }
    }

    #[must_use]
    pub fn all_loaded(&self) -> Vec<WorldHandle> {
        let entries = self.shared.entries();
        entries
            .values()
            .filter_map(|entry| if let LoadState::Loaded(world, _) = entry { Some(world.clone()) } else { None })
            .collect()
    }

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
            let (mut loading, is_own) = match self.shared.lookup(name, address)? {
                Lookup::Loaded(world) => return Ok(world),
                Lookup::Loading { loading, is_own } => (loading, is_own),
                Lookup::Unloading(mut unloaded) => {
                    // An error means that it is gone.
                    let _ = unloaded.changed().await;
                    continue;
                }
            };
            // The sender is dropped only after it has sent a result: an error is a defect in the ownership.
            let settled = loading.wait_for(Option::is_some).await;
            if let Ok(settled) = &settled
                && matches!(**settled, Some(Err(VisitError::TooManyWorlds { .. })))
            {
                if is_own {
                    self.shared.metrics.process.quota_exceeded.inc(QuotaKind::Worlds);
                } else {
                    // Another address has reached its quota: this one may not have.
                    continue;
                }
            }
            return settled.map_or(Err(VisitError::Busy), |settled| settled.clone().unwrap_or(Err(VisitError::Busy)));
        }
    }
}

/// The result of loading a world, once it is known.
type LoadReceiver = watch::Receiver<Option<Result<WorldHandle, VisitError>>>;

/// What a visit finds.
enum Lookup {
    Loaded(WorldHandle),
    Loading {
        loading: LoadReceiver,
        /// Whether this visit started the load.
        is_own: bool,
    },
    Unloading(watch::Receiver<()>),
}

impl WorldsState {
    /// The state of a world; starts loading it if there is none.
    fn lookup(&self, name: &WorldName, address: Option<AddressKey>) -> Result<Lookup, VisitError> {
        let mut entries = self.entries();
        match entries.get(name) {
            Some(LoadState::Loaded(world, _)) if world.context.inbox.is_refusing() => {
                // Its writer is ending, and the ownership does not know yet.
                let (sender, unloaded) = watch::channel(());
                entries.insert(name.clone(), LoadState::Unloading(sender));
                return Ok(Lookup::Unloading(unloaded));
            }
            Some(LoadState::Loaded(world, _)) => return Ok(Lookup::Loaded(world.clone())),
            Some(LoadState::Loading(loading, _)) => {
                return Ok(Lookup::Loading { loading: loading.subscribe(), is_own: false });
            }
            Some(LoadState::Unloading(unloaded)) => return Ok(Lookup::Unloading(unloaded.subscribe())),
            None => {}
        }
        if self.is_draining.load(Ordering::Acquire) {
            return Err(VisitError::Draining);
        }
        if entries.len() >= self.config.loaded_max + WORLD_LOADS_WAITING_MAX {
            return Err(VisitError::Busy);
        }
        let (sender, loading) = watch::channel(None);
        let permit = address
            .map(|address| KeyedPermit::try_acquire(&self.address_permits, address, self.config.per_address_max));
        let quota_charge =
            permit.map_or(QuotaCharge::Exempt, |permit| permit.map_or(QuotaCharge::Exceeded, QuotaCharge::Permit));
        entries.insert(name.clone(), LoadState::Loading(sender, quota_charge));
        // The receiver lives as long as this.
        let _ = self.ownership.send(OwnershipMessage::Visit(name.clone()));
        Ok(Lookup::Loading { loading, is_own: true })
    }

    /// The address that loads this world, if it is counted.
    ///
    /// # Errors
    /// [`VisitError::TooManyWorlds`] when it has reached its quota, and the world counts against it.
    fn holder(&self, name: &WorldName, is_limited: bool) -> Result<Option<AddressKey>, VisitError> {
        match self.entries().get(name) {
            Some(LoadState::Loading(_, QuotaCharge::Exceeded)) if is_limited => {
                Err(VisitError::TooManyWorlds { max: self.config.per_address_max })
            }
            Some(LoadState::Loading(_, QuotaCharge::Permit(permit))) => Ok(Some(permit.key())),
            Some(_) | None => Ok(None),
        }
    }

    /// Unloads a world for this reason, if it is loaded.
    fn unload(&self, name: &WorldName, reason: CloseReason) {
        if let Some(LoadState::Loaded(world, _)) = self.entries().get(name) {
            // A writer that has ended is unloading already.
            let _ = world.context.inbox.mailbox.send_control(ControlMessage::Drain(reason));
        }
    }

    /// Consistent after a panic of a lock holder: no change spans two entries.
    fn loaded(&self) -> MutexGuard<'_, LoadedWorlds> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts loading a world that is over; `None` when it is loaded, loading, or known to be unreadable.
    fn start_finishing(&self, row: WorldRow) -> Option<LoadReceiver> {
        let mut entries = self.entries();
        let is_known = entries.contains_key(&row.name) || self.broken().contains(&row.id);
        if is_known || self.is_draining.load(Ordering::Acquire) {
            return None;
        }
        let (sender, loading) = watch::channel(None);
        entries.insert(row.name.clone(), LoadState::Loading(sender, QuotaCharge::Exempt));
        // The receiver lives as long as this.
        let _ = self.ownership.send(OwnershipMessage::Finish(row));
        Some(loading)
    }

    fn broken(&self) -> MutexGuard<'_, BTreeSet<WorldId>> {
        self.broken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Publishes the result of loading a world.
    fn finish_loading(&self, name: &WorldName, settled: Result<WorldHandle, VisitError>) {
        let mut entries = self.entries();
        let before = entries.remove(name);
        let (loading, permit) = match before {
            Some(LoadState::Loading(sender, QuotaCharge::Permit(permit))) => (Some(sender), Some(permit)),
            Some(LoadState::Loading(sender, QuotaCharge::Exempt | QuotaCharge::Exceeded)) => (Some(sender), None),
            Some(LoadState::Loaded(..) | LoadState::Unloading(..)) | None => (None, None),
        };
        if let Ok(world) = &settled {
            let permit = permit.filter(|_| CapacityClass::of(&world.context.info.row).is_limited());
            entries.insert(name.clone(), LoadState::Loaded(world.clone(), permit));
        }
        drop(entries);
        if let Some(loading) = loading {
            loading.send_replace(Some(settled));
        }
    }

    /// Marks a world as unloading if no handles exist but this list's and `others`; from then on visits do not find it.
    fn unload_if_unused(&self, name: &WorldName, others: usize) -> bool {
        let mut entries = self.entries();
        let Some(LoadState::Loaded(world, _)) = entries.get(name) else { return false };
        if Arc::strong_count(&world.context) > 1 + others {
            return false;
        }
        entries.insert(name.clone(), LoadState::Unloading(watch::channel(()).0));
        true
    }

    /// Marks a world as unloading even if clients are in it: visitors wait until it is gone.
    fn mark_unloading(&self, name: &WorldName) {
        let mut entries = self.entries();
        if let Some(LoadState::Loaded(..)) = entries.get(name) {
            entries.insert(name.clone(), LoadState::Unloading(watch::channel(()).0));
        }
    }

    fn remove_unloaded(&self, name: &WorldName) {
        let mut entries = self.entries();
        if let Some(LoadState::Unloading(..)) = entries.get(name) {
            entries.remove(name);
        }
    }

    /// The sender pool, started with the first world.
    fn senders(&self) -> std::io::Result<SenderPool> {
        if let Some(senders) = self.senders.get() {
            return Ok(senders.clone());
        }
        let senders = SenderPool::start(self.config.sender_threads, &self.metrics)?;
        Ok(self.senders.get_or_init(|| senders).clone())
    }

    /// The map is consistent even if a holder of the lock panicked: no change spans two entries.
    fn entries(&self) -> MutexGuard<'_, BTreeMap<WorldName, LoadState>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
