//! The life of a process's worlds: brings a world into memory for whoever visits it, under one lease for all of them, and takes it
//! out in order. There is a lease while there is a world: a process that nobody visits writes nothing.
//!
//! Knows how a world is claimed, kept and given up; what happens in it is its writer's business.

use super::door::{Door, Facts, Inside, Mailbox, Order};
use super::outlet::Ending;
use super::outside::Outside;
use super::pictures::Pictures;
use super::room::{self, LoadState, Loaded, Owned};
use super::writer::{Charge, Writer};
use super::{Shared, VisitError, Worlds, lending};
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
pub(super) enum Message {
    /// Somebody visits a world that is not here.
    Visit(WorldName),
    /// A world that is over may have a round that nobody has ended.
    Finish(WorldRow),
    /// A world is in memory, or cannot be made of what is kept.
    Ready { name: WorldName, ready: Result<Door, VisitError> },
    /// A writer has ended.
    Ended(Ended),
    /// The lease was written for the first time.
    Held(WorkerId, Lease),
    /// The lease of this worker has ended.
    Lost(WorkerId),
}

/// What a writer leaves behind.
pub(super) struct Ended {
    pub(super) id: WorldId,
    pub(super) name: WorldName,
    pub(super) epoch: u32,
    /// Whether it is over and nothing is left to be done in it.
    pub(super) is_finished: bool,
    /// Entries of the claim log in it, and what is to be kept.
    pub(super) snapshot: Option<(u32, Vec<u8>)>,
}

/// Something that was asked of the store, and is answered.
enum Landed {
    Found { name: WorldName, found: Result<Option<WorldEntry>, StoreError> },
    Claimed { name: WorldName, worker: WorkerId, claimed: Result<Outcome, StoreError> },
    Released(WorldName),
}

type Flight = Pin<Box<dyn Future<Output = Landed> + Send>>;

/// Whether worlds may be owned.
enum Tenure {
    None,
    /// The lease is being written.
    Asked {
        worker: WorkerId,
        task: AbortHandle,
    },
    Held {
        worker: WorkerId,
        lease: Lease,
        task: AbortHandle,
    },
}

struct Life<O: Outside> {
    outside: O,
    shared: Arc<Shared>,
    tenure: Tenure,
    /// Worlds to be claimed once there is a lease.
    waiting: Vec<WorldRow>,
    /// Worlds to be claimed once those are gone that give way to them.
    waiting_for_room: Vec<WorldRow>,
    flights: FuturesUnordered<Flight>,
}

/// Keeps worlds until the drain.
pub async fn run<O: Outside>(outside: O, worlds: Worlds, drain: Drain) {
    let shared = worlds.shared;
    let mut inbox = shared.inbox.clone().lock_owned().await;
    let flights = FuturesUnordered::new();
    let mut life =
        Life { outside, shared, tenure: Tenure::None, waiting: Vec::new(), waiting_for_room: Vec::new(), flights };
    life.live(&mut inbox, &drain).await;
    life.leave(&mut inbox).await;
}

impl<O: Outside> Life<O> {
    async fn live(&mut self, inbox: &mut UnboundedReceiver<Message>, drain: &Drain) {
        loop {
            tokio::select! {
                biased;
                () = drain.begun() => return,
                Some(message) = inbox.recv() => self.hear(message),
                Some(landed) = self.flights.next(), if !self.flights.is_empty() => self.land(landed),
            }
            self.rest();
        }
    }

    /// The drain. No world comes in any more; each ends what is under way, and is given up.
    async fn leave(&mut self, inbox: &mut UnboundedReceiver<Message>) {
        self.shared.is_leaving.store(true, Ordering::Release);
        self.give_up_waiting(&VisitError::Draining);
        self.tell_all(|| Order::Leaving(Ending::Leaving));
        while !self.shared.loaded().is_empty() || !self.flights.is_empty() {
            tokio::select! {
                Some(message) = inbox.recv() => self.hear(message),
                Some(landed) = self.flights.next(), if !self.flights.is_empty() => self.land(landed),
            }
        }
        while let Ok(message) = inbox.try_recv() {
            self.hear(message);
        }
        self.end_tenure().await;
    }

    fn hear(&mut self, message: Message) {
        match message {
            Message::Visit(name) => self.find(name),
            Message::Finish(row) => self.finish(row),
            Message::Ready { name, ready } => self.ready(&name, ready),
            Message::Ended(ended) => self.ended(ended),
            Message::Held(worker, lease) => self.held(worker, lease),
            Message::Lost(worker) => self.lost(worker),
        }
    }

    fn land(&mut self, landed: Landed) {
        match landed {
            Landed::Found { name, found } => match found {
                Ok(found) => self.found(&name, found),
                Err(why) => self.shared.settle(&name, Err(not_read(&name, why))),
            },
            Landed::Claimed { name, worker, claimed } => self.claimed(&name, worker, claimed),
            Landed::Released(name) => {
                self.forget(&name);
                self.shared.gone(&name);
            }
        }
    }

    /// Who answers for a world? Most that are asked for and are not here are somebody else's, or nobody ever knew them.
    fn find(&mut self, name: WorldName) {
        if self.is_leaving() {
            return self.shared.settle(&name, Err(VisitError::Draining));
        }
        let outside = self.outside.clone();
        self.flights.push(Box::pin(async move {
            let found = outside.find(name.clone()).await;
            Landed::Found { name, found }
        }));
    }

    fn found(&mut self, name: &WorldName, found: Option<WorldEntry>) {
        let refused = match found {
            None => VisitError::NoSuchWorld,
            Some(entry) if entry.row.is_over(self.outside.now()) => VisitError::Over,
            Some(WorldEntry { owner: Some(owner), .. }) if !self.shared.seat.is_of(owner.worker) => {
                self.elsewhere(owner.address)
            }
            Some(entry) => return self.take_in(entry.row),
        };
        self.shared.settle(name, Err(refused));
    }

    fn take_in(&mut self, row: WorldRow) {
        if self.is_leaving() {
            self.shared.settle(&row.name, Err(VisitError::Draining));
            return;
        }
        match self.make_room(&row) {
            Ok(LoadState::Waiting) => self.waiting_for_room.push(row),
            Ok(_) => self.claim(row),
            Err(refused) => self.shared.settle(&row.name, Err(refused)),
        }
    }

    /// Brings a world in that is over, so that its writer ends what is under way in it, and leaves.
    fn finish(&mut self, row: WorldRow) {
        if self.shared.loaded().contains_key(&row.name) {
            // It goes at this moment.
            self.shared.settle(&row.name, Err(VisitError::Busy));
        } else {
            self.take_in(row);
        }
    }

    /// Counts a world as loaded, if there is room for it; others that give way to it are told to go, and it waits for them.
    fn make_room(&self, row: &WorldRow) -> Result<LoadState, VisitError> {
        let (owned, now_us, settings) = (Owned::of(row), self.outside.now_us(), &self.shared.settings);
        let holder = self.shared.holder(&row.name, owned.needs_share())?;
        let mut new = Loaded::new(owned, holder, now_us);
        let mut loaded = self.shared.loaded();
        let going = room::giving_way(&new, &loaded, settings, now_us).inspect_err(|why| self.refused(why))?;
        // The last round of a world that is over can wait.
        if !going.is_empty() && row.is_over(self.outside.now()) {
            return Err(VisitError::Busy);
        }
        for name in &going {
            if let Some(other) = loaded.get_mut(name) {
                other.state = LoadState::Unloading;
            }
        }
        if !room::fits(owned, &loaded, settings, |_| true) {
            new.state = LoadState::Waiting;
        }
        let state = new.state;
        loaded.insert(row.name.clone(), new);
        drop(loaded);
        for name in going {
            tracing::info!(world = %name, for_world = %row.name, "a world leaves memory to make room for another one");
            self.shared.metrics.worlds().unloaded.inc();
            self.shared.unload(&name, Ending::Unloaded);
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
        let fits = room::fits(Owned::of(row), &loaded, &self.shared.settings, is_there);
        if let Some(new) = loaded.get_mut(&row.name).filter(|_| fits) {
            new.state = LoadState::Opening;
        }
        fits
    }

    /// Claims a world, once there is a lease.
    fn claim(&mut self, row: WorldRow) {
        match &self.tenure {
            Tenure::Held { worker, .. } => {
                let (outside, worker, name) = (self.outside.clone(), *worker, row.name.clone());
                let claim = WorldCommand::Claim { id: row.id, worker, now: outside.now() };
                self.flights.push(Box::pin(async move {
                    let claimed = outside.commit(Command::World(claim)).await;
                    Landed::Claimed { name, worker, claimed }
                }));
            }
            Tenure::Asked { .. } => self.waiting.push(row),
            Tenure::None => {
                self.waiting.push(row);
                self.ask_for_lease();
            }
        }
    }

    fn claimed(&mut self, name: &WorldName, asked_by: WorkerId, claimed: Result<Outcome, StoreError>) {
        let refused = match claimed {
            Ok(Outcome::WorldClaimed(claimed)) if self.is_leaving() => {
                return self.release(claimed.row.id, name, claimed.epoch);
            }
            Ok(Outcome::WorldClaimed(claimed)) => match &self.tenure {
                Tenure::Held { worker, lease, .. } if *worker == asked_by => {
                    return self.bring_in(*claimed, lease.clone());
                }
                // The lease under which it was claimed is lost: so is the world.
                _ => VisitError::Busy,
            },
            Ok(Outcome::WorldElsewhere { address }) => self.elsewhere(address),
            Ok(Outcome::NotFound) => VisitError::NoSuchWorld,
            Ok(Outcome::LeaseLost) => {
                self.lost(asked_by);
                VisitError::Busy
            }
            Ok(other) => {
                tracing::error!(world = %name, outcome = ?other, "the store answered a claim of a world with something else");
                VisitError::Broken
            }
            // It may be ours, and nobody knows: whoever asks next claims it again.
            Err(why) => not_read(name, why),
        };
        self.shared.settle(name, Err(refused));
        self.forget(name);
    }

    /// Starts a world's writer; it makes the world of what was kept, and says when it is ready.
    fn bring_in(&mut self, claimed: ClaimedWorld, lease: Lease) {
        let name = claimed.row.name.clone();
        let (outside, shared, runtime) = (self.outside.clone(), self.shared.clone(), Handle::current());
        let (id, epoch) = (claimed.row.id, claimed.epoch);
        let active_at_us = self.claimed_as(&name, epoch);
        let thread = std::thread::Builder::new().name(format!("world-{name}"));
        let started = self.shared.tellers().and_then(|tellers| {
            thread.spawn(move || match make(&outside, &claimed, &shared, lease, tellers, active_at_us) {
                Ok((world, inside)) => serve(outside, world, inside, epoch, shared, runtime),
                Err(why) => {
                    let _ = shared.to_life.send(Message::Ready { name: claimed.row.name.clone(), ready: Err(why) });
                    let (name, snapshot, is_finished) = (claimed.row.name, None, false);
                    let _ = shared.to_life.send(Message::Ended(Ended { id, name, epoch, is_finished, snapshot }));
                }
            })
        });
        if let Err(error) = started {
            tracing::error!(world = %name, %error, "the thread of a world cannot be started");
            self.shared.settle(&name, Err(VisitError::Busy));
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

    fn ready(&self, name: &WorldName, ready: Result<Door, VisitError>) {
        match ready {
            Ok(door) if self.is_leaving() => {
                // It was brought in while the drain began.
                let _ = door.inside.mailbox.tray.order(Order::Leaving(Ending::Leaving));
                self.shared.settle(name, Err(VisitError::Draining));
            }
            ready => {
                if let Some(loaded) = self.shared.loaded().get_mut(name).filter(|_| ready.is_ok()) {
                    loaded.state = LoadState::Here;
                }
                self.shared.settle(name, ready);
            }
        }
    }

    /// Keeps what a writer left, and gives the world up: both only if it is still ours, as the store knows.
    fn ended(&mut self, ended: Ended) {
        // A writer of an earlier life: its world may be here again.
        if self.shared.loaded().get(&ended.name).is_none_or(|loaded| loaded.epoch != ended.epoch) {
            return;
        }
        self.shared.going(&ended.name);
        let Ended { id, name, epoch, is_finished, snapshot } = ended;
        if !matches!(self.tenure, Tenure::Held { .. }) {
            return self.flights.push(Box::pin(async move { Landed::Released(name) }));
        }
        let outside = self.outside.clone();
        self.flights.push(Box::pin(async move {
            if let Some((claims_version, bytes)) = snapshot {
                let keep = WorldCommand::Snapshot { id, epoch, claims_version, bytes };
                let kept = outside.commit(Command::World(keep)).await;
                if !matches!(kept, Ok(Outcome::Done)) {
                    tracing::warn!(world = %name, outcome = ?kept, "the last snapshot of a world was not kept");
                }
            }
            // Should it not be saved, the lease ends.
            let _ = outside.commit(Command::World(WorldCommand::Release { id, epoch, is_finished })).await;
            Landed::Released(name)
        }));
    }

    fn release(&self, id: WorldId, name: &WorldName, epoch: u32) {
        let (outside, name) = (self.outside.clone(), name.clone());
        self.shared.settle(&name, Err(VisitError::Draining));
        self.flights.push(Box::pin(async move {
            let _ = outside.commit(Command::World(WorldCommand::Release { id, epoch, is_finished: false })).await;
            Landed::Released(name)
        }));
    }

    /// Gives the lease up when nothing is owned under it. One that is not renewed costs nothing, and is kept.
    fn rest(&mut self) {
        let is_idle = self.shared.loaded().is_empty() && self.waiting.is_empty() && self.flights.is_empty();
        if is_idle && !self.outside.is_alone() && matches!(self.tenure, Tenure::Held { .. }) {
            let Tenure::Held { worker, task, .. } = std::mem::replace(&mut self.tenure, Tenure::None) else { return };
            task.abort();
            self.give_up_lease(worker);
        }
    }

    /// Gives a lease up while life goes on.
    fn give_up_lease(&self, worker: WorkerId) {
        let (outside, seat) = (self.outside.clone(), self.shared.seat.clone());
        tokio::spawn(async move { seat.give_up(&outside, worker).await });
    }

    fn ask_for_lease(&mut self) {
        let worker = WorkerId::new(self.outside.now(), self.outside.random());
        let (keeper, lease) = lease::Keeper::new(self.outside.clone(), worker, self.shared.seat.clone());
        let to_life = self.shared.to_life.clone();
        let task = tokio::spawn(async move {
            if keeper.acquire().await {
                let _ = to_life.send(Message::Held(worker, lease));
                keeper.keep().await;
            }
            let _ = to_life.send(Message::Lost(worker));
        });
        self.tenure = Tenure::Asked { worker, task: task.abort_handle() };
    }

    fn held(&mut self, holder: WorkerId, lease: Lease) {
        let Tenure::Asked { worker, task } = &self.tenure else { return };
        if *worker != holder {
            return;
        }
        self.tenure = Tenure::Held { worker: holder, lease, task: task.clone() };
        tracing::info!(worker.id = %holder, "worlds are owned under a lease");
        for row in std::mem::take(&mut self.waiting) {
            self.claim(row);
        }
    }

    /// Everything that was owned under this lease is dropped, and everybody comes again: what others do not own already is free at
    /// once. A writer that has not heard of it yet can save nothing once somebody claims its world.
    fn lost(&mut self, loser: WorkerId) {
        let (Tenure::Asked { worker, task } | Tenure::Held { worker, task, .. }) = &self.tenure else { return };
        if *worker != loser {
            return;
        }
        tracing::warn!(worker.id = %loser, "the lease of worlds is lost; all of them leave memory");
        task.abort();
        self.shared.metrics.lease_lost(0);
        self.tenure = Tenure::None;
        self.give_up_waiting(&VisitError::Busy);
        self.tell_all(|| Order::Drop(Ending::WorldMoved));
        self.give_up_lease(loser);
    }

    fn give_up_waiting(&mut self, why: &VisitError) {
        let for_room = std::mem::take(&mut self.waiting_for_room);
        for row in std::mem::take(&mut self.waiting).into_iter().chain(for_room) {
            self.shared.loaded().remove(&row.name);
            self.shared.settle(&row.name, Err(why.clone()));
        }
    }

    fn tell_all(&self, order: impl Fn() -> Order) {
        let doors = Worlds { shared: self.shared.clone() }.all_here();
        for door in doors {
            // A writer that has ended is on its way out already.
            let _ = door.inside.mailbox.tray.order(order());
        }
    }

    async fn end_tenure(&mut self) {
        match std::mem::replace(&mut self.tenure, Tenure::None) {
            // One that was asked for may be saved already.
            Tenure::Asked { worker, task } | Tenure::Held { worker, task, .. } => {
                task.abort();
                self.shared.seat.give_up(&self.outside, worker).await;
            }
            Tenure::None => {}
        }
    }

    /// Where a world is that another worker owns. Nobody is sent to where he came from: at our own address that was a process before
    /// this one, whose lease has not ended yet.
    fn elsewhere(&self, address: String) -> VisitError {
        if address == self.outside.address() { VisitError::Busy } else { VisitError::Elsewhere { address } }
    }

    fn is_leaving(&self) -> bool {
        self.shared.is_leaving.load(Ordering::Acquire)
    }
}

/// A life that is cut short leaves nobody waiting, and no world without an owner in memory.
impl<O: Outside> Drop for Life<O> {
    fn drop(&mut self) {
        if let Tenure::Asked { task, .. } | Tenure::Held { task, .. } = &self.tenure {
            task.abort();
        }
        self.tell_all(|| Order::Drop(Ending::WorldMoved));
        self.shared.loaded().clear();
        self.shared.entries().clear();
    }
}

/// Why a world cannot be read. What is not as it was written does not get better by asking again; whoever can mend it must hear of it.
fn not_read(name: &WorldName, why: StoreError) -> VisitError {
    match why {
        StoreError::Corrupt { .. } | StoreError::WrongSchema { .. } => damaged(name, &why),
        StoreError::Unavailable { .. } | StoreError::Overloaded { .. } => why.into(),
    }
}

fn damaged(name: &WorldName, why: &dyn std::fmt::Display) -> VisitError {
    tracing::error!(
        world = %name, %why,
        "a world cannot be made of what is kept of it: that is damaged, or this program has a defect. Nobody is let in, and nothing \
         of it is changed; restore the data from a backup, or keep them for study. Other worlds go on"
    );
    VisitError::Broken
}

/// Makes a world of what is kept of it.
fn make<O: Outside>(
    outside: &O,
    claimed: &ClaimedWorld,
    shared: &Arc<Shared>,
    lease: Lease,
    tellers: super::teller::Tellers,
    active_at_us: Arc<AtomicI64>,
) -> Result<(World, Arc<Inside>), VisitError> {
    let row = &claimed.row;
    let settings = settings_from_bytes(&row.settings)
        .map_err(|why| damaged(&row.name, &format_args!("its rules cannot be read: {why}")))?;
    // Its end is a date, and everything in it goes by the steady time, which nobody sets.
    let now_us = outside.now_us();
    let ends_at = row.ends_at.map(|ends_at| UnixMs(ends_at.0 - outside.now().0 + now_us.div_euclid(1_000)));
    let opening = WorldParams { id: row.id, settings, seed: row.seed, epoch: claimed.epoch, ends_at };
    let world = World::open(opening, claimed.snapshot.as_deref(), &claimed.rows, now_us);
    let world = world.map_err(|why| damaged(&row.name, &why))?;
    let (stands_for, kept) =
        (world.stats().claims_version, u64::from(claimed.claims_version) + claimed.rows.len() as u64);
    if u64::from(stands_for) != kept {
        let why = format_args!("it was made of {stands_for} entries of its log, and the store counts {kept}");
        return Err(damaged(&row.name, &why));
    }
    let facts = Facts { id: row.id, name: row.name.clone(), settings, row: row.clone() };
    let inside = Inside {
        facts,
        mailbox: Arc::new(Mailbox::new(shared.settings.mailbox_max)),
        pictures: Arc::new(Pictures::default()),
        lease,
        tellers,
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
fn serve<O: Outside>(outside: O, world: World, inside: Arc<Inside>, epoch: u32, shared: Arc<Shared>, runtime: Handle) {
    let (name, life, settings) = (inside.facts.name.clone(), shared.to_life.clone(), shared.settings);
    let door = Door { inside: inside.clone() };
    let _ = life.send(Message::Ready { name: name.clone(), ready: Ok(door) });
    // The list's door and the writer's own inside; whatever is more is somebody's.
    let retire = Box::new(move || shared.retire(&name, 1));
    let (snapshot_every, idle, leave_max) = (settings.snapshot_every, settings.idle, settings.leave_max);
    let mailbox = inside.mailbox.clone();
    let charge = Charge { outside, world, epoch, inside, life, runtime, snapshot_every, idle, leave_max, retire };
    lending::serve(&mailbox, Box::new(Writer::new(charge)));
}
