//! The ownership of a process's worlds: loads a world for its visitors, under one lease for all worlds, and unloads it in order. There is a
//! lease while there is a world: an idle process writes nothing.
//!
//! Knows how a world is claimed, kept and given up; what happens in it is its writer's business.

use super::capacity::{self, CapacityClass, CapacityState, Loaded};
use super::client_sink::CloseReason;
use super::environment::WorldEnvironment;
use super::handle::{WorldContext, WorldHandle, WorldInfo};
use super::inbox::{ControlMessage, WriterInbox};
use super::ownership_message::{EndedWriter, OwnershipMessage};
use super::pictures::Pictures;
use super::writer::Writer;
use super::{VisitError, Worlds, WorldsState, inline_rounds};
use engine::commands::{ClaimedWorld, Command, Outcome, WorldCommand};
use engine::ids::{WorkerId, WorldId, WorldName};
use engine::rows::{WorldEntry, WorldRow};
use engine::time::UnixMs;
use engine::worlds::{World, WorldParams, settings_from_bytes};
use futures_util::stream::{FuturesUnordered, StreamExt};
use node::drain::Drain;
use node::lease::{self, Lease};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use store::StoreError;
use tokio::runtime::Handle;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::AbortHandle;

/// A command or a read on its way: the response of the store.
type StoreFuture = Pin<Box<dyn Future<Output = OwnershipMessage> + Send>>;

/// Whether worlds may be owned.
enum LeaseState {
    None,
    Acquiring { worker: WorkerId, task: AbortHandle },
    Held { worker: WorkerId, lease: Lease, task: AbortHandle },
}

struct WorldOwnership<O: WorldEnvironment> {
    environment: O,
    shared: Arc<WorldsState>,
    lease: LeaseState,
    /// Worlds to be claimed once there is a lease.
    waiting: Vec<WorldRow>,
    /// Worlds to be claimed once the worlds evicted for them are gone.
    waiting_for_room: Vec<WorldRow>,
    in_flight: FuturesUnordered<StoreFuture>,
    on_claims_saved: Arc<dyn Fn(WorldId) + Send + Sync>,
}

/// Owns worlds until the drain.
///
/// `on_claims_saved` is called for a world whose claim log has grown and is saved, by writers, on their own threads: it must not wait.
pub async fn run<O: WorldEnvironment>(
    environment: O,
    worlds: Worlds,
    drain: Drain,
    on_claims_saved: impl Fn(WorldId) + Send + Sync + 'static,
) {
    let shared = worlds.shared;
    let mut inbox = shared.inbox.clone().lock_owned().await;
    let mut ownership = WorldOwnership {
        environment,
        shared,
        lease: LeaseState::None,
        waiting: Vec::new(),
        waiting_for_room: Vec::new(),
        in_flight: FuturesUnordered::new(),
        on_claims_saved: Arc::new(on_claims_saved),
    };
    ownership.run(&mut inbox, &drain).await;
    ownership.drain(&mut inbox).await;
}

impl<O: WorldEnvironment> WorldOwnership<O> {
    async fn run(&mut self, inbox: &mut UnboundedReceiver<OwnershipMessage>, drain: &Drain) {
        loop {
            tokio::select! {
                biased;
                () = drain.begun() => return,
                Some(message) = inbox.recv() => self.handle_message(message),
                Some(message) = self.in_flight.next(), if !self.in_flight.is_empty() => self.handle_message(message),
            }
            self.release_idle_lease();
        }
    }

    /// The drain. No world is loaded any more; each finishes what is in flight, and is given up.
    async fn drain(&mut self, inbox: &mut UnboundedReceiver<OwnershipMessage>) {
        self.shared.is_draining.store(true, Ordering::Release);
        self.refuse_waiting(&VisitError::Draining);
        self.send_control_to_all(|| ControlMessage::Drain(CloseReason::Draining));
        while !self.shared.loaded().is_empty() || !self.in_flight.is_empty() {
            tokio::select! {
                Some(message) = inbox.recv() => self.handle_message(message),
                Some(message) = self.in_flight.next(), if !self.in_flight.is_empty() => self.handle_message(message),
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
            OwnershipMessage::Found { name, found: Ok(found) } => self.found(&name, found),
            OwnershipMessage::Found { name, found: Err(reason) } => {
                self.shared.finish_loading(&name, Err(read_error(&name, reason)));
            }
            OwnershipMessage::Claimed { name, worker, claimed } => self.claimed(&name, worker, claimed),
            OwnershipMessage::Released(name) => {
                self.forget(&name);
                self.shared.remove_unloaded(&name);
            }
            OwnershipMessage::LeaseAcquired(worker, lease) => self.lease_acquired(worker, lease),
            OwnershipMessage::LeaseLost(worker) => self.lease_lost(worker),
        }
    }

    /// Reads a world's row and owner: most worlds that are visited and not loaded belong to another node, or do not exist.
    fn find(&mut self, name: WorldName) {
        if self.is_draining() {
            return self.shared.finish_loading(&name, Err(VisitError::Draining));
        }
        let environment = self.environment.clone();
        self.in_flight.push(Box::pin(async move {
            let found = environment.find(name.clone()).await;
            OwnershipMessage::Found { name, found }
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
            Ok(CapacityState::Waiting) => self.waiting_for_room.push(row),
            Ok(_) => self.claim(row),
            Err(refused) => self.shared.finish_loading(&row.name, Err(refused)),
        }
    }

    /// Loads a world that is over, so that its writer ends what is in flight in it, and unloads it.
    fn finish(&mut self, row: WorldRow) {
        if self.shared.loaded().contains_key(&row.name) {
            // It is unloading at this moment.
            self.shared.finish_loading(&row.name, Err(VisitError::Busy));
        } else {
            self.load(row);
        }
    }

    /// Counts a world as loading, if there is room for it; unloads the worlds evicted for it, and waits for them.
    fn make_room(&self, row: &WorldRow) -> Result<CapacityState, VisitError> {
        let (class, now_us, settings) = (CapacityClass::of(row), self.environment.now_us(), &self.shared.config);
        let holder = self.shared.holder(&row.name, class.is_limited())?;
        let mut new = Loaded::new(class, holder, now_us);
        let mut loaded = self.shared.loaded();
        let evicted =
            capacity::giving_way(&new, &loaded, settings, now_us).inspect_err(|reason| self.refused(reason))?;
        // The last round of a world that is over can wait.
        if !evicted.is_empty() && row.is_over(self.environment.now()) {
            return Err(VisitError::Busy);
        }
        for name in &evicted {
            if let Some(other) = loaded.get_mut(name) {
                other.state = CapacityState::Unloading;
            }
        }
        if !capacity::fits(class, &loaded, settings, |_| true) {
            new.state = CapacityState::Waiting;
        }
        let state = new.state;
        loaded.insert(row.name.clone(), new);
        drop(loaded);
        for name in evicted {
            tracing::info!(world = %name, for_world = %row.name, "a world is evicted from memory to make room for another one");
            self.shared.metrics.worlds.unloaded.inc();
            self.shared.unload(&name, CloseReason::Unloaded);
        }
        Ok(state)
    }

    fn refused(&self, reason: &VisitError) {
        let metrics = &self.shared.metrics.worlds;
        if *reason == VisitError::YourShare { metrics.refused_share.inc() } else { metrics.refused_full.inc() }
    }

    /// A world is gone: those that waited for room may have it.
    fn forget(&mut self, name: &WorldName) {
        self.shared.loaded().remove(name);
        for row in std::mem::take(&mut self.waiting_for_room) {
            if self.has_room_now(&row) { self.claim(row) } else { self.waiting_for_room.push(row) }
        }
    }

    /// Whether a world fits in addition to those in memory at this moment; if so, it is counted from then on.
    fn has_room_now(&self, row: &WorldRow) -> bool {
        let mut loaded = self.shared.loaded();
        let is_there = |other: &Loaded| other.state != CapacityState::Waiting;
        let fits = capacity::fits(CapacityClass::of(row), &loaded, &self.shared.config, is_there);
        if let Some(new) = loaded.get_mut(&row.name).filter(|_| fits) {
            new.state = CapacityState::Opening;
        }
        fits
    }

    fn claim(&mut self, row: WorldRow) {
        match &self.lease {
            LeaseState::Held { worker, .. } => {
                let (environment, worker, name) = (self.environment.clone(), *worker, row.name.clone());
                let claim = WorldCommand::Claim { id: row.id, worker, now: environment.now() };
                self.in_flight.push(Box::pin(async move {
                    let claimed = environment.commit(Command::World(claim)).await;
                    OwnershipMessage::Claimed { name, worker, claimed }
                }));
            }
            LeaseState::Acquiring { .. } => self.waiting.push(row),
            LeaseState::None => {
                self.waiting.push(row);
                self.acquire_lease();
            }
        }
    }

    fn claimed(&mut self, name: &WorldName, claimed_by: WorkerId, claimed: Result<Outcome, StoreError>) {
        let refused = match claimed {
            Ok(Outcome::WorldClaimed(claimed)) if self.is_draining() => {
                return self.release(claimed.row.id, name, claimed.epoch);
            }
            Ok(Outcome::WorldClaimed(claimed)) => match &self.lease {
                LeaseState::Held { worker, lease, .. } if *worker == claimed_by => {
                    return self.start_writer(*claimed, lease.clone());
                }
                // The lease under which it was claimed is lost: so is the world.
                _ => VisitError::Busy,
            },
            Ok(Outcome::WorldElsewhere { address }) => self.elsewhere_error(address),
            Ok(Outcome::NotFound) => VisitError::NoSuchWorld,
            Ok(Outcome::LeaseLost) => {
                self.lease_lost(claimed_by);
                VisitError::Busy
            }
            Ok(other) => {
                tracing::error!(world = %name, outcome = ?other, "the store answered a claim of a world with something else");
                VisitError::Broken
            }
            // The claim may have succeeded; the next visitor claims the world again.
            Err(reason) => read_error(name, reason),
        };
        self.shared.finish_loading(name, Err(refused));
        self.forget(name);
    }

    /// Starts a world's writer thread; it loads the world from the stored data, and reports when it is ready.
    fn start_writer(&mut self, claimed: ClaimedWorld, lease: Lease) {
        let name = claimed.row.name.clone();
        let (environment, shared, runtime) = (self.environment.clone(), self.shared.clone(), Handle::current());
        let on_claims_saved = self.on_claims_saved.clone();
        let (id, epoch) = (claimed.row.id, claimed.epoch);
        let active_at_us = self.claimed_as(&name, epoch);
        let thread = std::thread::Builder::new().name(format!("world-{name}"));
        let started = self.shared.senders().and_then(|senders| {
            thread.spawn(move || match open_world(&environment, &claimed, &shared, lease, senders, active_at_us) {
                Ok((world, context)) => {
                    let (name, inbox) = (claimed.row.name, context.inbox.clone());
                    let ready = Ok(WorldHandle { context: context.clone() });
                    let _ = shared.ownership.send(OwnershipMessage::Ready { name, ready });
                    let writer = Writer::new(environment, world, context, shared, runtime, on_claims_saved);
                    inline_rounds::run_writer(&inbox.mailbox, &inbox.parked_writer, Box::new(writer));
                }
                Err(reason) => {
                    let name = claimed.row.name;
                    let _ = shared.ownership.send(OwnershipMessage::Ready { name: name.clone(), ready: Err(reason) });
                    let ended = EndedWriter { id, name, epoch, is_finished: false, snapshot: None };
                    let _ = shared.ownership.send(OwnershipMessage::Ended(ended));
                }
            })
        });
        if let Err(error) = started {
            tracing::error!(world = %name, %error, "cannot start the thread of a world");
            self.shared.finish_loading(&name, Err(VisitError::Busy));
            self.release(id, &name, epoch);
        }
    }

    /// Stores the fencing token of a claim; returns where the world's last activity is noted.
    fn claimed_as(&self, name: &WorldName, epoch: u32) -> Arc<AtomicI64> {
        let mut loaded = self.shared.loaded();
        // It is counted since it was claimed.
        loaded.get_mut(name).map_or_else(Arc::default, |loaded| {
            loaded.epoch = epoch;
            loaded.active_at_us.clone()
        })
    }

    fn writer_ready(&self, name: &WorldName, ready: Result<WorldHandle, VisitError>) {
        match ready {
            Ok(world) if self.is_draining() => {
                // The drain began while it was loaded.
                let _ = world.context.inbox.mailbox.send_control(ControlMessage::Drain(CloseReason::Draining));
                self.shared.finish_loading(name, Err(VisitError::Draining));
            }
            ready => {
                if let Some(loaded) = self.shared.loaded().get_mut(name).filter(|_| ready.is_ok()) {
                    loaded.state = CapacityState::Here;
                }
                self.shared.finish_loading(name, ready);
            }
        }
    }

    /// Saves what a writer left, and gives the world up: the store refuses both if another worker owns it by now.
    fn writer_ended(&mut self, ended: EndedWriter) {
        // A writer under an earlier lease: its world may be loaded again.
        if self.shared.loaded().get(&ended.name).is_none_or(|loaded| loaded.epoch != ended.epoch) {
            return;
        }
        self.shared.mark_unloading(&ended.name);
        let EndedWriter { id, name, epoch, is_finished, snapshot } = ended;
        if !matches!(self.lease, LeaseState::Held { .. }) {
            return self.in_flight.push(Box::pin(async move { OwnershipMessage::Released(name) }));
        }
        let environment = self.environment.clone();
        self.in_flight.push(Box::pin(async move {
            if let Some((claims_version, bytes)) = snapshot {
                let keep = WorldCommand::Snapshot { id, epoch, claims_version, bytes };
                let saved = environment.commit(Command::World(keep)).await;
                if !matches!(saved, Ok(Outcome::Done)) {
                    tracing::warn!(world = %name, outcome = ?saved, "the last snapshot of a world was not saved");
                }
            }
            // If the release is not saved, the lease expires.
            let _ = environment.commit(Command::World(WorldCommand::Release { id, epoch, is_finished })).await;
            OwnershipMessage::Released(name)
        }));
    }

    fn release(&self, id: WorldId, name: &WorldName, epoch: u32) {
        let (environment, name) = (self.environment.clone(), name.clone());
        self.shared.finish_loading(&name, Err(VisitError::Draining));
        self.in_flight.push(Box::pin(async move {
            let _ = environment.commit(Command::World(WorldCommand::Release { id, epoch, is_finished: false })).await;
            OwnershipMessage::Released(name)
        }));
    }

    /// Releases the lease when nothing is owned under it. One that is not renewed costs nothing, and is kept.
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

    /// Releases a lease while the process goes on.
    fn release_lease(&self, worker: WorkerId) {
        let (environment, slot) = (self.environment.clone(), self.shared.lease_slot.clone());
        tokio::spawn(async move { slot.release(&environment, worker).await });
    }

    fn acquire_lease(&mut self) {
        let worker = WorkerId::new(self.environment.now(), self.environment.random_bytes());
        let (renewer, lease) =
            lease::LeaseRenewer::new(self.environment.clone(), worker, self.shared.lease_slot.clone());
        let ownership = self.shared.ownership.clone();
        let task = tokio::spawn(async move {
            if renewer.acquire().await {
                let _ = ownership.send(OwnershipMessage::LeaseAcquired(worker, lease));
                renewer.renew_until_lost().await;
            }
            let _ = ownership.send(OwnershipMessage::LeaseLost(worker));
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

    /// Drops everything that was owned under this lease; clients connect again, and worlds without a new owner can be claimed at once. A
    /// writer that does not know yet can save nothing once another worker claims its world.
    fn lease_lost(&mut self, loser: WorkerId) {
        let (LeaseState::Acquiring { worker, task } | LeaseState::Held { worker, task, .. }) = &self.lease else {
            return;
        };
        if *worker != loser {
            return;
        }
        tracing::warn!(worker.id = %loser, "the lease of worlds is lost; all of them leave memory");
        task.abort();
        self.shared.metrics.process.leases_lost.inc();
        self.lease = LeaseState::None;
        self.refuse_waiting(&VisitError::Busy);
        self.send_control_to_all(|| ControlMessage::Abandon(CloseReason::WorldMoved));
        self.release_lease(loser);
    }

    fn refuse_waiting(&mut self, reason: &VisitError) {
        let for_room = std::mem::take(&mut self.waiting_for_room);
        for row in std::mem::take(&mut self.waiting).into_iter().chain(for_room) {
            self.shared.loaded().remove(&row.name);
            self.shared.finish_loading(&row.name, Err(reason.clone()));
        }
    }

    fn send_control_to_all(&self, message: impl Fn() -> ControlMessage) {
        let worlds = Worlds { shared: self.shared.clone() }.all_loaded();
        for world in worlds {
            // A writer that has ended is on its way out already.
            let _ = world.context.inbox.mailbox.send_control(message());
        }
    }

    async fn end_lease(&mut self) {
        match std::mem::replace(&mut self.lease, LeaseState::None) {
            // The requested lease may be saved already.
            LeaseState::Acquiring { worker, task } | LeaseState::Held { worker, task, .. } => {
                task.abort();
                self.shared.lease_slot.release(&self.environment, worker).await;
            }
            LeaseState::None => {}
        }
    }

    /// The error for a world that another worker owns. A client is never redirected to its own node: an owner with our address was an
    /// earlier process, whose lease has not expired yet.
    fn elsewhere_error(&self, address: String) -> VisitError {
        if address == self.environment.address() { VisitError::Busy } else { VisitError::Elsewhere { address } }
    }

    fn is_draining(&self) -> bool {
        self.shared.is_draining.load(Ordering::Acquire)
    }
}

/// An aborted ownership leaves no visitor waiting, and no world without an owner in memory.
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

/// Why a world cannot be read. Corrupt data does not get better by trying again; the log tells the operator.
fn read_error(name: &WorldName, reason: StoreError) -> VisitError {
    match reason {
        StoreError::Damaged(_) => VisitError::Damaged,
        StoreError::Corrupt { .. } | StoreError::WrongSchema { .. } => damage_error(name, &reason),
        StoreError::Unavailable { .. } | StoreError::Overloaded { .. } => reason.into(),
    }
}

fn damage_error(name: &WorldName, reason: &dyn std::fmt::Display) -> VisitError {
    tracing::error!(
        world = %name, %reason,
        "a world cannot be made of what is kept of it: that is damaged, or this program has a defect. No visitor is let in, and nothing \
         of it is changed; restore the data from a backup, or keep them for study. Other worlds go on"
    );
    VisitError::Broken
}

/// Loads a world from its stored data.
fn open_world<O: WorldEnvironment>(
    environment: &O,
    claimed: &ClaimedWorld,
    shared: &Arc<WorldsState>,
    lease: Lease,
    senders: super::sender_pool::SenderPool,
    active_at_us: Arc<AtomicI64>,
) -> Result<(World, Arc<WorldContext>), VisitError> {
    let row = &claimed.row;
    let settings = settings_from_bytes(&row.settings)
        .map_err(|reason| damage_error(&row.name, &format_args!("its rules cannot be read: {reason}")))?;
    // The end is a date, and everything in the world uses the steady time, which is not adjusted.
    let now_us = environment.now_us();
    let ends_at = row.ends_at.map(|ends_at| UnixMs(ends_at.0 - environment.now().0 + now_us.div_euclid(1_000)));
    let opening = WorldParams { id: row.id, settings, seed: row.seed, epoch: claimed.epoch, ends_at };
    let world = World::open(opening, claimed.snapshot.as_deref(), &claimed.rows, now_us);
    let world = world.map_err(|reason| damage_error(&row.name, &reason))?;
    let (stands_for, saved) =
        (world.stats().claims_version, u64::from(claimed.claims_version) + claimed.rows.len() as u64);
    if u64::from(stands_for) != saved {
        let reason = format_args!("it was made of {stands_for} entries of its log, and the store counts {saved}");
        return Err(damage_error(&row.name, &reason));
    }
    let facts = WorldInfo { id: row.id, name: row.name.clone(), settings, row: row.clone() };
    let context = WorldContext {
        info: facts,
        inbox: Arc::new(WriterInbox::new(shared.config.mailbox_max)),
        pictures: Arc::new(Pictures::default()),
        lease,
        senders,
        metrics: shared.metrics.clone(),
        now_us: {
            let environment = environment.clone();
            Box::new(move || environment.now_us())
        },
        active_at_us,
    };
    Ok((world, Arc::new(context)))
}
