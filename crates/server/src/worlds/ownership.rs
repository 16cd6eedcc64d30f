//! The life of a process's worlds: brings a world into memory for whoever visits it, under one lease for all of them, and takes it
//! out in order. There is a lease while there is a world: a process that nobody visits writes nothing.
//!
//! Knows how a world is claimed, kept and given up; what happens in it is its writer's business.

use super::capacity::{self, CapacityClass, LoadState, Loaded};
use super::client_sink::CloseReason;
use super::environment::WorldEnvironment;
use super::handle::{ControlMessage, WorldContext, WorldHandle, WorldInfo, WriterInbox};
use super::pictures::Pictures;
use super::writer::{Writer, WriterParams};
use super::{VisitError, Worlds, WorldsState, inline_rounds};
use crate::app::Drain;
use crate::lease::{self, Lease};
use engine::commands::{ClaimedWorld, Command, Outcome, WorldCommand};
use engine::ids::{WorkerId, WorldId, WorldName};
use engine::rows::{WorldEntry, WorldRow};
use engine::time::UnixMs;
use engine::worlds::{World, WorldParams, settings_from_bytes};
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use store::StoreError;
use tokio::runtime::Handle;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::AbortHandle;

/// What a life is told.
pub(super) enum OwnershipMessage {
    /// Somebody visits a world that is not here.
    Visit(WorldName),
    /// A world that is over may have a round that nobody has ended.
    Finish(WorldRow),
    /// A world is in memory, or cannot be made of what is kept.
    Ready { name: WorldName, ready: Result<WorldHandle, VisitError> },
    /// A writer has ended.
    Ended(EndedWriter),
    /// The lease was written for the first time.
    LeaseAcquired(WorkerId, Lease),
    /// The lease of this worker has ended.
    LeaseLost(WorkerId),
}

/// What a writer leaves behind.
pub(super) struct EndedWriter {
    pub(super) id: WorldId,
    pub(super) name: WorldName,
    pub(super) epoch: u32,
    /// Whether it is over and nothing is left to be done in it.
    pub(super) is_finished: bool,
    /// Entries of the claim log in it, and what is to be kept.
    pub(super) snapshot: Option<(u32, Vec<u8>)>,
}

/// Something that was asked of the store, and is answered.
enum StoreResponse {
    Found { name: WorldName, found: Result<Option<WorldEntry>, StoreError> },
    Claimed { name: WorldName, worker: WorkerId, claimed: Result<Outcome, StoreError> },
    Released(WorldName),
}

type StoreFuture = Pin<Box<dyn Future<Output = StoreResponse> + Send>>;

/// Whether worlds may be owned.
enum LeaseState {
    None,
    /// The lease is being written.
    Acquiring {
        worker: WorkerId,
        task: AbortHandle,
    },
    Held {
        worker: WorkerId,
        lease: Lease,
        task: AbortHandle,
    },
}

struct WorldOwnership<O: WorldEnvironment> {
    environment: O,
    shared: Arc<WorldsState>,
    lease: LeaseState,
    /// Worlds to be claimed once there is a lease.
    waiting: Vec<WorldRow>,
    /// Worlds to be claimed once those are gone that give way to them.
    waiting_for_room: Vec<WorldRow>,
    in_flight: FuturesUnordered<StoreFuture>,
}

/// Keeps worlds until the drain.
pub async fn run<O: WorldEnvironment>(outside: O, worlds: Worlds, drain: Drain) {
    let shared = worlds.shared;
    let mut inbox = shared.inbox.clone().lock_owned().await;
    let flights = FuturesUnordered::new();
    let mut life = WorldOwnership {
        environment: outside,
        shared,
        lease: LeaseState::None,
        waiting: Vec::new(),
        waiting_for_room: Vec::new(),
        in_flight: flights,
    };
    life.run(&mut inbox, &drain).await;
    life.drain(&mut inbox).await;
}

impl<O: WorldEnvironment> WorldOwnership<O> {
    async fn run(&mut self, inbox: &mut UnboundedReceiver<OwnershipMessage>, drain: &Drain) {
        loop {
            tokio::select! {
                biased;
                () = drain.begun() => return,
                Some(message) = inbox.recv() => self.handle_message(message),
                Some(landed) = self.in_flight.next(), if !self.in_flight.is_empty() => self.complete(landed),
            }
            self.release_idle_lease();
        }
    }

    /// The drain. No world comes in any more; each ends what is under way, and is given up.
    async fn drain(&mut self, inbox: &mut UnboundedReceiver<OwnershipMessage>) {
        self.shared.is_draining.store(true, Ordering::Release);
        self.refuse_waiting(&VisitError::Draining);
        self.send_control_to_all(|| ControlMessage::Drain(CloseReason::Draining));
        while !self.shared.loaded().is_empty() || !self.in_flight.is_empty() {
            tokio::select! {
                Some(message) = inbox.recv() => self.handle_message(message),
                Some(landed) = self.in_flight.next(), if !self.in_flight.is_empty() => self.complete(landed),
            }
        }
        while let Ok(message) = inbox.try_recv() {
            self.handle_message(message);
        }
        self.end_lease().await;
    }

    fn handle_message(&mut self, message: OwnershipMessage) {
        match message {
            OwnershipMessage::Visit(name) => self.find(name),
            OwnershipMessage::Finish(row) => self.finish(row),
            OwnershipMessage::Ready { name, ready } => self.writer_ready(&name, ready),
            OwnershipMessage::Ended(ended) => self.writer_ended(ended),
            OwnershipMessage::LeaseAcquired(worker, lease) => self.lease_acquired(worker, lease),
            OwnershipMessage::LeaseLost(worker) => self.lease_lost(worker),
        }
    }

    fn complete(&mut self, landed: StoreResponse) {
        match landed {
            StoreResponse::Found { name, found } => match found {
                Ok(found) => self.found(&name, found),
                Err(why) => self.shared.finish_loading(&name, Err(read_error(&name, why))),
            },
            StoreResponse::Claimed { name, worker, claimed } => self.claimed(&name, worker, claimed),
            StoreResponse::Released(name) => {
                self.forget(&name);
                self.shared.remove_unloaded(&name);
            }
        }
    }

    /// Who answers for a world? Most that are asked for and are not here are somebody else's, or nobody ever knew them.
    fn find(&mut self, name: WorldName) {
        if self.is_draining() {
            return self.shared.finish_loading(&name, Err(VisitError::Draining));
        }
        let outside = self.environment.clone();
        self.in_flight.push(Box::pin(async move {
            let found = outside.find(name.clone()).await;
            StoreResponse::Found { name, found }
        }));
    }

    fn found(&mut self, name: &WorldName, found: Option<WorldEntry>) {
        let refused = match found {
            None => VisitError::NoSuchWorld,
            Some(entry) if entry.row.is_over(self.environment.now()) => VisitError::Over,
            Some(WorldEntry { owner: Some(owner), .. }) if !self.shared.lease_slot.is_held_by(owner.worker) => {
                self.elsewhere_error(owner.address)
            }
            Some(entry) => return self.load(entry.row),
        };
        self.shared.finish_loading(name, Err(refused));
    }

    fn load(&mut self, row: WorldRow) {
        if self.is_draining() {
            self.shared.finish_loading(&row.name, Err(VisitError::Draining));
            return;
        }
        match self.make_room(&row) {
            Ok(LoadState::Waiting) => self.waiting_for_room.push(row),
            Ok(_) => self.claim(row),
            Err(refused) => self.shared.finish_loading(&row.name, Err(refused)),
        }
    }

    /// Brings a world in that is over, so that its writer ends what is under way in it, and leaves.
    fn finish(&mut self, row: WorldRow) {
        if self.shared.loaded().contains_key(&row.name) {
            // It goes at this moment.
            self.shared.finish_loading(&row.name, Err(VisitError::Busy));
        } else {
            self.load(row);
        }
    }

    /// Counts a world as loaded, if there is room for it; others that give way to it are told to go, and it waits for them.
    fn make_room(&self, row: &WorldRow) -> Result<LoadState, VisitError> {
        let (owned, now_us, settings) = (CapacityClass::of(row), self.environment.now_us(), &self.shared.config);
        let holder = self.shared.holder(&row.name, owned.is_limited())?;
        let mut new = Loaded::new(owned, holder, now_us);
        let mut loaded = self.shared.loaded();
        let going = capacity::giving_way(&new, &loaded, settings, now_us).inspect_err(|why| self.refused(why))?;
        // The last round of a world that is over can wait.
        if !going.is_empty() && row.is_over(self.environment.now()) {
            return Err(VisitError::Busy);
        }
        for name in &going {
            if let Some(other) = loaded.get_mut(name) {
                other.state = LoadState::Unloading;
            }
        }
        if !capacity::fits(owned, &loaded, settings, |_| true) {
            new.state = LoadState::Waiting;
        }
        let state = new.state;
        loaded.insert(row.name.clone(), new);
        drop(loaded);
        for name in going {
            tracing::info!(world = %name, for_world = %row.name, "a world leaves memory to make room for another one");
            self.shared.metrics.worlds().unloaded.inc();
            self.shared.unload(&name, CloseReason::Unloaded);
        }
        Ok(state)
    }

    fn refused(&self, why: &VisitError) {
        let figures = self.shared.metrics.worlds();
        if *why == VisitError::YourShare { figures.refused_share.inc() } else { figures.refused_full.inc() }
    }

    /// A world is not loaded any more: those that waited for room may have it.
    fn forget(&mut self, name: &WorldName) {
        self.shared.loaded().remove(name);
        for row in std::mem::take(&mut self.waiting_for_room) {
            if self.has_room_now(&row) { self.claim(row) } else { self.waiting_for_room.push(row) }
        }
    }

    /// Whether a world fits beside those that are in memory at this moment, and from then on it is counted among them.
    fn has_room_now(&self, row: &WorldRow) -> bool {
        let mut loaded = self.shared.loaded();
        let is_there = |other: &Loaded| other.state != LoadState::Waiting;
        let fits = capacity::fits(CapacityClass::of(row), &loaded, &self.shared.config, is_there);
        if let Some(new) = loaded.get_mut(&row.name).filter(|_| fits) {
            new.state = LoadState::Opening;
        }
        fits
    }

    /// Claims a world, once there is a lease.
    fn claim(&mut self, row: WorldRow) {
        match &self.lease {
            LeaseState::Held { worker, .. } => {
                let (outside, worker, name) = (self.environment.clone(), *worker, row.name.clone());
                let claim = WorldCommand::Claim { id: row.id, worker, now: outside.now() };
                self.in_flight.push(Box::pin(async move {
                    let claimed = outside.commit(Command::World(claim)).await;
                    StoreResponse::Claimed { name, worker, claimed }
                }));
            }
            LeaseState::Acquiring { .. } => self.waiting.push(row),
            LeaseState::None => {
                self.waiting.push(row);
                self.acquire_lease();
            }
        }
    }

    fn claimed(&mut self, name: &WorldName, asked_by: WorkerId, claimed: Result<Outcome, StoreError>) {
        let refused = match claimed {
            Ok(Outcome::WorldClaimed(claimed)) if self.is_draining() => {
                return self.release(claimed.row.id, name, claimed.epoch);
            }
            Ok(Outcome::WorldClaimed(claimed)) => match &self.lease {
                LeaseState::Held { worker, lease, .. } if *worker == asked_by => {
                    return self.start_writer(*claimed, lease.clone());
                }
                // The lease under which it was claimed is lost: so is the world.
                _ => VisitError::Busy,
            },
            Ok(Outcome::WorldElsewhere { address }) => self.elsewhere_error(address),
            Ok(Outcome::NotFound) => VisitError::NoSuchWorld,
            Ok(Outcome::LeaseLost) => {
                self.lease_lost(asked_by);
                VisitError::Busy
            }
            Ok(other) => {
                tracing::error!(world = %name, outcome = ?other, "the store answered a claim of a world with something else");
                VisitError::Broken
            }
            // It may be ours, and nobody knows: whoever asks next claims it again.
            Err(why) => read_error(name, why),
        };
        self.shared.finish_loading(name, Err(refused));
        self.forget(name);
    }

    /// Starts a world's writer; it makes the world of what was kept, and says when it is ready.
    fn start_writer(&mut self, claimed: ClaimedWorld, lease: Lease) {
        let name = claimed.row.name.clone();
        let (outside, shared, runtime) = (self.environment.clone(), self.shared.clone(), Handle::current());
        let (id, epoch) = (claimed.row.id, claimed.epoch);
        let active_at_us = self.claimed_as(&name, epoch);
        let thread = std::thread::Builder::new().name(format!("world-{name}"));
        let started = self.shared.senders().and_then(|tellers| {
            thread.spawn(move || match open_world(&outside, &claimed, &shared, lease, tellers, active_at_us) {
                Ok((world, inside)) => run_world(outside, world, inside, epoch, shared, runtime),
                Err(why) => {
                    let _ = shared
                        .ownership
                        .send(OwnershipMessage::Ready { name: claimed.row.name.clone(), ready: Err(why) });
                    let (name, snapshot, is_finished) = (claimed.row.name, None, false);
                    let _ = shared.ownership.send(OwnershipMessage::Ended(EndedWriter {
                        id,
                        name,
                        epoch,
                        is_finished,
                        snapshot,
                    }));
                }
            })
        });
        if let Err(error) = started {
            tracing::error!(world = %name, %error, "the thread of a world cannot be started");
            self.shared.finish_loading(&name, Err(VisitError::Busy));
            self.release(id, &name, epoch);
        }
    }

    /// A world is claimed under this fencing token; where it is noted when somebody does something in it.
    fn claimed_as(&self, name: &WorldName, epoch: u32) -> Arc<AtomicI64> {
        let mut loaded = self.shared.loaded();
        // It is counted since it was taken in.
        loaded.get_mut(name).map_or_else(Arc::default, |loaded| {
            loaded.epoch = epoch;
            loaded.active_at_us.clone()
        })
    }

    fn writer_ready(&self, name: &WorldName, ready: Result<WorldHandle, VisitError>) {
        match ready {
            Ok(door) if self.is_draining() => {
                // It was brought in while the drain began.
                let _ = door.context.inbox.mailbox.send_control(ControlMessage::Drain(CloseReason::Draining));
                self.shared.finish_loading(name, Err(VisitError::Draining));
            }
            ready => {
                if let Some(loaded) = self.shared.loaded().get_mut(name).filter(|_| ready.is_ok()) {
                    loaded.state = LoadState::Here;
                }
                self.shared.finish_loading(name, ready);
            }
        }
    }

    /// Keeps what a writer left, and gives the world up: both only if it is still ours, as the store knows.
    fn writer_ended(&mut self, ended: EndedWriter) {
        // A writer of an earlier life: its world may be here again.
        if self.shared.loaded().get(&ended.name).is_none_or(|loaded| loaded.epoch != ended.epoch) {
            return;
        }
        self.shared.mark_unloading(&ended.name);
        let EndedWriter { id, name, epoch, is_finished, snapshot } = ended;
        if !matches!(self.lease, LeaseState::Held { .. }) {
            return self.in_flight.push(Box::pin(async move { StoreResponse::Released(name) }));
        }
        let outside = self.environment.clone();
        self.in_flight.push(Box::pin(async move {
            if let Some((claims_version, bytes)) = snapshot {
                let keep = WorldCommand::Snapshot { id, epoch, claims_version, bytes };
                let kept = outside.commit(Command::World(keep)).await;
                if !matches!(kept, Ok(Outcome::Done)) {
                    tracing::warn!(world = %name, outcome = ?kept, "the last snapshot of a world was not kept");
                }
            }
            // Should it not be saved, the lease ends.
            let _ = outside.commit(Command::World(WorldCommand::Release { id, epoch, is_finished })).await;
            StoreResponse::Released(name)
        }));
    }

    fn release(&self, id: WorldId, name: &WorldName, epoch: u32) {
        let (outside, name) = (self.environment.clone(), name.clone());
        self.shared.finish_loading(&name, Err(VisitError::Draining));
        self.in_flight.push(Box::pin(async move {
            let _ = outside.commit(Command::World(WorldCommand::Release { id, epoch, is_finished: false })).await;
            StoreResponse::Released(name)
        }));
    }

    /// Gives the lease up when nothing is owned under it. One that is not renewed costs nothing, and is kept.
    fn release_idle_lease(&mut self) {
        let is_idle = self.shared.loaded().is_empty() && self.waiting.is_empty() && self.in_flight.is_empty();
        if is_idle && !self.environment.has_exclusive_store() && matches!(self.lease, LeaseState::Held { .. }) {
            let LeaseState::Held { worker, task, .. } = std::mem::replace(&mut self.lease, LeaseState::None) else {
                return;
            };
            task.abort();
            self.release_lease(worker);
        }
    }

    /// Gives a lease up while life goes on.
    fn release_lease(&self, worker: WorkerId) {
        let (outside, seat) = (self.environment.clone(), self.shared.lease_slot.clone());
        tokio::spawn(async move { seat.release(&outside, worker).await });
    }

    fn acquire_lease(&mut self) {
        let worker = WorkerId::new(self.environment.now(), self.environment.random_bytes());
        let (keeper, lease) =
            lease::LeaseRenewer::new(self.environment.clone(), worker, self.shared.lease_slot.clone());
        let to_life = self.shared.ownership.clone();
        let task = tokio::spawn(async move {
            if keeper.acquire().await {
                let _ = to_life.send(OwnershipMessage::LeaseAcquired(worker, lease));
                keeper.renew_until_lost().await;
            }
            let _ = to_life.send(OwnershipMessage::LeaseLost(worker));
        });
        self.lease = LeaseState::Acquiring { worker, task: task.abort_handle() };
    }

    fn lease_acquired(&mut self, holder: WorkerId, lease: Lease) {
        let LeaseState::Acquiring { worker, task } = &self.lease else { return };
        if *worker != holder {
            return;
        }
        self.lease = LeaseState::Held { worker: holder, lease, task: task.clone() };
        tracing::info!(worker.id = %holder, "worlds are owned under a lease");
        for row in std::mem::take(&mut self.waiting) {
            self.claim(row);
        }
    }

    /// Everything that was owned under this lease is dropped, and everybody comes again: what others do not own already is free at
    /// once. A writer that has not heard of it yet can save nothing once somebody claims its world.
    fn lease_lost(&mut self, loser: WorkerId) {
        let (LeaseState::Acquiring { worker, task } | LeaseState::Held { worker, task, .. }) = &self.lease else {
            return;
        };
        if *worker != loser {
            return;
        }
        tracing::warn!(worker.id = %loser, "the lease of worlds is lost; all of them leave memory");
        task.abort();
        self.shared.metrics.lease_lost(0);
        self.lease = LeaseState::None;
        self.refuse_waiting(&VisitError::Busy);
        self.send_control_to_all(|| ControlMessage::Abandon(CloseReason::WorldMoved));
        self.release_lease(loser);
    }

    fn refuse_waiting(&mut self, why: &VisitError) {
        let for_room = std::mem::take(&mut self.waiting_for_room);
        for row in std::mem::take(&mut self.waiting).into_iter().chain(for_room) {
            self.shared.loaded().remove(&row.name);
            self.shared.finish_loading(&row.name, Err(why.clone()));
        }
    }

    fn send_control_to_all(&self, order: impl Fn() -> ControlMessage) {
        let doors = Worlds { shared: self.shared.clone() }.all_loaded();
        for door in doors {
            // A writer that has ended is on its way out already.
            let _ = door.context.inbox.mailbox.send_control(order());
        }
    }

    async fn end_lease(&mut self) {
        match std::mem::replace(&mut self.lease, LeaseState::None) {
            // One that was asked for may be saved already.
            LeaseState::Acquiring { worker, task } | LeaseState::Held { worker, task, .. } => {
                task.abort();
                self.shared.lease_slot.release(&self.environment, worker).await;
            }
            LeaseState::None => {}
        }
    }

    /// Where a world is that another worker owns. Nobody is sent to where he came from: at our own address that was a process before
    /// this one, whose lease has not ended yet.
    fn elsewhere_error(&self, address: String) -> VisitError {
        if address == self.environment.address() { VisitError::Busy } else { VisitError::Elsewhere { address } }
    }

    fn is_draining(&self) -> bool {
        self.shared.is_draining.load(Ordering::Acquire)
    }
}

/// A life that is cut short leaves nobody waiting, and no world without an owner in memory.
impl<O: WorldEnvironment> Drop for WorldOwnership<O> {
    fn drop(&mut self) {
        if let LeaseState::Acquiring { task, .. } | LeaseState::Held { task, .. } = &self.lease {
            task.abort();
        }
        self.send_control_to_all(|| ControlMessage::Abandon(CloseReason::WorldMoved));
        self.shared.loaded().clear();
        self.shared.entries().clear();
    }
}

/// Why a world cannot be read. What is not as it was written does not get better by asking again; whoever can mend it must hear of it.
fn read_error(name: &WorldName, why: StoreError) -> VisitError {
    match why {
        StoreError::Corrupt { .. } | StoreError::WrongSchema { .. } => damage_error(name, &why),
        StoreError::Unavailable { .. } | StoreError::Overloaded { .. } => why.into(),
    }
}

fn damage_error(name: &WorldName, why: &dyn std::fmt::Display) -> VisitError {
    tracing::error!(
        world = %name, %why,
        "a world cannot be made of what is kept of it: that is damaged, or this program has a defect. Nobody is let in, and nothing \
         of it is changed; restore the data from a backup, or keep them for study. Other worlds go on"
    );
    VisitError::Broken
}

/// Makes a world of what is kept of it.
fn open_world<O: WorldEnvironment>(
    outside: &O,
    claimed: &ClaimedWorld,
    shared: &Arc<WorldsState>,
    lease: Lease,
    tellers: super::sender_pool::SenderPool,
    active_at_us: Arc<AtomicI64>,
) -> Result<(World, Arc<WorldContext>), VisitError> {
    let row = &claimed.row;
    let settings = settings_from_bytes(&row.settings)
        .map_err(|why| damage_error(&row.name, &format_args!("its rules cannot be read: {why}")))?;
    // Its end is a date, and everything in it goes by the steady time, which nobody sets.
    let now_us = outside.now_us();
    let ends_at = row.ends_at.map(|ends_at| UnixMs(ends_at.0 - outside.now().0 + now_us.div_euclid(1_000)));
    let opening = WorldParams { id: row.id, settings, seed: row.seed, epoch: claimed.epoch, ends_at };
    let world = World::open(opening, claimed.snapshot.as_deref(), &claimed.rows, now_us);
    let world = world.map_err(|why| damage_error(&row.name, &why))?;
    let (stands_for, kept) =
        (world.stats().claims_version, u64::from(claimed.claims_version) + claimed.rows.len() as u64);
    if u64::from(stands_for) != kept {
        let why = format_args!("it was made of {stands_for} entries of its log, and the store counts {kept}");
        return Err(damage_error(&row.name, &why));
    }
    let facts = WorldInfo { id: row.id, name: row.name.clone(), settings, row: row.clone() };
    let inside = WorldContext {
        info: facts,
        inbox: Arc::new(WriterInbox::new(shared.config.mailbox_max)),
        pictures: Arc::new(Pictures::default()),
        lease,
        senders: tellers,
        metrics: shared.metrics.clone(),
        now_us: {
            let outside = outside.clone();
            Box::new(move || outside.now_us())
        },
        active_at_us,
    };
    Ok((world, Arc::new(inside)))
}

/// Runs a world's writer to its end, on this thread.
fn run_world<O: WorldEnvironment>(
    outside: O,
    world: World,
    inside: Arc<WorldContext>,
    epoch: u32,
    shared: Arc<WorldsState>,
    runtime: Handle,
) {
    let (name, life, settings) = (inside.info.name.clone(), shared.ownership.clone(), shared.config);
    let door = WorldHandle { context: inside.clone() };
    let _ = life.send(OwnershipMessage::Ready { name: name.clone(), ready: Ok(door) });
    // The list's door and the writer's own inside; whatever is more is somebody's.
    let retire = Box::new(move || shared.unload_if_unused(&name, 1));
    let (snapshot_every, idle, leave_max) = (settings.snapshot_every, settings.idle_timeout, settings.drain_max);
    let mailbox = inside.inbox.clone();
    let charge = WriterParams {
        environment: outside,
        world,
        epoch,
        context: inside,
        ownership: life,
        runtime,
        snapshot_every,
        idle_timeout: idle,
        drain_max: leave_max,
        retire,
    };
    inline_rounds::run_writer(&mailbox, Box::new(Writer::new(charge)));
}
